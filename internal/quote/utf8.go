package quote

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// FirstInvalid returns the first byte of s that is not part of a character in UTF-8, or -1.
func FirstInvalid(s string) int {
	i := 0
	if vectors {
		i = validVector(s)
	}
	for i < len(s) {
		if s[i] < utf8.RuneSelf {
			i += asciiPrefix(s[i:])
		} else if s[i] > 0xe2 {
			i += plainTriples(s[i:])
		}
		if n := utf8Machine.prefix(s[i:min(i+machineBytes, len(s))]); n > 0 {
			i += n
			continue
		}
		for stop := min(i+wordBytes, len(s)); i < stop; {
			r, width := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && width == 1 {
				return i
			}
			i += width
		}
	}
	return -1
}

// CutAt returns the end of the longest stretch of s from byte i that has at most n bytes and does
// not end inside a character. A byte that is not part of one counts as a character.
func CutAt(s string, i, n int) int {
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

// StringRun returns the length of a prefix of s, perhaps not the longest, of characters that may
// stand in a JSON string as they are.
func StringRun(s []byte) int {
	n := 0
	for ; len(s)-n >= wordBytes; n += wordBytes {
		if dirty := suspects(binary.LittleEndian.Uint64(s[n:])) & highBits; dirty != 0 {
			if n += bits.TrailingZeros64(dirty) / 8; s[n] < utf8.RuneSelf {
				return n
			}
			return n + machinePrefix(For(0).unescaped.get(), s[n:])
		}
	}
	return n
}

// CopyToBackslash copies s to dst up to its first backslash or to its last few bytes, and returns
// how many bytes it copied. Behind them dst may be written to.
func CopyToBackslash(dst, s []byte) int {
	n := 0
	for ; len(s)-n >= wordBytes && len(dst)-n >= wordBytes; n += wordBytes {
		w := binary.LittleEndian.Uint64(s[n:])
		binary.LittleEndian.PutUint64(dst[n:], w)
		if found := zeroBytes(w ^ '\\'*lowBits); found != 0 {
			return n + bits.TrailingZeros64(found)/8
		}
	}
	return n
}
