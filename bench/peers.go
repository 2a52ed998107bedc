package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/bytedance/sonic/encoder"
	"github.com/go-json-experiment/json/jsontext"
	goccy "github.com/goccy/go-json"
	segmentio "github.com/segmentio/encoding/json"

	"github.com/untrusted-context/envelope"
)

// baseline is what the figures are ratios to.
const baseline = "encoding/json"

// peers encode one string as JSON, each as cheaply as its library can, and the limits do a part of
// that.
func peers(s string) []contender {
	var (
		std     bytes.Buffer
		stdEnc  = json.NewEncoder(&std)
		segment []byte
		text    []byte
		fast    []byte
		buf     []byte
		moved   = make([]byte, 0, len(s))
		one     = [1]envelope.Item{{Citation: cite(0), Content: s}}
	)
	stdEnc.SetEscapeHTML(false)
	return []contender{
		{name: baseline, run: func() {
			std.Reset()
			must(stdEnc.Encode(s))
		}},
		{name: "goccy/go-json", run: func() {
			_, err := goccy.MarshalWithOption(s, goccy.DisableHTMLEscape())
			must(err)
		}},
		{name: "segmentio", run: func() { segment = segmentio.AppendEscape(segment[:0], s, 0) }},
		{name: "jsontext", run: func() {
			var err error
			text, err = jsontext.AppendQuote(text[:0], s)
			must(err)
		}},
		{name: "sonic + UTF-8 check", run: func() {
			fast = fast[:0]
			must(encoder.EncodeInto(&fast, s, encoder.NoValidateJSONMarshaler))
			if !utf8.ValidString(s) {
				panic("invalid")
			}
		}},
		{name: "envelope, all of it", run: func() { buf = render(buf, one[:], unbounded) }},
		{name: "limit: utf8.ValidString", limit: true, run: func() {
			if !utf8.ValidString(s) {
				panic("invalid")
			}
		}},
		{name: "limit: memmove", limit: true, run: func() { moved = append(moved[:0], s...) }},
	}
}

var unbounded = envelope.Budget{
	MaxBytes: -1, MaxItems: -1, MaxItemBytes: -1, MinTruncatedBytes: -1,
}

func cite(n int64) envelope.MemoryCitation {
	return envelope.MemoryCitation{
		Memory:  envelope.ArtifactRef{Family: "memory", ArtifactID: "memory", Revision: n},
		EntryID: "mem_ent_12", EntryVersionID: "mem_ent_12_v3",
	}
}

// report is filled anew by each call, as the buffers of the others are.
var report envelope.Report

func render(buf []byte, items []envelope.Item, b envelope.Budget) []byte {
	out, err := envelope.JSON{}.AppendReport(buf[:0], items, b, &report)
	must(err)
	return out
}

// markdown shows every memory.
var markdown = envelope.Markdown{Sections: []envelope.Section{{Limit: envelope.Unlimited}}}

func renderMarkdown(buf []byte, items []envelope.Item, b envelope.Budget) []byte {
	out, err := markdown.AppendReport(buf[:0], items, b, &report)
	must(err)
	return out
}

// The same job with encoding/json: structures, an Encoder, and what it leaves undone.
type stdLine struct {
	Trust string    `json:"trust"`
	Items []stdItem `json:"items"`
}

type stdItem struct {
	Citation  stdCitation `json:"citation"`
	Content   string      `json:"content"`
	Truncated bool        `json:"truncated"`
}

type stdCitation struct {
	Memory  envelope.ArtifactRef `json:"memory_ref"`
	Entry   string               `json:"entry_id"`
	Version string               `json:"entry_version_id"`
}

// stdRenderer does with encoding/json what Append does: from the same items, in the same order of
// checks. UTF-8 is checked, since the encoder would replace what is not; U+0085 is escaped, which
// it leaves raw; the markers are broken.
type stdRenderer struct {
	line bytes.Buffer
	out  []byte
}

var brokenMarkers = [...]string{
	`BE\u0047IN_POWERCONTEXT_PREPARED_CONTEXT_V1`, `E\u004eD_POWERCONTEXT_PREPARED_CONTEXT_V1`,
}

var nextLine, nextLineEscaped = []byte("\u0085"), []byte(`\u0085`)

func (r *stdRenderer) render(items []envelope.Item) []byte {
	line := stdLine{"untrusted_history", make([]stdItem, 0, len(items))}
	seen := make(map[envelope.MemoryCitation]bool, len(items))
	for _, item := range items {
		c := item.Citation.(envelope.MemoryCitation)
		switch {
		case c.Memory.ArtifactID == "" || c.EntryID == "" || c.EntryVersionID == "",
			!utf8.ValidString(c.Memory.Family + c.Memory.ArtifactID + c.EntryID + c.EntryVersionID),
			!utf8.ValidString(item.Content), strings.TrimSpace(item.Content) == "", seen[c]:
			continue
		}
		seen[c] = true
		cited := stdCitation{c.Memory, c.EntryID, c.EntryVersionID}
		line.Items = append(line.Items, stdItem{cited, item.Content, false})
	}
	return r.wrap(line)
}

func (r *stdRenderer) wrap(v stdLine) []byte {
	w := envelope.PowerContextV1
	r.line.Reset()
	e := json.NewEncoder(&r.line)
	e.SetEscapeHTML(false)
	must(e.Encode(v))
	line := r.line.Bytes()
	if bytes.Contains(line, nextLine) {
		line = bytes.ReplaceAll(line, nextLine, nextLineEscaped)
	}
	for i, marker := range [...]string{w.Begin, w.End} {
		if bytes.Contains(line, []byte(marker)) {
			line = bytes.ReplaceAll(line, []byte(marker), []byte(brokenMarkers[i]))
		}
	}
	r.out = append(r.out[:0], w.Notice...)
	r.out = append(r.out, "\n\n"...)
	r.out = append(append(r.out, w.Begin...), '\n')
	r.out = append(r.out, line...) // with Encode's line feed
	r.out = append(r.out, w.End...)
	return r.out
}

// fit delivers items in order until one has to be cut, and searches its length by rendering
// everything anew at each step.
func (r *stdRenderer) fit(items []envelope.Item, most, mostItem int) []byte {
	var fitted []envelope.Item
	for _, item := range items {
		if len(item.Content) <= mostItem && len(r.render(append(fitted, item))) <= most {
			fitted = append(fitted, item)
			continue
		}
		content := item.Content
		low, high := 0, min(len(content), mostItem-len("…"))
		for low < high {
			mid := (low + high + 1) / 2
			item.Content = prefix(content, mid) + "…"
			if len(r.render(append(fitted, item))) <= most {
				low = mid
			} else {
				high = mid - 1
			}
		}
		item.Content = prefix(content, low) + "…"
		fitted = append(fitted, item)
		break
	}
	return r.render(fitted)
}

// prefix is the longest prefix of at most n bytes that does not end inside a character.
func prefix(s string, n int) string {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
