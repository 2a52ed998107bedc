package quote

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// notUTF8 is what is no character, in one way each.
var notUTF8 = []string{
	"\x80", "\xbf", "\xc0\xaf", "\xc1\x80", "\xc3", "\xe0\x80\x80", "\xe4\xb8", "\xed\xa0\x80",
	"\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf0\x9f\x8e", "\xff", "\xe4a\x80",
}

func TestFirstInvalid(t *testing.T) {
	pad := strings.Repeat("a", 70)
	for _, before := range []string{
		"", "a", pad, pad + "é", strings.Repeat("é", 40), strings.Repeat("漢", 40),
		strings.Repeat("🎉", 30), "\u2028" + pad, pad + "a漢é🎉", strings.Repeat("aжё 漢🎉\n", 20),
	} {
		require.Equal(t, -1, FirstInvalid(before))
		for _, bad := range notUTF8 {
			for _, after := range []string{"", "a", pad, strings.Repeat("漢", 40)} {
				s := before + bad + after
				require.Equal(t, len(before), FirstInvalid(s), "%q", s)
			}
		}
	}
}

// TestFirstInvalidAtEachByte has each byte at each place of texts in which the fast ways take
// turns.
func TestFirstInvalidAtEachByte(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("漢字", 30), strings.Repeat("жизнь ", 20), strings.Repeat("🎉", 40),
		strings.Repeat("words and é and 漢字, ", 8), strings.Repeat("plain ASCII ", 14),
	} {
		bytes := []byte(text)
		for at := range bytes {
			for c := range 256 {
				bytes[at] = byte(c)
				want := -1
				for i := 0; i < len(bytes); {
					r, width := utf8.DecodeRune(bytes[i:])
					if r == utf8.RuneError && width == 1 {
						want = i
						break
					}
					i += width
				}
				if got := FirstInvalid(string(bytes)); got != want {
					t.Fatalf("%d instead of %d with %#x at %d of %q", got, want, c, at, text)
				}
			}
			bytes[at] = text[at]
		}
	}
}

func TestCutAt(t *testing.T) {
	for _, test := range []struct {
		s       string
		i, n    int
		want    int
		because string
	}{
		{"abc", 0, 2, 2, "ASCII may be cut anywhere"},
		{"abc", 1, 2, 3, "the rest"},
		{"abc", 1, 9, 3, "more than the rest"},
		{"abc", 1, -1, 1, "nothing"},
		{"a漢b", 0, 3, 1, "not inside a character"},
		{"a漢b", 0, 4, 4, "behind one"},
		{"a🎉", 0, 4, 1, "not inside one of four bytes"},
		{"\x80\x80\x80\x80\x80", 0, 3, 3, "what is part of no character is one itself"},
		{"\xf0\x9f", 0, 1, 1, "nor is what only begins one"},
	} {
		require.Equal(t, test.want, CutAt(test.s, test.i, test.n), "%q: %s", test.s, test.because)
	}
}

func TestStringRun(t *testing.T) {
	for _, before := range []string{
		"", "a", "0123456789", strings.Repeat("жизнь ", 9), strings.Repeat("漢", 20),
	} {
		for c := range 256 {
			s := before + string([]byte{byte(c)}) + "123456789"
			n := StringRun([]byte(s))
			require.True(t, utf8.ValidString(s[:n]), "%q", s[:n])
			for i := range n {
				require.False(t, s[i] < utf8.RuneSelf && special(s[i]), "%q", s[:n])
			}
		}
	}
	require.Equal(t, 8, StringRun([]byte("12345678")))
}

func TestCopyToBackslash(t *testing.T) {
	for n := range 40 {
		for at := range n + 1 {
			s := []byte(strings.Repeat("a", at) + "\\" + strings.Repeat("ü", n-at))
			for room := range 60 {
				dst := make([]byte, room)
				copied := CopyToBackslash(dst, s)
				require.LessOrEqual(t, copied, at)
				require.Equal(t, string(s[:copied]), string(dst[:copied]))
				if min(len(s), room) >= at+wordBytes {
					require.Equal(t, at, copied)
				}
			}
		}
	}
}
