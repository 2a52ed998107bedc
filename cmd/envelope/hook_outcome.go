package main

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/untrusted-context/envelope"
)

// outcome is what became of an event, for the line on standard error. It never holds the query, the
// content, the scope or an address.
type outcome struct {
	Component     string  `json:"component"`
	Event         string  `json:"event"`
	Outcome       string  `json:"outcome"`
	HTTPStatus    *int    `json:"http_status"`
	ContextStatus *string `json:"context_status"`
	ContentBytes  *int    `json:"content_bytes"`
	Reason        string  `json:"reason,omitempty"`
	Query         string  `json:"query,omitempty"` // "cut", or nothing to tell
}

func newOutcome(name, reason string) outcome {
	return outcome{
		Component: "envelope.hook", Event: "context_prepare", Outcome: name, Reason: reason,
	}
}

// The outcomes.
func delivered() outcome                    { return newOutcome("delivered", "") }
func unchanged() outcome                    { return newOutcome("unchanged", "") }
func empty() outcome                        { return newOutcome("empty", "") }
func skipped(reason string) outcome         { return newOutcome("skipped", reason) }
func unavailable(reason string) outcome     { return newOutcome("server_unavailable", reason) }
func authenticationFailed() outcome         { return newOutcome("authentication_failed", "") }
func versionMismatch() outcome              { return newOutcome("version_mismatch", "") }
func invalidResponse(reason string) outcome { return newOutcome("invalid_response", reason) }

// of is o with what is known of the server's text.
func (o outcome) of(status string, bytes int) outcome {
	o.ContextStatus, o.ContentBytes = &status, &bytes
	return o
}

// tells reports whether there is anything to say: a text that was delivered for the whole of a
// prompt speaks for itself.
func (o *outcome) tells() bool { return o.Outcome != delivered().Outcome || o.Query != "" }

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
