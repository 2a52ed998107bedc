package envelope

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/untrusted-context/envelope/internal/quote"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

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
	o, err := w.open(text, j.Scope)
	if err != nil {
		return nil, err
	}
	return o.items, nil
}

// Filter returns the text with only the items for which keep returns true, in their order, and
// with their bytes unchanged: a truncated one stays truncated, though there is more room now.
// With [JSON].Omitted the number of those left out grows, and with [JSON].Checksum the checksum
// is made anew. It is "" when no item is kept, also of a text that has none, and otherwise the text
// itself when all are. keep is called
// once for each item, with its index. A text that [JSON.Open] does not accept has the error of
// Open, and keep is not called; what Filter returns, Open accepts.
func (j JSON) Filter(text string, keep func(i int, d Delivered) bool) (string, error) {
	w, err := j.writer()
	if err != nil {
		return "", err
	}
	o, err := w.open(text, j.Scope)
	if err != nil {
		return "", err
	}
	kept := 0
	out := w.appendOpening(make([]byte, 0, len(text)))
	for i, s := range o.spans {
		if !keep(i, o.items[i]) {
			continue
		}
		if kept++; kept > 1 {
			out = append(out, ',')
		}
		out = append(out, text[s.start:s.end]...)
	}
	if kept == 0 {
		return "", nil
	}
	omitted := min(o.omitted+len(o.items)-kept, mostOmitted)
	return string(w.appendClosing(out, o.start, omitted)), nil
}

// open opens a text.
func (w *jsonWriter) open(text, scope string) (*opened, error) {
	if read := w.openWritten(text, scope); read != nil {
		return read, nil
	}
	return w.openStrict(text, scope)
}

// openStrict opens any text, or says what is wrong with it.
func (w *jsonWriter) openStrict(text, scope string) (*opened, error) {
	f := frame{string(w.appendFrame(nil)), "\n" + w.wrapper.End, &w.wrapper, false}
	line, start, fault := f.inside(text)
	if fault != nil {
		return nil, fault
	}
	o := &opener{w: w, source: text, text: []byte(text[:start+len(line)])}
	o.start = start
	o.out = w.appendOpening(make([]byte, 0, len(text)+len(text)/8))
	if fault = o.line(scope); fault == nil {
		o.out = w.appendClosing(o.out, start, o.omitted)
		if string(o.out) == text {
			return &o.opened, nil // lineFault would find nothing, since Append writes no such line
		}
		fault = openError(ErrNotCanonical, difference(string(o.out), text))
	}
	if at, what := lineFault(line, &w.markers); what != nil {
		fault = openError(what, start+at)
	}
	return nil, fault
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
	opened
	w       *jsonWriter
	source  string
	text    []byte // the same up to the end of the line
	scanner strictjson.Scanner
	s       selection
	out     []byte
	decoded []byte // of the last string
}

// line reads the line.
func (o *opener) line(scope string) *Error {
	// Citations may be as deep as a citation may be, and stand three levels down.
	o.scanner = strictjson.Scanner{Data: o.text, MaxDepth: strictjson.MaxDepth + 3}
	end, fault := o.scanner.Value(o.start)
	if fault == nil && end < len(o.text) {
		fault = &strictjson.Error{Reason: strictjson.Syntax, Offset: end}
	}
	if fault != nil {
		return openError(fault.Sentinel(), fault.Offset)
	}
	fields := []field{{"trust", '"'}, {"items", '['}}
	if o.w.omitted {
		fields = append(fields, field{"omitted", 0})
	}
	if o.w.checksum {
		fields = append(fields, field{"crc32c", '"'})
	}
	top, err := o.object(o.start, len(fields), fields...)
	if err != nil {
		return err
	}
	if o.w.checksum {
		if err := o.checksum(top[len(top)-1]); err != nil {
			return err
		}
	}
	if o.w.omitted {
		if o.omitted, err = o.count(top[2]); err != nil {
			return err
		}
	}
	o.scanner.Elements(top[1].ValueStart, func(start, end int) {
		o.spans = append(o.spans, span{start, end})
	})
	if len(o.spans) == 0 && o.omitted == 0 {
		return openError(ErrUndeliverable, top[1].ValueStart)
	}
	o.s.scope, o.s.quoter = scope, o.w.quoter
	o.s.begin(make([]Item, len(o.spans)), math.MaxInt, nil)
	o.items = make([]Delivered, len(o.spans))
	for i, s := range o.spans {
		if o.items[i], err = o.item(i, s.start); err != nil {
			err.Item = i
			return err
		}
	}
	return o.cuts()
}

// checksum refuses a line with another checksum than its own in the member m.
func (o *opener) checksum(m strictjson.Member) *Error {
	var buf [checksumBytes]byte
	own := appendChecksum(buf[:0], o.text[o.start:m.NameStart-len(",")])
	if string(own[len(checksumName):]) != string(o.text[m.ValueStart:m.ValueEnd]) {
		return openError(ErrChecksum, m.ValueStart)
	}
	return nil
}

// count reads how many items were left out: digits, of a number up to mostOmitted.
func (o *opener) count(m strictjson.Member) (int, *Error) {
	n, err := strconv.ParseUint(string(o.text[m.ValueStart:m.ValueEnd]), 10, 32)
	if err != nil || n > mostOmitted {
		return 0, openError(ErrMember, m.ValueStart)
	}
	return int(n), nil
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
	d.Content = o.decode(members[1].ValueStart, members[1].ValueEnd)
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

// decode returns the value of the string from byte start to end: a part of the text, if it may be.
func (o *opener) decode(start, end int) string {
	literal := o.text[start:end]
	if bytes.IndexByte(literal, '\\') < 0 {
		return o.source[start+1 : end-1]
	}
	o.decoded = strictjson.AppendDecoded(o.decoded[:0], literal)
	return string(o.decoded)
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
