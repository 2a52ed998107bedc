package quote

import (
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// Display shows text to people: line ends of every kind as one line break, control and format
// characters as a visible \uXXXX, or \UXXXXXXXX above U+FFFF. It is lossy: a text that spells
// such an escape out looks the same.
//
// It counts two sizes: of a text as displayed, where a line break is one byte, and as written,
// where it is as long as the display's own line break.
type Display struct {
	lineBreak  string // how a line ends and the next begins
	invisible  bool   // Default_Ignorable_Code_Point is hidden too
	unescaped  lazyMachine
	asciiShown [utf8.RuneSelf]bool // the ASCII characters that are shown as they are

	// How each other ASCII character is written, or 0 when that is longer than a form can be; CR,
	// which may end a line together with what follows it, has none.
	ascii [utf8.RuneSelf]packed
}

// NewDisplay returns a display that writes each end of a line as lineBreak and shows, if invisible,
// the characters of Default_Ignorable_Code_Point as escapes too.
func NewDisplay(lineBreak string, invisible bool) *Display {
	d := &Display{lineBreak: lineBreak, invisible: invisible}
	for c := ' '; c <= '~'; c++ {
		d.asciiShown[c] = true
	}
	for c := range d.ascii {
		if !d.asciiShown[c] {
			d.ascii[c] = pack(appendVisible(nil, rune(c)))
		}
	}
	d.ascii['\r'], d.ascii['\n'] = 0, 0
	if len(lineBreak) < wordBytes {
		d.ascii['\n'] = pack([]byte(lineBreak))
	}
	d.unescaped.wanted = d.shows
	return d
}

// shows reports whether no character from first to last, which are both ASCII or both not, is
// hidden or ends a line.
func (d *Display) shows(first, last rune) bool {
	if last < utf8.RuneSelf {
		return !slices.Contains(d.asciiShown[first:last+1], false)
	}
	return !(first <= '\u2029' && '\u2028' <= last) && !d.hidesAny(first, last)
}

// Hides reports whether r, which is no end of a line, is shown as an escape.
func (d *Display) Hides(r rune) bool {
	if r < utf8.RuneSelf {
		return !d.asciiShown[r]
	}
	return d.hidesAny(r, r)
}

// hidesAny reports whether one of the characters from first to last, which are not ASCII, is shown
// as an escape.
func (d *Display) hidesAny(first, last rune) bool {
	return first <= '\u009f' || anyFormat(first, last) ||
		d.invisible && overlap(ignorable, first, last)
}

// AppendString appends as much of s as has at most size bytes as displayed and takes at most room
// bytes written. It returns how much of s that is and its size as displayed; when that is not all,
// valid says whether a bound stopped it or invalid UTF-8 at s[n].
func (d *Display) AppendString(
	dst []byte, s string, size, room int,
) (out []byte, n, displayed int, valid bool) {
	full := Add(len(dst), room)
	for n < len(s) {
		if s[n] < utf8.RuneSelf {
			o := len(dst)
			buf := dst[:min(cap(dst), max(full, o))]
			o, n, displayed = d.copyWords(buf, o, s, n, displayed, size)
			if dst = dst[:o]; n == len(s) {
				break
			}
		}
		if c := s[n]; c >= utf8.RuneSelf || d.asciiShown[c] {
			end := CutAt(s, n, min(full-len(dst), size-displayed))
			clean := d.shownPrefix(s[n:end])
			dst = append(dst, s[n:n+clean]...)
			n, displayed = n+clean, displayed+clean
			if n == len(s) {
				break
			}
		}
		p := d.piece(s[n:])
		switch {
		case p.width == 0:
			return dst, n, displayed, false
		case p.displayed > size-displayed || p.written > full-len(dst):
			return dst, n, displayed, true
		case p.char == '\n':
			dst = append(dst, d.lineBreak...)
		case p.displayed == p.width:
			dst = append(dst, s[n:n+p.width]...)
		default:
			dst = appendVisible(dst, p.char)
		}
		n, displayed = n+p.width, displayed+p.displayed
	}
	return dst, n, displayed, true
}

// copyWords writes s from byte n into buf from byte o, for as long as that is ASCII with a packed
// form and both have room for a word and a form, and the size has. It returns where it stopped and
// the size displayed until there.
func (d *Display) copyWords(
	buf []byte, o int, s string, n, displayed, size int,
) (int, int, int) {
	for clean := 0; len(s)-n >= wordBytes && min(len(buf)-o, size-displayed) >= 2*wordBytes; {
		w := load64(s, n)
		hidden := unprintable(w)
		if hidden == 0 && clean == 4*wordBytes { // a long run
			most := min(len(s)-n, len(buf)-o, size-displayed)
			run := wordBytes + printablePrefix(s[n+wordBytes:n+most])
			copy(buf[o:], s[n:n+run])
			n, o, displayed = n+run, o+run, displayed+run
			continue
		}
		store64(buf, o, w)
		if hidden == 0 {
			n, o, displayed = n+wordBytes, o+wordBytes, displayed+wordBytes
			clean += wordBytes
			continue
		}
		clean = bits.TrailingZeros64(hidden) / 8
		n, o, displayed = n+clean, o+clean, displayed+clean
		clean = 0
		c := s[n]
		if c >= utf8.RuneSelf || d.ascii[c] == 0 {
			break
		}
		form := d.ascii[c]
		store64(buf, o, uint64(form))
		n, o = n+1, o+form.len()
		if c == '\n' {
			displayed++
		} else {
			displayed += form.len()
		}
	}
	return o, n, displayed
}

// LastBytes returns the length of the last piece of s that a cut does not split, and what it takes
// as displayed and as written.
func (d *Display) LastBytes(s string) (width, displayed, written int) {
	_, width = utf8.DecodeLastRuneInString(s)
	if strings.HasSuffix(s, "\r\n") {
		width = len("\r\n")
	}
	p := d.piece(s[len(s)-width:])
	return p.width, p.displayed, p.written
}

// Measure returns how many bytes s has as displayed, or more than size when it is more, and the
// first byte of invalid UTF-8 in as much of s as that is, or -1, with what is displayed before it.
func (d *Display) Measure(s string, size int) (displayed, bad, beforeBad int) {
	bad = -1
	for i := 0; i < len(s) && displayed <= size; {
		clean := d.shownPrefix(s[i:CutAt(s, i, size-displayed+1)])
		i += clean
		displayed += clean
		if i == len(s) || displayed > size {
			break
		}
		p := d.piece(s[i:])
		if p.width == 0 {
			if bad < 0 {
				bad, beforeBad = i, displayed
			}
			p.width = 1
		}
		i, displayed = i+p.width, displayed+p.displayed
	}
	return displayed, bad, beforeBad
}

// piece is the least of a text that is displayed together: a character, or CR and LF.
type piece struct {
	char               rune // LF for every end of a line
	width              int  // bytes of the text; 0 is invalid UTF-8
	displayed, written int
}

// piece returns the first piece of s.
func (d *Display) piece(s string) piece {
	const short, long = len(`\uXXXX`), len(`\UXXXXXXXX`)
	switch c := s[0]; { // most pieces, at once
	case c == '\n':
		return piece{'\n', 1, 1, len(d.lineBreak)}
	case c < utf8.RuneSelf && d.asciiShown[c]:
		return piece{rune(c), 1, 1, 1}
	}
	r, width := utf8.DecodeRuneInString(s)
	switch {
	case r == '\r' && strings.HasPrefix(s[1:], "\n"):
		return piece{'\n', 2, 1, len(d.lineBreak)}
	case r == '\r' || r == '\u2028' || r == '\u2029':
		return piece{'\n', width, 1, len(d.lineBreak)}
	case r == utf8.RuneError && width == 1:
		return piece{r, 0, 1, 1}
	case !d.Hides(r):
		return piece{r, width, width, width}
	case r <= 0xffff:
		return piece{r, width, short, short}
	}
	return piece{r, width, long, long}
}

// appendVisible appends \uXXXX, or \UXXXXXXXX above U+FFFF.
func appendVisible(dst []byte, r rune) []byte {
	if r <= 0xffff {
		return AppendUnit(dst, uint16(r))
	}
	dst = append(dst, `\U`...)
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, lowerHex[r>>shift&0xf])
	}
	return dst
}

// shownPrefix returns the length of the longest prefix of s that is valid UTF-8 and is shown as it
// is.
func (d *Display) shownPrefix(s string) int {
	i := 0
	for i < len(s) {
		c := s[i]
		if c < utf8.RuneSelf {
			if n := printablePrefix(s[i:]); n > 0 {
				i += n
				continue
			}
			if !d.asciiShown[c] {
				break
			}
			i++
			continue
		}
		n := 0
		for len(s)-i-n >= tripleBytes &&
			commonTriples(load64(s, i+n), load64(s, i+n+8), load64(s, i+n+16)) {
			n += tripleBytes
		}
		if n == 0 {
			n = d.unescaped.get().prefix(s[i:min(i+machineBytes, len(s))])
		}
		if n == 0 {
			p := d.piece(s[i:])
			if p.width == 0 || p.char == '\n' || p.displayed != p.width {
				break
			}
			n = p.width
		}
		i += n
	}
	return i
}

// commonTriples reports whether three words are eight characters of three bytes each that are valid
// UTF-8 and are shown as they are by every display: those with the lead bytes E4 to EC, most of Han
// and Hangul.
func commonTriples(w0, w1, w2 uint64) bool {
	faults, leads := triples(w0, w1, w2)
	// The high bits of low tell which leads are at least E4, those of high which are at least ED.
	low, high := leads+(0x80-0x4)*lowBits, leads+(0x80-0xd)*lowBits
	return faults == 0 && low&^high&highBits == highBits
}
