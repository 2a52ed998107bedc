package main

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// readItems reads a JSON array of items, or one item a line, from data, which is the input of
// that name. What is wrong with the text of an item (invalid UTF-8, a lone surrogate) or inside
// of its citation is left to the renderer, which then delivers the others.
func readItems(name string, data []byte) ([]envelope.Item, error) {
	if what := form(data); what != "" {
		return nil, errors.New(name + ": " + what)
	}
	start := len(data) - len(bytes.TrimPrefix(data, []byte("\ufeff")))
	scanner := strictjson.Scanner{Data: data, Loose: true, MaxDepth: maxDepth}
	r := itemReader{scanner, name, data, nil}
	start = r.Space(start)
	read := r.lines
	if start < len(data) && data[start] == '[' {
		read = r.array
	}
	err := read(start)
	if err != nil && isResponse(data) {
		what := "a response of four members, not items: verify -prepared reads it"
		return nil, errors.New(name + ": " + what)
	}
	return r.items, err
}

// maxDepth is far more than the renderer accepts of a citation, so that one that is too deep is
// that item's fault alone.
const maxDepth = 10000

type itemReader struct {
	strictjson.Scanner
	name  string
	all   []byte // the whole input; the Scanner's Data may end earlier
	items []envelope.Item
}

// fault is what is wrong at a byte of the input, in the item that is read or, with inItem false,
// outside.
func (r *itemReader) fault(inItem bool, offset int, what string) error {
	item := -1
	if inItem {
		item = len(r.items)
	}
	return newInputError(r.name, r.all, item, offset, what)
}

func (r *itemReader) array(start int) error {
	end, fault := r.Value(start)
	if fault == nil && r.Space(end) < len(r.Data) {
		fault = &strictjson.Error{Reason: strictjson.Syntax, Offset: r.Space(end)}
	}
	if fault != nil {
		return r.fault(false, fault.Offset, fault.Error())
	}
	var err error
	r.Elements(start, func(start, _ int) {
		if err == nil {
			err = r.item(start)
		}
	})
	return err
}

func (r *itemReader) lines(start int) error {
	data := r.all
	for start < len(data) {
		end := len(data)
		if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
			end = start + i
		}
		r.Data = data[:end] // an item does not go on in the next line
		if start = r.Space(start); start < end {
			after, fault := r.Value(start)
			if fault == nil && r.Space(after) < end {
				fault = &strictjson.Error{Reason: strictjson.Syntax, Offset: r.Space(after)}
			}
			if fault != nil {
				return r.fault(true, fault.Offset, fault.Error())
			}
			if err := r.item(start); err != nil {
				return err
			}
		}
		start = end + 1
	}
	return nil
}

// item reads the value at byte start, which is JSON, as an item.
func (r *itemReader) item(start int) error {
	wrong := func(offset int, what string) error { return r.fault(true, offset, what) }
	if r.Data[start] != '{' {
		return wrong(start, "not an object")
	}
	var item envelope.Item
	seen := map[string]bool{}
	for _, m := range r.Members(start) {
		value := r.Data[m.ValueStart:m.ValueEnd]
		name := string(m.Name)
		if seen[name] {
			return wrong(m.NameStart, "a member stands twice")
		}
		seen[name] = true
		switch name {
		case "kind":
			if value[0] != '"' {
				return wrong(m.ValueStart, "kind is not a string")
			}
			item.Kind = string(strictjson.Decode(value))
		case "citation":
			item.Citation = json.RawMessage(value)
		case "content":
			if value[0] != '"' {
				return wrong(m.ValueStart, "content is not a string")
			}
			item.Content = string(strictjson.Decode(value))
		default:
			return wrong(m.NameStart,
				"an unknown member: those of an item are kind, citation, content")
		}
	}
	if !seen["content"] {
		return wrong(start, "no content")
	}
	r.items = append(r.items, item)
	return nil
}
