package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/readers"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// usual is the same items between the same markers as they are usually rendered: by an encoder
// that leaves raw what JSON allows raw, or for Markdown as they are.
type usual struct {
	text   string
	inside readers.Span
	items  []readers.Span // the contents as they are written, in the order of the portions
}

// usual renders what the text delivers, with the same cuts.
func (o *options) usual(a *anatomy, items []envelope.Item) *usual {
	var b strings.Builder
	var u usual
	w := o.wrapperInForce()
	if a.framed {
		b.WriteString(w.Notice + "\n\n" + w.Begin + "\n")
	}
	u.inside.Start = b.Len()
	if o.format == jsonFormat {
		b.WriteString(`{"trust": "untrusted_history", "items": [`)
	}
	for k, q := range a.portions {
		item := items[q.index]
		if o.format == markdownFormat {
			if k > 0 {
				b.WriteString("\n\n")
			}
			start := b.Len()
			content := item.Content
			if kept := q.kept; kept < len(content) {
				content = content[:kept] + "…"
			}
			b.WriteString(content)
			u.items = append(u.items, readers.Span{Start: start, End: b.Len()})
			continue
		}
		if k > 0 {
			b.WriteString(", ")
		}
		b.WriteString(`{"citation": `)
		b.Write(usualJSON(item.Citation))
		b.WriteString(`, "content": "`)
		start := b.Len()
		content := usualString(nil, q.decoded)
		b.Write(content[1 : len(content)-1])
		u.items = append(u.items, readers.Span{Start: start, End: b.Len()})
		b.WriteString(`", "truncated": ` + strconv.FormatBool(q.truncated))
		if kind := kindOf(item); kind != "memory" {
			b.WriteString(`, "kind": `)
			b.Write(usualString(nil, kind))
		}
		b.WriteByte('}')
	}
	if o.format == jsonFormat {
		b.WriteString("]}")
	}
	u.inside.End = b.Len()
	if a.framed {
		b.WriteString("\n" + w.End)
	}
	u.text = b.String()
	return &u
}

// usualJSON is a citation as json.dumps(…, ensure_ascii=False) of Python writes it, but for the
// text of its numbers, which stays.
func usualJSON(citation any) []byte {
	raw, ok := citation.(json.RawMessage)
	if !ok {
		return []byte("null")
	}
	s := strictjson.Scanner{Data: raw, Loose: true, MaxDepth: maxDepth}
	start, end, fault := s.Whole()
	if fault != nil {
		return []byte("null")
	}
	return appendUsual(nil, &s, start, end)
}

func appendUsual(dst []byte, s *strictjson.Scanner, start, end int) []byte {
	switch s.Data[start] {
	case '"':
		return usualString(dst, string(strictjson.Decode(s.Data[start:end])))
	case '{':
		dst = append(dst, '{')
		for i, m := range s.Members(start) {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(usualString(dst, string(m.Name)), ": "...)
			dst = appendUsual(dst, s, m.ValueStart, m.ValueEnd)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		first := true
		s.Elements(start, func(start, end int) {
			if !first {
				dst = append(dst, ", "...)
			}
			first = false
			dst = appendUsual(dst, s, start, end)
		})
		return append(dst, ']')
	}
	return append(dst, s.Data[start:end]...)
}

// usualString is a string as Python's json.dumps writes it with ensure_ascii=False.
func usualString(dst []byte, s string) []byte {
	const short = "\"\\\b\f\n\r\t"
	dst = append(dst, '"')
	for i := range len(s) {
		c := s[i]
		if k := strings.IndexByte(short, c); k >= 0 {
			dst = append(dst, '\\', `"\bfnrt`[k])
		} else if c < ' ' {
			dst = append(dst, `\u00`...)
			dst = append(dst, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
