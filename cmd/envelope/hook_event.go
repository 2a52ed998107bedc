package main

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/untrusted-context/envelope/internal/strictjson"
)

const mostEvent = 8 << 20

// readEvent reads the object of an event from standard input, as long as there is time. It does
// not wait for the end of the input: hosts exist that write an event and keep the pipe open. A
// read that nothing ends is left behind, since the process ends soon.
func readEvent(ctx context.Context, in io.Reader) (object []byte, reason string) {
	type result struct {
		object []byte
		reason string
	}
	read := make(chan result, 1)
	go func() {
		object, reason := readObject(in)
		read <- result{object, reason}
	}()
	select {
	case <-ctx.Done():
		return nil, "input-timeout"
	case r := <-read:
		return r.object, r.reason
	}
}

// readObject reads until one object is complete. What it returns begins with a brace and is an
// object, or else no JSON; what stands behind it is not looked at.
func readObject(in io.Reader) (object []byte, reason string) {
	var b objectBounds
	data := make([]byte, 0, 4<<10)
	for idle := 0; idle < 100; idle++ {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := in.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if n > 0 {
			idle = 0
		}
		complete, wrong := b.advance(data)
		switch {
		case wrong && data[b.at] >= 0xfe: // no UTF-8, but a mark of UTF-16
			return nil, "event-encoding"
		case wrong:
			return nil, "event-not-object"
		case complete && b.at <= mostEvent:
			return data[b.start:b.at], ""
		case len(data) > mostEvent:
			return nil, "event-too-large"
		case err == io.EOF:
			return data[min(b.start, len(data)):], ""
		case err != nil:
			return nil, "input"
		}
	}
	return nil, "input"
}

// objectBounds finds where an object begins and ends in data that grows. It counts braces and
// brackets outside of strings: of JSON that is where the object ends, and of anything else it is as
// far as it can be told that it is none.
type objectBounds struct {
	at, start int // the bytes that have been looked at; where the object begins
	marks     int // the byte order marks before it
	depth     int
	inString  bool
	escaped   bool
}

const byteOrderMark = "\ufeff"

// advance looks at what is new in data. The object ends at at when it is complete; wrong is that it
// has not begun with a brace.
func (b *objectBounds) advance(data []byte) (complete, wrong bool) {
	for b.depth == 0 {
		rest := data[b.at:]
		switch {
		case len(rest) == 0:
			return false, false
		case strictjson.IsSpace(rest[0]):
			b.at++
		case b.marks < 2 && bytes.HasPrefix(rest, []byte(byteOrderMark)):
			b.marks++
			b.at += len(byteOrderMark)
		case b.marks < 2 && strings.HasPrefix(byteOrderMark, string(rest)):
			return false, false // the rest of the mark is to come
		case rest[0] != '{':
			return false, true
		default:
			b.start, b.depth = b.at, 1
			b.at++
		}
	}
	for ; b.at < len(data); b.at++ {
		switch c := data[b.at]; {
		case b.escaped:
			b.escaped = false
		case b.inString && c != '"' && c != '\\':
			next := bytes.IndexAny(data[b.at:], `"\`)
			if next < 0 {
				next = len(data) - b.at
			}
			b.at += next - 1
		case b.inString:
			b.escaped = c == '\\'
			b.inString = c != '"'
		case c == '"':
			b.inString = true
		case c == '{' || c == '[':
			b.depth++
		case c == '}' || c == ']':
			if b.depth--; b.depth == 0 {
				b.at++
				return true, false
			}
		}
	}
	return false, false
}

// event is a host's event: the literals of its members, by their bare names.
type event struct{ literals map[string][][]byte }

var eventReasons = [...]string{
	strictjson.Syntax:        "event-syntax",
	strictjson.UnexpectedEnd: "event-cut-short",
	strictjson.InvalidUTF8:   "event-invalid-utf8",
	strictjson.LoneSurrogate: "event-lone-surrogate",
	strictjson.DuplicateName: "event-repeated-member",
	strictjson.TooDeep:       "event-too-deep",
}

// parseEvent reads an object as an event. Of its members it wants no more than that they are JSON:
// what a hook does not use cannot stand in its way.
func parseEvent(object []byte) (*event, string) {
	s := strictjson.Scanner{Data: object, Loose: true, MaxDepth: maxDepth}
	if _, _, fault := s.Whole(); fault != nil {
		return nil, eventReasons[fault.Reason]
	}
	e := &event{map[string][][]byte{}}
	for _, m := range s.Members(0) {
		name := bare(string(m.Name))
		e.literals[name] = append(e.literals[name], object[m.ValueStart:m.ValueEnd])
	}
	return e, ""
}

// text returns a member that is used, and so must be a string that every reader takes for the same
// one. A member that is null is none.
func (e *event) text(name string) (value string, found bool, reason string) {
	literals := e.literals[name]
	switch {
	case len(literals) > 1:
		return "", false, "event-repeated-member" // perhaps in two spellings
	case len(literals) == 0 || string(literals[0]) == "null":
		return "", false, ""
	case literals[0][0] != '"':
		return "", false, "event-member-type"
	}
	s := strictjson.Scanner{Data: literals[0]}
	if _, _, fault := s.Whole(); fault != nil {
		return "", false, eventReasons[fault.Reason]
	}
	return string(strictjson.Decode(literals[0])), true, ""
}

// bare is an ASCII name without its case and its underscores, in which hosts differ. Other letters
// are not folded to ASCII.
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

// The members that a hook uses, by their bare names.
const (
	memberEvent      = "hookeventname"
	memberPrompt     = "prompt"
	memberUserPrompt = "userprompt" // what older hosts call it
	memberFolder     = "cwd"
	memberSession    = "sessionid"
	memberSource     = "source" // of a session's start
)

// event returns which of the host's events e is.
func (h *hookRun) event(e *event) (*hostEvent, string) {
	name, _, reason := e.text(memberEvent)
	if reason != "" {
		return nil, reason
	}
	for i := range h.host.events {
		if bare(h.host.events[i].name) == bare(name) {
			return &h.host.events[i], ""
		}
	}
	return nil, "event-name"
}
