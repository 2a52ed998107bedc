package envelope

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/untrusted-context/envelope/internal/strictjson"
)

// Delivered is an item as it stands in an envelope.
type Delivered struct {
	Item           // its Kind is never "", its Citation is a json.RawMessage
	Truncated bool // its Content is a prefix of the source and an ellipsis
}

// DecodeCitation decodes the citation into v as json.Unmarshal does, for a type of the caller's,
// a [MemoryCitation] or an [ArtifactCitation]. The error is an *[Error] that wraps [ErrDecode]
// and the decoder's own.
func (d Delivered) DecodeCitation(v any) error {
	raw, _ := d.Citation.(json.RawMessage)
	if err := json.Unmarshal(raw, v); err != nil {
		return &Error{Err: ErrDecode, Item: -1, Field: "citation", Offset: -1, cause: err}
	}
	return nil
}

// opened is what a text holds.
type opened struct {
	start   int    // of the line
	spans   []span // of the items in the text
	items   []Delivered
	omitted int
}

// span is where something stands.
type span struct{ start, end int }

// mostOmitted is more than a slice of items is long on every machine.
const mostOmitted = math.MaxInt32

// cuts refuses items of which no budget can have cut those that are cut. Only the last can have
// been cut for want of room, since that leaves no room for another item. Any other was cut for
// the item bound, which is then less than one character longer than what was delivered, and which
// no content exceeds. What holds of the items holds of some of them, so that [JSON.Filter] needs
// no rule of its own.
func (o *opened) cuts() *Error {
	longest := 0
	for i := range o.items {
		longest = max(longest, len(o.items[i].Content))
	}
	for i := range len(o.items) - 1 {
		d := &o.items[i]
		if d.Truncated && longest >= len(d.Content)+utf8.UTFMax {
			err := openError(ErrUndeliverable, o.spans[i].start)
			err.Item = i
			return err
		}
	}
	return nil
}

// openWritten reads a text in the very form that Append writes, and returns nil for any other: it
// leaves it to the opener to say why, and to read what is rare. A content is read once, in a way
// that tells whether it would be written like that; what stands around it is written anew and
// compared.
func (w *jsonWriter) openWritten(text, scope string) *opened {
	opening := string(w.appendOpening(nil))
	if !strings.HasPrefix(text, opening) {
		return nil
	}
	r := writtenReader{w: w, text: text, i: len(opening)}
	r.start, r.items = w.frameBytes(), []Delivered{}
	r.data = []byte(text)
	r.scanner.Data = r.data
	if !r.read() {
		return nil
	}
	items := make([]Item, len(r.items))
	for i := range items {
		items[i] = r.items[i].Item
	}
	var s selection
	s.scope, s.quoter = scope, w.quoter
	s.begin(items, math.MaxInt, nil)
	for i := range items {
		if !r.deliverable(&s, i) {
			return nil
		}
	}
	if r.cuts() != nil {
		return nil
	}
	return &r.opened
}

// writtenReader reads a text from byte i on, and gives up where it is not as expected.
type writtenReader struct {
	opened
	w        *jsonWriter
	text     string
	data     []byte // the same
	scanner  strictjson.Scanner
	i        int
	contents []span // where they stand, without their quotes
	decoded  []byte // the last string
	out      []byte // what was written last
}

// read reads the items, and what stands behind them.
func (r *writtenReader) read() bool {
	for !r.eat("]") {
		if len(r.items) > 0 && !r.eat(",") || !r.item() {
			return false
		}
	}
	at, line := r.i-len("]"), r.data[r.start:]
	if r.w.omitted {
		if !r.eat(omittedName) {
			return false
		}
		end := r.i
		for end < len(r.text) && '0' <= r.text[end] && r.text[end] <= '9' {
			end++
		}
		n, err := strconv.ParseUint(r.text[r.i:end], 10, 32)
		if err != nil || n > mostOmitted {
			return false
		}
		r.omitted = int(n)
	}
	if len(r.items) == 0 && r.omitted == 0 {
		return false
	}
	var covered []byte
	if r.w.checksum {
		covered = append(covered, r.text[r.start:at]...)
	}
	closing := r.w.appendClosing(covered, 0, r.omitted)[len(covered):]
	if string(closing) != r.text[at:] {
		return false
	}
	// No content may hold a marker that would have been broken. The end of the text is one.
	return r.w.markers.extra(line[:at-r.start]) == 0
}

// eat reads what is expected.
func (r *writtenReader) eat(expected string) bool {
	if !strings.HasPrefix(r.text[r.i:], expected) {
		return false
	}
	r.i += len(expected)
	return true
}

// item reads an item. Of its content alone it is known then that it is written like that.
func (r *writtenReader) item() bool {
	start := r.i
	if !r.eat(`{"citation":`) || r.i == len(r.text) {
		return false
	}
	end, fault := r.scanner.Value(r.i)
	if fault != nil {
		return false
	}
	var d Delivered
	d.Citation = json.RawMessage(r.text[r.i:end])
	r.i = end
	if !r.eat(`,"content":"`) {
		return false
	}
	content := span{start: r.i}
	ok := false
	if d.Content, ok = r.str(); !ok {
		return false
	}
	content.end = r.i
	switch {
	case r.eat(cutTail):
		d.Truncated = true
		if prefix, cut := strings.CutSuffix(d.Content, ellipsis); !cut || prefix == "" {
			return false
		}
	case !r.eat(wholeTail):
		return false
	}
	d.Kind = defaultKind
	if r.eat(`,"kind":"`) {
		if d.Kind, ok = r.str(); !ok || !r.eat(`"`) {
			return false
		}
	}
	if !r.eat("}") {
		return false
	}
	r.items = append(r.items, d)
	r.contents = append(r.contents, content)
	r.spans = append(r.spans, span{start, r.i})
	return true
}

// str reads a string from behind its opening quote up to its closing one.
func (r *writtenReader) str() (string, bool) {
	start := r.i
	if r.decoded == nil {
		r.decoded = make([]byte, 0, len(r.text)+64)
	}
	value, n, ok := r.w.quoter.AppendUnquoted(r.decoded[:0], r.text[start:])
	if ok {
		r.i = start + n
		if len(value) == n {
			return r.text[start:r.i], true
		}
		return string(value), true
	}
	// There may be a broken marker in it.
	end, fault := r.scanner.Value(start - len(`"`))
	if fault != nil {
		return "", false
	}
	r.i = end - len(`"`)
	r.decoded = strictjson.AppendDecoded(r.decoded[:0], r.data[start-len(`"`):end])
	r.out, _, _ = r.w.quoter.AppendString(r.out[:0], string(r.decoded), math.MaxInt)
	r.out = r.w.markers.breakFrom(r.out, 0)
	return string(r.decoded), string(r.out) == r.text[start:r.i]
}

// deliverable reports whether item i may be delivered behind those before it, and is written as it
// stands there.
func (r *writtenReader) deliverable(s *selection, i int) bool {
	var c citation
	if !s.candidate(r.w.meter(), i, false, &c) {
		return false
	}
	head := r.text[r.spans[i].start:r.contents[i].start]
	r.out = r.w.appendHead(r.out[:0], &c, true)
	if string(r.out) != head {
		return false
	}
	d := &r.items[i]
	r.out = r.w.appendTail(r.out[:0], &d.Item, d.Truncated)
	return string(r.out) == r.text[r.contents[i].end:r.spans[i].end]
}
