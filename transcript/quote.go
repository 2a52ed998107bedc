package transcript

import (
	"math/bits"
	"unicode/utf8"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/encode"
)

// appendString appends s, a field of a message, as a JSON string.
func appendString(dst []byte, s, field string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, &RecordError{Err: envelope.ErrInvalidUTF8, Field: field, Offset: len(s) - len(fromInvalid(s))}
	}
	dst = append(dst, '"')
	for {
		n := plainPrefix(s)
		dst = append(dst, s[:n]...)
		if s = s[n:]; s == "" {
			return append(dst, '"'), nil
		}
		if c := s[0]; c < utf8.RuneSelf {
			if form := forms[c]; len(form) == 2 { // nearly always, and faster
				dst = append(dst, form[0], form[1])
			} else {
				dst = append(dst, form...)
			}
			s = s[1:]
			continue
		}
		_, width := utf8.DecodeRuneInString(s)
		dst = envelope.EscapeJSON(dst, []byte(s[:width]), 0)
		s = s[width:]
	}
}

// fromInvalid returns s from its first invalid byte on.
func fromInvalid(s string) string {
	for {
		r, width := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && width <= 1 {
			return s
		}
		s = s[width:]
	}
}

// plainPrefix returns how much of s stands for itself: up to an ASCII character that has another
// form, or what may be one that the escaper of package envelope escapes.
func plainPrefix(s string) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		stop := (w-' '*ones)&^w | zeros(w^'"'*ones) | zeros(w^'\\'*ones) | zeros(w^lead85*ones) | zeros(w^lead2028*ones)
		if stop &= 0x80 * ones; stop != 0 {
			return i + bits.TrailingZeros64(stop)/8
		}
	}
	for i < len(s) && !stops[s[i]] {
		i++
	}
	return i
}

const ones = 0x0101010101010101

// zeros has the high bit set of the lowest byte of w that is 0, of none below it, and perhaps of
// some above.
func zeros(w uint64) uint64 { return (w - ones) &^ w }

// The bytes that U+0085, and U+2028 and U+2029, begin with.
const lead85, lead2028 = 0xc2, 0xe2

// forms has how encoding/json writes each ASCII character in a string.
var forms = func() (all [utf8.RuneSelf]string) {
	for c := range all {
		literal, err := encode.JSON(string(rune(c)))
		if err != nil {
			panic(err)
		}
		all[c] = string(literal[1 : len(literal)-1])
	}
	return all
}()

// stops has the bytes that do not stand for themselves, or may not.
var stops = func() (all [256]bool) {
	for c, form := range forms {
		all[c] = len(form) > 1
	}
	all[lead85], all[lead2028] = true, true
	return all
}()
