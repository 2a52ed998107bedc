package envelope

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/untrusted-context/envelope/internal/quote"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// Check reports whether text is intact as every line reader sees it. The frame stands where it
// belongs and once; every line is of a kind that the same renderer writes, in an order in which
// it can write it; no character stands raw that it would have made visible. The error is an
// *[Error] that says what is wrong at which byte of the text. A line feed after the end marker is
// not a part of the text.
//
// It says nothing about where the items are from, and returns none: rendered Markdown is for
// reading.
func (m Markdown) Check(text string) error {
	w, err := m.writer()
	if err != nil {
		return err
	}
	f := frame{
		string(w.appendOpening(nil)) + blockEnd, blockEnd + w.wrapper.End, &w.wrapper, true,
	}
	sections, start, fault := f.inside(text)
	if fault != nil {
		return fault
	}
	if at, what := w.textFault(sections); what != nil {
		return openError(what, start+at)
	}
	c := checker{w: &w, text: sections, base: start}
	if fault := c.sections(); fault != nil {
		return fault
	}
	return nil
}

// textFault returns the first thing that stands nowhere between the markers.
func (w *markdownWriter) textFault(text string) (at int, what error) {
	for i, r := range text {
		switch {
		case r == '\n':
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			return i, ErrInvalidUTF8
		case quote.LineBoundary(r):
			return i, ErrLineBoundary
		case w.display.Hides(r):
			return i, ErrHidden
		}
	}
	if s := w.markers.search([]byte(text)); s.next() {
		return s.start, ErrMarker
	}
	return 0, nil
}

// checker reads the lines between the markers, one after the other.
type checker struct {
	w    *markdownWriter
	text string // what is still to be read
	base int    // the offset of text in the whole
	done bool   // the last line has been read
}

// line returns the next line without reading it.
func (c *checker) line() string {
	line, _, _ := strings.Cut(c.text, "\n")
	return line
}

func (c *checker) next() {
	_, rest, more := strings.Cut(c.text, "\n")
	c.base += len(c.text) - len(rest)
	c.text, c.done = rest, !more
}

// read reads the next line if it is the one that is wanted.
func (c *checker) read(want string) bool {
	if c.done || c.line() != want {
		return false
	}
	c.next()
	return true
}

// fault is that the next line is not one that the renderer writes there.
func (c *checker) fault() *Error { return openError(ErrStructure, c.base) }

func (c *checker) sections() *Error {
	for k := range c.w.sections {
		section := &c.w.sections[k]
		if !c.read(sectionHeading + string(appendTitle(nil, section))) {
			continue
		}
		if !c.read("") {
			return c.fault()
		}
		if err := c.items(section); err != nil {
			return err
		}
		if c.done {
			return nil
		}
	}
	return c.fault()
}

// items reads the items of a section, of which there is at least one.
func (c *checker) items(section *Section) *Error {
	heading := itemHeading + string(appendTitle(nil, section)) + " "
	seen := map[string]bool{}
	rank := 0
	for number := 1; number == 1 || strings.HasPrefix(c.line(), itemHeading); number++ {
		over := section.Limit > 0 && number > section.Limit
		if over || !c.read(heading+strconv.Itoa(number)) || !c.read("") {
			return c.fault()
		}
		start := c.base
		citation, truncated, err := c.metadata(&rank)
		if err != nil {
			return err
		}
		if seen[citation] {
			return openError(ErrUndeliverable, start)
		}
		seen[citation] = true
		if err := c.body(truncated); err != nil {
			return err
		}
		if c.done {
			return nil
		}
		if !c.read("") || c.done {
			return c.fault()
		}
	}
	return nil
}

// metadata reads the lines before the body, and the empty one behind them.
func (c *checker) metadata(rank *int) (citation string, truncated bool, err *Error) {
	var lines []string
	var starts []int
	for !c.done && strings.HasPrefix(c.line(), indent) {
		lines, starts = append(lines, c.line()), append(starts, c.base)
		c.next()
	}
	wrong := func(k int) (string, bool, *Error) {
		if k >= 0 && k < len(starts) {
			return "", false, openError(ErrStructure, starts[k])
		}
		return "", false, c.fault()
	}
	last := len(lines) - 1
	if last < 0 || lines[last] != truncatedLine+"no" && lines[last] != truncatedLine+"yes" {
		return wrong(last)
	}
	truncated = lines[last] == truncatedLine+"yes"
	last--
	if c.w.show&ShowRank != 0 {
		n, ok := 0, false
		if last >= 0 {
			n, ok = decimal(lines[last], indent+rankLabel)
		}
		if !ok || n <= *rank {
			return wrong(last)
		}
		*rank = n
		last--
	}
	if c.w.show&ShowConfidence != 0 {
		if last < 0 || lines[last] != c.w.broken(indent+"Confidence: unknown (not assessed)") {
			return wrong(last)
		}
		last--
	}
	lines = lines[:last+1]
	if k := c.w.citationFault(lines); k >= 0 {
		return wrong(k)
	}
	if !c.read("") {
		return "", false, c.fault()
	}
	return strings.Join(lines, "\n"), truncated, nil
}

// broken is a text of the renderer's own with the markers in it broken, as in the items.
func (w *markdownWriter) broken(text string) string {
	return string(w.markers.breakFrom([]byte(text), 0))
}

// decimal reads a number as the renderer writes it, behind a prefix: whatever is not one is
// written differently.
func decimal(line, prefix string) (int, bool) {
	digits, _ := strings.CutPrefix(line, prefix)
	n, _ := strconv.Atoi(digits)
	return n, strconv.Itoa(n) == digits
}

// citationFault returns the first of the lines that is not as appendCitation writes a citation,
// or -1. They are read as those of one of this package's citations or, failing that, of any
// other, and written anew.
func (w *markdownWriter) citationFault(lines []string) int {
	own, ok := w.ownCitation(lines)
	if ok && w.differ(&own, lines) < 0 {
		return -1
	}
	object, k := objectLines(lines)
	if k >= 0 {
		return k
	}
	c, err := objectCitation(json.RawMessage(object))
	if err != nil || c.form != objectForm {
		return max(len(lines)-1, 0)
	}
	return w.differ(&c, lines)
}

// differ returns the first of the lines that is not as c is written, or -1.
func (w *markdownWriter) differ(c *citation, lines []string) int {
	var written []string
	if text := w.broken(string(w.appendCitation(nil, c))); text != "" {
		written = strings.Split(text[1:], "\n")
	}
	for k := range max(len(written), len(lines)) {
		if k >= len(written) || k >= len(lines) || written[k] != lines[k] {
			return min(k, max(len(lines)-1, 0))
		}
	}
	return -1
}

// objectLines reads lines as those of an object's members. It returns the first that is none, or
// -1.
func objectLines(lines []string) (object []byte, bad int) {
	object = append(object, '{')
	for k, line := range lines {
		if k > 0 {
			object = append(object, ',')
		}
		r := lineReader{line: []byte(strings.TrimPrefix(line, indent))}
		object = append(r.name(object, ": "), ':')
		object = r.value(object)
		if r.bad {
			return nil, k
		}
	}
	return append(object, '}'), -1
}

func (w *markdownWriter) ownCitation(lines []string) (c citation, ok bool) {
	c.form = artifactForm
	if len(lines) > 0 {
		if r := (lineReader{line: []byte(lines[0])}); r.skip(indent + "Scope: ") {
			if c.Scope = r.text(); r.bad || !r.done() || c.Scope == "" {
				return c, false
			}
			lines = lines[1:]
		}
	}
	if len(lines) == 0 || len(lines) > 2 {
		return c, false
	}
	r := lineReader{line: []byte(lines[0])}
	r.must(indent + "Artifact: family=")
	c.Memory.Family = r.text()
	r.must(", id=")
	c.Memory.ArtifactID = r.text()
	r.must(", revision=")
	revision, err := strconv.ParseInt(string(r.line[r.at:]), 10, 64)
	c.Memory.Revision = revision
	if len(lines) == 2 {
		c.form = memoryForm
		entry := lineReader{line: []byte(lines[1])}
		entry.must(indent + "Entry: id=")
		c.EntryID = entry.text()
		entry.must(", version=")
		c.EntryVersionID = entry.text()
		r.bad = r.bad || entry.bad || !entry.done()
	}
	return c, !r.bad && err == nil && c.lacking() == ""
}

// lineReader reads a line of metadata from the left. Once something was not there, it is bad.
type lineReader struct {
	line []byte
	at   int
	bad  bool
}

func (r *lineReader) done() bool { return r.at == len(r.line) }

func (r *lineReader) skip(text string) bool {
	ok := bytes.HasPrefix(r.line[r.at:], []byte(text))
	if ok {
		r.at += len(text)
	}
	return ok
}

func (r *lineReader) must(text string) { r.bad = !r.skip(text) || r.bad }

// json reads a JSON value.
func (r *lineReader) json() []byte {
	s := strictjson.Scanner{Data: r.line}
	end, fault := s.Value(r.at)
	if fault != nil {
		r.bad = true
		return nil
	}
	value := r.line[r.at:end]
	r.at = end
	return value
}

// text reads a JSON string and decodes it.
func (r *lineReader) text() string {
	if r.done() || r.line[r.at] != '"' {
		r.bad = true
		return ""
	}
	if literal := r.json(); !r.bad {
		return string(strictjson.Decode(literal))
	}
	return ""
}

// name reads a member's name and what stands between it and the value, and appends it to dst as a
// JSON string.
func (r *lineReader) name(dst []byte, end string) []byte {
	if !r.done() && r.line[r.at] == '"' {
		dst = append(dst, r.json()...)
		r.must(end)
		return dst
	}
	name, _, ok := bytes.Cut(r.line[r.at:], []byte(end))
	r.bad = r.bad || !ok
	r.at = min(r.at+len(name)+len(end), len(r.line))
	dst = append(append(dst, '"'), name...)
	return append(dst, '"') // a marker in it is broken with an escape that is JSON's
}

// value reads a member's value, JSON or the members of an object, to the end of the line, and
// appends it to dst.
func (r *lineReader) value(dst []byte) []byte {
	whole := *r
	if value := whole.json(); !whole.bad && whole.done() {
		return append(dst, value...)
	}
	r.bad = r.bad || r.done()
	for first := true; !r.done() && !r.bad; first = false {
		if first {
			dst = append(dst, '{')
		} else {
			r.must(", ")
			dst = append(dst, ',')
		}
		dst = append(r.name(dst, "="), ':')
		dst = append(dst, r.json()...)
	}
	return append(dst, '}')
}

// body reads the lines of a body, of which there is at least one.
func (c *checker) body(truncated bool) *Error {
	start := c.base
	var shown []string
	for !c.done {
		line, ok := strings.CutPrefix(c.line(), bodyPrefix)
		if !ok {
			break
		}
		shown = append(shown, line)
		c.next()
	}
	if len(shown) == 0 {
		return c.fault()
	}
	text := strings.Join(shown, "\n")
	blank := quote.Blank(text, len(text))
	if blank || truncated && (!strings.HasSuffix(text, ellipsis) || text == ellipsis) {
		return openError(ErrUndeliverable, start)
	}
	return nil
}
