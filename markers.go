package envelope

import (
	"bytes"
	"slices"
	"strings"

	"github.com/untrusted-context/envelope/internal/quote"
)

// marker is what must stand in a text once only.
type marker struct {
	text string
	at   int // of the character that is escaped to break it
	rare int // of the character to look for
}

// markers is the two markers of a wrapper.
type markers struct {
	both   [2]marker
	common string // what stands in both markers: a text without it has neither; or ""
	rare   int    // of the character of it to look for
	places [2]int // of that character in each marker
}

func newMarkers(begin, end string) markers {
	m := markers{both: [2]marker{newMarker(begin), newMarker(end)}}
	for i := range len(begin) {
		k := strings.IndexByte(end, begin[i])
		if k < 0 || m.common != "" && rarity[begin[i]] <= rarity[m.common[m.rare]] {
			continue
		}
		// The rarest character that both have, and what stands around it in both.
		m.rare = 0
		for m.rare < min(i, k) && begin[i-m.rare-1] == end[k-m.rare-1] {
			m.rare++
		}
		after := i
		for after < len(begin) && k+after-i < len(end) && begin[after] == end[k+after-i] {
			after++
		}
		m.common, m.places = begin[i-m.rare:after], [2]int{i, k}
	}
	return m
}

func newMarker(text string) marker {
	m := marker{text: text, at: breakable(text)}
	for i := range len(text) {
		if rarity[text[i]] > rarity[text[m.rare]] {
			m.rare = i
		}
	}
	return m
}

// markerFault returns the rule that text breaks to be no marker, and where: at its end when that
// is true of the whole.
func markerFault(text string) (at int, rule string) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return i, "a marker is printable ASCII without quotes and backslashes"
		}
	}
	switch {
	case len(text) < minMarkerBytes:
		return len(text), "a marker has at least 8 characters"
	case text[0] == ' ':
		return 0, "a marker has no space at either end"
	case text[len(text)-1] == ' ':
		return len(text) - 1, "a marker has no space at either end"
	case breakable(text) < 0:
		return len(text), "a marker needs a character other than 0-9 a-f A-F / n r t u"
	case strings.Trim(text, jsonStructure) == "":
		return len(text), "a marker needs a character that JSON has in strings only"
	}
	return 0, ""
}

// minMarkerBytes keeps a marker from standing in ordinary text by chance.
const minMarkerBytes = 8

// jsonStructure is every character that compact JSON has outside of strings. A marker of these
// alone could stand where it cannot be escaped.
const jsonStructure = "{}[]:,+-.0123456789eEtrufalsn"

// escapeWrites reports whether breaking one marker could complete the other, which would then
// begin inside the new escape.
func escapeWrites(broken, other string) bool {
	k := breakable(broken)
	after := broken[k+1:]
	var buf [quote.UnitBytes]byte
	written := quote.AppendUnit(buf[:0], uint16(broken[k]))
	for i := 1; i < len(written); i++ {
		rest, begins := strings.CutPrefix(other, string(written[i:]))
		if begins && (strings.HasPrefix(rest, after) || strings.HasPrefix(after, rest)) {
			return true
		}
	}
	return false
}

// breakable returns the place of the first character of a marker that can be no part of a JSON
// escape, or -1.
func breakable(marker string) int {
	const escapes = `0123456789abcdefABCDEF"\/nrtu`
	return strings.IndexFunc(marker, func(r rune) bool { return !strings.ContainsRune(escapes, r) })
}

// rarity ranks the characters of a marker: one that is rare in prose and in code makes the search
// fast. It decides nothing else.
var rarity = func() (rank [256]byte) {
	const common = " etaoinsrhldcumfpgwybvkxjqz0123456789_-./<>=:,()ETAOINSRHLDCUMFPGYBKVWJQXZ"
	for c := range rank {
		rank[c] = byte(len(common))
	}
	for i := range len(common) {
		rank[common[i]] = byte(i)
	}
	return rank
}()

// index returns the first place of the marker in text, or len(text).
func (m *marker) index(text []byte) int {
	for i := 0; ; i++ {
		k := i + m.rare
		if k >= len(text) {
			return len(text)
		}
		next := bytes.IndexByte(text[k:], m.text[m.rare])
		if next < 0 {
			return len(text)
		}
		i += next
		end := i + len(m.text)
		if end > len(text) {
			return len(text)
		}
		if text[end-1] == m.text[len(m.text)-1] && string(text[i:end]) == m.text {
			return i
		}
	}
}

// in reports whether text holds a marker.
func (m *markers) in(text string) bool {
	return strings.Contains(text, m.both[0].text) || strings.Contains(text, m.both[1].text)
}

// inHeading reports whether a marker stands in a heading, which ends before a number, or could go
// on in the number.
func (m *markers) inHeading(heading []byte) bool {
	for i := range m.both {
		text := m.both[i].text
		number := strings.TrimRight(text, "0123456789")
		if m.both[i].index(heading) < len(heading) || bytes.HasSuffix(heading, []byte(number)) {
			return true
		}
	}
	return false
}

// breakBytes is how much longer a text gets where a marker in it is broken.
const breakBytes = quote.UnitBytes - 1

// breakFrom breaks each occurrence of a marker in dst[start:], in place but for growing: of the
// leftmost, the one character is escaped, and the search goes on behind that character.
func (m *markers) breakFrom(dst []byte, start int) []byte {
	return m.breakAll(dst, start, m.extra(dst[start:]))
}

// breakAll is breakFrom where it is known by how much the text will grow.
func (m *markers) breakAll(dst []byte, start, extra int) []byte {
	if extra == 0 {
		return dst
	}
	n := len(dst)
	dst = slices.Grow(dst, extra)[:n+extra]
	text := dst[start+extra:] // moved up by what it will grow, so that writing never passes reading
	copy(text, dst[start:n])
	out, from := dst[:start], 0
	for s := m.search(text); s.next(); from = s.broken + 1 {
		out = append(out, text[from:s.broken]...)
		out = quote.AppendUnit(out, uint16(text[s.broken]))
	}
	return append(out, text[from:]...)
}

// extra returns how much longer text gets when the markers in it are broken.
func (m *markers) extra(text []byte) int {
	if m.absent(text) {
		return 0
	}
	n := 0
	for s := m.search(text); s.next(); {
		n += breakBytes
	}
	return n
}

// absent reports that text has no marker, as far as that can be seen at a glance.
func (m *markers) absent(text []byte) bool { return m.glance(text, 0) == len(text) }

// glance returns the first place from byte i on where what stands in both markers may stand: the
// place of its rarest character, or len(text).
func (m *markers) glance(text []byte, i int) int {
	if m.common == "" {
		return i
	}
	for i = max(i, m.rare); i < len(text); i++ {
		next := quote.IndexByte(text[i:], m.common[m.rare])
		if next < 0 {
			break
		}
		i += next
		if bytes.HasPrefix(text[i-m.rare:], []byte(m.common)) {
			return i
		}
	}
	return len(text)
}

// longest returns how many bytes of text there may be at the most for them to take no more than
// limit when the markers in them are broken. A marker that a cut leaves incomplete costs nothing.
func (m *markers) longest(text []byte, limit int) int {
	if m.absent(text) {
		return limit
	}
	for s := m.search(text); s.next(); {
		if s.end+breakBytes > limit {
			return min(s.end-1, limit)
		}
		limit -= breakBytes
	}
	return limit
}

// search finds the markers of a text, from left to right, each unless breaking the one before has
// broken it as well. No marker contains the other, so that their ends come in the order of their
// starts.
func (m *markers) search(text []byte) markerSearch {
	s := markerSearch{markers: m, text: text}
	for i := 0; m.common != "" && s.n < len(s.glances); i++ {
		if i = m.glance(text, i); i == len(text) {
			s.all = true
			break
		}
		s.glances[s.n] = i
		s.n++
	}
	s.find(0, 0)
	s.find(1, 0)
	return s
}

type markerSearch struct {
	markers *markers
	text    []byte
	starts  [2]int // of each marker's next occurrence
	glances [8]int // the first n places where both may stand, or all of them
	n       int
	all     bool

	start, end int // the occurrence found
	broken     int // the character of it to escape
}

// find looks for the next occurrence of marker k from a place on.
func (s *markerSearch) find(k, from int) {
	m := &s.markers.both[k]
	for _, i := range s.glances[:s.n] {
		start := i - s.markers.places[k]
		if start < from {
			continue
		}
		if from = start; bytes.HasPrefix(s.text[start:], []byte(m.text)) {
			s.starts[k] = start
			return
		}
	}
	if s.all {
		s.starts[k] = len(s.text)
		return
	}
	s.starts[k] = from + m.index(s.text[from:])
}

func (s *markerSearch) next() bool {
	k := 0
	if s.starts[1] < s.starts[0] {
		k = 1
	}
	if s.starts[k] == len(s.text) {
		return false
	}
	s.start = s.starts[k]
	s.end = s.start + len(s.markers.both[k].text)
	s.broken = s.start + s.markers.both[k].at
	for k, start := range s.starts {
		if start <= s.broken {
			s.find(k, s.broken+1)
		}
	}
	return true
}
