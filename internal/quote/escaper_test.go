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

// pieces are what texts are put together from, in which the fast ways take turns. The last six are
// not valid.
var pieces = []string{
	"a", "words, ", "0123456789abcdefghijklmnopqrstuvwxyz", strings.Repeat("clean ", 15), "\"",
	"\\", "\n\t", "\x00\x1f", "<&>`\x7f", strings.Repeat("\"\x01", 20),
	strings.Repeat("a \"word\" ", 12),
	strings.Repeat("\u3164", 20), "é", "слово ", "漢字", strings.Repeat("漢字", 40), "ก", "한", "🎉",
	"\U000e0041", "\u0085", "\u2028", "\u2029", "\u2027\u202a", "\u3028\u3029Å\u0105", "\u0080",
	"\u009f", "\uffff", "\U00010000", "\u00ad", "\u200b", "“”…", strings.Repeat("“so” — 🎉 ", 20),
	"\xff", "\x80", "\xe4\xb8", "\xed\xa0\x80", "\xf0\x9f", "\xc2",
}

const invalidPieces = 6

// someText puts pieces together.
func someText(r *rand.Rand, valid bool) string {
	n := len(pieces)
	if valid {
		n -= invalidPieces
	}
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(pieces[r.IntN(n)])
	}
	return b.String()
}

// TestAppendStringSeams compares AppendString with the same character by character: on texts that
// change between what the ways of it are for, in every room and capacity.
func TestAppendStringSeams(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rounds := 100_000
	if testing.Short() {
		rounds = 8_000
	}
	for n := range rounds {
		escaper := For(Classes(r.IntN(len(escapers))))
		if n%3 == 0 {
			escaper = For(0) // which is the one with vectors
		}
		s := someText(r, n%2 == 0)
		whole, _, _ := slowString(escaper, s, math.MaxInt)
		limit := math.MaxInt
		if r.IntN(2) == 0 {
			limit = r.IntN(len(whole) + 2)
		}
		compareAppend(t, escaper, s, limit, r.IntN(len(whole)+40))
		if escaper.Plain(s) {
			require.Equal(t, s, whole)
		}
		if utf8.ValidString(s) && s != "" {
			width, written := escaper.LastBytes(s)
			last, _, _ := slowString(escaper, s[len(s)-width:], math.MaxInt)
			require.Len(t, last, written)
		}
	}
}

func TestPlain(t *testing.T) {
	for n := range 20 {
		for at := range n {
			for c := range 256 {
				s := strings.Repeat("a", at) + string([]byte{byte(c)}) + strings.Repeat("z", n-at-1)
				for classes := range All + 1 {
					written, _, _ := slowString(For(classes), s, math.MaxInt)
					same := written == s
					if plain := For(classes).Plain(s); classes&(Controls|Markup) == 0 ||
						classes == All || !same {
						require.Equal(t, same, plain, "%q", s)
					}
				}
			}
		}
	}
	require.True(t, For(0).Plain(""))
}

// TestAppendStringRoom has blocks of all numbers of escapes end where the room does.
func TestAppendStringRoom(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 7
	}
	for _, escape := range []string{"\x01", "\n"} {
		for escapes := 1; escapes <= blockBytes; escapes++ {
			clean := strings.Repeat("a", blockBytes-escapes)
			s := clean + strings.Repeat(escape, escapes) + strings.Repeat("b", 2*blockBytes)
			for room := escapes % step; room < 600; room += step {
				compareAppend(t, For(0), s, room, room)
				compareAppend(t, For(0), s, math.MaxInt, room)
			}
			// A text that ends as early as it may behind a block, and a run as long as it may be.
			for tail := range 2 * wordBytes {
				compareAppend(t, For(0), s[:blockReach+tail], math.MaxInt, 4096)
				long := escape + clean + strings.Repeat(escape, escapes-1) +
					strings.Repeat("b", 2*wordBytes+tail)
				compareAppend(t, For(0), long, math.MaxInt, 4096)
			}
		}
	}
}

// TestAppendStringAtEachByte has each byte at each place of a block and what follows it.
func TestAppendStringAtEachByte(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("a", 160), strings.Repeat("ж", 80), strings.Repeat("漢", 54),
		strings.Repeat("🎉", 40), strings.Repeat("\ta \"b\" ", 24), strings.Repeat("\u2028", 54),
	} {
		step := 1
		if testing.Short() {
			step = 7
		}
		bytes := []byte(text)
		for at := range bytes {
			for c := at % step; c < 256; c += step {
				bytes[at] = byte(c)
				compareAppend(t, For(0), string(bytes), math.MaxInt, 1024)
			}
			bytes[at] = text[at]
		}
	}
}

// compareAppend compares AppendString to a slice with so much spare capacity with the same
// character by character.
func compareAppend(t *testing.T, escaper *Escaper, s string, limit, spare int) {
	want, all, valid := slowString(escaper, s, limit)
	into := append(make([]byte, 0, 3+spare), "abc"...)
	out, read, ok := escaper.AppendString(into, s, limit)
	if string(out) != "abc"+want || read != all || read < len(s) && ok != valid {
		t.Helper()
		require.Equal(t, "abc"+want, string(out), "%d %d %q", escaper.classes, limit, s)
		require.Equal(t, all, read, "%d %d %q", escaper.classes, limit, s)
		require.Equal(t, valid, ok, "%d %d %q", escaper.classes, limit, s)
	}
}

// slowString is AppendString to nothing.
func slowString(t *Escaper, s string, limit int) (out string, n int, valid bool) {
	var b strings.Builder
	for n < len(s) {
		r, width := utf8.DecodeRuneInString(s[n:])
		if r == utf8.RuneError && width == 1 {
			return b.String(), n, false
		}
		form := slowForm(t, r)
		if b.Len()+len(form) > limit {
			return b.String(), n, true
		}
		b.WriteString(form)
		n += width
	}
	return b.String(), n, true
}

// slowForm is how a character is written.
func slowForm(t *Escaper, r rune) string {
	escaped := r < ' ' ||
		r == 0x7f && t.classes&Controls != 0 ||
		strings.ContainsRune("<>&`", r) && t.classes&Markup != 0 ||
		r > 0x7f && t.Escapes(r)
	switch {
	case r == '"' || r == '\\':
		return `\` + string(r)
	case strings.ContainsRune("\b\f\n\r\t", r):
		return `\` + string("btn?fr"[r-'\b'])
	case !escaped:
		return string(r)
	}
	form := ""
	for _, unit := range utf16.Encode([]rune{r}) {
		form += fmt.Sprintf(`\u%04x`, unit)
	}
	return form
}
