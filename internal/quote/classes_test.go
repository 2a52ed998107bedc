package quote

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Whether one of a range of characters is escaped is what it is for one of them after the other.
func TestClassesOfRanges(t *testing.T) {
	for c := range All + 1 {
		for _, width := range []rune{1, 0x40, 0x1000} {
			for first := rune(utf8.RuneSelf); first < 0x20000; first += width {
				last, want := first+width-1, false
				for r := first; r <= last; r++ {
					want = want || c.escapesAny(r, r)
				}
				if c.escapesAny(first, last) != want {
					t.Fatalf("not %t: %d %U to %U", want, c, first, last)
				}
			}
		}
	}
}

func TestRangesAreInOrder(t *testing.T) {
	for _, ranges := range [][]runeRange{format, ignorable} {
		for i, r := range ranges {
			require.LessOrEqual(t, r.first, r.last)
			require.True(t, i == 0 || ranges[i-1].last < r.first, "%U", r.first)
		}
	}
}

func TestBlank(t *testing.T) {
	for _, test := range []struct {
		s      string
		window int
		want   bool
	}{
		{"", 9, true}, {" \t\n\u2028\u3000\x1c", 99, true}, {" a", 9, false}, {"ä", 9, false},
		{"   a", 2, true}, {"   a", 3, false}, {"\xff", 9, false},
	} {
		require.Equal(t, test.want, Blank(test.s, test.window), "%q", test.s)
	}
}

func TestCharacters(t *testing.T) {
	boundaries := "\n\v\f\r\x1c\x1d\x1e\u0085\u2028\u2029" // of Python's str.splitlines
	for r := range rune(0x3100) {
		white := unicode.Is(unicode.White_Space, r) || 0x1c <= r && r <= 0x1f
		if Control(r) != unicode.Is(unicode.Cc, r) || WhiteSpace(r) != white ||
			LineBoundary(r) != strings.ContainsRune(boundaries, r) ||
			IsInvisible(r) != (unicode.Is(unicode.Cf, r) || overlap(ignorable, r, r)) {
			t.Fatalf("%U", r)
		}
	}
}

// Each class has what it says, at its ends and beside them.
func TestClassesOfCharacters(t *testing.T) {
	for _, test := range []struct {
		class Classes
		in    string
		out   string
	}{
		{0, "\u0085\u2028\u2029", "\u0080\u0084\u0086\u009f\u2027\u202a\u200b中"},
		{Controls, "\u0080\u0085\u009f\u2028", "\u00a0\u200b中"},
		{Invisible, "\u00ad\u200b\u2029\ufe0f", "\u0080\u00a0é中"},
		{NonASCII, "\u0080é中🎉\u2028", ""},
	} {
		for _, r := range test.in {
			require.True(t, test.class.escapesAny(r, r), "%d %U", test.class, r)
		}
		for _, r := range test.out {
			require.False(t, test.class.escapesAny(r, r), "%d %U", test.class, r)
		}
	}
}
