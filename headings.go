package envelope

import (
	"strconv"
	"strings"

	"github.com/untrusted-context/envelope/internal/quote"
)

// Section is a kind of items, and how it is shown.
type Section struct {
	Kind string // "" is "memory"
	// Title derives from the kind when it is "": "topic-memory" is "Topic Memory". See
	// Markdown.Title for what is an error.
	Title string
	// Limit is how many items are delivered: 0 is Budget.MaxItems, Unlimited is no bound, any other
	// negative number is an error.
	Limit int
}

// headings is the title and the sections of a document.
type headings struct {
	title    string
	sections []Section
	index    map[string]int // the sections by kind, where there are many
}

const itemHeading = "### "

// titleFault returns the rule that text breaks to be no text of a line, and where.
func titleFault(text string) (at int, rule string) {
	if bad := quote.FirstInvalid(text); bad >= 0 {
		return bad, "invalid UTF-8"
	}
	for i, r := range text {
		if quote.Control(r) || quote.LineBoundary(r) || quote.IsInvisible(r) {
			return i, "a control, format or line-boundary character"
		}
	}
	if quote.Blank(text, len(text)) {
		return len(text), "blank"
	}
	return 0, ""
}

// validate checks the title and the sections, by themselves and against the markers.
func (h *headings) validate(m *markers) error {
	if at, rule := titleFault(h.title); rule != "" {
		return optionError(ErrOption, "title", at, rule)
	}
	if swallows(h.title) {
		return optionError(ErrOption, "title", -1, swallowsRule)
	}
	if m.in(h.title) {
		return optionError(ErrOption, "title", -1, "a marker stands in it")
	}
	var titles map[string]bool
	if len(h.sections) > fewItems {
		titles = make(map[string]bool, len(h.sections))
	}
	for k := range h.sections {
		if err := h.validateSection(k, m, titles); err != nil {
			return err
		}
	}
	return nil
}

// validateSection checks section k, whose title it enters into titles unless that is nil.
func (h *headings) validateSection(k int, m *markers, titles map[string]bool) error {
	section := &h.sections[k]
	fault := func(field string, offset int, rule string) error {
		return optionError(ErrOption, "sections["+strconv.Itoa(k)+"]."+field, offset, rule)
	}
	if section.Limit < Unlimited {
		return fault("Limit", -1, "a limit is positive, 0 for Budget.MaxItems, or -1 for none")
	}
	if h.sectionOf(section.kind()) != k {
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
	var buf [128]byte
	heading := append(appendTitle(append(buf[:0], itemHeading...), section), ' ')
	if m.inHeading(heading) {
		return fault("Title", -1, "a marker stands in the heading")
	}
	shown := heading[len(itemHeading) : len(heading)-1]
	if titles[string(shown)] || titles == nil && h.showsEarlier(k, shown) {
		return fault("Title", -1, "an earlier section has the same")
	}
	if titles != nil {
		titles[string(shown)] = true
	}
	return nil
}

// showsEarlier reports whether a section before section k is shown with this title.
func (h *headings) showsEarlier(k int, title []byte) bool {
	var buf [128]byte
	for i := range k {
		if string(appendTitle(buf[:0], &h.sections[i])) == string(title) {
			return true
		}
	}
	return false
}

func (s *Section) kind() string {
	if s.Kind == "" {
		return defaultKind
	}
	return s.Kind
}

// indexSections makes sectionOf fast where there are many sections.
func (h *headings) indexSections() {
	if len(h.sections) <= fewItems {
		return
	}
	h.index = make(map[string]int, len(h.sections))
	for k := len(h.sections) - 1; k >= 0; k-- {
		h.index[h.sections[k].kind()] = k
	}
}

// sectionOf returns the first section of a kind, or -1.
func (h *headings) sectionOf(kind string) int {
	if h.index != nil {
		if k, ok := h.index[kind]; ok {
			return k
		}
		return -1
	}
	for k := range h.sections {
		if h.sections[k].kind() == kind {
			return k
		}
	}
	return -1
}

// appendTitle appends the section's title, or the one that derives from its kind: words instead
// of hyphens and underscores, each with a capital where it begins with an ASCII letter.
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

// validateMarkdown demands of a wrapper what only Markdown needs.
func (w Wrapper) validateMarkdown() error {
	for _, m := range w.both() {
		rule := ""
		switch {
		case m.text[0] == '>':
			rule = "a marker of Markdown does not begin as a body does"
		case swallows(m.text):
			rule = swallowsRule
		case overlapsMetadata(m.text):
			rule = "a marker of Markdown is not what metadata is made of"
		}
		if rule != "" {
			return optionError(ErrWrapper, m.field, 0, rule)
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

// overlapsMetadata reports whether a marker could stand in metadata elsewhere than in a string or
// a member's name, where escaping a character of it would change what the line says. No marker
// has a quote, so one that begins outside of a string ends there.
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

// adjacent reports whether metadata may have a before b outside of strings and labels: in names,
// numbers and words, between a name and its value, between members, in arrays and objects.
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

// swallows reports whether CommonMark takes a line for the start of a block that blank lines do
// not end, so that what follows would not be Markdown any more: a fence, or an HTML block of
// types 1 to 5 (CommonMark 0.31, sections 4.5 and 4.6). A link reference definition (4.7), which
// would not be shown, counts too.
func swallows(line string) bool {
	line = strings.TrimLeft(line, " ")
	for _, start := range [...]string{
		"```", "~~~", "<script", "<pre", "<style", "<textarea", "<!", "<?",
	} {
		if len(line) >= len(start) && strings.EqualFold(line[:len(start)], start) {
			return true
		}
	}
	return strings.HasPrefix(line, "[") && strings.Contains(line, "]:")
}

// nameBytes has the characters of a member's name that is shown without quotes.
var nameBytes = func() (t [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-" {
		t[c] = true
	}
	return t
}()
