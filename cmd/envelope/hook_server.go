package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"github.com/untrusted-context/envelope"
)

// The request's path, and the bounds of an answer.
const (
	preparePath     = "v1/context/prepare"
	mostResponse    = 1 << 20
	mostHeaderBytes = 64 << 10
)

// prepareURL is where to ask the server at base, nil when that is no server's URL.
func prepareURL(base string) *url.URL {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil
	}
	return u.JoinPath(preparePath)
}

// loopback reports whether the host of a URL is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
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
	Family string `json:"family"`
	Limit  int    `json:"limit,omitempty"`
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

// post asks the server and returns the body of an answer 200. The status is 0 when there was no
// answer.
func (h *hookRun) post(ctx context.Context, request []byte) (body []byte, status int, o outcome) {
	// No proxy, no redirect, no compression: what leaves goes to the one server that was named, and
	// what comes is as long as it says.
	transport := &http.Transport{
		DialContext:            h.dialer().DialContext,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: mostHeaderBytes,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Transport: transport,
		CheckRedirect: func(
			*http.Request, []*http.Request,
		) error {
			return http.ErrUseLastResponse
		},
	}
	r, err := http.NewRequestWithContext(
		ctx, http.MethodPost, h.url.String(), bytes.NewReader(request),
	)
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
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return nil, code, authenticationFailed()
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

// dialer connects to this machine only, where the URL says this machine: what localhost is depends
// on a name server.
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
