// Package envelope renders untrusted context (recalled memories, retrieved passages, tool
// results) into one bounded, delimited text for a model prompt, so that nothing inside it can
// pass for its outside.
//
// Whoever wrote the content is taken for an attacker who knows this package: one who writes the
// markers, line boundaries of any alphabet, quotes, control sequences and other programs'
// formats. The package promises that
//
//   - the text has one line equal to each marker, for every line reader that decodes UTF-8, and
//     the characters of each marker stand in it once only;
//   - between the markers is one line of JSON: an [Included] content decodes to its source, byte
//     for byte, and a [Truncated] one to the longest prefix that fits, and an ellipsis;
//   - the text is never longer than its [Budget], and each item has an [Outcome]: nothing is
//     dropped in silence.
//
// It does not promise that a model never obeys what it reads inside. An envelope tells a model,
// and every program on the way, where the untrusted text begins and ends. It does not filter what
// the text says.
//
// Start with [JSON.Render], or with [JSON.Append] to write into a buffer of your own:
//
//	prepared, err := envelope.JSON{}.Render(items, envelope.Budget{})
//
// [Markdown] renders the same items for reading. It keeps the first and the third of these
// promises. Its bodies are a display form, and there is no Open for it: a program that read items
// back from such a text would also read what an item wrote to look like one. What has to come back
// is stored as objects: in an envelope, or with package transcript.
//
// The zero values are ready to use and the safe choice. Values of the types of this package may
// be used by several goroutines at once, as long as none of them changes them.
package envelope

import (
	"hash/crc32"
	"strconv"
	"sync/atomic"
	"unicode/utf8"

	"github.com/untrusted-context/envelope/internal/quote"
)

// Item is one piece of untrusted context.
type Item struct {
	// Kind says what it is: "memory", "experience", "tool-result". "" is "memory", which the line
	// does not name.
	Kind string
	// Citation says where it is from. It encodes to a JSON object: a MemoryCitation, an
	// ArtifactCitation, a json.RawMessage, a struct, a map. The object nests at most 60 levels,
	// repeats no name, and has no number that is infinite as a binary64, such as 1e999, for which
	// decoders refuse the whole line.
	//
	// A raw message keeps the text of its numbers and strings, and loses the white space between
	// them. Other values are encoded once, by the rules of encoding/json; invalid UTF-8 in them is
	// not replaced but a fault of the item, and so is a panic in one of their methods.
	//
	// A value that encodes to an object of the shape of the first two is treated as one of them.
	// Two items of one kind and citation are duplicates, whatever their contents; a score or a time
	// in a citation makes every item another one.
	Citation any
	// Content is the untrusted text, in UTF-8. One that was cut inside a character, as a tool's
	// result may be, is Malformed: strings.ToValidUTF8 mends it.
	Content string
}

// JSON renders items as an envelope around one line of JSON: notice, blank line, BEGIN line, JSON
// line, END line, LF between them and none after the last. The line is, without white space and
// in this order,
//
//	{"trust":"untrusted_history","items":[ITEM,ITEM]}
//
// and an item is
//
//	{"citation":{…},"content":"…","truncated":false,"kind":"…"}
//
// where the kind is left out for a memory. The citations of this package's types have one of four
// shapes, by whether they are local or belong to another scope than the renderer's; REF is
// {"family":"…","artifact_id":"…","revision":1}:
//
//	{"memory_ref":REF,"entry_id":"…","entry_version_id":"…"}
//	{"memory":{"scope_id":"…","artifact":REF},"entry_id":"…","entry_version_id":"…"}
//	{"artifact_ref":REF}
//	{"artifact":{"scope_id":"…","artifact":REF}}
//
// With the options that add to the line it ends in them, in this order:
//
//	…],"omitted":2,"crc32c":"e3069283"}
//
// The bytes depend on the input alone, not on the Go release or its experiments.
type JSON struct {
	// Wrapper is the text around the line. Zero is PowerContextV1; a wrapper that is set in part
	// is an error.
	Wrapper Wrapper
	// Trust is the label of the whole. "" is "untrusted_history"; invalid UTF-8 is an error.
	Trust string
	// Scope is the scope of the reader: citations in it are written without it, and are the same
	// as local ones. Invalid UTF-8 is an error.
	Scope string
	// Escape adds classes of characters to the line boundaries, which are escaped in any case.
	Escape Escape

	// Bare makes the text the line alone: no notice, no markers, no LF. It is for a tool's result,
	// where data is expected and instructions are out of place: what the notice says goes into the
	// system prompt, in the words of [JSON.Instructions] or of your own. The wrapper's markers are
	// broken in the line all the same, so that it may stand beside envelopes of that wrapper.
	Bare bool
	// Omitted tells the reader how many items were left out: those that are neither delivered nor
	// [Blank] nor [Duplicate]. The number is the line's last member but for the checksum. When
	// nothing can be delivered but something was left out, there is a text without items, if that
	// fits. MaxBytes counts the number as if all items but one were left out.
	Omitted bool
	// Checksum ends the line with the CRC-32C (RFC 3720, appendix B.4) of its bytes before the
	// comma in front of it, as eight lower-case hexadecimal digits. It is for hosts that cut a
	// long text in the middle and join the ends, which may leave a well-formed envelope that
	// nobody rendered. It finds accidents and is no signature: whoever writes a text can write
	// its checksum, and the author of a content who foresees what stands before it, and where a
	// host cuts, can write one with which that cut is not noticed.
	Checksum bool
}

// Append appends to dst the envelope of the items that b has room for, taken in input order, and
// reports on each item. One that does not fit does not stop the next. When nothing can be
// delivered, Append returns dst as it was given, and no error. With Omitted it then appends an
// envelope without items, if something was left out and that fits.
//
// The error is an *[Error] about an option or the budget; dst is then returned as it was given,
// with an empty report. Faults of items are in the report and never fail the call. Append may
// write to the spare capacity of dst whatever it returns. With typed citations and capacity for
// the text it allocates once, for the report (unless what is written of one citation passes a
// kilobyte where the budget is nearly full). More than 16 items need a table as well, which the
// next call uses again.
func (j JSON) Append(dst []byte, items []Item, b Budget) ([]byte, Report, error) {
	var r Report
	dst, err := j.AppendReport(dst, items, b, &r)
	return dst, r, err
}

// AppendReport is [JSON.Append] for a caller who renders often: it fills r, and reuses the memory
// of r.Items to its capacity, so that in the end nothing is allocated.
func (j JSON) AppendReport(dst []byte, items []Item, b Budget, r *Report) ([]byte, error) {
	*r = Report{Items: r.Items[:0]}
	w, err := j.writer()
	if err != nil {
		return dst, err
	}
	limits, err := b.bounds()
	if err != nil {
		return dst, err
	}
	sel := selection{scope: j.Scope, quoter: w.quoter}
	sel.begin(items, limits.item, r.Items)
	defer sel.end()
	r.Items = sel.report
	b.spell(&r.Budget)
	if b.Counter != nil {
		return w.fitTokens(sel, dst, b, r)
	}
	return w.fit(dst, &sel, limits, b.Even, r), nil
}

// fitTokens appends the text that the tokens have room for. The writer and the selection are
// copies, so that they are on the heap only where a counter is asked.
func (w jsonWriter) fitTokens(sel selection, dst []byte, b Budget, r *Report) ([]byte, error) {
	dst, report, err := withinTokens(&w, &sel, dst, b)
	*r = report
	return dst, err
}

// fit appends the text that the limits have room for, shared between the items if it is to be even.
func (w *jsonWriter) fit(
	dst []byte, sel *selection, limits bounds, even bool, r *Report,
) []byte {
	var room space
	room.survey.on, sel.many = even, sel.many || even
	out, most := w.appendText(dst, sel, limits, &room, r), limits.item
	for room.survey.over {
		limits.item, out = share(w.meter(), utf8.UTFMax, &w.markers, out, sel, &room)
		out = w.appendText(out[:len(dst)], sel, limits, &room, r)
	}
	if limits.item < most {
		r.Budget.MaxItemBytes = limits.item
	}
	if len(out) == len(dst) {
		return dst
	}
	return out
}

// appendText appends the text once, in one pass over the items.
func (w *jsonWriter) appendText(
	dst []byte, sel *selection, limits bounds, room *space, r *Report,
) []byte {
	room.reset(limits, dst, w.openingBytes(), w.closingBytes(len(sel.items)))
	out := dst
	if room.end >= 0 {
		out = w.appendOpening(dst)
	}
	room.survey.begin(len(out))
	for i := range sel.items {
		var c citation
		if !sel.candidate(w.meter(), i, sel.delivered == limits.items, &c) {
			continue
		}
		item := &sel.items[i]
		var t trimmed
		out, t = w.appendItem(out, item, &c, sel.delivered == 0, room)
		if room.survey.on {
			out, t = room.noted(w.meter(), out, i, item.Content, t)
		}
		sel.settle(i, t)
	}
	r.Bytes = 0
	omitted := 0
	if w.omitted {
		omitted = r.omitted()
	}
	if sel.delivered == 0 && (omitted == 0 || room.end < 0) || room.survey.over {
		return out[:len(dst)]
	}
	out = w.appendClosing(out, len(dst)+w.frameBytes(), omitted)
	if len(out)-len(dst) > limits.bytes { // without items, there may be one digit more
		return out[:len(dst)]
	}
	r.Bytes = len(out) - len(dst)
	return out
}

// Render is [JSON.Append] for a caller without a buffer.
func (j JSON) Render(items []Item, b Budget) (Prepared, error) {
	text, report, err := j.Append(nil, items, b)
	return Prepared{Content: string(text), Report: report}, err
}

// jsonWriter is a JSON with its defaults filled in.
type jsonWriter struct {
	*lineWrapping
	trust    string
	quoter   *quote.Escaper
	bare     bool
	omitted  bool
	checksum bool
}

// lineWrapping is a wrapper and what follows from it.
type lineWrapping struct {
	wrapper    Wrapper
	markers    markers
	plainBelow int    // no marker can stand in a citation whose strings are shorter
	plainTail  bool   // no marker can stand in the tail of a memory
	memoryTail int    // how long that is when the memory is not truncated
	opening    string // what stands before the items under the default trust, or "" if not known
}

// citationNames are the members' names that stand in front of a content.
const citationNames = "citation memory_ref memory artifact_ref artifact scope_id family " +
	"artifact_id revision entry_id entry_version_id content"

const defaultTrust = "untrusted_history"

var defaultWrapping = func() (l lineWrapping) {
	l.fill(defaultWrapper)
	w := jsonWriter{lineWrapping: &l, trust: defaultTrust, quoter: lineQuoter}
	l.opening = string(w.appendOpening(nil))
	return l
}()

func (l *lineWrapping) fill(wrapper Wrapper) {
	l.wrapper, l.markers = wrapper, newMarkers(wrapper.Begin, wrapper.End)
	var buf [64]byte
	// A marker has no quotes and something that JSON has in strings only, so it stands in a string.
	l.plainBelow = min(len(wrapper.Begin), len(wrapper.End))
	if l.markers.in(citationNames) {
		l.plainBelow = 0
	}
	l.plainTail = l.markers.absent(append(buf[:0], cutTail+wholeTail...))
	w := jsonWriter{lineWrapping: l, quoter: lineQuoter}
	l.memoryTail = len(w.appendTail(buf[:0], &Item{}, false))
}

// lastWrapping is the wrapping of the last wrapper that was not the default: programs that have
// one of their own use it again and again.
var lastWrapping atomic.Pointer[lineWrapping]

func (j *JSON) writer() (w jsonWriter, err error) {
	w.lineWrapping = &defaultWrapping
	if j.Wrapper != (Wrapper{}) && j.Wrapper != defaultWrapper {
		w.lineWrapping = lastWrapping.Load()
		if w.lineWrapping == nil || w.wrapper != j.Wrapper {
			if err := j.Wrapper.validate(); err != nil {
				return w, err
			}
			w.lineWrapping = new(lineWrapping)
			w.lineWrapping.fill(j.Wrapper)
			lastWrapping.Store(w.lineWrapping)
		}
	}
	w.trust = defaultTrust
	if j.Trust != "" {
		w.trust = j.Trust
	}
	if at := quote.FirstInvalid(j.Trust); at >= 0 {
		return w, notText("trust", at)
	}
	if at := quote.FirstInvalid(j.Scope); at >= 0 {
		return w, notText("scope", at)
	}
	if j.Escape > allEscapes {
		return w, optionError(ErrOption, "escape", -1, "unknown bits")
	}
	w.quoter = j.Escape.quoter()
	w.bare, w.omitted, w.checksum = j.Bare, j.Omitted, j.Checksum
	return w, nil
}

// openingBytes is a length that what appendOpening writes never falls below.
func (w *jsonWriter) openingBytes() int { return w.frameBytes() + len(w.trust) }

func (w *jsonWriter) appendOpening(dst []byte) []byte {
	if w.opening != "" && !w.bare && w.trust == defaultTrust {
		return append(dst, w.opening...)
	}
	dst = w.appendFrame(dst)
	start := len(dst)
	dst = w.quoter.AppendLiteral(append(dst, `{"trust":`...), w.trust)
	dst = append(dst, `,"items":[`...)
	return w.markers.breakFrom(dst, start)
}

// appendFrame appends what stands before the line.
func (w *jsonWriter) appendFrame(dst []byte) []byte {
	if w.bare {
		return dst
	}
	dst = append(dst, w.wrapper.Notice...)
	dst = append(dst, blockEnd...)
	dst = append(dst, w.wrapper.Begin...)
	return append(dst, '\n')
}

// frameBytes is the length of what stands before the line.
func (w *jsonWriter) frameBytes() int {
	if w.bare {
		return 0
	}
	return len(w.wrapper.Notice) + len(blockEnd) + len(w.wrapper.Begin) + len("\n")
}

const (
	omittedName   = `,"omitted":`
	checksumName  = `,"crc32c":`
	checksumBytes = len(checksumName) + len(`"e3069283"`)
)

// closingBytes is the most that appendClosing writes behind at least one of so many items.
func (w *jsonWriter) closingBytes(items int) int {
	n := len("]}")
	if !w.bare {
		n += len("\n") + len(w.wrapper.End)
	}
	if w.omitted {
		n += len(omittedName) + len("0")
		for widest := (items - 1) / 10; widest > 0; widest /= 10 {
			n++
		}
	}
	if w.checksum {
		n += checksumBytes
	}
	return n
}

// appendClosing appends what stands behind the items of a line that begins at byte line. There is
// no marker to break in it: a marker has no quotes, the names here are shorter than any, a
// checksum has no character that a marker could be broken at, and the rest is of JSON's own
// characters.
func (w *jsonWriter) appendClosing(dst []byte, line, omitted int) []byte {
	dst = append(dst, ']')
	if w.omitted {
		dst = strconv.AppendInt(append(dst, omittedName...), int64(omitted), 10)
	}
	if w.checksum {
		dst = appendChecksum(dst, dst[line:])
	}
	dst = append(dst, '}')
	if w.bare {
		return dst
	}
	return append(append(dst, '\n'), w.wrapper.End...)
}

// appendChecksum appends the member that has the checksum of covered, the line so far.
func appendChecksum(dst, covered []byte) []byte {
	const hex = "0123456789abcdef"
	sum := crc32.Checksum(covered, crc32.MakeTable(crc32.Castagnoli))
	dst = append(append(dst, checksumName...), '"')
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, hex[sum>>shift&0xf])
	}
	return append(dst, '"')
}

// appendItem appends the item, or as much of it as there is space for.
func (w *jsonWriter) appendItem(
	dst []byte, item *Item, c *citation, first bool, s *space,
) ([]byte, trimmed) {
	start, a := len(dst), s.none()
	head, ok := s.head(dst, c.leastBytes()+len(item.Kind))
	if ok && head == nil {
		var scratch [headBytes]byte
		head = scratch[:0]
	}
	if ok {
		tail := w.memoryTail
		if kindOf(item) != defaultKind {
			tail = len(w.appendTail(head, item, false))
		}
		head = w.appendHead(head, c, first)
		dst, a = s.open(dst, head, tail, len("true")-len("false"))
	}
	dst, t := trim(w.meter(), &w.markers, dst, item.Content, a)
	if !t.outcome.Delivered() {
		return dst[:start], t
	}
	return w.appendTail(dst, item, t.outcome == Truncated), t
}

// appendHead appends an item up to its content.
func (w *jsonWriter) appendHead(dst []byte, c *citation, first bool) []byte {
	start := len(dst)
	if !first {
		dst = append(dst, ',')
	}
	dst = c.appendJSON(append(dst, `{"citation":`...), w.quoter)
	dst = append(dst, `,"content":"`...)
	if c.fewer(w.plainBelow) {
		return dst
	}
	return w.markers.breakFrom(dst, start)
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
		dst = w.quoter.AppendLiteral(append(dst, `,"kind":`...), kind)
	} else if w.plainTail {
		return append(dst, '}')
	}
	return w.markers.breakFrom(append(dst, '}'), start)
}

// jsonMeter measures content for an envelope: decoded for the item bounds, as a JSON string for the
// text.
type jsonMeter struct{ quoter *quote.Escaper }

func (w *jsonWriter) meter() jsonMeter { return jsonMeter{w.quoter} }

func (m jsonMeter) fill(dst []byte, s string, size, room int) ([]byte, int, int, bool) {
	dst, n, valid := m.quoter.AppendString(dst, s[:quote.CutAt(s, 0, size)], room)
	return dst, n, n, valid
}

func (m jsonMeter) last(s string) (n, size, room int) {
	n, room = m.quoter.LastBytes(s)
	return n, n, room
}

func (m jsonMeter) measure(s string, size int) (used, invalid int) {
	used = len(s)
	if used > size {
		s = s[:quote.CutAt(s, 0, size-len(ellipsis))]
	}
	return used, quote.FirstInvalid(s)
}

func (m jsonMeter) dots() string {
	if m.quoter.Escapes('…') {
		return `\u2026`
	}
	return ellipsis
}
