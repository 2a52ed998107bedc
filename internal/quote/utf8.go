package quote

import "unicode/utf8"

// FirstInvalid returns the first byte of s that is not part of a character in UTF-8, or -1.
func FirstInvalid(s string) int {
	for i := 0; i < len(s); {
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

// Plain reports whether s is ASCII without a character that any class escapes, so that every
// escaper writes it as it is.
func Plain(s string) bool {
	if len(s) < wordBytes {
		for i := range len(s) {
			if !plainByte[s[i]] {
				return false
			}
		}
		return true
	}
	w := load64(s, len(s)-wordBytes)
	unplain := suspects(w) | classSuspects(w)
	for ; len(s) > wordBytes; s = s[wordBytes:] {
		w := load64(s, 0)
		unplain |= suspects(w) | classSuspects(w)
	}
	return unplain&highBits == 0
}

var plainByte = func() (plain [256]bool) {
	for c := range rune(utf8.RuneSelf) {
		plain[c] = !escapers[All].Escapes(c)
	}
	return plain
}()
