// Package quote decides how bytes are looked at and written: JSON strings with classes of
// characters escaped, the display form of text, UTF-8, white space and character classes. It knows
// nothing of markers, budgets or items.
//
// Nothing here allocates unless a destination has to grow, and everything may be used by several
// goroutines at once.
package quote

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"unicode/utf16"
	"unicode/utf8"
)

// Escaper writes strings as JSON with the line boundaries and the characters of its classes
// escaped. It is the one that decides how a character of a string is written.
type Escaper struct {
	classes      Classes
	escapesASCII bool // a class has ASCII characters
	twoByteMost  bool // no class has a character above U+009F
	vector       bool
	unescaped    lazyMachine // reads characters that stand for themselves
	built        atomic.Bool
	ascii        [utf8.RuneSelf]packed // how each ASCII character is written
}

// For returns the escaper of a set of classes. Bits that name no class are ignored.
func For(c Classes) *Escaper {
	t := &escapers[c&All]
	if !t.built.Load() {
		t.build(c & All)
	}
	return t
}

// escapers are built when they are first asked for: a program that starts for one text needs one.
var escapers [All + 1]Escaper

func (t *Escaper) build(c Classes) {
	building.Lock()
	defer building.Unlock()
	if t.built.Load() {
		return
	}
	t.classes = c
	t.escapesASCII = c&(Controls|Markup) != 0
	t.twoByteMost = c&(Invisible|NonASCII) == 0
	t.vector = vectors && c == 0
	for char := range byte(utf8.RuneSelf) {
		t.ascii[char] = c.packASCII(char)
	}
	t.unescaped.wanted = t.standAlone
	t.built.Store(true)
}

// packASCII returns how c, which is ASCII, is written.
func (c Classes) packASCII(char byte) packed {
	var buf [UnitBytes]byte
	switch char {
	case '"', '\\':
		return pack(append(buf[:0], '\\', char))
	case '\b', '\t', '\n', '\f', '\r':
		return pack(append(buf[:0], '\\', "btn fr"[char-'\b']))
	}
	if char < ' ' || c.escapesASCII(char) {
		return pack(AppendUnit(buf[:0], uint16(char)))
	}
	return pack(append(buf[:0], char))
}

// standAlone reports whether t escapes no character from first to last, which are both ASCII or
// both not.
func (t *Escaper) standAlone(first, last rune) bool {
	if last >= utf8.RuneSelf {
		return !t.classes.escapesAny(first, last)
	}
	for _, form := range t.ascii[first : last+1] {
		if form.len() != 1 {
			return false
		}
	}
	return true
}

// Plain reports that s is ASCII that t writes as it is. Of a character that only the other classes
// of ASCII escape it may say no.
func (t *Escaper) Plain(s string) bool {
	n := len(s)
	if n < wordBytes {
		return n == 0 || t.dirtyBytes(loadShort(s)) == 0
	}
	dirty := t.dirtyBytes(load64(s, n-wordBytes))
	for i := 0; i < n-wordBytes; i += wordBytes {
		dirty |= t.dirtyBytes(load64(s, i))
	}
	return dirty == 0
}

// AppendLiteral appends s, which is valid UTF-8, as a JSON string literal.
func (t *Escaper) AppendLiteral(dst []byte, s string) []byte {
	dst, _, _ = t.AppendString(append(dst, '"'), s, math.MaxInt)
	return append(dst, '"')
}

// AppendString appends s as the inside of a JSON string literal, as much of it as takes at most
// limit bytes. It returns how much of s that is; when that is not all, valid says whether the limit
// stopped it or invalid UTF-8 at s[n].
func (t *Escaper) AppendString(dst []byte, s string, limit int) (out []byte, n int, valid bool) {
	full := Add(len(dst), limit)
	for n < len(s) {
		if left := len(s) - n; cap(dst) < full && cap(dst)-len(dst) < left+2*wordBytes {
			dst = slices.Grow(dst, min(left+left/8+8*wordBytes, full-len(dst)))
		}
		o := len(dst)
		o, n = t.copyBlocks(dst[:min(cap(dst), max(full, o))], o, s, n) // a limit may be negative
		dst = dst[:o]
		// What copyBlocks leaves is near the end of s or of the room, or invalid.
		left := len(s) - n
		if left < wordBytes && len(s) >= wordBytes && min(full, cap(dst))-len(dst) >= wordBytes {
			w := load64(s, len(s)-wordBytes)>>(8*(wordBytes-left)) | ' '*lowBits<<(8*left)
			if t.dirtyBytes(w) == 0 {
				store64(dst[:len(dst)+wordBytes], len(dst), w)
				return dst[:len(dst)+left], len(s), true
			}
		}
		for stop := min(n+wordBytes, len(s)); n < stop; {
			if c := s[n]; c < utf8.RuneSelf {
				form := t.ascii[c]
				if form.len() > full-len(dst) {
					return dst, n, true
				}
				dst = form.append(dst)
				n++
				continue
			}
			r, width := utf8.DecodeRuneInString(s[n:])
			if r == utf8.RuneError && width == 1 {
				return dst, n, false
			}
			if t.wideBytes(r, width) > full-len(dst) {
				return dst, n, true
			}
			if t.classes.escapesAny(r, r) {
				dst = appendEscape(dst, r)
			} else {
				dst = append(dst, s[n:n+width]...)
			}
			n += width
		}
	}
	return dst, n, true
}

// copyBlocks writes s from byte i as the inside of a JSON string literal into buf from byte o, a
// block at a time for as long as both have room for that and then a word at a time, and returns
// where it stopped. It stops before invalid UTF-8, too.
//
// A mask tells the bytes of a block that cannot be copied as they are: of a block that begins with
// a"b\n, with a line feed, it is 1010 in binary, the lowest bit for the first byte.
func (t *Escaper) copyBlocks(buf []byte, o int, s string, i int) (int, int) {
	for len(s)-i >= blockReach && len(buf)-o >= blockReach {
		before := i
		if s[i] >= utf8.RuneSelf && !(vectors && t.vector) {
			o, i = t.copyWide(buf, o, s, i)
		} else {
			o, i = t.copyMasked(buf, o, s, i)
		}
		if i == before {
			break // near the end of the room, or before invalid UTF-8
		}
	}
	return t.copyWords(buf, o, s, i, len(s))
}

// runBytes is how much of a run between two escapes is copied at once.
const runBytes = 16

// blockReach is how far a block reads and writes.
const blockReach = blockBytes + runBytes

// denseBlock is how many escapes in a block are too many to look for each.
const denseBlock = 24

// spreadLeast is how many are too many where vectors can move them apart, and spreadBytes the room
// for a block of escapes of two bytes each, which are stored 16 bytes at a time.
const (
	spreadLeast = 4
	spreadBytes = 2*blockBytes + 16
)

// look returns how many bytes of a block are looked at, and a bit for each of them that dirtyBytes
// tells. Where vectors look, only those characters are dirty that are escaped or not valid.
func (t *Escaper) look(s string) (n int, dirty uint64) {
	switch {
	case vectors && t.vector:
		return lookVector(s)
	case t.escapesASCII:
		return blockBytes, t.dirtyMask(s)
	}
	return blockBytes, suspectMask(s)
}

// dirtyMask has a bit for each byte of a block that dirtyBytes tells.
func (t *Escaper) dirtyMask(block string) (mask uint64) {
	for i := 0; i < blockBytes; i += wordBytes {
		mask |= highMask(t.dirtyBytes(load64(block, i))) << i
	}
	return mask
}

// copyMasked is copyBlocks for text that is ASCII for the most part or, where there are vectors,
// for any. Where few bytes of a block are dirty it copies the runs between them; where many are,
// it goes word by word without asking which they are. Each takes up to five bytes more than a
// copy, and there is room for those before anything of the block is written.
func (t *Escaper) copyMasked(buf []byte, o int, s string, i int) (int, int) {
	for runs := t.vector; len(s)-i >= blockReach && len(buf)-o >= blockReach; {
		if vectors && runs {
			o, i = t.copyVectors(buf, o, s, i)
			if len(s)-i < blockReach || len(buf)-o < blockReach {
				break
			}
		}
		n, dirty := t.look(s[i : i+blockReach])
		if dirty == 0 {
			if !t.escapesASCII && !t.vector {
				n += cleanBlocks(s[i+n : i+min(len(s)-i, len(buf)-o)])
			}
			copy(buf[o:], s[i:i+max(n, blockBytes)])
			i, o = i+n, o+n
			continue
		}
		escapes := bits.OnesCount64(dirty)
		if len(buf)-o < blockReach+(UnitBytes-1)*escapes {
			break
		}
		if escapes > denseBlock {
			return t.copyWords(buf, o, s, i, i+4*blockBytes)
		}
		if vectors && t.vector && escapes > spreadLeast && len(buf)-o >= spreadBytes {
			if m := spread((*[spreadBytes]byte)(buf[o:]), s[i:], n, dirty); m > 0 {
				i, o = i+n, o+m
				runs = false // what is dense stays dense for a while
				continue
			}
		}
		runs = t.vector
		start, end := i, i+n
		for dirty != 0 {
			next := start + bits.TrailingZeros64(dirty)
			copyRun(buf, o, s, i, next)
			i, o = next, o+next-i
			if s[i] < utf8.RuneSelf {
				form := t.ascii[s[i]]
				store64(buf, o, uint64(form))
				i, o = i+1, o+form.len()
				dirty &= dirty - 1
				continue
			}
			if w := load64(s, i); t.twoByteMost {
				if n := loneWidth(w); n > 0 {
					store64(buf, o, w)
					i, o = i+n, o+n
					dirty = dirty >> (i - start) << (i - start)
					continue
				}
			}
			if o, i = t.copyWide(buf, o, s, i); i == next || i >= end {
				return o, i
			}
			dirty = dirty >> (i - start) << (i - start)
		}
		if i < end {
			copyRun(buf, o, s, i, end)
			i, o = end, o+end-i
		}
	}
	return o, i
}

// loneWidth returns the length of the character that w begins with, if ASCII follows it and it is
// one of those that are most often alone: a typographic mark of U+2000 to U+2027, an emoji, or a
// letter of two bytes above U+00BF. It is 0 for any other.
func loneWidth(w uint64) int {
	switch {
	case w&0x80c0ffff == 0x8080e2 && w>>16&0x3f < 0x28:
		return 3
	case w&0x80c0c0ffff == 0x80809ff0:
		return 4
	case w&0x80c0e0 == 0x80c0 && w&0xff > 0xc2:
		return 2
	}
	return 0
}

// copyRun copies s from byte i to end 16 bytes at a time, the first in any case.
func copyRun(buf []byte, o int, s string, i, end int) {
	copy(buf[o:o+runBytes], s[i:i+runBytes])
	for n := end - i; n > runBytes; n -= runBytes {
		i, o = i+runBytes, o+runBytes
		copy(buf[o:o+runBytes], s[i:i+runBytes])
	}
}

// copyWords is copyBlocks a word at a time, as far as byte end of s.
func (t *Escaper) copyWords(buf []byte, o int, s string, i, end int) (int, int) {
	for i < end && len(s)-i >= wordBytes && len(buf)-o >= wordBytes {
		w := load64(s, i)
		switch {
		case t.dirtyBytes(w) == 0:
			store64(buf, o, w)
			i, o = i+wordBytes, o+wordBytes
			continue
		case len(buf)-o < dirtyWordBytes:
			return o, i
		case w&highBits == 0:
			o += t.copyGroup((*[dirtyWordBytes]byte)(buf[o:]), w)
			i += wordBytes
			continue
		}
		for ; s[i] < utf8.RuneSelf; i++ {
			form := t.ascii[s[i]]
			store64(buf, o, uint64(form))
			o += form.len()
		}
		before := i
		if o, i = t.copyWide(buf, o, s, i); i == before {
			break
		}
	}
	return o, i
}

// dirtyWordBytes is the room that a word with escapes is given. Eight escapes of which the last is
// stored as a word take 50 bytes; with more, put needs no check.
const dirtyWordBytes = 64 + wordBytes

// copyGroup writes the eight ASCII characters of w to buf, each as its packed form, of which only
// so many bytes count as it has, and returns how much that is. No branch asks which of them are
// escaped, so none is guessed wrong; it is written out because a loop takes twice as long.
func (t *Escaper) copyGroup(buf *[dirtyWordBytes]byte, w uint64) int {
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
func put(buf *[dirtyWordBytes]byte, n uint, form packed) uint {
	binary.LittleEndian.PutUint64(buf[n&63:n&63+wordBytes], uint64(form))
	return n + uint(form>>56)
}

// copyWide is copyBlocks for characters that are not ASCII, and for what follows them in the words
// of a machine.
func (t *Escaper) copyWide(buf []byte, o int, s string, i int) (int, int) {
	for len(s)-i >= wordBytes && len(buf)-o >= 2*UnitBytes && s[i] >= utf8.RuneSelf {
		w := load64(s, i)
		switch {
		case w&0xfeffff == 0xa880e2: // U+2028 is E2 80 A8, U+2029 is E2 80 A9
			store64(buf, o, separatorForm+w>>16&1<<40)
			i, o = i+3, o+UnitBytes
			continue
		case w&0xffff == 0x85c2: // U+0085 is C2 85
			store64(buf, o, nextLineForm)
			i, o = i+2, o+UnitBytes
			continue
		}
		if n := t.unescapedWide(s[i : i+min(len(s)-i, len(buf)-o)]); n > 0 {
			copy(buf[o:], s[i:i+n])
			i, o = i+n, o+n
			continue
		}
		r, width := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && width == 1:
			return o, i
		case t.classes.escapesAny(r, r):
			o = len(appendEscape(buf[:o], r))
		default:
			store64(buf, o, w)
			o += width
		}
		i += width
	}
	return o, i
}

// unescapedWide returns the length of a prefix of s, which begins with a character that is not
// ASCII, that is valid UTF-8 and stands for itself.
func (t *Escaper) unescapedWide(s string) int {
	n := 0
	if t.twoByteMost && s[0] > 0xe2 {
		n = plainTriples(s)
	}
	return n + t.unescaped.get().prefix(s[n:min(n+machineBytes, len(s))])
}

// The escapes of the line boundaries that are not ASCII, as words: of U+2028, which is one less
// than that of U+2029 in its last digit, and of U+0085.
const (
	separatorForm = '\\' | 'u'<<8 | '2'<<16 | '0'<<24 | '2'<<32 | '8'<<40
	nextLineForm  = '\\' | 'u'<<8 | '0'<<16 | '0'<<24 | '8'<<32 | '5'<<40
)

// dirtyBytes tells the bytes of w that are not ASCII or may have to be escaped.
func (t *Escaper) dirtyBytes(w uint64) uint64 { return (suspects(w) | t.classWord(w)) & highBits }

// classWord tells the bytes of w that are ASCII and that a class may escape.
func (t *Escaper) classWord(w uint64) uint64 {
	if t.escapesASCII {
		return classSuspects(w)
	}
	return 0
}

// LastBytes returns how long the last character of s is, and how long what AppendString writes for
// it.
func (t *Escaper) LastBytes(s string) (width, written int) {
	r, width := utf8.DecodeLastRuneInString(s)
	if r < utf8.RuneSelf {
		return width, t.ascii[r].len()
	}
	return width, t.wideBytes(r, width)
}

// Escapes reports whether r is written as an escape.
func (t *Escaper) Escapes(r rune) bool {
	if r < utf8.RuneSelf {
		return t.ascii[r].len() > 1
	}
	return t.classes.escapesAny(r, r)
}

// wideBytes returns how long is what is written for r, which is not ASCII and has so many bytes.
func (t *Escaper) wideBytes(r rune, width int) int {
	switch {
	case !t.classes.escapesAny(r, r):
		return width
	case r > 0xffff:
		return 2 * UnitBytes
	}
	return UnitBytes
}

// appendEscape appends r as one \uXXXX or as two.
func appendEscape(dst []byte, r rune) []byte {
	if r <= 0xffff {
		return AppendUnit(dst, uint16(r))
	}
	high, low := utf16.EncodeRune(r)
	return AppendUnit(AppendUnit(dst, uint16(high)), uint16(low))
}

// UnitBytes is the length of a \uXXXX.
const UnitBytes = len(`\uXXXX`)

// AppendUnit appends \uXXXX in lower case.
func AppendUnit(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u',
		lowerHex[u>>12], lowerHex[u>>8&0xf], lowerHex[u>>4&0xf], lowerHex[u&0xf])
}

const lowerHex = "0123456789abcdef"

// packed is how a character is written, as a word: its bytes from the lowest up, their number in
// the top byte. That of a quote, \" in JSON, is 0x02_00_00_00_00_00_22_5c.
type packed uint64

func pack(form []byte) packed {
	var word [wordBytes]byte
	copy(word[:], form)
	word[wordBytes-1] = byte(len(form))
	return packed(binary.LittleEndian.Uint64(word[:]))
}

func (p packed) len() int { return int(p >> 56) }

func (p packed) append(dst []byte) []byte {
	if p.len() == 1 {
		return append(dst, byte(p))
	}
	var word [wordBytes]byte
	binary.LittleEndian.PutUint64(word[:], uint64(p))
	return append(dst, word[:p.len()]...)
}

// Add returns n + more, or the largest int when that is larger still.
func Add(n, more int) int {
	if more > math.MaxInt-n {
		return math.MaxInt
	}
	return n + more
}
