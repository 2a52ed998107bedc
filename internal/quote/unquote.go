package quote

import (
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendUnquoted appends the value of a string literal whose inside s begins with, up to its
// closing quote, which is s[n]. It is false unless AppendString writes the value in these very
// bytes; what it appended then has no meaning.
func (t *Escaper) AppendUnquoted(dst []byte, s string) (out []byte, n int, ok bool) {
	start := len(dst)
	dst = slices.Grow(dst, len(s)+wordBytes) // no escape is shorter than what it stands for
	buf, o, i := dst[:cap(dst)], start, 0
	for {
		if n := t.copyPlain(buf[o:], s[i:]); n > 0 {
			i, o = i+n, o+n
		}
		if i == len(s) {
			return dst, i, false
		}
		switch c := s[i]; {
		case c == '"':
			return buf[:o], i, true
		case c == '\\':
			written, r := t.readEscape(s[i:])
			if written == 0 {
				return dst, i, false
			}
			i += written
			if r < utf8.RuneSelf {
				buf[o] = byte(r)
				o++
			} else {
				o += utf8.EncodeRune(buf[o:], r)
			}
		case c < utf8.RuneSelf:
			if t.ascii[c].len() > 1 {
				return dst, i, false
			}
			buf[o] = c
			i, o = i+1, o+1
		default:
			n := t.unescapedWide(s[i:])
			if n == 0 {
				r, width := utf8.DecodeRuneInString(s[i:])
				if r == utf8.RuneError && width == 1 || t.classes.escapesAny(r, r) {
					return dst, i, false
				}
				n = width
			}
			copy(buf[o:], s[i:i+n])
			i, o = i+n, o+n
		}
	}
}

// copyPlain copies a prefix of s, perhaps not the longest, of ASCII that stands for itself to dst,
// which is longer than s by a word at the least. Behind the prefix dst may be written to.
func (t *Escaper) copyPlain(dst []byte, s string) int {
	n := 0
	for ; len(s)-n >= wordBytes; n += wordBytes {
		if n == 2*wordBytes && len(s)-n >= blockBytes && !t.escapesASCII {
			clean := cleanBlocks(s[n:])
			copy(dst[n:], s[n:n+clean])
			if n += clean; len(s)-n < wordBytes {
				break
			}
		}
		w := load64(s, n)
		store64(dst, n, w)
		if dirty := t.dirtyBytes(w); dirty != 0 {
			return n + bits.TrailingZeros64(dirty)/8
		}
	}
	return n
}

// readEscape returns the length of the escape that s begins with, and the character: 0 unless that
// is what t writes for it.
func (t *Escaper) readEscape(s string) (n int, r rune) {
	if len(s) < 2 {
		return 0, 0
	}
	if short := unescaped[s[1]]; short != 0 {
		return 2, rune(short)
	}
	if r = readUnit(s); r < 0 {
		return 0, 0
	}
	n = UnitBytes
	if utf16.IsSurrogate(r) {
		if r = utf16.DecodeRune(r, readUnit(s[n:])); r == utf8.RuneError {
			return 0, 0
		}
		n += UnitBytes
	}
	if r < utf8.RuneSelf && t.ascii[r].len() != UnitBytes ||
		r >= utf8.RuneSelf && !t.classes.escapesAny(r, r) {
		return 0, 0
	}
	return n, r
}

// unescaped is what a backslash and a character stand for, where strings are written with that.
var unescaped = [256]byte{
	'"': '"', '\\': '\\', 'b': '\b', 't': '\t', 'n': '\n', 'f': '\f', 'r': '\r',
}

// readUnit returns the number of the \uXXXX, in lower case, that s begins with, or -1.
func readUnit(s string) (u rune) {
	if len(s) < UnitBytes || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	for _, c := range []byte(s[2:UnitBytes]) {
		switch {
		case '0' <= c && c <= '9':
			u = u<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			u = u<<4 | rune(c-'a'+10)
		default:
			return -1
		}
	}
	return u
}
