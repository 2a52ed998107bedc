package quote

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Text is looked at eight bytes at a time, the first of them lowest in the word. What is said of a
// byte stands in its high bit. "abc\"efgh" without its last character is the word
//
//	67 66 65 22 63 62 61   (highest byte first)
//
// and suspects of it has the high bit of byte 3 set, where the quote is.
//
// A subtraction that tells a byte by going below zero borrows from the byte above it, so that of
// the bytes told only the lowest is sure. There is always one when there is any.

// wordBytes is how many bytes are looked at together, and blockBytes how many in eight such steps.
const (
	wordBytes  = 8
	blockBytes = 8 * wordBytes
)

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

func load64(s string, i int) uint64 {
	s = s[i : i+wordBytes]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// loadShort returns a word with the one to seven bytes of s, some of them twice: of "abcde" it is
// the word of "abcdbcde", and of "ab" that of "abbbbbbb".
func loadShort(s string) uint64 {
	n := len(s)
	if n >= 4 {
		first := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
		s = s[n-4:]
		return first | uint64(s[0])<<32 | uint64(s[1])<<40 | uint64(s[2])<<48 | uint64(s[3])<<56
	}
	return uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])*(lowBits&^0xffff)
}

func store64(b []byte, i int, w uint64) { binary.LittleEndian.PutUint64(b[i:i+wordBytes], w) }

// LastWord returns the last eight bytes of s as a word. When s is shorter it is a word of what
// there is.
func LastWord(s string) uint64 {
	switch {
	case s == "":
		return 0
	case len(s) < wordBytes:
		return loadShort(s)
	}
	return load64(s, len(s)-wordBytes)
}

// suspects tells the bytes that are a control below U+0020, a quote, a backslash or not ASCII.
//
// Flipping the bit 0x02 of all bytes maps 0x22, the quote, to 0x20 and the controls to controls,
// so that one comparison with 0x21 finds both: 0x22 becomes 0x20, and 0x20-0x21 is 0xff; 'a',
// 0x61, becomes 0x63, and 0x63-0x21 is 0x42. A byte that is not ASCII stays at or above 0x80 in
// one of the two halves at least, whatever is borrowed from it.
func suspects(w uint64) uint64 {
	return ((w ^ 0x02*lowBits) - 0x21*lowBits) | ((w ^ '\\'*lowBits) - lowBits)
}

// zeroBytes tells the bytes of w that are 0, of which the lowest is sure: 0 less one has the high
// bit, and so has 80 to FF, which are left out.
func zeroBytes(w uint64) uint64 { return (w - lowBits) &^ w & highBits }

// classSuspects tells, of the ASCII characters, < > & ` and DEL. Each is a word that is zero where
// the character stands, and zero less one has the high bit: of '&', 0x26, 0x26^0x26-1 is 0xff. One
// word serves < and >, 0x3c and 0x3e, which differ in the bit 0x02 alone.
func classSuspects(w uint64) uint64 {
	angle := (w | 2*lowBits) ^ '>'*lowBits
	ampersand := w ^ '&'*lowBits
	backtick := w ^ '`'*lowBits
	del := w ^ 0x7f*lowBits
	return (angle - lowBits) | (ampersand - lowBits) | (backtick - lowBits) | (del - lowBits)
}

// highMask gathers the high bits of a word in its lowest byte: of 0x0080000000000080 it is 0x41.
func highMask(w uint64) uint64 { return (w & highBits) * 0x0002040810204081 >> 56 }

// suspectMask has a bit for each byte of a block that suspects tells.
func suspectMask(block string) uint64 {
	block = block[:blockBytes]
	return highMask(suspects(load64(block, 0))) |
		highMask(suspects(load64(block, 8)))<<8 |
		highMask(suspects(load64(block, 16)))<<16 |
		highMask(suspects(load64(block, 24)))<<24 |
		highMask(suspects(load64(block, 32)))<<32 |
		highMask(suspects(load64(block, 40)))<<40 |
		highMask(suspects(load64(block, 48)))<<48 |
		highMask(suspects(load64(block, 56)))<<56
}

// cleanBlocks returns the length of the blocks that s begins with and in which suspects tells no
// byte.
func cleanBlocks(s string) int {
	n := 0
	for ; len(s)-n >= blockBytes; n += blockBytes {
		block := s[n : n+blockBytes]
		if (suspects(load64(block, 0))|suspects(load64(block, 8))|
			suspects(load64(block, 16))|suspects(load64(block, 24))|
			suspects(load64(block, 32))|suspects(load64(block, 40))|
			suspects(load64(block, 48))|suspects(load64(block, 56)))&highBits != 0 {
			break
		}
	}
	return n
}

// unprintable tells the bytes of w that are not printable ASCII.
func unprintable(w uint64) uint64 {
	del := w ^ 0x7f*lowBits
	return (w | (w - ' '*lowBits) | (del - lowBits)) & highBits
}

// printablePrefix returns the length of the printable ASCII that s begins with, if that is not its
// last few bytes.
func printablePrefix(s string) int {
	n := 0
	if vectors {
		n = printableVector(s)
	}
	for ; len(s)-n >= wordBytes; n += wordBytes {
		if hidden := unprintable(load64(s, n)); hidden != 0 {
			return n + bits.TrailingZeros64(hidden)/8
		}
	}
	return n
}

// asciiPrefix returns the length of the words that s begins with and that are ASCII.
func asciiPrefix(s string) int {
	n := 0
	for ; len(s)-n >= blockBytes; n += blockBytes {
		block := s[n : n+blockBytes]
		if (load64(block, 0)|load64(block, 8)|load64(block, 16)|load64(block, 24)|
			load64(block, 32)|load64(block, 40)|load64(block, 48)|load64(block, 56))&highBits != 0 {
			break
		}
	}
	for len(s)-n >= wordBytes && load64(s, n)&highBits == 0 {
		n += wordBytes
	}
	return n
}

// plainTriples returns the length of the characters of three bytes that s begins with, in sixteens,
// for as long as they are valid and no line boundary. The leads E0 and ED, behind which not every
// continuation will do, are left to the slower ways, and so is E2, which two line boundaries begin
// with.
func plainTriples(s string) int {
	n := 0
	if vectors {
		n = triplesVector(s)
	}
	for ; len(s)-n >= 2*tripleBytes; n += 2 * tripleBytes {
		twice := s[n : n+2*tripleBytes]
		faults, leads := triples(load64(twice, 0), load64(twice, 8), load64(twice, 16))
		faults2, leads2 := triples(load64(twice, 24), load64(twice, 32), load64(twice, 40))
		if faults|faults2|^(plainLeads(leads)&plainLeads(leads2))&highBits != 0 {
			break
		}
	}
	return n
}

// tripleBytes is how long eight characters of three bytes are.
const tripleBytes = 3 * wordBytes

// Three words that are eight times a lead byte EX and two continuation bytes: which bits tell,
// what they are, and where the X is. The second word is like the first when its bytes are rotated
// by one.
const (
	tripleMask0, tripleForm0 = 0xc0f0c0c0f0c0c0f0, 0x80e08080e08080e0
	tripleMask2, tripleForm2 = 0xc0c0f0c0c0f0c0c0, 0x8080e08080e08080

	tripleLead0, tripleLead2 = 0x000f00000f00000f, 0x00000f00000f0000
)

// triples reads three words that are to be eight times a lead byte EX and two continuation bytes:
// faults is not 0 when they are not, and leads is the eight Xs, a byte each, in no order. Of eight
// times 中, E4 B8 AD, the first word is B8E4ADB8E4ADB8E4, its faults are 0 and its leads
// 0004000004000004.
func triples(w0, w1, w2 uint64) (faults, leads uint64) {
	w1 = bits.RotateLeft64(w1, -8)
	faults = ((w0^tripleForm0)|(w1^tripleForm0))&tripleMask0 | (w2^tripleForm2)&tripleMask2
	return faults, w0&tripleLead0 | w1&tripleLead0<<8 | w2&tripleLead2
}

// plainLeads has the high bit of each byte of x, which is below 16, set unless that is 0, 2 or D.
// Of a byte 4, 4&D is 4 and 4^D is 9, and both with 7F added have the high bit; of a byte 2, 2&D
// is 0.
func plainLeads(x uint64) uint64 {
	return (x&(0xd*lowBits) + 0x7f*lowBits) & ((x ^ 0xd*lowBits) + 0x7f*lowBits)
}

// IndexByte is bytes.IndexByte.
func IndexByte(s []byte, c byte) int {
	n := 0
	if vectors {
		n = indexVector(s, c)
	}
	if k := bytes.IndexByte(s[n:], c); k >= 0 {
		return n + k
	}
	return -1
}
