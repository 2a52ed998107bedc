package envelope

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
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

// The classes, to be combined with |. Any other bit is an error to a renderer.
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
			// In a JSON text a control or a quote is structure or white space, so only a class concerns ASCII here.
			if t.class[c] {
				dst = append(dst, encoded[clean:i]...)
				dst = appendUnit(dst, uint16(c))
				clean = i + 1
			}
			i++
			continue
		}
		if t.simple && c != 0xc2 && c != 0xe2 {
			// Bytes of other characters than those below U+00C0 and from U+2000 to U+2FFF.
			for i++; i < len(encoded) && encoded[i] >= utf8.RuneSelf && encoded[i] != 0xc2 && encoded[i] != 0xe2; i++ {
			}
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
func (e Escape) wide(r rune) bool { return e.anyWide(r, r) }

// anyWide reports whether one of the characters from first to last, which are not ASCII, is written as an escape.
func (e Escape) anyWide(first, last rune) bool {
	switch {
	case first <= '\u0085' && '\u0085' <= last, first <= '\u2029' && '\u2028' <= last:
		return true
	case e == 0:
		return false
	case e&EscapeNonASCII != 0:
		return true
	case e&EscapeControls != 0 && first <= '\u009f':
		return true
	}
	return e&EscapeInvisible != 0 && anyInvisible(first, last)
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
	classy bool                // a class escapes ASCII characters
	class  [utf8.RuneSelf]bool // which it escapes
	simple bool                // no class escapes anything above U+009F
	plain  machine             // reads characters that stand for themselves
	ascii  [256]uint64         // how each ASCII character is written: its bytes from the lowest up, their number in the top byte
}

// escapers has the escaper of each set of classes.
var escapers = func() (all [allEscapes + 1]escaper) {
	short := map[byte]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}
	for e := range all {
		t := &all[e]
		t.escape = Escape(e)
		t.classy = t.escape&(EscapeControls|EscapeMarkup) != 0
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
		t.simple = t.escape&(EscapeInvisible|EscapeNonASCII) == 0
		t.plain = newMachine(t.plainRange)
	}
	return all
}()

// plainRange reports whether t escapes no character from low to high, which are both ASCII or both not.
func (t *escaper) plainRange(low, high rune) bool {
	if high >= utf8.RuneSelf {
		return !t.escape.anyWide(low, high)
	}
	for _, packed := range t.ascii[low : high+1] {
		if packedBytes(packed) != 1 {
			return false
		}
	}
	return true
}

// appendString appends s as the inside of a JSON string literal, as much of it as takes at most limit bytes. It returns how
// much of s that is; when that is not all, valid says whether the limit stopped it or invalid UTF-8 at s[n].
func (t *escaper) appendString(dst []byte, s string, limit int) (out []byte, n int, valid bool) {
	full := endOf(len(dst), limit)
	for n < len(s) {
		if left := len(s) - n; cap(dst) < full && cap(dst)-len(dst) < left+2*wordBytes {
			dst = slices.Grow(dst, min(left+left/8+8*wordBytes, full-len(dst)))
		}
		o := len(dst)
		o, n = t.copyRuns(dst[:min(cap(dst), max(full, o))], o, s, n) // a limit may be negative
		dst = dst[:o]
		// What copyRuns leaves is near the end of s or of the room, or invalid.
		if left := len(s) - n; left < wordBytes && len(s) >= wordBytes && full-len(dst) >= wordBytes && cap(dst)-len(dst) >= wordBytes {
			w := load64(s, len(s)-wordBytes)>>(8*(wordBytes-left)) | ' '*lowBits<<(8*left)
			if t.dirtyBytes(w) == 0 {
				store64(dst[:len(dst)+wordBytes], len(dst), w)
				return dst[:len(dst)+left], len(s), true
			}
		}
		for stop := min(n+wordBytes, len(s)); n < stop; {
			if c := s[n]; c < utf8.RuneSelf {
				packed := t.ascii[c]
				if packedBytes(packed) > full-len(dst) {
					return dst, n, true
				}
				if packedBytes(packed) == 1 {
					dst = append(dst, c)
				} else {
					dst = appendPacked(dst, packed)
				}
				n++
				continue
			}
			r, width := utf8.DecodeRuneInString(s[n:])
			if r == utf8.RuneError && width == 1 {
				return dst, n, false
			}
			if written := t.wideBytes(r, width); written > full-len(dst) {
				return dst, n, true
			}
			dst = t.appendWide(dst, r)
			n += width
		}
	}
	return dst, n, true
}

// copyRuns writes s from byte i as the inside of a JSON string literal into buf from byte o, many bytes at a time for as long as both have room
// for that, and returns where it stopped. It stops before invalid UTF-8, too.
func (t *escaper) copyRuns(buf []byte, o int, s string, i int) (int, int) {
	for len(s)-i >= blockReach && len(buf)-o >= blockReach {
		before := i
		switch {
		case s[i] >= utf8.RuneSelf:
			o, i = t.copyWide(buf, o, s, i)
		case load64(s, i)&highBits != 0:
			o, i = t.copyShort(buf, o, s, i)
		default:
			o, i = t.copyBlocks(buf, o, s, i)
		}
		if i == before {
			break
		}
	}
	return t.copyWords(buf, o, s, i, len(s))
}

// copyShort is copyRuns for the ASCII characters, if any, before one that is not and that begins in the next eight bytes of s. Seven escapes and
// a word have to have room.
func (t *escaper) copyShort(buf []byte, o int, s string, i int) (int, int) {
	w := load64(s, i)
	store64(buf, o, w)
	n := bits.TrailingZeros64(t.dirtyBytes(w)) / 8
	i, o = i+n, o+n
	for ; s[i] < utf8.RuneSelf; i++ {
		packed := t.ascii[s[i]]
		store64(buf, o, packed)
		o += packedBytes(packed)
	}
	return o, i
}

// copyBlocks is copyRuns for text that is ASCII for the most part, a block at a time. A block and the run that reaches furthest behind it have room
// when it begins; each dirty byte takes up to five more, so that there is room for those before anything of the block is written.
func (t *escaper) copyBlocks(buf []byte, o int, s string, i int) (int, int) {
	for len(s)-i >= blockReach && len(buf)-o >= blockReach {
		dirty := t.dirtyMask(s[i : i+blockBytes])
		if dirty == 0 {
			n := blockBytes
			if !t.classy {
				n += cleanBlocks(s[i+blockBytes : i+min(len(s)-i, len(buf)-o)])
			}
			copy(buf[o:], s[i:i+n])
			i, o = i+n, o+n
			continue
		}
		escapes := bits.OnesCount64(dirty)
		if len(buf)-o < blockReach+(unitBytes-1)*escapes {
			break
		}
		if escapes > denseBlock {
			return t.copyWords(buf, o, s, i, i+blockBytes)
		}
		start, end := i, i+blockBytes
		for dirty != 0 {
			next := start + bits.TrailingZeros64(dirty)
			copyRun(buf, o, s, i, next)
			i, o = next, o+next-i
			if s[i] < utf8.RuneSelf {
				packed := t.ascii[s[i]]
				store64(buf, o, packed)
				i, o = i+1, o+packedBytes(packed)
				dirty &= dirty - 1
				continue
			}
			if o, i = t.copyWide(buf, o, s, i); i == next || i >= end {
				return o, i
			}
			dirty = dirty >> (i - start) << (i - start)
		}
		copyRun(buf, o, s, i, end)
		i, o = end, o+end-i
	}
	return o, i
}

// copyRun copies s from byte i to end 16 bytes at a time, the first in any case.
func copyRun(buf []byte, o int, s string, i, end int) {
	copy(buf[o:o+16], s[i:i+16])
	for n := end - i; n > 16; n -= 16 {
		i, o = i+16, o+16
		copy(buf[o:o+16], s[i:i+16])
	}
}

// denseBlock is how many escapes in a block are too many to look for each.
const denseBlock = 24

// blockReach is how far copyBlocks reads and writes, whose runs are copied 16 bytes at a time.
const blockReach = blockBytes + 16

// dirtyMask has a bit for each byte of a block that dirtyBytes tells.
func (t *escaper) dirtyMask(block string) (mask uint64) {
	if !t.classy {
		return suspectMask(block)
	}
	for i := 0; i < blockBytes; i += wordBytes {
		mask |= highMask(t.dirtyBytes(load64(block, i))) << i
	}
	return mask
}

// dirtyBytes tells the bytes of w that are not ASCII or may have to be escaped.
func (t *escaper) dirtyBytes(w uint64) uint64 { return (suspects(w) | t.classWord(w)) & highBits }

// classWord tells the bytes of w that are ASCII and that a class may escape.
func (t *escaper) classWord(w uint64) uint64 {
	if t.classy {
		return classSuspects(w)
	}
	return 0
}

// copyWords is copyRuns a word at a time, as far as byte end of s.
func (t *escaper) copyWords(buf []byte, o int, s string, i, end int) (int, int) {
	for i < end && len(s)-i >= wordBytes && len(buf)-o >= wordBytes {
		w := load64(s, i)
		dirty := t.dirtyBytes(w)
		if dirty == 0 {
			store64(buf, o, w)
			i, o = i+wordBytes, o+wordBytes
			continue
		}
		if len(buf)-o < dirtyWordBytes {
			break
		}
		if w&highBits == 0 {
			o += t.copyGroup((*[dirtyWordBytes]byte)(buf[o:]), w)
			i += wordBytes
			continue
		}
		before := i
		o, i = t.copyShort(buf, o, s, i)
		if o, i = t.copyWide(buf, o, s, i); i == before {
			break
		}
	}
	return o, i
}

// dirtyWordBytes is the room that copyGroup is given. Eight escapes of which the last is stored as a word take 50 bytes; with more, put needs no
// check.
const dirtyWordBytes = 64 + wordBytes

// copyGroup writes the eight ASCII characters of w to buf, each as its packed form, of which only so many bytes count as it has, and returns
// how much that is. No branch asks which of them are escaped, so none is guessed wrong; it is written out because a loop takes twice as
// long.
func (t *escaper) copyGroup(buf *[dirtyWordBytes]byte, w uint64) int {
	n := uint(0)
	n = put(buf, n, t.ascii[w&0x7f])
	n = put(buf, n, t.ascii[w>>8&0x7f])
	n = put(buf, n, t.ascii[w>>16&0x7f])
	n = put(buf, n, t.ascii[w>>24&0x7f])
	n = put(buf, n, t.ascii[w>>32&0x7f])
	n = put(buf, n, t.ascii[w>>40&0x7f])
	n = put(buf, n, t.ascii[w>>48&0x7f])
	n = put(buf, n, t.ascii[w>>56&0x7f])
	return int(n)
}

// put stores a packed form at byte n, which is below 64, and returns the byte behind it.
func put(buf *[dirtyWordBytes]byte, n uint, packed uint64) uint {
	binary.LittleEndian.PutUint64(buf[n&63:n&63+wordBytes], packed)
	return n + uint(packed>>56)
}

// copyWide is copyRuns for characters that are not ASCII, and for what follows them in the words of a machine.
func (t *escaper) copyWide(buf []byte, o int, s string, i int) (int, int) {
	for len(s)-i >= wordBytes && len(buf)-o >= 2*unitBytes && s[i] >= utf8.RuneSelf {
		w := load64(s, i)
		switch {
		case w&0xfeffff == 0xa880e2: // U+2028, U+2029
			store64(buf, o, separatorForm+w>>16&1<<40)
			i, o = i+3, o+unitBytes
			continue
		case w&0xffff == 0x85c2: // U+0085
			store64(buf, o, nextLineForm)
			i, o = i+2, o+unitBytes
			continue
		}
		if n := t.plainWide(s[i : i+min(len(s)-i, len(buf)-o)]); n > 0 {
			copy(buf[o:], s[i:i+n])
			i, o = i+n, o+n
			continue
		}
		r, width := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && width == 1:
			return o, i
		case t.escape.wide(r):
			o = len(appendEscape(buf[:o], r))
		default:
			store64(buf, o, w)
			o += width
		}
		i += width
	}
	return o, i
}

// plainWide returns the length of a prefix of s, which begins with a character that is not ASCII, that is valid UTF-8 and stands for itself.
func (t *escaper) plainWide(s string) int {
	n := 0
	if t.simple && s[0] > 0xe2 {
		n = plainTriples(s)
	}
	return n + t.plain.prefix(s[n:min(n+machineBytes, len(s))])
}

// The escapes of the line boundaries that are not ASCII, as words: of U+2028, which is one less than that of U+2029 in its last digit, and of
// U+0085.
const (
	separatorForm = '\\' | 'u'<<8 | '2'<<16 | '0'<<24 | '2'<<32 | '8'<<40
	nextLineForm  = '\\' | 'u'<<8 | '0'<<16 | '0'<<24 | '8'<<32 | '5'<<40
)

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
	if r < utf8.RuneSelf {
		return width, packedBytes(t.ascii[r])
	}
	return width, t.wideBytes(r, width)
}

// wideBytes returns how long is what is written for r, which is not ASCII and has so many bytes.
func (t *escaper) wideBytes(r rune, width int) int {
	if t.escape.wide(r) {
		return escapeBytes(r)
	}
	return width
}

func (t *escaper) appendWide(dst []byte, r rune) []byte {
	if t.escape.wide(r) {
		return appendEscape(dst, r)
	}
	return utf8.AppendRune(dst, r)
}

// packedBytes is how many bytes of a packed form there are, from the lowest up.
func packedBytes(packed uint64) int { return int(packed >> 56) }

func appendPacked(dst []byte, packed uint64) []byte {
	var form [wordBytes]byte
	binary.LittleEndian.PutUint64(form[:], packed)
	return append(dst, form[:packedBytes(packed)]...)
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

// plainText reports whether s is ASCII without a character that is ever escaped.
func plainText(s string) bool {
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
	all := &escapers[allEscapes]
	for c := range byte(utf8.RuneSelf) {
		plain[c] = packedBytes(all.ascii[c]) == 1
	}
	return plain
}()

// anyInvisible reports whether one of the characters from first to last has general category Cf or the property
// Default_Ignorable_Code_Point. The ranges are written down here, and not taken from package unicode, so that the bytes do not depend on
// the Go release: they are those of Unicode 15.0, in which the property covers the code points reserved for such characters too. A
// test compares them with the release at hand.
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
