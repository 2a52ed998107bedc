package quote

import "unicode/utf8"

// Classes is a set of classes of characters that are written as \uXXXX although JSON lets them
// stand for themselves. The empty set still escapes the line boundaries U+0085, U+2028 and U+2029.
type Classes uint8

// The classes, to be combined with |.
const (
	Controls  Classes = 1 << iota // U+007F to U+009F
	Invisible                     // general category Cf and Default_Ignorable_Code_Point
	Markup                        // < > & and the backtick
	NonASCII                      // everything above U+007F

	All = Controls | Invisible | Markup | NonASCII
)

// escapesASCII reports whether a class has c, which is ASCII.
func (c Classes) escapesASCII(char byte) bool {
	switch char {
	case 0x7f:
		return c&Controls != 0
	case '<', '>', '&', '`':
		return c&Markup != 0
	}
	return false
}

// escapesAny reports whether one of the characters from first to last, which are not ASCII, is
// written as an escape: a line boundary, or one of the classes.
func (c Classes) escapesAny(first, last rune) bool {
	switch {
	case first <= '\u0085' && '\u0085' <= last, first <= '\u2029' && '\u2028' <= last:
		return true
	case c == 0:
		return false
	case c&NonASCII != 0:
		return true
	case c&Controls != 0 && first <= '\u009f':
		return true
	}
	return c&Invisible != 0 && anyInvisible(first, last)
}

// LineBoundary reports whether some reader that decodes UTF-8 takes r for the end of a line:
// the ten boundaries of Python's str.splitlines, which are all those of UAX #14 and UTS #18 RL1.6
// and three more.
func LineBoundary(r rune) bool {
	switch {
	case '\n' <= r && r <= '\r', '\x1c' <= r && r <= '\x1e', r == '\u0085',
		r == '\u2028', r == '\u2029':
		return true
	}
	return false
}

// Control reports whether r has general category Cc.
func Control(r rune) bool { return r < ' ' || '\u007f' <= r && r <= '\u009f' }

// IsInvisible reports whether r has general category Cf or the property
// Default_Ignorable_Code_Point.
func IsInvisible(r rune) bool { return anyInvisible(r, r) }

// Blank reports whether s is empty or only white space. Of more white space at the beginning than
// window bytes, nobody asks what follows.
func Blank(s string, window int) bool {
	return (s == "" || s[0] <= ' ' || s[0] >= utf8.RuneSelf) && onlyWhiteSpace(s, window)
}

func onlyWhiteSpace(s string, window int) bool {
	for i, r := range s {
		if !WhiteSpace(r) {
			return false
		}
		if i >= window {
			break
		}
	}
	return true
}

// WhiteSpace reports whether r has Unicode's property White_Space or is one of U+001C to U+001F,
// which Python's str.isspace and str.strip take for white space too.
func WhiteSpace(r rune) bool {
	switch {
	case '\t' <= r && r <= '\r', '\x1c' <= r && r <= ' ', '\u2000' <= r && r <= '\u200a',
		r == '\u0085', r == '\u00a0', r == '\u1680', r == '\u2028', r == '\u2029', r == '\u202f',
		r == '\u205f', r == '\u3000':
		return true
	}
	return false
}

// anyInvisible reports whether one of the characters from first to last is invisible. The ranges
// are written down here, and not taken from package unicode, so that the bytes do not depend on the
// Go release: they are those of Unicode 15.0, in which Default_Ignorable_Code_Point covers the code
// points reserved for such characters too. A test compares them with the release at hand.
func anyInvisible(first, last rune) bool {
	return anyFormat(first, last) || overlap(ignorable, first, last)
}

// anyFormat reports whether one of the characters from first to last has general category Cf.
func anyFormat(first, last rune) bool {
	if 0x2070 <= first && last < 0xfeff {
		return false // most of the world's text
	}
	return overlap(format, first, last)
}

type runeRange struct{ first, last rune }

// format has the characters of general category Cf.
var format = []runeRange{
	{0x00ad, 0x00ad}, {0x0600, 0x0605}, {0x061c, 0x061c}, {0x06dd, 0x06dd}, {0x070f, 0x070f},
	{0x0890, 0x0891}, {0x08e2, 0x08e2}, {0x180e, 0x180e}, {0x200b, 0x200f}, {0x202a, 0x202e},
	{0x2060, 0x2064}, {0x2066, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0x110bd, 0x110bd},
	{0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
	{0xe0001, 0xe0001}, {0xe0020, 0xe007f},
}

// ignorable is what Default_Ignorable_Code_Point has and Cf has not.
var ignorable = []runeRange{
	{0x034f, 0x034f}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180d}, {0x180f, 0x180f},
	{0x2065, 0x2065}, {0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xffa0, 0xffa0}, {0xfff0, 0xfff8},
	{0xe0000, 0xe0000}, {0xe0002, 0xe001f}, {0xe0080, 0xe0fff},
}

// overlap reports whether one of the ranges has a character from first to last.
func overlap(ranges []runeRange, first, last rune) bool {
	low, high := 0, len(ranges)
	for low < high {
		mid := int(uint(low+high) / 2)
		if first > ranges[mid].last {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low < len(ranges) && last >= ranges[low].first
}
