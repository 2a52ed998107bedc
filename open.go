package envelope

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/untrusted-context/envelope/internal/quote"
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

// Open returns the items of an envelope. It accepts exactly the texts that [JSON.Append] of the
// same renderer (wrapper, trust, scope, classes and options of the line) can produce, from any
// items and with any budget. It refuses every other with an *[Error] that says what is wrong at
// which byte of the text. For a text that is well formed, but not what the renderer would write,
// that is the first byte that differs. A line feed after the end marker is not a part of the
// text. A renderer without a scope opens the texts of those with one.
//
// Rendering the items again gives the same text, unless one of them is Truncated: a renderer
// takes the cut content for a whole one.
func (j JSON) Open(text string) ([]Delivered, error) {
	w, err := j.writer()
	if err != nil {
		return nil, err
	}
	f := frame{string(w.appendFrame(nil)), "\n" + w.wrapper.End, &w.wrapper, false}
	line, start, fault := f.inside(text)
	if fault != nil {
		return nil, fault
	}
	if at, what := lineFault(line, &w.markers); what != nil {
		return nil, openError(what, start+at)
	}
	o := opener{w: &w, text: []byte(text[:start+len(line)]), out: w.appendOpening(nil)}
	items, omitted, fault := o.open(start, j.Scope)
	if fault != nil {
		return nil, fault
	}
	out := w.appendClosing(o.out, start, omitted)
	if at := difference(string(out), text); at >= 0 {
		return nil, openError(ErrNotCanonical, at)
	}
	return items, nil
}

// lineFault returns the first thing that no line between markers has, whatever it says: invalid
// UTF-8, a raw line boundary, a marker.
func lineFault(line string, m *markers) (at int, what error) {
	if at := quote.FirstInvalid(line); at >= 0 {
		return at, ErrInvalidUTF8
	}
	for at, r := range line {
		if r < ' ' || quote.LineBoundary(r) {
			return at, ErrLineBoundary
		}
	}
	if s := m.search([]byte(line)); s.next() {
		return s.start, ErrMarker
	}
	return 0, nil
}

// opener reads the line of an envelope and writes it anew from what it has read.
type opener struct {
	w       *jsonWriter
	text    []byte // up to the end of the line
	scanner strictjson.Scanner
	s       selection
	out     []byte
}

// open reads the line that begins at byte start.
func (o *opener) open(start int, scope string) (items []Delivered, omitted int, err *Error) {
	// Citations may be as deep as a citation may be, and stand three levels down.
	o.scanner = strictjson.Scanner{Data: o.text, MaxDepth: strictjson.MaxDepth + 3}
	end, fault := o.scanner.Value(start)
	if fault == nil && end < len(o.text) {
		fault = &strictjson.Error{Reason: strictjson.Syntax, Offset: end}
	}
	if fault != nil {
		return nil, 0, openError(fault.Sentinel(), fault.Offset)
	}
	fields := []field{{"trust", '"'}, {"items", '['}}
	if o.w.omitted {
		fields = append(fields, field{"omitted", 0})
	}
	if o.w.checksum {
		fields = append(fields, field{"crc32c", '"'})
	}
	top, err := o.object(start, len(fields), fields...)
	if err != nil {
		return nil, 0, err
	}
	if o.w.checksum {
		if err := o.checksum(start, top[len(top)-1]); err != nil {
			return nil, 0, err
		}
	}
	if o.w.omitted {
		if omitted, err = o.omitted(top[2]); err != nil {
			return nil, 0, err
		}
	}
	var starts []int
	o.scanner.Elements(top[1].ValueStart, func(start, _ int) { starts = append(starts, start) })
	if len(starts) == 0 && omitted == 0 {
		return nil, 0, openError(ErrUndeliverable, top[1].ValueStart)
	}
	o.s = newSelection(make([]Item, len(starts)), scope, math.MaxInt, nil)
	items = make([]Delivered, len(starts))
	for i, start := range starts {
		if items[i], err = o.item(i, start); err != nil {
			err.Item = i
			return nil, 0, err
		}
	}
	if err := o.cuts(items, starts); err != nil {
		return nil, 0, err
	}
	return items, omitted, nil
}

// checksum refuses a line, which begins at byte start, with another checksum than its own in the
// member m.
func (o *opener) checksum(start int, m strictjson.Member) *Error {
	var buf [checksumBytes]byte
	own := appendChecksum(buf[:0], o.text[start:m.NameStart-len(",")])
	if string(own[len(checksumName):]) != string(o.text[m.ValueStart:m.ValueEnd]) {
		return openError(ErrChecksum, m.ValueStart)
	}
	return nil
}

// omitted reads how many items were left out: digits, of a number that is no larger than a slice of
// items is anywhere.
func (o *opener) omitted(m strictjson.Member) (int, *Error) {
	n, err := strconv.ParseUint(string(o.text[m.ValueStart:m.ValueEnd]), 10, 31)
	if err != nil {
		return 0, openError(ErrMember, m.ValueStart)
	}
	return int(n), nil
}

// cuts refuses items of which no budget can have cut those that are cut. Only the last can have
// been cut for want of room, since that leaves no room for another item. Any other was cut for
// the item bound, which is then less than one character longer than what was delivered, and which
// no content exceeds.
func (o *opener) cuts(items []Delivered, starts []int) *Error {
	longest := 0
	for i := range items {
		longest = max(longest, len(items[i].Content))
	}
	for i := range max(len(items)-1, 0) {
		if items[i].Truncated && longest >= len(items[i].Content)+utf8.UTFMax {
			err := openError(ErrUndeliverable, starts[i])
			err.Item = i
			return err
		}
	}
	return nil
}

// item reads the item that begins at byte start, and writes it.
func (o *opener) item(i, start int) (d Delivered, err *Error) {
	members, err := o.object(start, 3,
		field{"citation", '{'}, field{"content", '"'}, field{"truncated", 0}, field{"kind", '"'})
	if err != nil {
		return d, err
	}
	value := func(k int) []byte { return o.text[members[k].ValueStart:members[k].ValueEnd] }
	d.Citation = json.RawMessage(bytes.Clone(value(0)))
	d.Content = string(strictjson.Decode(value(1)))
	d.Kind = defaultKind
	if len(members) == 4 {
		d.Kind = string(strictjson.Decode(value(3)))
	}
	switch string(value(2)) {
	case "true":
		d.Truncated = true
		if prefix, cut := strings.CutSuffix(d.Content, ellipsis); !cut || prefix == "" {
			return d, openError(ErrUndeliverable, members[1].ValueStart)
		}
	case "false":
	default:
		return d, openError(ErrMember, members[2].ValueStart)
	}
	o.s.items[i] = d.Item
	var c citation
	if !o.s.candidate(o.w.meter(), i, false, &c) {
		return d, openError(ErrUndeliverable, start)
	}
	o.out = o.w.appendHead(o.out, &c, i == 0)
	from := len(o.out)
	o.out, _, _ = o.w.quoter.AppendString(o.out, d.Content, math.MaxInt)
	o.out = o.w.appendTail(o.w.markers.breakFrom(o.out, from), &d.Item, d.Truncated)
	return d, nil
}

// field is a member that an object must have: its name, and what its value begins with unless
// that is 0.
type field struct {
	name  string
	first byte
}

// object returns the members of the object at byte start, which are the fields in their order;
// those after the required ones may be absent.
func (o *opener) object(start, required int, fields ...field) ([]strictjson.Member, *Error) {
	if o.text[start] != '{' {
		return nil, openError(ErrMember, start)
	}
	members := o.scanner.Members(start)
	for k, m := range members {
		if k == len(fields) || string(m.Name) != fields[k].name {
			return nil, openError(ErrMember, m.NameStart)
		}
		if first := fields[k].first; first != 0 && o.text[m.ValueStart] != first {
			return nil, openError(ErrMember, m.ValueStart)
		}
	}
	if len(members) < required {
		return nil, openError(ErrMember, start)
	}
	return members, nil
}
