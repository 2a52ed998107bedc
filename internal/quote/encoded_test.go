package quote

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// TestAppendEncoded compares AppendEncoded with AppendString, character by character. What neither
// of them is to write the same way, quotes, backslashes and controls, is left out or passes.
func TestAppendEncoded(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	rounds := 20_000
	if testing.Short() {
		rounds = 4_000
	}
	for n := range rounds {
		escaper := For(Classes(r.IntN(len(escapers))))
		encoded := strings.NewReplacer("\"", "", "\\", "").Replace(someText(r, n%2 == 0))
		var want strings.Builder
		for _, part := range strings.SplitAfter(encoded, "") {
			if part[0] >= ' ' && utf8.ValidString(part) {
				part, _, _ = slowString(escaper, part, math.MaxInt)
			}
			want.WriteString(part)
		}
		got := escaper.AppendEncoded(nil, []byte(encoded))
		require.Equal(t, want.String(), string(got), "%d %q", escaper.classes, encoded)
	}
}
