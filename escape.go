package envelope

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Escape is a set of classes of characters that are written as \uXXXX, with surrogate pairs above U+FFFF, although JSON
// lets them stand for themselves. Every class is lossless: what a JSON reader decodes does not change.
//
// The zero value escapes what breaks lines: with JSON's own escapes for the controls below U+0020, the three characters
// U+0085, U+2028 and U+2029 complete the line boundaries of every reader that decodes UTF-8 (Unicode UAX #14 and UTS #18
// RL1.6, Python's str.splitlines). They are escaped whatever the classes.
type Escape uint8

// The classes, to be combined with |. Any other bit is an error.
const (
	// EscapeControls is U+007F to U+009F, for terminals and logs: U+0084 moves down a line, U+009B starts a control
	// sequence.
	EscapeControls Escape = 1 << iota
	// EscapeInvisible is general category Cf and the property Default_Ignorable_Code_Point: zero-width and bidirectional
	// controls, tags, variation selectors, fillers. It is for people who read the text.
	EscapeInvisible
	// EscapeMarkup is < > & and the backtick, for readers of tags, chat-template tokens and fences. A model may still
	// take an escaped tag for a tag; this breaks the text, not the idea.
	EscapeMarkup
	// EscapeNonASCII is everything above U+007F, for readers that split undecoded bytes or decode them as ISO-8859-1,
	// to which the byte 0x85 inside a longer character is a line boundary.
	EscapeNonASCII

	allEscapes = EscapeControls | EscapeInvisible | EscapeMarkup | EscapeNonASCII
)

// EscapeJSON appends encoded to dst with the characters that break lines, and those of the classes in e, written as JSON
// escapes. Encoded is any JSON text in UTF-8, as encoding/json or another encoder left it; escapes that it holds already
// stay as they are, and so do bytes that are not valid UTF-8, which no JSON text has. Bits of e that name no class are
// ignored. Encoded must not overlap the spare capacity of dst.
func EscapeJSON(dst, encoded []byte, e Escape) []byte {
	t := &escapers[e&allEscapes]
	clean := 0 // where the bytes begin that are still to be copied
	for i := 0; i < len(encoded); {
		if c := encoded[i]; c < utf8.RuneSelf {
			// In a JSON text a control or a quote is structure or white space, so only a class concerns ASCII here.
			if c >= ' ' && t.class[c] {
				dst = append(dst, encoded[clean:i]...)
				dst = appendUnit(dst, uint16(c))
				clean = i + 1
			}
			i++
			continue
		}
		r, width := utf8.DecodeRune(encoded[i:])
		if width > 1 && e.wide(r) {
			dst = append(dst, encoded[clean:i]...)
			dst = appendEscape(dst, r)
			clean = i + width
		}
		i += width
	}
	return append(dst, encoded[clean:]...)
}

// wide reports whether r, which is not ASCII, is written as an escape.
func (e Escape) wide(r rune) bool {
	switch {
	case r == '\u0085' || r == '\u2028' || r == '\u2029':
		return true
	case e == 0:
		return false
	case e&EscapeNonASCII != 0:
		return true
	case e&EscapeControls != 0 && r <= '\u009f':
		return true
	}
	return e&EscapeInvisible != 0 && invisible(r)
}

// appendEscape appends r as one \uXXXX or as two.
func appendEscape(dst []byte, r rune) []byte {
	if r <= 0xffff {
		return appendUnit(dst, uint16(r))
	}
	high, low := utf16.EncodeRune(r)
	return appendUnit(appendUnit(dst, uint16(high)), uint16(low))
}

const lowerHex = "0123456789abcdef"

func appendUnit(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u', lowerHex[u>>12], lowerHex[u>>8&0xf], lowerHex[u>>4&0xf], lowerHex[u&0xf])
}

// unitBytes is the length of a \uXXXX.
const unitBytes = 6

// escaper writes strings as JSON with the characters of its classes escaped. It is the one that decides how a character of
// a string is written.
type escaper struct {
	escape Escape
	class  [utf8.RuneSelf]bool   // the ASCII characters that a class escapes
	ascii  [utf8.RuneSelf]uint64 // how each ASCII character is written: its bytes from the lowest up, their number in the top byte
}

// escapers has the escaper of each set of classes.
var escapers = func() (all [allEscapes + 1]escaper) {
	short := map[byte]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}
	for e := range all {
		t := &all[e]
		t.escape = Escape(e)
		for c := range byte(utf8.RuneSelf) {
			switch c {
			case 0x7f:
				t.class[c] = t.escape&EscapeControls != 0
			case '<', '>', '&', '`':
				t.class[c] = t.escape&EscapeMarkup != 0
			}
			form := []byte{c}
			if letter, ok := short[c]; ok {
				form = []byte{'\\', letter}
			} else if c < ' ' || t.class[c] {
				form = appendUnit(nil, uint16(c))
			}
			var packed [8]byte
			copy(packed[:], form)
			packed[7] = byte(len(form))
			t.ascii[c] = binary.LittleEndian.Uint64(packed[:])
		}
	}
	return all
}()

// appendString appends s as the inside of a JSON string literal, as much of it as takes at most limit bytes. It returns how
// much of s that is; when that is not all, valid says whether the limit stopped it or invalid UTF-8 at s[n].
func (t *escaper) appendString(dst []byte, s string, limit int) (out []byte, n int, valid bool) {
	full := endOf(len(dst), limit)
	for n < len(s) {
		// An escape is never shorter than what it stands for: what does not fit raw does not fit.
		end := cutAt(s, n, full-len(dst))
		clean := n + t.cleanPrefix(s[n:end])
		dst = append(dst, s[n:clean]...)
		n = clean
		if n == end {
			break
		}
		if c := s[n]; c < utf8.RuneSelf {
			packed := t.ascii[c]
			width := int(packed >> 56)
			if width > full-len(dst) {
				break
			}
			var form [8]byte
			binary.LittleEndian.PutUint64(form[:], packed)
			dst = append(dst, form[:width]...)
			n++
			continue
		}
		r, width := utf8.DecodeRuneInString(s[n:])
		if r == utf8.RuneError && width == 1 {
			return dst, n, false
		}
		if escapeBytes(r) > full-len(dst) {
			break
		}
		dst = appendEscape(dst, r)
		n += width
	}
	return dst, n, true
}

// endOf returns start + n, or the largest int when that is larger still.
func endOf(start, n int) int {
	if n > math.MaxInt-start {
		return math.MaxInt
	}
	return start + n
}

// appendLiteral appends s, which is valid UTF-8, as a JSON string literal.
func (t *escaper) appendLiteral(dst []byte, s string) []byte {
	dst, _, _ = t.appendString(append(dst, '"'), s, math.MaxInt)
	return append(dst, '"')
}

// lastBytes returns how long the last character of s is, and how long what appendString writes for it.
func (t *escaper) lastBytes(s string) (width, written int) {
	r, width := utf8.DecodeLastRuneInString(s)
	switch {
	case r < utf8.RuneSelf:
		return width, int(t.ascii[r] >> 56)
	case t.escape.wide(r):
		return width, escapeBytes(r)
	}
	return width, width
}

func escapeBytes(r rune) int {
	if r > 0xffff {
		return 2 * unitBytes
	}
	return unitBytes
}

// cutAt returns the end of the longest stretch of s from byte i that has at most n bytes and does not end inside a
// character. A byte that is not part of one counts as a character.
func cutAt(s string, i, n int) int {
	if n >= len(s)-i {
		return len(s)
	}
	end := i + max(n, 0)
	for k := end - 1; k >= i && k > end-utf8.UTFMax; k-- {
		if utf8.RuneStart(s[k]) {
			if _, width := utf8.DecodeRuneInString(s[k:]); k+width > end {
				return k
			}
			break
		}
	}
	return end
}

// cleanPrefix returns the length of the longest prefix of s that is valid UTF-8 and is written as it is.
func (t *escaper) cleanPrefix(s string) int {
	i := 0
	for i < len(s) {
		if i+8 <= len(s) && t.escape&(EscapeControls|EscapeMarkup) == 0 {
			dirty := dirtyBytes(load64(s, i))
			if dirty == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(dirty) / 8
		}
		c := s[i]
		if c < utf8.RuneSelf {
			if t.ascii[c]>>56 != 1 {
				return i
			}
			i++
			continue
		}
		r, width := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && width == 1 || t.escape.wide(r) {
			return i
		}
		i += width
	}
	return i
}

func load64(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// dirtyBytes has the high bit set of each byte of w that is a control below U+0020, a quote, a backslash or not ASCII. Bits
// above the lowest may be set in error, so only whether there is one and where the first is counts.
func dirtyBytes(w uint64) uint64 {
	quote := w ^ '"'*lowBits
	backslash := w ^ '\\'*lowBits
	return ((w - ' '*lowBits) | (quote - lowBits) | (backslash - lowBits) | w) & highBits
}

// invisible reports whether r has general category Cf or the property Default_Ignorable_Code_Point. The ranges are
// written down here, and not taken from package unicode, so that the bytes do not depend on the Go release: they are those of Unicode
// 15.0, in which the property covers the code points reserved for such characters too. A test compares them with the
// release at hand.
func invisible(r rune) bool { return formatCharacter(r) || inRanges(ignorable, r) }

// formatCharacter reports whether r has general category Cf.
func formatCharacter(r rune) bool { return inRanges(format, r) }

type runeRange struct{ first, last rune }

var format = []runeRange{
	{0x00ad, 0x00ad}, {0x0600, 0x0605}, {0x061c, 0x061c}, {0x06dd, 0x06dd}, {0x070f, 0x070f}, {0x0890, 0x0891},
	{0x08e2, 0x08e2}, {0x180e, 0x180e}, {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x2064}, {0x2066, 0x206f},
	{0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
	{0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0001, 0xe0001}, {0xe0020, 0xe007f},
}

// ignorable is what Default_Ignorable_Code_Point has and Cf has not.
var ignorable = []runeRange{
	{0x034f, 0x034f}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180d}, {0x180f, 0x180f}, {0x2065, 0x2065},
	{0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xffa0, 0xffa0}, {0xfff0, 0xfff8}, {0xe0000, 0xe0000},
	{0xe0002, 0xe001f}, {0xe0080, 0xe0fff},
}

func inRanges(ranges []runeRange, r rune) bool {
	low, high := 0, len(ranges)
	for low < high {
		mid := int(uint(low+high) / 2)
		if r > ranges[mid].last {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low < len(ranges) && r >= ranges[low].first
}
