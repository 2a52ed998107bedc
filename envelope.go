// Package envelope renders untrusted context (recalled memories, retrieved passages, tool results) into one bounded,
// delimited text for a model prompt, so that nothing inside it can pass for its outside.
//
// Whoever wrote the content is taken for an attacker who knows this package: who writes the markers, line boundaries of any
// alphabet, quotes, control sequences, other people's formats. What holds is that
//
//   - the text has one line equal to each marker, for every line reader that decodes UTF-8, and the characters of each marker
//     stand in it once only;
//   - between the markers is one line of JSON, and decoding it gives back each content that is reported as [Included], byte
//     for byte, and of each that is [Truncated] the longest prefix that fits, and an ellipsis;
//   - the text is never longer than its [Budget], and each item has an [Outcome]: nothing is dropped in silence.
//
// What is not promised: that a model does not obey what it reads inside. An envelope tells a model, and every program on
// the way, where the untrusted text begins and ends. It is no filter for what the text says.
//
// Start with [JSON.Render], or with [JSON.Append] to write into a buffer of your own:
//
//	prepared, err := envelope.JSON{}.Render(items, envelope.Budget{})
//
// [Markdown] renders the same items for reading. It keeps the first and the third of these promises; its bodies are a display form, and
// there is no Open for it: rendered text is for reading, and a program that read messages or items back from it would read
// whatever an item wrote that looks like one. What has to come back is stored as objects: in an envelope, or with package
// transcript.
//
// The zero values are ready to use and the safe choice. Values of the types of this package may be used by several
// goroutines at once, as long as none of them changes them.
package envelope

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/untrusted-context/envelope/internal/strictjson"
)

// Item is one piece of untrusted context.
type Item struct {
	// Kind says what it is: "memory", "experience". "" is "memory".
	Kind string
	// Citation says where it is from. It encodes to a JSON object, at most 60 levels deep: a MemoryCitation, an
	// ArtifactCitation, a json.RawMessage, a struct, a map. A value that encodes to an object of the shape of the first two is
	// treated as one of them. Two items of one kind and citation are duplicates, whatever their contents. A raw message keeps the text of its numbers and strings, and loses the white space between them.
	Citation any
	Content  string
}

// JSON renders items as an envelope around one line of JSON: notice, blank line, BEGIN line, JSON line, END line, LF between
// them and none after the last. The line is, without white space and in this order,
//
//	{"trust":"untrusted_history","items":[{"citation":{…},"content":"…","truncated":false,"kind":"…"},…]}
//
// where the kind is left out for a memory. The citations of this package's types have one of four shapes, by whether they are
// local or belong to another scope than the renderer's; REF is {"family":"…","artifact_id":"…","revision":1}:
//
//	{"memory_ref":REF,"entry_id":"…","entry_version_id":"…"}
//	{"memory":{"scope_id":"…","artifact":REF},"entry_id":"…","entry_version_id":"…"}
//	{"artifact_ref":REF}
//	{"artifact":{"scope_id":"…","artifact":REF}}
//
// The bytes depend on the input alone, not on the Go release or its experiments.
type JSON struct {
	// Wrapper is the text around the line. Zero is PowerContextV1; a wrapper that is set in part is an error.
	Wrapper Wrapper
	// Trust is the label of the whole. "" is "untrusted_history"; invalid UTF-8 is an error.
	Trust string
	// Scope is the scope of the reader: citations in it are written without it, and are the same as local ones. Invalid
	// UTF-8 is an error.
	Scope string
	// Escape adds classes of characters to the line boundaries, which are escaped in any case.
	Escape Escape
}

// Append appends to dst the envelope of the items that b has room for, taken in input order, and reports on each item. One that
// does not fit does not stop the next. When nothing can be delivered, Append returns dst as it was given, and no error.
//
// The error is an *[Error] about an option or the budget; dst is then returned as it was given, with an empty report. Faults of
// items are in the report and never fail the call. Append may write to the spare capacity of dst whatever it returns. With typed
// citations and capacity for the text it allocates once, for the report (unless what is written of one citation passes a
// kilobyte where the budget is nearly full).
func (j JSON) Append(dst []byte, items []Item, b Budget) ([]byte, Report, error) {
	var r Report
	dst, err := j.AppendReport(dst, items, b, &r)
	return dst, r, err
}

// AppendReport is [JSON.Append] for a caller who renders often: it fills r, and reuses the memory of r.Items to its capacity, so that
// in the end nothing is allocated.
func (j JSON) AppendReport(dst []byte, items []Item, b Budget, r *Report) ([]byte, error) {
	*r = Report{Items: r.Items[:0]}
	w, err := j.writer()
	if err != nil {
		return dst, err
	}
	bounds, err := b.bounds()
	if err != nil {
		return dst, err
	}
	s := newSelection(items, bounds, j.Scope, r.Items)
	r.Items = s.report
	out := dst
	full := endOf(len(dst), bounds.bytes-w.closingBytes()) // where the closing has to begin at the latest
	if full-len(dst) > len(w.Notice)+len(w.Begin)+len(w.trust) {
		out = w.appendOpening(dst)
	} else {
		full = -1
	}
	var scratch [headBytes]byte
	for i := range items {
		var c citation
		if !candidate(&s, w.meter(), i, &c, s.delivered == bounds.items) {
			continue
		}
		var o Outcome
		var n int
		out, o, n = w.appendItem(out, &items[i], &c, s.delivered == 0, full, bounds, scratch[:])
		s.settle(i, o, n)
	}
	if s.delivered == 0 {
		return dst, nil
	}
	out = w.appendClosing(out)
	r.Bytes = len(out) - len(dst)
	return out, nil
}

// Render is [JSON.Append] for a caller without a buffer.
func (j JSON) Render(items []Item, b Budget) (Prepared, error) {
	text, report, err := j.Append(nil, items, b)
	return Prepared{Content: string(text), Report: report}, err
}

// jsonWriter is a JSON with its defaults filled in.
type jsonWriter struct {
	Wrapper
	markers
	trust string
	*escaper
	plainTail  bool // no marker can stand in the tail of a memory
	memoryTail int  // how long that is when the memory is not truncated
}

func (j JSON) writer() (w jsonWriter, err error) {
	w.Wrapper, w.markers = defaultWrapper, defaultMarkers
	if j.Wrapper != (Wrapper{}) && j.Wrapper != defaultWrapper {
		if err := j.Wrapper.validate(); err != nil {
			return w, err
		}
		w.Wrapper, w.markers = j.Wrapper, j.Wrapper.markers()
	}
	w.trust = "untrusted_history"
	if j.Trust != "" {
		w.trust = j.Trust
	}
	if at := firstInvalid(j.Trust); at >= 0 {
		return w, notText("trust", at)
	}
	if at := firstInvalid(j.Scope); at >= 0 {
		return w, notText("scope", at)
	}
	if j.Escape > allEscapes {
		return w, optionError(ErrOption, "escape", -1, "unknown bits")
	}
	w.escaper = &escapers[j.Escape]
	var buf [64]byte
	w.plainTail = w.markers.absent(append(buf[:0], cutTail+wholeTail...))
	w.memoryTail = len(w.appendTail(buf[:0], &Item{}, false))
	return w, nil
}

func (w *jsonWriter) appendOpening(dst []byte) []byte {
	dst = w.appendFrame(dst)
	start := len(dst)
	dst = w.appendLiteral(append(dst, `{"trust":`...), w.trust)
	dst = append(dst, `,"items":[`...)
	return w.breakFrom(dst, start)
}

// appendFrame appends what stands before the line.
func (w *Wrapper) appendFrame(dst []byte) []byte {
	dst = append(dst, w.Notice...)
	dst = append(dst, "\n\n"...)
	dst = append(dst, w.Begin...)
	return append(dst, '\n')
}

func (w *jsonWriter) appendClosing(dst []byte) []byte {
	return append(append(dst, "]}\n"...), w.End...)
}

func (w *jsonWriter) closingBytes() int { return len("]}\n") + len(w.End) }

// appendItem appends the item, or as much of it as ends before byte full of the buffer.
func (w *jsonWriter) appendItem(dst []byte, item *Item, c *citation, first bool, full int, b bounds, scratch []byte) ([]byte, Outcome, int) {
	start := len(dst)
	a := allowance{item: b.item, min: b.min, whole: -1, cut: -1}
	if least := c.leastBytes() + len(item.Kind); full-start > least {
		space := headSpace(dst, scratch, least)
		tail := w.memoryTail
		if kindOf(item) != defaultKind {
			tail = len(w.appendTail(space, item, false))
		}
		head := w.appendHead(space, c, first)
		if whole := full - start - len(head) - tail; whole > 0 {
			dst = append(dst, head...)
			a.whole, a.cut = whole, whole+len("false")-len("true")
		}
	}
	dst, o, n := trim(w.meter(), &w.markers, dst, item.Content, a)
	if !o.Delivered() {
		return dst[:start], o, n
	}
	return w.appendTail(dst, item, o == Truncated), o, n
}

// headBytes is more than the text around a content takes, but for what it says of the item.
const headBytes = 1024

// headSpace returns where to write the head of an item, to see whether it fits: behind dst where even the longest form of so
// many bytes of strings has room, and otherwise in scratch, for when it does not fit dst must not grow.
func headSpace(dst, scratch []byte, strings int) []byte {
	if cap(dst)-len(dst) >= headBytes+unitBytes*strings {
		return dst[len(dst):]
	}
	return scratch[:0]
}

// appendHead appends an item up to its content.
func (w *jsonWriter) appendHead(dst []byte, c *citation, first bool) []byte {
	start := len(dst)
	if !first {
		dst = append(dst, ',')
	}
	dst = c.appendJSON(append(dst, `{"citation":`...), w.escaper)
	dst = append(dst, `,"content":"`...)
	return w.breakFrom(dst, start)
}

const (
	cutTail   = `","truncated":true`
	wholeTail = `","truncated":false`
)

// appendTail appends an item from the end of its content.
func (w *jsonWriter) appendTail(dst []byte, item *Item, truncated bool) []byte {
	start := len(dst)
	if truncated {
		dst = append(dst, cutTail...)
	} else {
		dst = append(dst, wholeTail...)
	}
	if kind := kindOf(item); kind != defaultKind {
		dst = w.appendLiteral(append(dst, `,"kind":`...), kind)
	} else if w.plainTail {
		return append(dst, '}')
	}
	return w.breakFrom(append(dst, '}'), start)
}

// jsonMeter measures content for an envelope: decoded for the item bounds, as a JSON string for the text.
type jsonMeter struct{ *escaper }

func (w *jsonWriter) meter() jsonMeter { return jsonMeter{w.escaper} }

func (m jsonMeter) fill(dst []byte, s string, size, room int) ([]byte, int, int, bool) {
	dst, n, valid := m.appendString(dst, s[:cutAt(s, 0, size)], room)
	return dst, n, n, valid
}

func (m jsonMeter) last(s string) (n, used, written int) {
	n, written = m.lastBytes(s)
	return n, n, written
}

func (m jsonMeter) measure(s string, size int) (used, bad int) {
	used = len(s)
	if used > size {
		s = s[:cutAt(s, 0, size-len(ellipsis))]
	}
	return used, firstInvalid(s)
}

func (m jsonMeter) dots() string {
	if m.escape.wide('…') {
		return `\u2026`
	}
	return ellipsis
}

// Delivered is an item as it stands in an envelope.
type Delivered struct {
	Item           // its Kind is never "", its Citation is a json.RawMessage
	Truncated bool // its Content is a prefix of the source and an ellipsis
}

// Open returns the items of an envelope. It accepts exactly the texts that [JSON.Append] of the same renderer (wrapper, trust,
// scope and classes) can produce, from any items and with any budget, and refuses every other with an *[Error] that says what is wrong
// at which byte of the text, the first one that differs when the text is well formed but not what would be written. A line feed after
// the end marker is not a part of the text. A renderer without a scope opens the texts of those with one.
//
// Rendering the items again gives the same text unless one is Truncated: its content is then taken for whole.
func (j JSON) Open(text string) ([]Delivered, error) {
	w, err := j.writer()
	if err != nil {
		return nil, err
	}
	line, start, err := w.line(text)
	if err != nil {
		return nil, err
	}
	if at, what := lineFault(line, &w.markers); what != nil {
		return nil, openError(what, start+at)
	}
	o := opener{w: &w, text: []byte(text[:start+len(line)]), out: w.appendOpening(nil)}
	items, fault := o.open(start, j.Scope)
	if fault != nil {
		return nil, fault
	}
	out := w.appendClosing(o.out)
	if at := difference(string(out), text); at >= 0 {
		return nil, openError(ErrNotCanonical, at)
	}
	return items, nil
}

func openError(what error, offset int) *Error {
	return &Error{Err: what, Item: -1, Field: "text", Offset: offset}
}

// line returns the line between the markers and where it begins.
func (w *Wrapper) line(text string) (line string, start int, err error) {
	frame := string(w.appendFrame(nil))
	if at := difference(frame, text[:min(len(frame), len(text))]); at >= 0 {
		return "", 0, openError(ErrFrame, at)
	}
	line, closed := strings.CutSuffix(text[len(frame):], "\n"+w.End)
	if closed {
		return line, len(frame), nil
	}
	// Say where what follows the first line is not the end.
	line, end, _ := strings.Cut(text[len(frame):], "\n")
	start = min(len(frame)+len(line)+1, len(text))
	return "", 0, openError(ErrFrame, start+difference(w.End, end))
}

// difference returns the first byte in which a and b differ, -1 when they do not.
func difference(a, b string) int {
	if a == b {
		return -1
	}
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// lineFault returns the first thing that no line between markers has, whatever it says: invalid UTF-8, a raw line boundary, a
// marker.
func lineFault(line string, m *markers) (at int, what error) {
	if at := firstInvalid(line); at >= 0 {
		return at, ErrInvalidUTF8
	}
	for at, r := range line {
		if r < ' ' || r == '\u0085' || r == '\u2028' || r == '\u2029' {
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
func (o *opener) open(start int, scope string) ([]Delivered, *Error) {
	// Citations may be as deep as a citation may be, and stand three levels down.
	o.scanner = strictjson.Scanner{Data: o.text, MaxDepth: strictjson.MaxDepth + 3}
	end, fault := o.scanner.Value(start)
	if fault == nil && end < len(o.text) {
		fault = &strictjson.Error{Reason: strictjson.Syntax, Offset: end}
	}
	if fault != nil {
		return nil, openError(syntaxErrors[fault.Reason], fault.Offset)
	}
	top, err := o.object(start, 2, field{"trust", '"'}, field{"items", '['})
	if err != nil {
		return nil, err
	}
	var starts []int
	o.scanner.Elements(top[1].ValueStart, func(start, _ int) { starts = append(starts, start) })
	if len(starts) == 0 {
		return nil, openError(ErrUndeliverable, top[1].ValueStart)
	}
	o.s = newSelection(make([]Item, len(starts)), bounds{item: math.MaxInt}, scope, nil)
	items := make([]Delivered, len(starts))
	for i, start := range starts {
		if items[i], err = o.item(i, start); err != nil {
			err.Item = i
			return nil, err
		}
	}
	if err := o.cuts(items, starts); err != nil {
		return nil, err
	}
	return items, nil
}

// cuts refuses items of which no budget can have cut those that are cut. Only the last can have been cut for want of room, since
// that leaves no room for another item. Any other was cut for the item bound, which is then less than one character longer than what
// was delivered, and which no content exceeds.
func (o *opener) cuts(items []Delivered, starts []int) *Error {
	longest := 0
	for i := range items {
		longest = max(longest, len(items[i].Content))
	}
	for i := range items[:len(items)-1] {
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
	members, err := o.object(start, 3, field{"citation", '{'}, field{"content", '"'}, field{"truncated", 0}, field{"kind", '"'})
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
	if !candidate(&o.s, o.w.meter(), i, &c, false) {
		return d, openError(ErrUndeliverable, start)
	}
	o.out = o.w.appendHead(o.out, &c, i == 0)
	from := len(o.out)
	o.out, _, _ = o.w.appendString(o.out, d.Content, math.MaxInt)
	o.out = o.w.appendTail(o.w.breakFrom(o.out, from), &d.Item, d.Truncated)
	return d, nil
}

// field is a member that an object must have: its name, and what its value begins with unless that is 0.
type field struct {
	name  string
	first byte
}

// object returns the members of the object at byte start, which are the fields in their order; those after the required
// ones may be absent.
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
