package quote

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// The fast ways look at many bytes at once. Here they are compared, on all that is small enough
// to be enumerated, with what they stand for. This file is inside the package, since none of it
// shows from outside but as speed.

var displays = []*Display{NewDisplay("\n>     ", false), NewDisplay("\n>     ", true)}

func TestSuspectsTellTheLowestByte(t *testing.T) {
	word := []byte("        ")
	for at := range wordBytes {
		for c := range 256 {
			for _, above := range []byte{' ', 'a', '!', '#', ']', '~', 0, 0xff} {
				for i := range word {
					word[i] = ' '
				}
				word[at] = byte(c)
				if at+1 < wordBytes {
					word[at+1] = above // which may be told wrongly when the byte below borrows from it
				}
				first := strings.IndexFunc(string(word), func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= utf8.RuneSelf })
				w := load64(string(word), 0)
				require.Equal(t, first, lowestByte(suspects(w)), "%q", word)
				require.Equal(t, first >= 0, highMask(suspects(w)) != 0, "%q", word)

				first = strings.IndexFunc(string(word), func(r rune) bool { return strings.ContainsRune("<>&`\x7f", r) })
				if c < utf8.RuneSelf && above < utf8.RuneSelf {
					require.Equal(t, first, lowestByte(classSuspects(w)), "%q", word)
				}
			}
		}
	}
}

// lowestByte returns the number of the lowest byte of w that has its high bit set, or -1.
func lowestByte(w uint64) int {
	for i := range wordBytes {
		if w>>(8*i)&0x80 != 0 {
			return i
		}
	}
	return -1
}

// TestPrefixesOfBlocks has each byte at each place of the second block.
func TestPrefixesOfBlocks(t *testing.T) {
	text := []byte(strings.Repeat("a", 3*blockBytes))
	for at := blockBytes; at < 2*blockBytes; at++ {
		for c := range 256 {
			text[at] = byte(c)
			s := string(text)
			blocks := len(s)
			if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
				blocks = blockBytes
				require.Equal(t, uint64(1)<<(at-blockBytes),
					suspectMask(s[blockBytes:])&(2<<(at-blockBytes)-1), "%#x at %d", c, at)
			} else {
				require.Zero(t, suspectMask(s[blockBytes:2*blockBytes]))
			}
			require.Equal(t, blocks, cleanBlocks(s), "%#x at %d", c, at)
			printable, ascii := len(s), len(s)
			if c < ' ' || c > '~' {
				printable = at
			}
			if c >= utf8.RuneSelf {
				ascii = at / wordBytes * wordBytes
			}
			require.Equal(t, printable, printablePrefix(s), "%#x at %d", c, at)
			require.Equal(t, ascii, asciiPrefix(s), "%#x at %d", c, at)
		}
		text[at] = 'a'
	}
}

// TestSuspectsMissNone has the byte above be what it may: no byte that has to be told is hidden
// by a borrow.
func TestSuspectsMissNone(t *testing.T) {
	for low := range 256 {
		for c := range 256 {
			w := suspects(load64(string([]byte{byte(low), byte(c), ' ', ' ', ' ', ' ', ' ', ' '}), 0))
			if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
				require.NotZero(t, w&0x8000, "%#x after %#x", c, low)
			}
		}
	}
}

func TestMachines(t *testing.T) {
	type named struct {
		name   string
		m      *machine
		wanted func(r rune) bool
	}
	all := []named{{"utf8", &utf8Machine, func(rune) bool { return true }}}
	for e := range escapers {
		escaper := &escapers[e]
		all = append(all, named{"escaper", &escaper.unescaped, func(r rune) bool {
			return !escaper.Escapes(r)
		}})
	}
	for k := range displays {
		d := displays[k]
		all = append(all, named{"display", &d.unescaped, func(r rune) bool {
			return !d.Hides(r) && r != '\r' && r != '\n' && r != '\u2028' && r != '\u2029'
		}})
	}
	for i, m := range all {
		for r := rune(0); r <= utf8.MaxRune; r++ {
			switch {
			case r == 0xd800:
				r = 0xe000
			case r >= 0x20000 && r&0xff == 1 && testing.Short():
				r += 0xfe
			}
			if m.m.reads(string(r)) {
				require.True(t, m.wanted(r), "%s %d reads %U", m.name, i, r)
			} else if m.name == "utf8" || r < 0xc0 {
				require.False(t, m.wanted(r), "%s %d refuses %U", m.name, i, r)
			}
		}
	}
}

// TestMachinesReadUTF8 compares with package utf8 all that begins one to four bytes.
func TestMachinesReadUTF8(t *testing.T) {
	machines := []*machine{&utf8Machine, &escapers[0].unescaped, &displays[0].unescaped}
	var check func(s []byte, states []uint64)
	check = func(s []byte, states []uint64) {
		valid := utf8.Valid(s)
		alive := false
		for k, m := range machines {
			if states[k] == between && !valid {
				t.Fatalf("machine %d reads %q", k, s)
			}
			if m == &utf8Machine && valid && states[k] != between {
				t.Fatalf("machine %d refuses %q", k, s)
			}
			alive = alive || states[k] != refused
		}
		// From between characters all begins anew, and from refused nothing does.
		if len(s) == 4 || !alive || len(s) > 0 && valid {
			return
		}
		next := make([]uint64, len(machines))
		for c := range 256 {
			for k, m := range machines {
				next[k] = m[c] >> states[k] & 63
			}
			check(append(s, byte(c)), next)
		}
	}
	check(nil, []uint64{between, between, between})
	for c := range 256 {
		for _, m := range machines {
			require.Zero(t, m[c]&63, "out of refused by %#x", c)
		}
	}
}

// reads reports whether m reads all of s, a few bytes long.
func (m *machine) reads(s string) bool {
	state := uint64(between)
	for i := range len(s) {
		state = m[s[i]] >> state & 63
	}
	return state == between
}

// What most texts are made of is read, so that it is fast.
func TestMachinesReadCommonText(t *testing.T) {
	for _, m := range []*machine{&utf8Machine, &escapers[0].unescaped, &escapers[Controls|Invisible|Markup].unescaped, &displays[0].unescaped, &displays[1].unescaped} {
		for _, s := range []string{"a", " ", "é", "ж", "א", "中", "あ", "한", "—", "“", "…", "€", "🙂"} {
			require.True(t, m.reads(s), s)
		}
	}
}

func TestMachinePrefix(t *testing.T) {
	for _, test := range []struct {
		text string
		want int
		why  string
	}{
		{"", 0, "nothing"},
		{"1234567", 0, "less than a word is left to others"},
		{"12345678", 8, "a word"},
		{"123456789", 8, "the rest is less than a word"},
		{"1234567é", 7, "a character over the end of a word is not begun"},
		{"123456漢", 6, "the same, of three bytes"},
		{"12345🎉8901234", 16, "over two words"},
		{"1234567é901234é\xff1234567", 15, "what comes before a refused word ends between characters"},
		{"1234567\xff", 0, "refused"},
	} {
		n := utf8Machine.prefix(test.text)
		require.True(t, utf8.ValidString(test.text[:n]), test.why)
		require.Equal(t, test.want, n, "%q: %s", test.text, test.why)
	}
}

func TestPlainTriples(t *testing.T) {
	clean := strings.Repeat("漢字", 24)
	for _, test := range []struct{ name, stop string }{
		{"ASCII", "a"}, {"line separator", "\u2028"}, {"a lead of which some are not valid", "ก"}, {"surrogate", "\xed\xa0\x80"},
		{"two bytes", "é"}, {"four bytes", "🎉"}, {"no continuation", "\xe4\xb8a"}, {"a stray continuation", "\x80"}, {"no lead", "\xff"},
	} {
		for n := 0; n <= len(clean); n += 3 {
			s := clean[:n] + test.stop + clean
			require.Equal(t, n/48*48, plainTriples(s), "%s at %d", test.name, n)
		}
	}
	require.Equal(t, len(clean), plainTriples(clean))
}

// TestPlainPrefix has each byte at each place of a run of Han, and pieces of all kinds, and
// compares with one character at a time.
func TestPlainPrefix(t *testing.T) {
	slow := func(d *Display, s string) int {
		for i := 0; ; {
			r, n := utf8.DecodeRuneInString(s[i:])
			if n == 0 || r == utf8.RuneError && n == 1 || d.Hides(r) || strings.ContainsRune("\n\r\u2028\u2029", r) {
				return i
			}
			i += n
		}
	}
	check := func(s string) {
		for k := range displays {
			require.Equal(t, slow(displays[k], s), displays[k].shownPrefix(s), "%d %q", k, s)
		}
	}
	for _, run := range []string{strings.Repeat("漢", 20), strings.Repeat("한국", 10), "é" + strings.Repeat("字", 20), strings.Repeat("жизнь ", 6)} {
		text := []byte(run)
		for at := range text {
			was := text[at]
			for c := range 256 {
				text[at] = byte(c)
				check(string(text))
			}
			text[at] = was
		}
	}
	for r := rune(0x7f); r < 0x3100; r++ {
		check("words" + string(r) + "more of them")
	}
}

func TestFirstInvalid(t *testing.T) {
	pad := strings.Repeat("a", 70)
	for _, before := range []string{"", "a", pad, pad + "é", strings.Repeat("é", 40), strings.Repeat("漢", 40), strings.Repeat("🎉", 30), "\u2028" + pad, pad + "a漢é🎉"} {
		require.Equal(t, -1, FirstInvalid(before))
		for _, bad := range []string{"\x80", "\xbf", "\xc0\xaf", "\xc1\x80", "\xc3", "\xe0\x80\x80", "\xe4\xb8", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf0\x9f\x8e", "\xff", "\xe4a\x80"} {
			for _, after := range []string{"", "a", pad, strings.Repeat("漢", 20)} {
				require.Equal(t, len(before), FirstInvalid(before+bad+after), "%q %q %q", before, bad, after)
			}
		}
	}
}

func TestPlainText(t *testing.T) {
	for n := range 20 {
		for at := range n {
			for c := range 256 {
				s := strings.Repeat("a", at) + string([]byte{byte(c)}) + strings.Repeat("z", n-at-1)
				written, _, _ := slowString(&escapers[All], s, math.MaxInt)
				require.Equal(t, written == s, Plain(s), "%q", s)
			}
		}
	}
	require.True(t, Plain(""))
}

// TestAppendStringSeams compares appendString with the same character by character: on texts that
// change between what the ways of it are for, in every room and capacity.
func TestAppendStringSeams(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{
		"a", "words, ", "0123456789abcdefghijklmnopqrstuvwxyz", strings.Repeat("clean ", 15), "\"", "\\", "\n\t", "\x00\x1f", "<&>`\x7f", strings.Repeat("\"\x01", 20),
		strings.Repeat("\u3164", 20), "é", "слово ", "漢字", strings.Repeat("漢字", 15), "ก", "한", "🎉", "\U000e0041", "\u0085", "\u2028", "\u2029", "\u2027\u202a", "\u3028\u3029Å\u0105", "\u0080", "\u009f", "\uffff", "\U00010000", "\u00ad", "\u200b", "“”…",
		"\xff", "\x80", "\xe4\xb8", "\xed\xa0\x80", "\xf0\x9f", "\xc2",
	}
	rounds := 100_000
	if testing.Short() {
		rounds = 8_000
	}
	for n := range rounds {
		escaper := &escapers[r.IntN(len(escapers))]
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString(pieces[r.IntN(len(pieces)-6*(n%2))]) // half of them valid
		}
		s := b.String()
		whole, _, _ := slowString(escaper, s, math.MaxInt)
		limit := math.MaxInt
		if r.IntN(2) == 0 {
			limit = r.IntN(len(whole) + 2)
		}
		compareAppend(t, escaper, s, limit, r.IntN(len(whole)+40))
		if Plain(s) {
			require.Equal(t, s, whole)
		}
		if utf8.ValidString(s) && s != "" {
			width, written := escaper.LastBytes(s)
			last, _, _ := slowString(escaper, s[len(s)-width:], math.MaxInt)
			require.Len(t, last, written)
		}

		encoded := strings.NewReplacer("\"", "", "\\", "").Replace(s) // so that EscapeJSON is to do the same to all but the controls
		want := ""
		for _, part := range strings.SplitAfter(encoded, "") {
			if part[0] >= ' ' && utf8.ValidString(part) {
				part, _, _ = slowString(escaper, part, math.MaxInt)
			}
			want += part
		}
		require.Equal(t, want, string(escaper.AppendEncoded(nil, []byte(encoded))), "%d %q", escaper.classes, encoded)
	}
}

// TestAppendStringRoom has blocks of all numbers of escapes end where the room does.
func TestAppendStringRoom(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 7
	}
	for escapes := 1; escapes <= blockBytes; escapes++ {
		s := strings.Repeat("a", blockBytes-escapes) + strings.Repeat("\x01", escapes) + strings.Repeat("b", 2*blockBytes)
		for room := escapes % step; room < 600; room += step {
			compareAppend(t, &escapers[0], s, room, room)
			compareAppend(t, &escapers[0], s, math.MaxInt, room)
		}
		// A text that ends as early as it may behind a block, and a run as long as it may be.
		for tail := range 2 * wordBytes {
			compareAppend(t, &escapers[0], s[:blockReach+tail], math.MaxInt, 4096)
			compareAppend(t, &escapers[0], "\x01"+strings.Repeat("a", blockBytes-escapes)+strings.Repeat("\x01", escapes-1)+strings.Repeat("b", 2*wordBytes+tail), math.MaxInt, 4096)
		}
	}
}

// compareAppend compares appendString to a slice with so much spare capacity with the same
// character by character.
func compareAppend(t *testing.T, escaper *Escaper, s string, limit, spare int) {
	want, all, valid := slowString(escaper, s, limit)
	into := append(make([]byte, 0, 3+spare), "abc"...)
	out, read, ok := escaper.AppendString(into, s, limit)
	require.Equal(t, "abc"+want, string(out), "%d %d %q", escaper.classes, limit, s)
	require.Equal(t, all, read, "%d %d %q", escaper.classes, limit, s)
	if read < len(s) {
		require.Equal(t, valid, ok, "%d %d %q", escaper.classes, limit, s)
	}
}

// slowString is appendString to nothing.
func slowString(t *Escaper, s string, limit int) (out string, n int, valid bool) {
	for n < len(s) {
		r, width := utf8.DecodeRuneInString(s[n:])
		if r == utf8.RuneError && width == 1 {
			return out, n, false
		}
		var form string
		switch {
		case r == '"' || r == '\\':
			form = `\` + string(r)
		case strings.ContainsRune("\b\f\n\r\t", r):
			form = `\` + string("btn?fr"[r-'\b'])
		case r < ' ', r == 0x7f && t.classes&Controls != 0, strings.ContainsRune("<>&`", r) && t.classes&Markup != 0, r > 0x7f && t.Escapes(r):
			for _, unit := range utf16.Encode([]rune{r}) {
				form += fmt.Sprintf(`\u%04x`, unit)
			}
		default:
			form = string(r)
		}
		if len(out)+len(form) > limit {
			return out, n, true
		}
		out, n = out+form, n+width
	}
	return out, n, true
}
