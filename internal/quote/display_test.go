package quote

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

var displays = []*Display{
	NewDisplay("\n>     ", false), NewDisplay("\n>     ", true),
	NewDisplay("\n a long line break: ", false),
}

// TestShownPrefix has each byte at each place of a run of Han, and pieces of all kinds, and
// compares with one character at a time.
func TestShownPrefix(t *testing.T) {
	slow := func(d *Display, s string) int {
		for i := 0; ; {
			r, n := utf8.DecodeRuneInString(s[i:])
			if n == 0 || r == utf8.RuneError && n == 1 || d.Hides(r) ||
				strings.ContainsRune("\n\r\u2028\u2029", r) {
				return i
			}
			i += n
		}
	}
	check := func(s string) {
		for k, d := range displays {
			require.Equal(t, slow(d, s), d.shownPrefix(s), "%d %q", k, s)
		}
	}
	for _, run := range []string{
		strings.Repeat("漢", 20), strings.Repeat("한국", 10), "é" + strings.Repeat("字", 20),
		strings.Repeat("жизнь ", 6),
	} {
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

// TestDisplaySeams compares AppendString and Measure with the same piece by piece, within all kinds
// of bounds.
func TestDisplaySeams(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	breaks := []string{"\n", "\r\n", "\r", "line\n", "\n\n\n", strings.Repeat("a line\n", 9)}
	for n := range 20_000 {
		d := displays[n%len(displays)]
		s := someText(r, n%2 == 0) + breaks[r.IntN(len(breaks))] + someText(r, n%2 == 0)
		whole := slowDisplay(d, s, 1<<30, 1<<30)
		size, room := 1<<30, 1<<30
		if r.IntN(2) == 0 {
			size = r.IntN(whole.displayed + 2)
		}
		if r.IntN(2) == 0 {
			room = r.IntN(len(whole.out) + 2)
		}
		want := slowDisplay(d, s, size, room)
		var got shown
		into := append(make([]byte, 0, r.IntN(2*len(whole.out)+4)), "abc"...)
		out, read, displayed, valid := d.AppendString(into, s, size, room)
		got = shown{strings.TrimPrefix(string(out), "abc"), read, displayed, valid}
		require.Equal(t, want, got, "%q in %d and %d", s, size, room)
		if utf8.ValidString(s) {
			displayed, bad, _ := d.Measure(s, 1<<30)
			require.Equal(t, -1, bad)
			require.Equal(t, whole.displayed, displayed, "%q", s)
		}
	}
}

type shown struct {
	out       string
	n         int
	displayed int
	valid     bool
}

// slowDisplay is AppendString to nothing.
func slowDisplay(d *Display, s string, size, room int) (got shown) {
	var b strings.Builder
	for got.n < len(s) {
		r, width := utf8.DecodeRuneInString(s[got.n:])
		if r == utf8.RuneError && width == 1 {
			got.out = b.String()
			return got
		}
		form := string(r)
		displayed := len(form)
		switch {
		case strings.HasPrefix(s[got.n:], "\r\n"):
			form, width, displayed = d.lineBreak, 2, 1
		case strings.ContainsRune("\n\r\u2028\u2029", r):
			form, displayed = d.lineBreak, 1
		case d.Hides(r) && r > 0xffff:
			form = fmt.Sprintf(`\U%08x`, r)
			displayed = len(form)
		case d.Hides(r):
			form = fmt.Sprintf(`\u%04x`, r)
			displayed = len(form)
		}
		if displayed > size-got.displayed || len(form) > room-b.Len() {
			break
		}
		b.WriteString(form)
		got.n, got.displayed = got.n+width, got.displayed+displayed
	}
	got.out, got.valid = b.String(), true
	return got
}
