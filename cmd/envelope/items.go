package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// inputError says where the input is not items.
type inputError struct {
	item   int // -1 outside of an item
	offset int // of the whole input
	what   string
}

func (e *inputError) Error() string {
	if e.item < 0 {
		return fmt.Sprintf("input: %s (byte %d)", e.what, e.offset)
	}
	return fmt.Sprintf("input: item %d: %s (byte %d)", e.item, e.what, e.offset)
}

// readItems reads a JSON array of items, or one item a line. What is wrong with the text of an item (invalid UTF-8, a lone
// surrogate) or inside of its citation is left to the renderer, which then delivers the others.
func readItems(data []byte) ([]envelope.Item, error) {
	start := len(data) - len(bytes.TrimPrefix(data, []byte("\ufeff")))
	r := itemReader{strictjson.Scanner{Data: data, Loose: true, MaxDepth: maxDepth}, nil}
	start = r.Space(start)
	if start < len(data) && data[start] == '[' {
		return r.array(start)
	}
	return r.lines(start)
}

// maxDepth is far more than the renderer accepts of a citation, so that one that is too deep is that item's fault alone.
const maxDepth = 10000

type itemReader struct {
	strictjson.Scanner
	items []envelope.Item
}

func (r *itemReader) array(start int) ([]envelope.Item, error) {
	end, fault := r.Value(start)
	if fault == nil && r.Space(end) < len(r.Data) {
		fault = &strictjson.Error{Reason: strictjson.Syntax, Offset: r.Space(end)}
	}
	if fault != nil {
		return nil, &inputError{-1, fault.Offset, fault.Error()}
	}
	var err error
	r.Elements(start, func(start, _ int) {
		if err == nil {
			err = r.item(start)
		}
	})
	return r.items, err
}

func (r *itemReader) lines(start int) ([]envelope.Item, error) {
	data := r.Data
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
				return nil, &inputError{len(r.items), fault.Offset, fault.Error()}
			}
			if err := r.item(start); err != nil {
				return nil, err
			}
		}
		start = end + 1
	}
	return r.items, nil
}

// item reads the value at byte start, which is JSON, as an item.
func (r *itemReader) item(start int) error {
	wrong := func(offset int, what string) error { return &inputError{len(r.items), offset, what} }
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
			return wrong(m.NameStart, "an unknown member: those of an item are kind, citation, content")
		}
	}
	if !seen["content"] {
		return wrong(start, "no content")
	}
	r.items = append(r.items, item)
	return nil
}
