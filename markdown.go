package envelope

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Markdown renders items for reading, by people and by models that are given the text as it is. Citations are exact; bodies are
// a display form, which is lossy on purpose: line endings of every kind become line feeds, and control and format characters a
// visible \uXXXX or \UXXXXXXXX, which a body that spells one out looks the same as. So there is no way back: a text is checked, by
// [Markdown.Check], and never parsed for its items. Where something has to be read back, that is what [JSON] is for.
//
// Every line of a body stands in a block quote and in a code block inside of it, so that no Markdown in it is Markdown.
type Markdown struct {
	// Title is the first line. "" is "# PowerContext historical context"; more than one line, a control or format character, a
	// marker, and the start of a fence, of an HTML block that goes on behind blank lines or of a link definition are errors.
	Title string
	// Wrapper is the text around the sections. Zero is PowerContextTextV1. Besides the rules of Wrapper, no marker begins with
	// >, stands in a title or could stand in metadata outside of names and strings, and no line opens a fence, an HTML block or a link
	// definition.
	Wrapper Wrapper
	// Scope is shown for citations of this package's types that carry none. Invalid UTF-8 is an error.
	Scope string
	// Sections are the kinds that are shown, in this order. Nil is memory up to 6, then experience up to 2; an empty slice
	// that is not nil selects nothing. Two sections
	// of one kind, or shown with one title, are an error.
	Sections []Section
	// Show adds lines to each item.
	Show Show
	// Invisible makes characters of the property Default_Ignorable_Code_Point (variation selectors, fillers) visible too.
	Invisible bool
}

// Section is a kind of items, and how it is shown.
type Section struct {
	Kind  string // "" is "memory"
	Title string // "" derives from the kind: "topic-memory" is "Topic Memory"; see Markdown.Title for what is an error
	Limit int    // how many items are delivered; 0 is Budget.MaxItems, Unlimited is no bound, any other negative is an error
}

// Show is a set of lines that an item may have.
type Show uint8

// The lines, to be combined with |. Any other bit is an error.
const (
	// ShowConfidence says that nobody has assessed whether the item is right.
	ShowConfidence Show = 1 << iota
	// ShowRank is the item's place among the candidates of its section, from 1. It has gaps where the budget left some out.
	ShowRank

	allShow = ShowConfidence | ShowRank
)

// Append appends to dst the text of the items that b has room for, section by section and in each in input order, and reports
// on each item. Errors, empty results and dst are as for [JSON.Append].
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
	bounds, err := b.bounds()
	if err != nil {
		return dst, err
	}
	s := newSelection(items, bounds, m.Scope, r.Items)
	r.Items = s.report
	for i := range items {
		if w.section(kindOf(&items[i])) < 0 {
			s.report[i].Outcome = Unselected
		}
	}
	out := dst
	full := endOf(len(dst), bounds.bytes-len(blockEnd)-len(w.wrapper.End)) // where the closing has to begin at the latest
	if full-len(dst) > len(w.title)+len(w.wrapper.Notice)+len(w.wrapper.Begin)+2*len(blockEnd) {
		out = w.appendOpening(dst)
	} else {
		full = -1
	}
	var scratch [headBytes]byte
	for k := range w.sections {
		out = w.appendSection(out, &s, k, full, scratch[:])
	}
	if s.delivered == 0 {
		return dst, nil
	}
	out = append(append(out, blockEnd...), w.wrapper.End...)
	r.Bytes = len(out) - len(dst)
	return out, nil
}

// Render is [Markdown.Append] for a caller without a buffer.
func (m Markdown) Render(items []Item, b Budget) (Prepared, error) {
	text, report, err := m.Append(nil, items, b)
	return Prepared{Content: string(text), Report: report}, err
}

// blockEnd is what stands between two blocks.
const blockEnd = "\n\n"

// markdownWriter is a Markdown with its defaults filled in.
type markdownWriter struct {
	title    string
	wrapper  Wrapper
	markers  markers
	scope    string
	sections []Section
	show     Show
	display  *display
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
		w.wrapper, w.markers = m.Wrapper, m.Wrapper.markers()
	}
	w.title, w.sections = "# PowerContext historical context", defaultSections
	if m.Title != "" {
		w.title = m.Title
	}
	if m.Sections != nil {
		w.sections = m.Sections
	}
	// The defaults go together; whatever is the caller's own is held against everything.
	if m.Title != "" || m.Sections != nil || w.wrapper != defaultTextWrapper {
		if err := w.validateHeadings(); err != nil {
			return w, err
		}
	}
	w.scope, w.show, w.display = m.Scope, m.Show, &displays[0]
	if m.Invisible {
		w.display = &displays[1]
	}
	if at := firstInvalid(m.Scope); at >= 0 {
		return w, notText("scope", at)
	}
	if m.Show > allShow {
		return w, optionError(ErrOption, "show", -1, "unknown bits")
	}
	return w, nil
}

// validateMarkdown demands of a wrapper what only Markdown needs.
func (w Wrapper) validateMarkdown() error {
	for _, m := range [...]struct{ text, field string }{{w.Begin, "wrapper.Begin"}, {w.End, "wrapper.End"}} {
		switch {
		case m.text[0] == '>':
			return optionError(ErrWrapper, m.field, 0, "a marker of Markdown does not begin as a body does")
		case swallows(m.text):
			return optionError(ErrWrapper, m.field, 0, swallowsRule)
		case overlapsMetadata(m.text):
			return optionError(ErrWrapper, m.field, 0, "a marker of Markdown is not what metadata is made of")
		}
	}
	for at := 0; at <= len(w.Notice); {
		line, _, _ := strings.Cut(w.Notice[at:], "\n")
		if swallows(line) {
			return optionError(ErrWrapper, "wrapper.Notice", at, swallowsRule)
		}
		at += len(line) + 1
	}
	return nil
}

// overlapsMetadata reports whether a marker could stand in metadata elsewhere than in a string or a member's name, where
// escaping a character of it would change what the line says. No marker has a quote, so one that begins outside of a string ends there.
func overlapsMetadata(marker string) bool {
	for _, label := range labels {
		if strings.Contains(label, marker) {
			return true
		}
	}
	if strings.HasSuffix(rankLabel, strings.TrimRight(marker, "0123456789")) {
		return true
	}
	if !strings.ContainsAny(marker, ":=,{}[]+") {
		return false // in a name at the most
	}
	for i := range len(marker) - 1 {
		if !adjacent(marker[i], marker[i+1]) {
			return false
		}
	}
	return true
}

// adjacent reports whether metadata may have a before b outside of strings and labels: in names, numbers and words, between a name
// and its value, between members, in arrays and objects.
func adjacent(a, b byte) bool {
	after := func(set string) bool { return strings.IndexByte(set, b) >= 0 }
	switch {
	case nameBytes[a]:
		return nameBytes[b] || after(":=,]}+")
	case a == ':' || a == ',':
		return nameBytes[b] || after(" [{")
	case a == ' ' || a == '=':
		return nameBytes[b] || after("[{")
	case a == '[':
		return nameBytes[b] || after("[{]")
	case a == ']' || a == '}':
		return after(",]}")
	}
	return a == '{' && b == '}' || a == '+' && nameBytes[b]
}

// labels are what metadata has of its own.
var labels = [...]string{
	"Scope", "Artifact", "family", "revision", "Entry", "version",
	"Confidence: unknown (not assessed)", rankLabel, "Truncated: yes", "Truncated: no",
}

const rankLabel = "Recall rank: "

const swallowsRule = "a line that opens a fence, an HTML block or a link definition"

// swallows reports whether CommonMark takes a line for the start of a block that blank lines do not end, so that what follows would not be
// Markdown any more: a fence, or an HTML block of types 1 to 5 (CommonMark 0.31, sections 4.5 and 4.6). A link reference definition
// (4.7), which would not be shown, counts too.
func swallows(line string) bool {
	line = strings.TrimLeft(line, " ")
	for _, start := range [...]string{"```", "~~~", "<script", "<pre", "<style", "<textarea", "<!", "<?"} {
		if len(line) >= len(start) && strings.EqualFold(line[:len(start)], start) {
			return true
		}
	}
	return strings.HasPrefix(line, "[") && strings.Contains(line, "]:")
}

// titleFault returns the rule that text breaks to be no text of a line, and where.
func titleFault(text string) (at int, rule string) {
	if bad := firstInvalid(text); bad >= 0 {
		return bad, "invalid UTF-8"
	}
	for i, r := range text {
		if control(r) || r == '\u2028' || r == '\u2029' || anyInvisible(r, r) {
			return i, "a control, format or line-boundary character"
		}
	}
	if blank(text, len(text)) {
		return len(text), "blank"
	}
	return 0, ""
}

// in reports whether text holds a marker.
func (m *markers) in(text string) bool {
	return strings.Contains(text, m.both[0].text) || strings.Contains(text, m.both[1].text)
}

// validateHeadings checks the title and the sections, by themselves and against the markers.
func (w *markdownWriter) validateHeadings() error {
	if at, rule := titleFault(w.title); rule != "" {
		return optionError(ErrOption, "title", at, rule)
	}
	if swallows(w.title) {
		return optionError(ErrOption, "title", -1, swallowsRule)
	}
	if w.markers.in(w.title) {
		return optionError(ErrOption, "title", -1, "a marker stands in it")
	}
	for k := range w.sections {
		if err := w.validateSection(k); err != nil {
			return err
		}
	}
	return nil
}

func (w *markdownWriter) validateSection(k int) error {
	section := &w.sections[k]
	fault := func(field string, offset int, rule string) error {
		return optionError(ErrOption, "sections["+strconv.Itoa(k)+"]."+field, offset, rule)
	}
	if section.Limit < Unlimited {
		return fault("Limit", -1, "a limit is positive, 0 for Budget.MaxItems, or -1 for none")
	}
	if w.section(section.kind()) != k {
		return fault("Kind", -1, "an earlier section has the same")
	}
	title := section.Title
	if title == "" {
		title = section.kind() // what derives from it has the same faults, and one more
		if strings.Trim(title, "-_") == "" {
			return fault("Title", len(title), "blank")
		}
	}
	if at, rule := titleFault(title); rule != "" {
		return fault("Title", at, rule)
	}
	var buf, other [128]byte
	heading := append(appendTitle(append(buf[:0], itemHeading...), section), ' ')
	for i := range w.markers.both {
		m := &w.markers.both[i]
		number := strings.TrimRight(m.text, "0123456789") // a marker may go on in the number
		n := min(len(number), len(heading))
		if m.index(heading) < len(heading) || len(number) <= len(heading) && number[:n] == string(heading[len(heading)-n:]) {
			return fault("Title", -1, "a marker stands in the heading")
		}
	}
	for i := range k {
		if earlier := appendTitle(append(other[:0], itemHeading...), &w.sections[i]); string(earlier) == string(heading[:len(heading)-1]) {
			return fault("Title", -1, "an earlier section has the same")
		}
	}
	return nil
}

func (s *Section) kind() string {
	if s.Kind == "" {
		return defaultKind
	}
	return s.Kind
}

// section returns the section of a kind, or -1.
func (w *markdownWriter) section(kind string) int {
	return slices.IndexFunc(w.sections, func(s Section) bool { return s.kind() == kind })
}

// appendTitle appends the section's title, or the one that derives from its kind: words instead of hyphens and underscores, each
// with a capital where it begins with an ASCII letter.
func appendTitle(dst []byte, s *Section) []byte {
	if s.Title != "" {
		return append(dst, s.Title...)
	}
	start := true
	for i := range len(s.kind()) {
		c := s.kind()[i]
		if c == '-' || c == '_' {
			c = ' '
		}
		if start && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		start = c == ' '
		dst = append(dst, c)
	}
	return dst
}

func (w *markdownWriter) appendOpening(dst []byte) []byte {
	dst = append(append(dst, w.title...), blockEnd...)
	dst = append(append(dst, w.wrapper.Notice...), blockEnd...)
	return append(dst, w.wrapper.Begin...)
}

const (
	sectionHeading = "## "
	itemHeading    = "### "
	indent         = "    "
	truncatedLine  = indent + "Truncated: "
	bodyPrefix     = ">     "
)

// appendSection appends the items of section k.
func (w *markdownWriter) appendSection(dst []byte, s *selection, k int, full int, scratch []byte) []byte {
	section := &w.sections[k]
	limit := bound(section.Limit, s.bounds.items, math.MaxInt)
	kind, rank, shown := section.kind(), 0, 0
	for i := range s.items {
		if kindOf(&s.items[i]) != kind {
			continue
		}
		var c citation
		if !candidate(s, w.meter(), i, &c, shown == limit || s.delivered == s.bounds.items) {
			continue
		}
		var o Outcome
		var n int
		dst, o, n = w.appendItem(dst, &s.items[i], &c, place{section, shown + 1, rank + 1}, full, &s.bounds, scratch)
		s.settle(i, o, n)
		if o != Malformed {
			rank++
		}
		if o.Delivered() {
			shown++
		}
	}
	return dst
}

// place is where an item stands: its number among those shown in the section, and its rank among the candidates.
type place struct {
	section      *Section
	number, rank int
}

// appendItem appends the item, or as much of it as ends before byte full of the buffer.
func (w *markdownWriter) appendItem(dst []byte, item *Item, c *citation, p place, full int, b *bounds, scratch []byte) ([]byte, Outcome, int) {
	start := len(dst)
	a := allowance{item: b.item, min: b.min, whole: -1, cut: -1}
	least := 2*len(truncatedLine) + max(len(p.section.Title), 1)
	if c.form != objectForm {
		least += c.leastBytes()
		if c.scope == "" {
			least += len(w.scope)
		}
	}
	if full-start > least {
		head := w.appendHead(headSpace(dst, scratch, least), c, p)
		if whole := full - start - len(head); whole > 0 {
			dst = append(dst, head...)
			a.whole, a.cut = whole, whole+len("no")-len("yes")
		}
	}
	body := len(dst)
	dst, o, n := trim(w.meter(), &w.markers, dst, item.Content, a)
	if !o.Delivered() {
		return dst[:start], o, n
	}
	if o == Truncated {
		no := body - len("no"+blockEnd+bodyPrefix)
		dst = slices.Insert(dst, no, 0)
		copy(dst[no:], "yes")
	}
	return dst, o, n
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

// plain writes the strings of metadata: as JSON literals of printable ASCII.
var plain = &escapers[EscapeNonASCII|EscapeControls]

// appendCitation appends a line for each thing that the citation says.
func (w *markdownWriter) appendCitation(dst []byte, c *citation) []byte {
	if c.form == objectForm {
		for name, value := range members(c.object) {
			dst = appendName(append(dst, "\n"+indent...), name)
			dst = appendValue(append(dst, ": "...), value)
		}
		return dst
	}
	scope := c.scope
	if scope == "" {
		scope = w.scope
	}
	if scope != "" {
		dst = plain.appendLiteral(append(dst, "\n"+indent+"Scope: "...), scope)
	}
	dst = plain.appendLiteral(append(dst, "\n"+indent+"Artifact: family="...), c.ref.Family)
	dst = plain.appendLiteral(append(dst, ", id="...), c.ref.ArtifactID)
	dst = strconv.AppendInt(append(dst, ", revision="...), c.ref.Revision, 10)
	if c.form == memoryForm {
		dst = plain.appendLiteral(append(dst, "\n"+indent+"Entry: id="...), c.entry)
		dst = plain.appendLiteral(append(dst, ", version="...), c.version)
	}
	return dst
}

func appendName(dst []byte, name string) []byte {
	if bareName(name) {
		return append(dst, name...)
	}
	return plain.appendLiteral(dst, name)
}

// bareName reports whether a member's name is shown without quotes: [A-Za-z0-9_.-]{1,64}, and none of the renderer's own labels, so that
// no citation looks like one of this package's types, and none seems to say whether it is truncated.
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

var nameBytes = func() (t [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-" {
		t[c] = true
	}
	return t
}()

// appendValue appends a member's value: that of an object, unless it is empty, as its members.
func appendValue(dst, value []byte) []byte {
	if value[0] != '{' || len(value) == len("{}") {
		return appendCompact(dst, value, plain)
	}
	first := true
	for name, value := range members(value) {
		if !first {
			dst = append(dst, ", "...)
		}
		first = false
		dst = append(appendName(dst, name), '=')
		dst = appendCompact(dst, value, plain)
	}
	return dst
}

// display shows text: every line behind the prefix of a body, and what could not be seen as a visible escape. It decides how a character
// of a body is written.
type display struct {
	invisible bool
	shown     machine             // reads characters that are shown as they are
	plain     [utf8.RuneSelf]bool // the ASCII characters that are shown as they are
}

// displays has the one that shows format characters, and the one that shows all invisible ones.
var displays = func() (all [2]display) {
	all[1].invisible = true
	for c := ' '; c < '\x7f'; c++ {
		all[0].plain[c], all[1].plain[c] = true, true
	}
	for k := range all {
		all[k].shown = newMachine(all[k].shows)
	}
	return all
}()

// lineBreak is how a line of a body ends and the next begins.
const lineBreak = "\n" + bodyPrefix

// hidden reports whether r, which is no end of a line, is shown as an escape.
func (d *display) hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return !d.plain[r]
	}
	return d.anyHidden(r, r)
}

// anyHidden reports whether one of the characters from first to last, which are not ASCII, is shown as an escape.
func (d *display) anyHidden(first, last rune) bool {
	return first <= '\u009f' || anyFormat(first, last) || d.invisible && overlap(ignorable, first, last)
}

// shows reports whether no character from low to high, which are both ASCII or both not, is hidden or ends a line.
func (d *display) shows(low, high rune) bool {
	if high < utf8.RuneSelf {
		return !slices.Contains(d.plain[low:high+1], false)
	}
	return !(low <= '\u2029' && '\u2028' <= high) && !d.anyHidden(low, high)
}

// piece returns the length of the first thing in s that a cut does not split, what it is of content as displayed, and what it takes
// written. Where s begins with invalid UTF-8, n is 0.
func (d *display) piece(s string) (r rune, n, used, written int) {
	if c := s[0]; c < utf8.RuneSelf && c != '\r' {
		switch {
		case c == '\n':
			return '\n', 1, 1, len(lineBreak)
		case d.plain[c]:
			return rune(c), 1, 1, 1
		}
		return rune(c), 1, len(`\uXXXX`), len(`\uXXXX`)
	}
	r, n = utf8.DecodeRuneInString(s)
	switch {
	case r == '\r' && strings.HasPrefix(s[1:], "\n"):
		return '\n', 2, 1, len(lineBreak)
	case r == '\r' || r == '\u2028' || r == '\u2029':
		return '\n', n, 1, len(lineBreak)
	case r == utf8.RuneError && n == 1:
		return r, 0, 1, 1
	case !d.hidden(r):
		return r, n, n, n
	case r <= 0xffff:
		return r, n, len(`\uXXXX`), len(`\uXXXX`)
	}
	return r, n, len(`\UXXXXXXXX`), len(`\UXXXXXXXX`)
}

// plainPrefix returns the length of the longest prefix of s that is valid UTF-8 and is shown as it is.
func (d *display) plainPrefix(s string) int {
	i := 0
	for i < len(s) {
		c := s[i]
		if c < utf8.RuneSelf {
			if n := printablePrefix(s[i:]); n > 0 {
				i += n
				continue
			}
			if !d.plain[c] {
				break
			}
			i++
			continue
		}
		n := 0
		for len(s)-i-n >= tripleBytes && commonTriples(load64(s, i+n), load64(s, i+n+8), load64(s, i+n+16)) {
			n += tripleBytes
		}
		if n == 0 {
			n = d.shown.prefix(s[i:min(i+machineBytes, len(s))])
		}
		if n == 0 {
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 || r == '\u2028' || r == '\u2029' || d.hidden(r) {
				break
			}
		}
		i += n
	}
	return i
}

// commonTriples reports whether three words are eight characters of three bytes each that are valid UTF-8 and are shown as they are by
// every display: those with the lead bytes 0xe4 to 0xec, most of Han and Hangul.
func commonTriples(w0, w1, w2 uint64) bool {
	faults, leads := triples(w0, w1, w2)
	low, high := leads+(0x80-0x4)*lowBits, leads+(0x80-0xd)*lowBits // the high bits tell which are not below
	return faults == 0 && low&^high&highBits == highBits
}

// markdownMeter measures content for a Markdown text: the display form for the item bounds, line prefixes added for the text.
type markdownMeter struct{ *display }

func (w *markdownWriter) meter() markdownMeter { return markdownMeter{w.display} }

func (m markdownMeter) fill(dst []byte, s string, size, room int) (out []byte, n, used int, valid bool) {
	full := endOf(len(dst), room)
	for n < len(s) {
		if c := s[n]; c >= utf8.RuneSelf || m.plain[c] {
			end := cutAt(s, n, min(full-len(dst), size-used))
			clean := m.plainPrefix(s[n:end])
			dst = append(dst, s[n:n+clean]...)
			n, used = n+clean, used+clean
			if n == len(s) {
				break
			}
		}
		r, width, u, w := m.piece(s[n:])
		switch {
		case width == 0:
			return dst, n, used, false
		case u > size-used || w > full-len(dst):
			return dst, n, used, true
		case r == '\n':
			dst = append(dst, lineBreak...)
		case u == width:
			dst = utf8.AppendRune(dst, r)
		default:
			dst = appendVisible(dst, r)
		}
		n, used = n+width, used+u
	}
	return dst, n, used, true
}

// appendVisible appends \uXXXX, or \UXXXXXXXX above U+FFFF.
func appendVisible(dst []byte, r rune) []byte {
	if r <= 0xffff {
		return appendUnit(dst, uint16(r))
	}
	dst = append(dst, `\U`...)
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, lowerHex[r>>shift&0xf])
	}
	return dst
}

func (m markdownMeter) last(s string) (n, used, written int) {
	_, n = utf8.DecodeLastRuneInString(s)
	if strings.HasSuffix(s, "\r\n") {
		n = len("\r\n")
	}
	_, n, used, written = m.piece(s[len(s)-n:])
	return n, used, written
}

func (m markdownMeter) measure(s string, size int) (used, bad int) {
	bad = -1
	atBad := 0
	for i := 0; i < len(s) && used <= size; {
		clean := m.plainPrefix(s[i:cutAt(s, i, size-used+1)])
		i += clean
		used += clean
		if i == len(s) || used > size {
			break
		}
		_, n, u, _ := m.piece(s[i:])
		if n == 0 {
			if bad < 0 {
				bad, atBad = i, used
			}
			n = 1
		}
		i, used = i+n, used+u
	}
	if used > size && atBad+1 > size-len(ellipsis) {
		bad = -1
	}
	return used, bad
}

func (markdownMeter) dots() string { return ellipsis }
