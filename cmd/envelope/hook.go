package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/untrusted-context/envelope"
)

// What the environment may say in place of a flag. The token has no flag, since other users of a
// machine can read the flags of a process.
const (
	urlVariable   = "ENVELOPE_URL"
	scopeVariable = "ENVELOPE_SCOPE"
	tokenVariable = "ENVELOPE_TOKEN"
)

// The bounds of a hook's flags. The host has the upper one of -max-bytes.
const (
	defaultURL     = "http://127.0.0.1:8000"
	defaultContext = 8000
	leastContext   = 512
	defaultTimeout = 3 * time.Second
)

// hook hands the context that a server prepares for a prompt to the host that the prompt was given
// to. Whatever goes wrong once the flags are read, the host goes on without: status 0, nothing on
// standard output, one line on standard error.
func hook(args []string, s streams) (status int, err error) {
	if len(args) > 0 {
		for _, c := range hookCommands {
			if c.name == args[0] {
				return c.run(args[1:], s)
			}
		}
	}
	h, _, err := parseHook("hook", args, s, nil)
	if err != nil {
		return failed, err
	}
	log.SetOutput(io.Discard) // net/http logs what a server sends unasked
	// A fault of our own is not to look like a refusal of the prompt, which is what the status 2 of
	// a panic means to a host.
	o := skipped("panic")
	defer func() {
		if recover() != nil {
			status, err = done, nil
		}
		if o.tells() {
			o.report(s.err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), h.timeout)
	defer cancel()
	a, result := h.injection(ctx, s.in)
	if a != nil {
		if _, err := s.out.Write(h.host.output(a, h.notify)); err != nil {
			result = skipped("output")
		} else if a.given != nil {
			a.given() // only what the host was handed counts as given
		}
	}
	o = result
	return done, nil
}

// hookCommands are the commands that set a hook up, in place of running it.
var hookCommands = []struct {
	name string
	run  func(args []string, s streams) (int, error)
}{
	{"install", hookInstall},
	{"uninstall", hookUninstall},
	{"doctor", hookDoctor},
}

// hookRun is a hook with its flags read.
type hookRun struct {
	host         *host
	url          *url.URL // nil when the environment's is not usable
	scope        string   // "" is derived from where the host works
	token        string
	maxBytes     int
	options      options // its scope is "", so that a text that was rendered in any is intact
	timeout      time.Duration
	sessionQuery string // "" is not to ask for events without a prompt
	notify       bool
	fresh        bool  // leave out what the session was given already
	wrapperFault error // the file of -wrapper is not usable: nobody is asked
}

// parseHook reads the flags of a hook, and those that more registers, and says which were set.
func parseHook(
	name string, args []string, s streams, more func(*flag.FlagSet),
) (*hookRun, []*flag.Flag, error) {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	var (
		h      hookRun
		named  = f.String("host", "", "the `host` that runs the hook: "+hostNames())
		server = f.String("url", "",
			"the server's `URL` (default: "+urlVariable+", or "+defaultURL+")")
	)
	h.options.format = jsonFormat
	f.Var(&h.options.format, "format", "the `rendering` to ask for: json, markdown")
	h.options.registerWrapper(f)
	f.BoolVar(&h.options.line.omitted, "omitted", false,
		"json: the server says in the line how many items it left out")
	f.BoolVar(&h.options.line.checksum, "checksum", false,
		"json: the server ends the line with a checksum of it")
	f.Var(&h.options.sections, "sections",
		"markdown: the `kinds` to ask for, each with a limit if it has one: memory:6,experience:2")
	f.Var(&h.options.show, "show", "markdown: more `lines` for each item: confidence,recall_rank")
	f.StringVar(&h.scope, "scope", "", "the `scope` to ask in; cwd: the folder of the event"+
		" (default: "+scopeVariable+", or what PowerContext's plugins compute of that folder)")
	f.IntVar(&h.maxBytes, "max-bytes", defaultContext,
		fmt.Sprintf("at most so many bytes of context, %d to %s", leastContext, hostLimits()))
	f.DurationVar(&h.timeout, "timeout", defaultTimeout,
		"the `time` that the event and the server may take together")
	f.StringVar(&h.sessionQuery, "session-query", "",
		"ask with this `text` when a session or a subagent starts, which has no prompt")
	f.BoolVar(&h.fresh, "fresh", false, "leave out the items that the session was given already")
	f.BoolVar(&h.notify, "notify", false,
		"have the host tell its user how much it was given: "+
			hostNamesWith(func(h *host) bool { return h.notices }))
	if more != nil {
		more(f)
	}
	operands := "-host HOST [flags]"
	if name == "hook" {
		operands += "\n       envelope hook install|uninstall|doctor -host HOST [flags]"
	}
	file, err := parseUsage(f, operands, args, s)
	if err != nil {
		return nil, nil, err
	}
	if file != "-" {
		return nil, nil, errors.New("the event is read from standard input")
	}
	if h.host = hostNamed(*named); h.host == nil {
		return nil, nil, errors.New("-host is " + hostNames())
	}
	if err := h.validate(); err != nil {
		return nil, nil, err
	}
	if *server != "" {
		if h.url = prepareURL(*server); h.url == nil {
			return nil, nil, errors.New(
				"-url is not the http or https URL of a server: no user, query or fragment")
		}
	} else {
		h.url = prepareURL(orElse(os.Getenv(urlVariable), defaultURL))
	}
	h.scope = orElse(h.scope, os.Getenv(scopeVariable))
	h.token = os.Getenv(tokenVariable)
	var set []*flag.Flag
	f.Visit(func(one *flag.Flag) { set = append(set, one) })
	return &h, set, nil
}

// validate refuses flags that are illegal, alone or together.
func (h *hookRun) validate() error {
	switch {
	case h.options.sections != nil && len(h.options.sections) == 0:
		return errors.New("-sections names no kind")
	case h.maxBytes < leastContext || h.maxBytes > h.host.mostContext:
		return fmt.Errorf("-max-bytes is %d to %d for %s, so that no end marker is cut off",
			leastContext, h.host.mostContext, h.host.name)
	case h.timeout <= 0:
		return errors.New("-timeout is not positive")
	case h.scope != "" && !legalText(h.scope):
		return errors.New("-scope is blank or not UTF-8")
	case h.sessionQuery != "" && !legalText(h.sessionQuery):
		return errors.New("-session-query is blank or not UTF-8")
	case h.fresh && h.options.format != jsonFormat:
		return errors.New("-fresh is for -format json")
	case h.fresh && !h.host.forgets:
		return errors.New("-fresh: " + h.host.name + " does not say when a session forgets")
	case h.notify && !h.host.notices:
		return errors.New("-notify: " + h.host.name + " has no message for its user")
	}
	// A file that has gone is no mistake in the flags, and must not stand in the way of each
	// prompt.
	file := h.options.wrapperFile
	h.options.wrapperFile = ""
	if err := h.options.validate(); err != nil {
		return err
	}
	h.options.wrapperFile = file
	if h.wrapperFault = h.options.readWrapper(); h.wrapperFault != nil {
		return nil
	}
	// Two sections of one kind are the renderer's to refuse.
	_, _, err := h.options.markdown().Append(nil, nil, envelope.Budget{})
	return err
}

func orElse(value, other string) string {
	if value != "" {
		return value
	}
	return other
}

func legalText(text string) bool {
	return utf8.ValidString(text) && strings.TrimSpace(text) != ""
}

// injection is what a host is given.
type injection struct {
	event string // as the host spells it
	text  string
	json  envelope.JSON // that opens it; the zero value for Markdown
	items int           // -1 when they are not counted
	given func()        // to be called once the host has it; nil for nothing to do
}

// injection returns what the host is given, or why it is nothing.
func (h *hookRun) injection(ctx context.Context, in io.Reader) (*injection, outcome) {
	data, reason := readEvent(ctx, in)
	if reason != "" {
		return nil, skipped(reason)
	}
	e, reason := parseEvent(data)
	if reason != "" {
		return nil, skipped(reason)
	}
	event, reason := h.event(e)
	if reason != "" {
		return nil, skipped(reason)
	}
	var g *given                                // nil: there is nothing to leave out
	if h.fresh && event.kind != subagentEvent { // a subagent begins with nothing
		if g = openGiven(e); g != nil && event.kind == sessionEvent {
			g.begin(e)
		}
	}
	q, reason := h.query(e, event)
	if reason != "" {
		return nil, skipped(reason)
	}
	a, o := h.ask(ctx, e, q.text)
	if a != nil {
		a.event = event.name
		if g != nil && !g.fresh(a) {
			a, o.Outcome = nil, unchanged().Outcome
		}
	}
	if q.cut {
		o.Query = "cut"
	}
	return a, o
}

// ask asks the server. What it is told is checked before, so that nothing leaves in vain.
func (h *hookRun) ask(ctx context.Context, e *event, query string) (*injection, outcome) {
	switch {
	case h.wrapperFault != nil:
		return nil, skipped("wrapper")
	case h.url == nil:
		return nil, skipped("url")
	case strings.ContainsFunc(h.token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, skipped("token")
	case h.token != "" && h.url.Scheme == "http" && !loopback(h.url.Hostname()):
		// And no request: a server that wants a token has no use for one without.
		return nil, skipped("insecure-token")
	}
	scope, reason := h.scopeOf(ctx, e)
	if reason != "" {
		return nil, skipped(reason)
	}
	request := jsonLine(prepareRequest{scope, query, h.maxBytes, h.assembly()})
	body, httpStatus, o := h.post(ctx, request)
	var a *injection
	if o.Outcome == "" {
		a, o = h.accept(body)
	}
	if httpStatus != 0 {
		o.HTTPStatus = &httpStatus
	}
	return a, o
}
