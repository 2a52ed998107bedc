package envelope

import (
	"math"
	"slices"
	"strconv"

	"github.com/untrusted-context/envelope/internal/quote"
)

// Markdown renders items for reading, by people and by models that are given the text as it is.
// Citations are exact. Bodies are a display form, which is lossy on purpose: line endings of every
// kind become line feeds, and control and format characters become a visible \uXXXX or
// \UXXXXXXXX. A body that spells out such an escape looks the same. So there is no way back: a
// text is checked, by [Markdown.Check], and never parsed for its items. [JSON] is for what has to
// be read back.
//
// Every line of a body stands in a code block inside a block quote, so that Markdown in a body is
// plain text.
type Markdown struct {
	// Title is the first line. "" is "# PowerContext historical context"; more than one line, a
	// control or format character, a marker, and the start of a fence, of an HTML block that goes
	// on behind blank lines or of a link definition are errors.
	Title string
	// Wrapper is the text around the sections. Zero is PowerContextTextV1. Besides the rules of
	// Wrapper, no marker begins with >, stands in a title or could stand in metadata outside of
	// names and strings, and no line opens a fence, an HTML block or a link definition.
	Wrapper Wrapper
	// Scope is shown for citations of this package's types that carry none. Invalid UTF-8 is an
	// error.
	Scope string
	// Sections are the kinds that are shown, in this order. Nil is memory up to 6, then
	// experience up to 2; an empty slice that is not nil selects nothing. Items of a kind that no
	// section names are not shown, and are Unselected in the report. Two sections of one kind, or
	// shown with one title, are an error.
	Sections []Section
	// Show adds lines to each item.
	Show Show
	// Invisible makes characters of the property Default_Ignorable_Code_Point (variation
	// selectors, fillers) visible too.
	Invisible bool
}

// Show is a set of lines that an item may have.
type Show uint8

// The lines, to be combined with |. Any other bit is an error.
const (
	// ShowConfidence says that nobody has assessed whether the item is right.
	ShowConfidence Show = 1 << iota
	// ShowRank is the item's place among the candidates of its section, from 1. It has gaps where
	// the budget left some out.
	ShowRank

	allShow = ShowConfidence | ShowRank
)

// Append appends to dst the text of the items that b has room for, section by section and in each
// in input order, and reports on each item. Errors, empty results and dst are as for
// [JSON.Append].
func (m Markdown) Append(dst []byte, items []Item, b Budget) ([]byte, Report, error) {
	var r Report
	dst, err := m.AppendReport(dst, items, b, &r)
	return dst, r, err
}

// AppendReport is to [Markdown.Append] what [JSON.AppendReport] is to [JSON.Append].
func (m Markdown) AppendReport(dst []byte, items []Item, b Budget, r *Report) ([]byte, error) {
	*r = Report{Items: r.Items[:0]}
	w, err := m.writer()
	if err != nil {
		return dst, err
	}
	limits, err := b.bounds()
	if err != nil {
		return dst, err
	}
	sel := selection{scope: m.Scope, quoter: asciiQuoter}
	sel.begin(items, limits.item, r.Items)
	defer sel.end()
	r.Items = sel.report
	b.spell(&r.Budget)
	w.items = w.order(&sel)
	if b.Counter != nil {
		return w.fitTokens(sel, dst, b, r)
	}
	return w.fit(dst, &sel, limits, b.Even, r), nil
}

// fitTokens appends the text that the tokens have room for. The writer and the selection are
// copies, so that they are on the heap only where a counter is asked.
func (w markdownWriter) fitTokens(sel selection, dst []byte, b Budget, r *Report) ([]byte, error) {
	dst, report, err := withinTokens(&w, &sel, dst, b)
	*r = report
	return dst, err
}

// fit appends the text that the limits have room for, shared between the items if it is to be even.
func (w *markdownWriter) fit(
	dst []byte, sel *selection, limits bounds, even bool, r *Report,
) []byte {
	var room space
	room.survey.on, sel.many = even, sel.many || even
	out, most := w.appendText(dst, sel, limits, &room, r), limits.item
	for room.survey.over {
		limits.item, out = share(w.meter(), displayPiece, &w.markers, out, sel, &room)
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
func (w *markdownWriter) appendText(
	dst []byte, sel *selection, limits bounds, room *space, r *Report,
) []byte {
	room.reset(limits, dst, w.openingBytes(), w.closingBytes())
	out := dst
	if room.end >= 0 {
		out = w.appendOpening(dst)
	}
	room.survey.begin(len(out))
	for k := range w.sections {
		out = w.appendSection(out, sel, k, room)
	}
	r.Bytes = 0
	if sel.delivered == 0 || room.survey.over {
		return out[:len(dst)]
	}
	out = w.appendClosing(out)
	r.Bytes = len(out) - len(dst)
	return out
}

// Render is [Markdown.Append] for a caller without a buffer.
func (m Markdown) Render(items []Item, b Budget) (Prepared, error) {
	text, report, err := m.Append(nil, items, b)
	return Prepared{Content: string(text), Report: report}, err
}

// markdownWriter is a Markdown with its defaults filled in.
type markdownWriter struct {
	headings
	items   order
	wrapper Wrapper
	markers markers
	scope   string
	show    Show
	display *quote.Display
}

var defaultSections = []Section{{Kind: "memory", Limit: 6}, {Kind: "experience", Limit: 2}}

func (m Markdown) writer() (w markdownWriter, err error) {
	w.wrapper, w.markers = defaultTextWrapper, defaultTextMarkers
	if m.Wrapper != (Wrapper{}) && m.Wrapper != defaultTextWrapper {
		if err := m.Wrapper.validate(); err != nil {
			return w, err
		}
		if err := m.Wrapper.validateMarkdown(); err != nil {
			return w, err
		}
		w.wrapper, w.markers = m.Wrapper, newMarkers(m.Wrapper.Begin, m.Wrapper.End)
	}
	w.title, w.sections = "# PowerContext historical context", defaultSections
	if m.Title != "" {
		w.title = m.Title
	}
	if m.Sections != nil {
		w.sections = m.Sections
		w.indexSections()
	}
	// The defaults go together; whatever is the caller's own is held against everything.
	if m.Title != "" || m.Sections != nil || w.wrapper != defaultTextWrapper {
		if err := w.validate(&w.markers); err != nil {
			return w, err
		}
	}
	w.scope, w.show, w.display = m.Scope, m.Show, formatDisplay
	if m.Invisible {
		w.display = invisibleDisplay
	}
	if at := quote.FirstInvalid(m.Scope); at >= 0 {
		return w, notText("scope", at)
	}
	if m.Show > allShow {
		return w, optionError(ErrOption, "show", -1, "unknown bits")
	}
	return w, nil
}

// openingBytes is a length that what appendOpening writes never falls below.
func (w *markdownWriter) openingBytes() int {
	return len(w.title) + len(w.wrapper.Notice) + len(w.wrapper.Begin) + 2*len(blockEnd)
}

func (w *markdownWriter) appendOpening(dst []byte) []byte {
	dst = append(append(dst, w.title...), blockEnd...)
	dst = append(append(dst, w.wrapper.Notice...), blockEnd...)
	return append(dst, w.wrapper.Begin...)
}

func (w *markdownWriter) closingBytes() int { return len(blockEnd) + len(w.wrapper.End) }

func (w *markdownWriter) appendClosing(dst []byte) []byte {
	return append(append(dst, blockEnd...), w.wrapper.End...)
}

const (
	sectionHeading = "## "
	indent         = "    "
	truncatedLine  = indent + "Truncated: "
	bodyPrefix     = ">     "
)

// order is the items of each section, in input order. Where there are many sections it is a chain
// for each: the first item of the section, and of each item the next one, plus 1, or 0 at the
// end.
type order struct {
	first, next []int32
}

// order says which items each section has. Those that no section takes become Unselected.
func (w *markdownWriter) order(sel *selection) (o order) {
	if w.index != nil {
		o.first, o.next = make([]int32, len(w.sections)), make([]int32, len(sel.items))
	}
	for i := len(sel.items) - 1; i >= 0; i-- {
		k := w.sectionOf(kindOf(&sel.items[i]))
		switch {
		case k < 0:
			sel.report[i].Outcome = Unselected
		case w.index != nil:
			o.first[k], o.next[i] = int32(i+1), o.first[k]
		}
	}
	return o
}

// after returns the first item behind item i, or the first of all when i is -1, that section k of w
// has, or -1.
func (o *order) after(w *markdownWriter, items []Item, k, i int) int {
	switch {
	case o.first == nil:
		kind := w.sections[k].kind()
		for i++; i < len(items); i++ {
			if kindOf(&items[i]) == kind {
				return i
			}
		}
		return -1
	case i < 0:
		return int(o.first[k]) - 1
	}
	return int(o.next[i]) - 1
}

// appendSection appends the items of section k.
func (w *markdownWriter) appendSection(
	dst []byte, sel *selection, k int, s *space,
) []byte {
	section := &w.sections[k]
	limit := bound(section.Limit, s.items, math.MaxInt)
	rank, shown := 0, 0
	for i := w.items.after(w, sel.items, k, -1); i >= 0; i = w.items.after(w, sel.items, k, i) {
		var c citation
		if !sel.candidate(w.meter(), i, shown == limit || sel.delivered == s.items, &c) {
			continue
		}
		item := &sel.items[i]
		var t trimmed
		dst, t = w.appendItem(dst, item, &c, place{section, shown + 1, rank + 1}, s)
		if s.survey.on {
			dst, t = s.noted(w.meter(), dst, i, item.Content, t)
		}
		sel.settle(i, t)
		if t.outcome != Malformed {
			rank++
		}
		if t.outcome.Delivered() {
			shown++
		}
	}
	return dst
}

// place is where an item stands: its number among those shown in the section, and its rank among
// the candidates.
type place struct {
	section      *Section
	number, rank int
}

// appendItem appends the item, or as much of it as there is space for.
func (w *markdownWriter) appendItem(
	dst []byte, item *Item, c *citation, p place, s *space,
) ([]byte, trimmed) {
	start, a := len(dst), s.none()
	least := 2*len(truncatedLine) + max(len(p.section.Title), 1)
	if c.form != objectForm {
		least += c.leastBytes()
		if c.Scope == "" {
			least += len(w.scope)
		}
	}
	head, ok := s.head(dst, least)
	if ok && head == nil {
		var scratch [headBytes]byte
		head = scratch[:0]
	}
	if ok {
		dst, a = s.open(dst, w.appendHead(head, c, p), 0, len("yes")-len("no"))
	}
	body := len(dst)
	dst, t := trim(w.meter(), &w.markers, dst, item.Content, a)
	if !t.outcome.Delivered() {
		return dst[:start], t
	}
	if t.outcome == Truncated {
		no := body - len("no"+blockEnd+bodyPrefix)
		dst = slices.Insert(dst, no, 0)
		copy(dst[no:], "yes")
	}
	return dst, t
}

// appendHead appends an item up to its body, as one that is not truncated.
func (w *markdownWriter) appendHead(dst []byte, c *citation, p place) []byte {
	if p.number == 1 {
		dst = appendTitle(append(dst, blockEnd+sectionHeading...), p.section)
	}
	dst = appendTitle(append(dst, blockEnd+itemHeading...), p.section)
	dst = strconv.AppendInt(append(dst, ' '), int64(p.number), 10)
	dst = append(dst, "\n"...)
	start := len(dst)
	dst = w.appendCitation(dst, c)
	if w.show&ShowConfidence != 0 {
		dst = append(dst, "\n"+indent+"Confidence: unknown (not assessed)"...)
	}
	if w.show&ShowRank != 0 {
		dst = strconv.AppendInt(append(dst, "\n"+indent+rankLabel...), int64(p.rank), 10)
	}
	dst = append(dst, "\n"+truncatedLine+"no"...)
	dst = w.markers.breakFrom(dst, start)
	return append(dst, blockEnd+bodyPrefix...)
}

// asciiQuoter writes the strings of metadata: as JSON literals of printable ASCII.
var asciiQuoter = quote.For(quote.NonASCII | quote.Controls)

// appendCitation appends a line for each thing that the citation says.
func (w *markdownWriter) appendCitation(dst []byte, c *citation) []byte {
	if c.form == objectForm {
		for name, value := range members(c.object) {
			dst = appendName(append(dst, "\n"+indent...), name)
			dst = appendValue(append(dst, ": "...), value)
		}
		return dst
	}
	scope := c.Scope
	if scope == "" {
		scope = w.scope
	}
	if scope != "" {
		dst = asciiQuoter.AppendLiteral(append(dst, "\n"+indent+"Scope: "...), scope)
	}
	ref := &c.Memory
	dst = asciiQuoter.AppendLiteral(append(dst, "\n"+indent+"Artifact: family="...), ref.Family)
	dst = asciiQuoter.AppendLiteral(append(dst, ", id="...), ref.ArtifactID)
	dst = strconv.AppendInt(append(dst, ", revision="...), ref.Revision, 10)
	if c.form == memoryForm {
		dst = asciiQuoter.AppendLiteral(append(dst, "\n"+indent+"Entry: id="...), c.EntryID)
		dst = asciiQuoter.AppendLiteral(append(dst, ", version="...), c.EntryVersionID)
	}
	return dst
}

func appendName(dst []byte, name string) []byte {
	if bareName(name) {
		return append(dst, name...)
	}
	return asciiQuoter.AppendLiteral(dst, name)
}

// bareName reports whether a member's name is shown without quotes: [A-Za-z0-9_.-]{1,64}, and
// none of the renderer's own labels, so that no citation looks like one of this package's types,
// and none seems to say whether it is truncated.
func bareName(name string) bool {
	switch name {
	case "Scope", "Artifact", "Entry", "Confidence", "Truncated", "":
		return false
	}
	for i := range len(name) {
		if !nameBytes[name[i]] {
			return false
		}
	}
	return len(name) <= 64
}

// appendValue appends a member's value: that of an object, unless it is empty, as its members.
func appendValue(dst, value []byte) []byte {
	if value[0] != '{' || len(value) == len("{}") {
		return appendCompact(dst, value, asciiQuoter)
	}
	first := true
	for name, value := range members(value) {
		if !first {
			dst = append(dst, ", "...)
		}
		first = false
		dst = append(appendName(dst, name), '=')
		dst = appendCompact(dst, value, asciiQuoter)
	}
	return dst
}

// lineBreak is how a line of a body ends and the next begins.
const lineBreak = "\n" + bodyPrefix

// The displays that show format characters, and all invisible ones.
var (
	formatDisplay    = quote.NewDisplay(lineBreak, false)
	invisibleDisplay = quote.NewDisplay(lineBreak, true)
)

// displayPiece is the longest that a cut does not divide.
const displayPiece = len(`\UXXXXXXXX`)

// markdownMeter measures content for a Markdown text: the display form for the item bounds, line
// prefixes added for the text.
type markdownMeter struct{ display *quote.Display }

func (w *markdownWriter) meter() markdownMeter { return markdownMeter{w.display} }

func (m markdownMeter) fill(dst []byte, s string, size, room int) ([]byte, int, int, bool) {
	return m.display.AppendString(dst, s, size, room)
}

func (m markdownMeter) last(s string) (n, size, room int) { return m.display.LastBytes(s) }

func (m markdownMeter) measure(s string, size int) (used, invalid int) {
	used, invalid, before := m.display.Measure(s, size)
	if used > size && before+1 > size-len(ellipsis) {
		invalid = -1 // it stands behind what a cut could deliver
	}
	return used, invalid
}

func (markdownMeter) dots() string { return ellipsis }
