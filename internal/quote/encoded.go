package quote

import (
	"encoding/binary"
	"unicode/utf8"
)

// AppendEncoded appends encoded, any JSON text in UTF-8, with the characters that t escapes and
// that stand raw in it written as JSON escapes. Escapes that it holds already stay as they are,
// and so do bytes that are not valid UTF-8. Encoded must not overlap the spare capacity of dst.
func (t *Escaper) AppendEncoded(dst, encoded []byte) []byte {
	copied := 0
	for i := 0; i < len(encoded); {
		for len(encoded)-i >= wordBytes {
			w := binary.LittleEndian.Uint64(encoded[i:])
			if (w|t.classWord(w))&highBits != 0 {
				break
			}
			i += wordBytes
		}
		if i == len(encoded) {
			break
		}
		c := encoded[i]
		if c < utf8.RuneSelf {
			// In a JSON text a control or a quote is structure or white space, so only a class
			// concerns ASCII here.
			if t.classes.escapesASCII(c) {
				dst = append(dst, encoded[copied:i]...)
				dst = AppendUnit(dst, uint16(c))
				copied = i + 1
			}
			i++
			continue
		}
		if t.twoByteMost && c != 0xc2 && c != 0xe2 {
			// The characters that this escaper has begin with C2 (below U+00C0) or E2 (U+2000 to
			// U+2FFF).
			for i++; i < len(encoded); i++ {
				if c := encoded[i]; c < utf8.RuneSelf || c == 0xc2 || c == 0xe2 {
					break
				}
			}
			continue
		}
		r, width := utf8.DecodeRune(encoded[i:])
		if width > 1 && t.classes.escapesAny(r, r) {
			dst = append(dst, encoded[copied:i]...)
			dst = appendEscape(dst, r)
			copied = i + width
		}
		i += width
	}
	return append(dst, encoded[copied:]...)
}
