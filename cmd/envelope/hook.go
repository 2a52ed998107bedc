package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// What the environment may say in place of a flag, and the one thing that is no flag because others can read those.
const (
	urlVariable   = "ENVELOPE_URL"
	scopeVariable = "ENVELOPE_SCOPE"
	tokenVariable = "ENVELOPE_TOKEN"
)

// The bounds of a hook. Those of the request are the server's.
const (
	defaultURL      = "http://127.0.0.1:8000"
	preparePath     = "v1/context/prepare"
	defaultContext  = 8000
	leastContext    = 512
	mostContext     = 9500 // hosts cut at 10 000 characters, and what is cut has no END line
	mostEvent       = 8 << 20
	mostResponse    = 1 << 20
	mostQueryBytes  = 8192
	mostScopeRunes  = 256
	mostHeaderBytes = 64 << 10
)

// hook hands the context that a server prepares for a prompt to the host that the prompt was given to. Whatever goes wrong once the
// flags are read, the host goes on without: status 0, nothing on standard output, one line on standard error.
func hook(args []string, s streams) (status int, err error) {
	h, err := newHook(args, s)
	if err != nil {
		return failed, err
	}
	// Neither a host that does not listen any more nor a fault of our own is to look like a refusal of the prompt, which is
	// what the status 2 of a panic means to a host.
	signal.Ignore(syscall.SIGPIPE)
	log.SetOutput(io.Discard) // net/http logs what a server sends unasked
	o := skipped("panic")
	defer func() {
		if recover() != nil {
			status, err = done, nil
		}
		if o.Outcome != "" {
			o.report(s.err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), h.timeout)
	defer cancel()
	text, result := h.context(ctx, s.in)
	if result.Outcome == "" {
		if _, err := s.out.Write(hookOutput(text)); err != nil {
			result = skipped("output")
		}
	}
	o = result
	return done, nil
}

// hookOutput is what both hosts read: this object and no other member, on a line of its own to every reader.
func hookOutput(text string) []byte {
	var output struct {
		Specific struct {
			EventName string `json:"hookEventName"`
			Context   string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	output.Specific.EventName = "UserPromptSubmit"
	output.Specific.Context = text
	return jsonLine(output)
}

// jsonLine is v on one line for every reader, and a line feed.
func jsonLine(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // strings and numbers only
	}
	return envelope.EscapeJSON(nil, b.Bytes(), envelope.EscapeControls)
}

// outcome is what the host was not given, and why; without an Outcome it was given all. It never holds the query, the content or
// the scope.
type outcome struct {
	Component     string  `json:"component"`
	Event         string  `json:"event"`
	Outcome       string  `json:"outcome"`
	HTTPStatus    *int    `json:"http_status"`
	ContextStatus *string `json:"context_status"`
	ContentBytes  *int    `json:"content_bytes"`
	Reason        string  `json:"reason,omitempty"`
}

func newOutcome(name, reason string) outcome {
	return outcome{Component: "envelope.hook", Event: "context_prepare", Outcome: name, Reason: reason}
}

// The outcomes.
func empty() outcome                        { return newOutcome("empty", "") }
func skipped(reason string) outcome         { return newOutcome("skipped", reason) }
func unavailable(reason string) outcome     { return newOutcome("server_unavailable", reason) }
func versionMismatch() outcome              { return newOutcome("version_mismatch", "") }
func invalidResponse(reason string) outcome { return newOutcome("invalid_response", reason) }

// report writes o, and does not wait for a host that does not read it.
func (o *outcome) report(w io.Writer) {
	written := make(chan struct{})
	go func() {
		_, _ = w.Write(jsonLine(o))
		close(written)
	}()
	select {
	case <-written:
	case <-time.After(100 * time.Millisecond):
	}
}

// hookRun is a hook with its flags read.
type hookRun struct {
	url      *url.URL // nil when the environment's is not usable
	scope    string   // "" is where the host works
	token    string
	maxBytes int
	options  options // its scope is "", so that a text that was rendered in any is intact
	timeout  time.Duration
}

func newHook(args []string, s streams) (*hookRun, error) {
	f := flag.NewFlagSet("hook", flag.ContinueOnError)
	var (
		h      hookRun
		host   = f.String("host", "", "the `host` that runs the hook: claude-code or codex")
		server = f.String("url", "", "the server's `URL` (default: "+urlVariable+", or "+defaultURL+")")
	)
	h.options.format = jsonFormat
	f.Var(&h.options.format, "format", "the `rendering` to ask for: json, markdown")
	f.Var(&h.options.sections, "sections", "markdown: the `kinds` to ask for, each with a limit if it has one: memory:6,experience:2")
	f.Var(&h.options.show, "show", "markdown: more `lines` for each item: confidence,recall_rank")
	f.StringVar(&h.scope, "scope", "", "the `scope` to ask in (default: "+scopeVariable+", or the cwd of the event)")
	f.IntVar(&h.maxBytes, "max-bytes", defaultContext, fmt.Sprintf("at most so many bytes of context, %d to %d", leastContext, mostContext))
	f.DurationVar(&h.timeout, "timeout", 3*time.Second, "the `time` that the event and the server may take together")
	file, err := parseUsage(f, "-host HOST [flags]", args, s)
	switch {
	case err != nil:
		return nil, err
	case file != "-":
		return nil, errors.New("the event is read from standard input")
	case *host != "claude-code" && *host != "codex":
		return nil, errors.New("-host is claude-code or codex")
	case h.options.sections != nil && len(h.options.sections) == 0:
		return nil, errors.New("-sections names no kind")
	case h.maxBytes < leastContext || h.maxBytes > mostContext:
		return nil, fmt.Errorf("-max-bytes is %d to %d: the host cuts what is longer, and the end marker with it", leastContext, mostContext)
	case h.timeout <= 0:
		return nil, errors.New("-timeout is not positive")
	case h.scope != "" && !legalScope(h.scope):
		return nil, fmt.Errorf("-scope is blank, longer than %d characters or not UTF-8", mostScopeRunes)
	}
	if err := h.options.validate(); err != nil {
		return nil, err
	}
	if _, _, err := h.options.markdown().Append(nil, nil, envelope.Budget{}); err != nil {
		return nil, err // two sections of one kind
	}
	if *server != "" {
		if h.url = prepareURL(*server); h.url == nil {
			return nil, errors.New("-url is not the http or https URL of a server: no user, query or fragment")
		}
	} else {
		h.url = prepareURL(orElse(os.Getenv(urlVariable), defaultURL))
	}
	h.scope = orElse(h.scope, os.Getenv(scopeVariable))
	h.token = os.Getenv(tokenVariable)
	return &h, nil
}

func orElse(value, other string) string {
	if value != "" {
		return value
	}
	return other
}

func legalScope(scope string) bool {
	return utf8.ValidString(scope) && strings.TrimSpace(scope) != "" && utf8.RuneCountInString(scope) <= mostScopeRunes
}

// prepareURL is where to ask the server at base, nil when that is no server's URL.
func prepareURL(base string) *url.URL {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil
	}
	return u.JoinPath(preparePath)
}

// loopback reports whether the host of a URL is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// context returns the text for the host, or why there is none.
func (h *hookRun) context(ctx context.Context, in io.Reader) (string, outcome) {
	data, reason := readEvent(ctx, in)
	if reason != "" {
		return "", skipped(reason)
	}
	e, reason := parseEvent(data)
	if reason != "" {
		return "", skipped(reason)
	}
	scope := orElse(h.scope, e.cwd)
	switch {
	case !legalScope(scope):
		return "", skipped("scope")
	case h.url == nil:
		return "", skipped("url")
	case strings.ContainsFunc(h.token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return "", skipped("token")
	case h.token != "" && h.url.Scheme == "http" && !loopback(h.url.Hostname()):
		return "", skipped("insecure-token") // and no request: a server that wants a token has no use for one without
	}
	body, httpStatus, o := h.post(ctx, jsonLine(prepareRequest{scope, e.query(), h.maxBytes, h.assembly()}))
	if o.Outcome == "" {
		var text string
		if text, o = h.accept(body); o.Outcome == "" {
			return text, o
		}
	}
	if httpStatus != 0 {
		o.HTTPStatus = &httpStatus
	}
	return "", o
}

// prepareRequest is what a server is asked.
type prepareRequest struct {
	ScopeID  string    `json:"scope_id"`
	Query    string    `json:"query"`
	MaxBytes int       `json:"max_bytes"`
	Assembly *assembly `json:"assembly,omitempty"` // none is an envelope
}

// assembly asks for Markdown.
type assembly struct {
	Format   string            `json:"format"`
	Sections []assemblySection `json:"sections,omitempty"`
	Show     []string          `json:"show,omitempty"`
}

type assemblySection struct {
	Kind  string `json:"kind"`
	Limit int    `json:"limit,omitempty"`
}

func (h *hookRun) assembly() *assembly {
	if h.options.format != markdownFormat {
		return nil
	}
	a := assembly{Format: markdownFormat}
	for _, s := range h.options.sections {
		a.Sections = append(a.Sections, assemblySection{s.Kind, s.Limit})
	}
	for _, line := range showLines {
		if envelope.Show(h.options.show)&line.show != 0 {
			a.Show = append(a.Show, line.name)
		}
	}
	return &a
}

// readEvent reads standard input, as long as there is time. A read that nothing ends is left behind: the process ends soon.
func readEvent(ctx context.Context, in io.Reader) (data []byte, reason string) {
	type result struct {
		data []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(in, mostEvent+1))
		read <- result{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, "input-timeout"
	case r := <-read:
		switch {
		case r.err != nil:
			return nil, "input"
		case len(r.data) > mostEvent:
			return nil, "event-too-large"
		}
		return r.data, ""
	}
}

// event is what a hook takes from the host's event.
type event struct{ prompt, cwd string }

var eventReasons = [...]string{
	strictjson.Syntax:        "event-syntax",
	strictjson.UnexpectedEnd: "event-cut-short",
	strictjson.InvalidUTF8:   "event-invalid-utf8",
	strictjson.LoneSurrogate: "event-lone-surrogate",
	strictjson.DuplicateName: "event-repeated-member",
	strictjson.TooDeep:       "event-too-deep",
}

// parseEvent reads an event strictly, but for the case and the underscores of what it looks for, in which hosts differ.
func parseEvent(data []byte) (e event, reason string) {
	s := strictjson.Scanner{Data: data, AnyNumber: true}
	start, _, fault := s.Whole()
	if fault != nil {
		return e, eventReasons[fault.Reason]
	}
	if data[start] != '{' {
		return e, "event-not-object"
	}
	found := map[string]*string{"hookeventname": nil, "prompt": nil, "cwd": nil}
	for _, m := range s.Members(start) {
		name := bare(string(m.Name))
		have, wanted := found[name]
		if !wanted {
			continue
		}
		if have != nil {
			return e, "event-repeated-member" // in two spellings
		}
		literal := data[m.ValueStart:m.ValueEnd]
		value := ""
		if literal[0] == '"' {
			value = string(strictjson.Decode(literal))
		} else if name != "cwd" {
			return e, "event-member-type"
		}
		found[name] = &value
	}
	name, prompt := found["hookeventname"], found["prompt"]
	switch {
	case name == nil || bare(*name) != "userpromptsubmit":
		return e, "event-name"
	case prompt == nil:
		return e, "no-prompt"
	}
	e.prompt = *prompt
	if strings.TrimSpace(e.query()) == "" {
		return e, "blank-prompt"
	}
	if cwd := found["cwd"]; cwd != nil {
		e.cwd = *cwd
	}
	return e, ""
}

// bare is an ASCII name without its case and its underscores. Other letters are not folded to ASCII.
func bare(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_':
			return -1
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, name)
}

// query is the prompt, or as much of a long one as a server takes.
func (e event) query() string {
	if len(e.prompt) <= mostQueryBytes {
		return e.prompt
	}
	end := mostQueryBytes
	for !utf8.RuneStart(e.prompt[end]) {
		end--
	}
	return e.prompt[:end]
}

// post asks the server and returns the body of an answer 200. The status is 0 when there was no answer.
func (h *hookRun) post(ctx context.Context, request []byte) (body []byte, status int, o outcome) {
	// No proxy, no redirect, no compression: what leaves goes to the one server that was named, and what comes is as long as it
	// says.
	transport := &http.Transport{
		DialContext:            h.dialer().DialContext,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: mostHeaderBytes,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url.String(), bytes.NewReader(request))
	if err != nil {
		return nil, 0, skipped("url")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "envelope-hook")
	if h.token != "" {
		r.Header.Set("Authorization", "Bearer "+h.token)
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, 0, lost(ctx)
	}
	defer response.Body.Close()
	switch code := response.StatusCode; {
	case code == http.StatusNotFound:
		return nil, code, versionMismatch()
	case code >= 300 && code < 400:
		return nil, code, unavailable("redirect")
	case code != http.StatusOK:
		return nil, code, unavailable("http-status")
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, mostResponse+1))
	switch {
	case len(body) > mostResponse:
		o = invalidResponse(string(envelope.ReasonTooLarge))
	case errors.Is(err, io.ErrUnexpectedEOF):
		o = invalidResponse(string(envelope.ReasonCutShort))
	case err != nil:
		o = lost(ctx)
	}
	return body, response.StatusCode, o
}

// dialer connects to this machine only, where the URL says this machine: what localhost is depends on a name server.
func (h *hookRun) dialer() *net.Dialer {
	if !loopback(h.url.Hostname()) {
		return &net.Dialer{}
	}
	return &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !to.Addr().Unmap().IsLoopback() {
			return errors.New("not this machine")
		}
		return nil
	}}
}

// lost is no answer, or half of one.
func lost(ctx context.Context) outcome {
	if ctx.Err() != nil {
		return unavailable("timeout")
	}
	return unavailable("connection")
}

// accept returns the text of a response that is in order.
func (h *hookRun) accept(body []byte) (string, outcome) {
	p, err := envelope.ParsePrepared(body, h.maxBytes)
	if err != nil {
		var reason envelope.Reason
		errors.As(err, &reason)
		return "", invalidResponse(string(reason))
	}
	o, size, status := empty(), len(p.Content), "empty"
	if p.Ready() {
		status = "ready"
		if err = intact(&h.options, p.Content); err == nil {
			return p.Content, outcome{}
		}
		o = invalidResponse("not-intact")
	}
	o.ContextStatus, o.ContentBytes = &status, &size
	return "", o
}
