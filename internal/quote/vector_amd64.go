//go:build goexperiment.simd && amd64

package quote

import (
	"encoding/binary"
	"math/bits"
	"simd/archsimd"
	"unicode/utf8"
	"unsafe"
)

// Here text is looked at 32 or 64 bytes at a time. Which it is, or neither, the processor decides
// when the program starts. What each function returns is what the words of words.go would say.
//
// What uses vectors is a function that is not inlined and ends with ClearAVXUpperBits. Otherwise
// what follows would wait for the upper halves of the registers, ten times as long as it takes. For
// the same reason every constant is loaded, and not made from a byte.

// vectors says whether there are 32-byte vectors, and wideVectors whether there are 64-byte ones.
var (
	vectors     = archsimd.X86.AVX2()
	wideVectors = vectors && archsimd.X86.AVX512()
)

type (
	bytes32 = archsimd.Uint8x32
	bytes64 = archsimd.Uint8x64
)

// bytesOf returns the n bytes of s from byte i, to be read. The slice is in s, or it panics, so the
// pointer is to n bytes that are there for as long as s is, and that nobody writes to.
func bytesOf(s string, i, n int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.StringData(s[i : i+n]))
}

func load32(s string, i int) bytes32 {
	return archsimd.LoadUint8x32((*[32]byte)(bytesOf(s, i, 32)))
}

func load64b(s string, i int) bytes64 {
	return archsimd.LoadUint8x64((*[64]byte)(bytesOf(s, i, 64)))
}

// all is a vector of one byte, kept in memory, and table one of sixteen bytes again and again.
type all [64]byte

func each(c byte) (v all) { return table([16]byte{c, c, c, c, c, c, c, c, c, c, c, c, c, c, c, c}) }

func table(t [16]byte) (v all) {
	for i := range v {
		v[i] = t[i%len(t)]
	}
	return v
}

func (v *all) b32() bytes32 { return archsimd.LoadUint8x32((*[32]byte)(v[:])) }
func (v *all) b64() bytes64 { return archsimd.LoadUint8x64((*[64]byte)(v)) }

var (
	all01, all02, all0F, all20, all21 = each(0x01), each(0x02), each(0x0f), each(0x20), each(0x21)
	all5E                             = each(0x5e)
	all60, all70, all7E, all7F, all80 = each(0x60), each(0x70), each(0x7e), each(0x7f), each(0x80)
	all85, allA9, allC2, allE0, allE2 = each(0x85), each(0xa9), each(0xc2), each(0xe0), each(0xe2)
	allED, allF0, allBackslash        = each(0xed), each(0xf0), each('\\')

	each4 = [16]uint32{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}
)

// What can be wrong with two bytes in a row, a bit each. A pair is wrong in a way when the upper
// half of the first byte, its lower half and the upper half of the second byte all allow that.
// Of C0 80, the upper half C allows tooShort and overlong2, the lower half 0 the latter, and 8
// too: overlong2.
const (
	tooShort  = 1 << iota // a lead byte before what is no continuation
	tooLong               // ASCII before a continuation
	overlong3             // E0 before less than A0
	surrogate             // ED before more than 9F
	overlong2             // C0 and C1
	tooLarge              // F4 before more than 8F, and F5 and above before that
	overlong4             // F0 before less than 90, and F5 and above before that
	continued             // two continuations: right, behind a lead byte of three or four

	anyLow = tooShort | tooLong | continued // not a matter of the lower half
	above4 = anyLow | tooLarge | overlong4
)

var (
	firstUpper = table([16]byte{
		tooLong, tooLong, tooLong, tooLong, tooLong, tooLong, tooLong, tooLong,
		continued, continued, continued, continued,
		tooShort | overlong2, tooShort, tooShort | overlong3 | surrogate,
		tooShort | tooLarge | overlong4,
	})
	firstLower = table([16]byte{
		anyLow | overlong2 | overlong3 | overlong4, anyLow | overlong2, anyLow, anyLow,
		anyLow | tooLarge, above4, above4, above4, above4, above4, above4, above4, above4,
		above4 | surrogate, above4, above4,
	})
	secondUpper = table([16]byte{
		tooShort, tooShort, tooShort, tooShort, tooShort, tooShort, tooShort, tooShort,
		tooLong | continued | overlong2 | overlong3 | overlong4,
		tooLong | continued | overlong2 | overlong3 | tooLarge,
		tooLong | continued | overlong2 | surrogate | tooLarge,
		tooLong | continued | overlong2 | surrogate | tooLarge,
		tooShort, tooShort, tooShort, tooShort,
	})
)

// pairs32 returns what is wrong with the pairs of which x has the first byte and y the second.
func pairs32(x, y bytes32) bytes32 {
	lower, four := all0F.b32(), archsimd.LoadUint32x8((*[8]uint32)(each4[:]))
	xUpper := x.AsUint32x8().ShiftRight(four).AsUint8x32().And(lower)
	yUpper := y.AsUint32x8().ShiftRight(four).AsUint8x32().And(lower)
	return firstUpper.b32().PermuteOrZeroGrouped(xUpper.AsInt8x32()).
		And(firstLower.b32().PermuteOrZeroGrouped(x.And(lower).AsInt8x32())).
		And(secondUpper.b32().PermuteOrZeroGrouped(yUpper.AsInt8x32()))
}

// pairs64 is pairs32 for twice as much.
func pairs64(x, y bytes64) bytes64 {
	lower, four := all0F.b64(), archsimd.LoadUint32x16(&each4)
	xUpper := x.AsUint32x16().ShiftRight(four).AsUint8x64().And(lower)
	yUpper := y.AsUint32x16().ShiftRight(four).AsUint8x64().And(lower)
	return firstUpper.b64().PermuteOrZeroGrouped(xUpper.AsInt8x64()).
		And(firstLower.b64().PermuteOrZeroGrouped(x.And(lower).AsInt8x64())).
		And(secondUpper.b64().PermuteOrZeroGrouped(yUpper.AsInt8x64()))
}

// high32 has a bit for each byte of x that has its high bit set.
func high32(x bytes32) uint64 {
	var zero archsimd.Int8x32
	return uint64(zero.Greater(x.AsInt8x32()).ToBits())
}

// escaped32 tells the bytes of x that are a control below U+0020, a quote or a backslash; suspects
// says how.
func escaped32(x bytes32) archsimd.Mask8x32 {
	space := all20.b32()
	return x.Xor(all02.b32()).Max(space).Equal(space).Or(x.Equal(allBackslash.b32()))
}

func escaped64(x bytes64) uint64 {
	return x.Xor(all02.b64()).Less(all21.b64()).ToBits() | x.Equal(allBackslash.b64()).ToBits()
}

// vectorReach is how far a block of 64 bytes is looked at.
const vectorReach = blockBytes + 2

// view looks at a block and two more bytes, and has a bit for each byte of it: escaped for ASCII
// that JSON escapes, high if there is anything but ASCII, boundary for the first byte of U+0085,
// U+2028 and U+2029, and wrong for bytes that, with those around them, are not UTF-8. The block
// begins with a character.
func view(s string) (escaped, high, boundary, wrong uint64) {
	if wideVectors {
		return view64(s)
	}
	return view32(s)
}

//go:noinline
func view32(s string) (escaped, high, boundary, wrong uint64) {
	s = s[:vectorReach]
	x0, x1 := load32(s, 0), load32(s, 32)
	escaped = uint64(escaped32(x0).ToBits()) | uint64(escaped32(x1).ToBits())<<32
	if high = high32(x0.Or(x1)); high != 0 {
		y0, y1 := load32(s, 1), load32(s, 33)
		p0, p1 := pairs32(x0, y0), pairs32(x1, y1)
		var zero bytes32
		right := uint64(p0.And(all7F.b32()).Equal(zero).ToBits()) |
			uint64(p1.And(all7F.b32()).Equal(zero).ToBits())<<32
		continued := high32(p0) | high32(p1)<<32
		long := high32(x0.SubSaturated(all60.b32())) | high32(x1.SubSaturated(all60.b32()))<<32
		four := high32(x0.SubSaturated(all70.b32())) | high32(x1.SubSaturated(all70.b32()))<<32
		wrong = ^right | (continued ^ (long<<1 | four<<2))
		boundary = uint64(boundary32(x0, y0, load32(s, 2)).ToBits()) |
			uint64(boundary32(x1, y1, load32(s, 34)).ToBits())<<32
	}
	archsimd.ClearAVXUpperBits()
	return escaped, high, boundary, wrong
}

// boundary32 tells the first bytes of C2 85, E2 80 A8 and E2 80 A9, of which x, y and z have the
// first, second and third.
func boundary32(x, y, z bytes32) archsimd.Mask8x32 {
	nextLine := x.Equal(allC2.b32()).And(y.Equal(all85.b32()))
	separator := x.Equal(allE2.b32()).And(y.Equal(all80.b32())).
		And(z.Or(all01.b32()).Equal(allA9.b32()))
	return nextLine.Or(separator)
}

//go:noinline
func view64(s string) (escaped, high, boundary, wrong uint64) {
	s = s[:vectorReach]
	x := load64b(s, 0)
	escaped = escaped64(x)
	var zero archsimd.Int8x64
	if high = x.AsInt8x64().Less(zero).ToBits(); high != 0 {
		y := load64b(s, 1)
		p := pairs64(x, y)
		faults := p.And(all7F.b64()).NotEqual(zero.AsUint8x64()).ToBits()
		continued := p.AsInt8x64().Less(zero).ToBits()
		long := x.GreaterEqual(allE0.b64()).ToBits()
		four := x.GreaterEqual(allF0.b64()).ToBits()
		wrong = faults | (continued ^ (long<<1 | four<<2))
		nextLine := x.Equal(allC2.b64()).ToBits() & y.Equal(all85.b64()).ToBits()
		separator := x.Equal(allE2.b64()).ToBits() & y.Equal(all80.b64()).ToBits() &
			load64b(s, 2).Or(all01.b64()).Equal(allA9.b64()).ToBits()
		boundary = nextLine | separator
	}
	archsimd.ClearAVXUpperBits()
	return escaped, high, boundary, wrong
}

// lookVector looks at a block, of which the first byte begins a character: n bytes of it, more than
// 60, are valid UTF-8 and end between characters, and dirty has a bit for each character of them
// that is escaped without classes, at its first byte. Where the block is not UTF-8 it ends before
// that; when nothing is before it, n and dirty are 1.
func lookVector(s string) (n int, dirty uint64) {
	escaped, high, boundary, wrong := view(s)
	if high == 0 {
		return blockBytes, escaped
	}
	if n = validBytes(s, wrong); n == 0 {
		return 1, 1
	}
	return n, (escaped | boundary) & (1<<n - 1)
}

// validBytes returns how many bytes of a block are valid UTF-8 and end between characters.
func validBytes(s string, wrong uint64) int {
	n := blockBytes
	switch { // the last character goes on behind the block
	case s[63] >= 0xc0:
		n = 63
	case s[62] >= 0xe0:
		n = 62
	case s[61] >= 0xf0:
		n = 61
	}
	if !utf8.RuneStart(s[0]) {
		wrong |= 1 // no pair has it as its second byte
	}
	if wrong != 0 {
		for n = min(n, bits.TrailingZeros64(wrong)); n > 0 && !utf8.RuneStart(s[n]); n-- {
		}
	}
	return n
}

// copyVectors is copyBlocks for ASCII with little to escape, and for blocks of other characters
// with nothing to escape. It stops before anything else.
func (t *Escaper) copyVectors(buf []byte, o int, s string, i int) (int, int) {
	for len(s)-i >= vectorReach && len(buf)-o >= blockReach {
		if s[i] < utf8.RuneSelf {
			o, i = copySparse(&t.ascii, buf, o, s, i)
			if i == len(s) || s[i] < utf8.RuneSelf {
				break
			}
			continue
		}
		if s[i] > 0xe2 {
			n := triplesVector(s[i : i+min(len(s)-i, len(buf)-o)])
			copy(buf[o:], s[i:i+n])
			if i, o = i+n, o+n; len(s)-i < vectorReach || len(buf)-o < blockReach {
				break
			}
		}
		escaped, _, boundary, wrong := view(s[i:])
		n := validBytes(s[i:], wrong)
		if escaped|boundary != 0 || n < blockBytes-3 {
			break
		}
		copy(buf[o:o+blockBytes], s[i:i+blockBytes])
		i, o = i+n, o+n
	}
	return o, i
}

// copySparse writes s from byte i into buf from byte o, with its escapes as ascii has them, for as
// long as that is ASCII and a block has few of them, and both have room for a block and a form. It
// returns where it stopped.
//
//go:noinline
func copySparse(ascii *[utf8.RuneSelf]packed, buf []byte, o int, s string, i int) (int, int) {
	bound := all21.b32().AsInt8x32()
	for len(s)-i >= blockBytes && len(buf)-o >= blockReach {
		x0, x1 := load32(s, i), load32(s, i+32)
		to := buf[o : o+blockReach]
		x0.Store((*[32]byte)(to))
		x1.Store((*[32]byte)(to[32:]))
		dirty := uint64(bound.Greater(dirtiness(x0)).ToBits()) |
			uint64(bound.Greater(dirtiness(x1)).ToBits())<<32
		if dirty == 0 {
			i, o = i+blockBytes, o+blockBytes
			continue
		}
		// The fifth is cleared away if there is one.
		fifth := dirty & (dirty - 1)
		fifth &= fifth - 1
		fifth &= fifth - 1
		fifth &= fifth - 1
		next := bits.TrailingZeros64(dirty)
		i, o = i+next, o+next
		if fifth != 0 || s[i] >= utf8.RuneSelf {
			break
		}
		form := ascii[s[i]]
		binary.LittleEndian.PutUint64(to[next:next+wordBytes], uint64(form))
		i, o = i+1, o+form.len()
	}
	archsimd.ClearAVXUpperBits()
	return o, i
}

// dirtiness is, as signed bytes, below 21 where x is not ASCII or a control, a quote or a
// backslash. What is not ASCII is negative; suspects says how the flipped bit 02 brings quotes to
// the controls. With that bit flipped a backslash is 5E, which another flip makes 0, and only that
// is less than 21 with 20 added.
func dirtiness(x bytes32) archsimd.Int8x32 {
	y := x.Xor(all02.b32())
	backslash := y.Xor(all5E.b32()).AsInt8x32().AddSaturated(all20.b32().AsInt8x32())
	return y.AsInt8x32().Min(backslash)
}

// validVector returns the length of a prefix of s that is valid UTF-8: all of it but less than
// vectorReach, or up to what is not.
func validVector(s string) int {
	n := 0
	for len(s)-n >= vectorReach {
		if s[n] < utf8.RuneSelf {
			n += asciiVector(s[n:])
		} else if s[n] > 0xe2 {
			n += triplesVector(s[n:])
		}
		if len(s)-n < vectorReach {
			break
		}
		_, _, _, wrong := view(s[n:])
		valid := validBytes(s[n:], wrong)
		n += valid
		if valid < blockBytes-3 {
			break
		}
	}
	return n
}

// asciiVector returns the length of the blocks that s begins with and that are ASCII.
//
//go:noinline
func asciiVector(s string) int {
	n := 0
	for ; len(s)-n >= blockBytes; n += blockBytes {
		var zero archsimd.Int8x32
		if zero.Greater(load32(s, n).Or(load32(s, n+32)).AsInt8x32()).ToBits() != 0 {
			break
		}
	}
	archsimd.ClearAVXUpperBits()
	return n
}

// indexVector returns how many bytes of s, in steps of 128, are not c.
//
//go:noinline
func indexVector(s []byte, c byte) (n int) {
	w := uint64(c) * lowBits
	four := [4]uint64{w, w, w, w}
	wanted := archsimd.LoadUint64x4(&four).AsUint8x32()
	for ; len(s)-n >= 128; n += 128 {
		x := (*[128]byte)(s[n:])
		e0 := archsimd.LoadUint8x32((*[32]byte)(x[0:])).Equal(wanted)
		e1 := archsimd.LoadUint8x32((*[32]byte)(x[32:])).Equal(wanted)
		e2 := archsimd.LoadUint8x32((*[32]byte)(x[64:])).Equal(wanted)
		e3 := archsimd.LoadUint8x32((*[32]byte)(x[96:])).Equal(wanted)
		if e0.Or(e1).Or(e2.Or(e3)).ToBits() != 0 {
			break
		}
	}
	archsimd.ClearAVXUpperBits()
	return n
}

// printableVector returns the length of the printable ASCII that s begins with, as far as its last
// 31 bytes.
//
//go:noinline
func printableVector(s string) int {
	n := 0
	for ; len(s)-n >= 32; n += 32 {
		x := load32(s, n)
		shown := x.Max(all20.b32()).Min(all7E.b32()).Equal(x).ToBits()
		if shown != math32 {
			n += bits.TrailingZeros32(^shown)
			break
		}
	}
	archsimd.ClearAVXUpperBits()
	return n
}

const math32 = 1<<32 - 1

// Three times 32 bytes that are lead bytes EX and two continuation bytes each.
var tripleMask, tripleForm = func() (mask, form [3 * 32]byte) {
	for i := range mask {
		mask[i], form[i] = 0xc0, 0x80
		if i%3 == 0 {
			mask[i], form[i] = 0xf0, 0xe0
		}
	}
	return mask, form
}()

// triplesVector is plainTriples in steps of 96 bytes.
//
//go:noinline
func triplesVector(s string) int {
	m0 := archsimd.LoadUint8x32((*[32]byte)(tripleMask[0:]))
	m1 := archsimd.LoadUint8x32((*[32]byte)(tripleMask[32:]))
	m2 := archsimd.LoadUint8x32((*[32]byte)(tripleMask[64:]))
	f0 := archsimd.LoadUint8x32((*[32]byte)(tripleForm[0:]))
	f1 := archsimd.LoadUint8x32((*[32]byte)(tripleForm[32:]))
	f2 := archsimd.LoadUint8x32((*[32]byte)(tripleForm[64:]))
	e0, e2, ed := allE0.b32(), allE2.b32(), allED.b32()
	n := 0
	for ; len(s)-n >= 96; n += 96 {
		x0, x1, x2 := load32(s, n), load32(s, n+32), load32(s, n+64)
		var zero bytes32
		faults := x0.And(m0).Xor(f0).Or(x1.And(m1).Xor(f1)).Or(x2.And(m2).Xor(f2))
		other := x0.Equal(e0).Or(x0.Equal(e2)).Or(x0.Equal(ed)).
			Or(x1.Equal(e0)).Or(x1.Equal(e2)).Or(x1.Equal(ed)).
			Or(x2.Equal(e0)).Or(x2.Equal(e2)).Or(x2.Equal(ed))
		if ^faults.Equal(zero).ToBits()|other.ToBits() != 0 {
			break
		}
	}
	archsimd.ClearAVXUpperBits()
	return n
}

// spread writes the n bytes of the block that s begins with, of which dirty tells those that are
// escaped, to buf, and returns how many bytes that takes. It has no branch for an escape. When one
// of the bytes is not escaped as a backslash and a letter, it returns 0.
//
// The bytes are replaced by their letters first. Then eight of them at a time are moved apart by a
// row of the table, which leaves zeros for the backslashes that are put there: with the first and
// third byte dirty, abcdefgh becomes \a b \c d e f g h without the spaces.
//
//go:noinline
func spread(buf *[spreadBytes]byte, s string, n int, dirty uint64) int {
	s = s[:blockBytes]
	var letters [blockBytes + wordBytes]byte
	y0, y1 := letters32(load32(s, 0)), letters32(load32(s, 32))
	y0.Store((*[32]byte)(letters[0:]))
	y1.Store((*[32]byte)(letters[32:]))
	var zero bytes32
	other := uint64(y0.Equal(zero).ToBits()) | uint64(y1.Equal(zero).ToBits())<<32
	o := uint(0)
	if other |= high32(y0) | high32(y1)<<32; other&dirty == 0 {
		backslash := archsimd.LoadUint8x16((*[16]byte)(all80[:]))
		for i := 0; i < blockBytes; i += wordBytes {
			row := archsimd.LoadUint8x16(&spreadRows[byte(dirty)])
			x := archsimd.LoadUint8x16((*[16]byte)(letters[i:]))
			y := x.PermuteOrZero(row.AsInt8x16()).Or(row.SubSaturated(backslash))
			y.Store((*[16]byte)(buf[o&127:]))
			o += wordBytes + uint(bits.OnesCount8(byte(dirty)))
			dirty >>= wordBytes
		}
		o -= uint(blockBytes - n)
	}
	archsimd.ClearAVXUpperBits()
	return int(o)
}

// letters32 replaces the controls of x by the letters of their short escapes, or by 0.
func letters32(x bytes32) bytes32 {
	plain := x.Max(all20.b32()).Equal(x)
	// From 10 up, a control gets its high bit set here, for which the shuffle writes 0.
	index := x.AddSaturated(all70.b32()).AsInt8x32()
	return x.Masked(plain).Or(shortLetters.b32().PermuteOrZeroGrouped(index))
}

// spreadRows has, for eight bytes of which some are dirty, where each byte of what is written comes
// from. A backslash has its high bit set, which makes the shuffle write 0.
var spreadRows = func() (rows [256][16]byte) {
	for dirty := range rows {
		k := 0
		for i := range byte(wordBytes) {
			if dirty>>i&1 != 0 {
				rows[dirty][k] = '\\' | 0x80
				k++
			}
			rows[dirty][k] = i
			k++
		}
	}
	return rows
}()

// shortLetters has the letters of \b, \t, \n, \f and \r where these characters are.
var shortLetters = table([16]byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'})
