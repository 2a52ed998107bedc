package main

import (
	"errors"
	"strings"

	"github.com/untrusted-context/envelope"
)

// reasonWrapper is why a text is refused that is intact but has another notice or other markers.
const reasonWrapper = "unknown-wrapper"

// accept returns the text of a response that is in order.
func (h *hookRun) accept(body []byte) (*injection, outcome) {
	p, err := envelope.ParsePrepared(body, h.maxBytes)
	if err != nil {
		var reason envelope.Reason
		errors.As(err, &reason)
		return nil, invalidResponse(string(reason))
	}
	size := len(p.Content)
	if !p.Ready() {
		return nil, empty().of("empty", size)
	}
	a := &injection{text: p.Content, items: -1}
	if h.options.format == markdownFormat {
		err = h.options.markdown().Check(p.Content)
	} else {
		var items []envelope.Delivered
		a.json, items, err = openAny(h.options.json(), p.Content)
		a.items = len(items)
	}
	if err != nil {
		reason := "not-intact"
		if foreign(&h.options, p.Content) {
			reason = reasonWrapper
		}
		return nil, invalidResponse(reason).of("ready", size)
	}
	return a, delivered().of("ready", size)
}

// foreign reports whether a text is intact but for the notice and the markers, which are not those
// that were asked for: the server is another, or its notice has changed.
func foreign(o *options, text string) bool {
	w, ok := wrapperOf(o, text)
	if asked := orWrapper(o.wrapper, envelope.PowerContextV1); !ok ||
		w.Notice == asked.Notice && (w.Begin == asked.Begin || w.End == asked.End) {
		return false // one marker of two is damage
	}
	if o.format == markdownFormat {
		m := o.markdown()
		m.Wrapper = w
		return m.Check(text) == nil
	}
	j := o.json()
	j.Wrapper = w
	_, _, err := openAny(j, text)
	return err == nil
}

// wrapperOf is the wrapper that a text seems to have: of an envelope the lines around the JSON
// line, and of Markdown an END line, the BEGIN line that goes with it, and what is between this
// and the title.
func wrapperOf(o *options, text string) (w envelope.Wrapper, ok bool) {
	if o.format == markdownFormat {
		w.End = text[strings.LastIndexByte(text, '\n')+1:]
		name, named := strings.CutPrefix(w.End, "END")
		w.Begin = "BEGIN" + name
		head, _, begun := strings.Cut(text, "\n\n"+w.Begin+"\n")
		_, w.Notice, ok = strings.Cut(head, "\n\n")
		return w, named && begun && ok
	}
	lines := strings.Split(text, "\n")
	n := len(lines) - 4
	if n < 1 {
		return w, false
	}
	w.Notice = strings.TrimSuffix(strings.Join(lines[:n+1], "\n"), "\n")
	w.Begin, w.End = lines[n+1], lines[n+3]
	return w, true
}
