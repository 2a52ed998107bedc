package quote

import (
	"testing"
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
				require.Equal(t, want, c.escapesAny(first, last), "%d %U to %U", c, first, last)
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
