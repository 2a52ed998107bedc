package envelope_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is opened as written is what the strict way opens, and what the strict way refuses is not
// opened as written: of texts, and of texts that were changed. Most that is opened is opened as
// written: not where a marker stands in a member's name.
func TestOpenAsWritten(t *testing.T) {
	rounds := 100_000
	if testing.Short() {
		rounds = 8_000
	}
	rng := rand.New(rand.NewPCG(17, 17))
	strictly, written := 0, 0
	for n := 0; n < rounds; {
		j, items, b := randomCase(rng)
		made, _, err := j.Append(nil, items, b)
		if err != nil || made == nil {
			continue
		}
		for range 4 {
			n++
			text := changed(rng, string(made), n%4)
			if j.Checksum && rng.IntN(4) > 0 {
				text = withChecksum(text)
			}
			fast, strict, err := j.OpenEachWay(text)
			if err == nil {
				strictly++
			}
			if fast != nil {
				written++
				require.NoError(t, err, "%+v\n%q", j, text)
				require.Equal(t, strict, fast, "%+v\n%q", j, text)
			}
			opened, openErr := j.Open(text)
			require.Equal(t, err, openErr)
			require.Equal(t, strict, opened)
		}
	}
	require.Greater(t, strictly, rounds/4)
	require.Greater(t, written, strictly*4/5, "of %d", strictly)
}

// changed returns the text with so many changes.
func changed(rng *rand.Rand, text string, changes int) string {
	from := max(strings.LastIndex(text, `{"trust"`), 0) // what stands before it is compared alone
	pieces := []string{
		"\\", `"`, `\"`, `\\`, `\n`, `\/`, `\u000a`, `\u001b`, `\u001B`, `\u0041`, `\u2028`,
		`\u00e9`, `\ud83d\ude00`, `\ud83d`, `\ufffd`, `\u0085`, `\u007f`, `\u003c`, `\u005f`,
		"\u2028", "\u0085", "\x7f", "\x00", "\xff", "\xe2\x80",
		"é", "中", "😀", "\u200b", "<", "`", " ", "\t", "\n", "…",
		"_", ",", "}", "]", "0", "true", "false", `,"kind":"memory"`, `,"kind":"x"`, "BEGIN", "END",
	}
	for range changes {
		at := from + rng.IntN(len(text)-from)
		piece := pieces[rng.IntN(len(pieces))]
		switch rng.IntN(8) {
		case 0: // a byte is another
			text = text[:at] + string(rune(' '+rng.IntN(95))) + text[at+1:]
		case 1:
			text = text[:at] + piece + text[at:]
		case 2:
			text = text[:at] + text[min(at+1+rng.IntN(3), len(text)):]
		case 3: // a character is spelt as an escape
			text = text[:at] + fmt.Sprintf(`\u%04x`, text[at]) + text[at+1:]
		case 4: // an escape is respelt
			if k := strings.IndexByte(text[at:], '\\'); k >= 0 && at+k+2 < len(text) {
				text = text[:at+k] + piece + text[at+k+2:]
			}
		case 5:
			text = strings.Replace(text, `"truncated":false`, `"truncated":true`, 1)
		case 6: // members change places
			text = strings.Replace(text, `,"truncated":false,"kind":"experience"`,
				`,"kind":"experience","truncated":false`, 1)
		case 7: // a piece of the text again
			text = text[:at] + text[at-min(at, rng.IntN(80)):]
		}
	}
	return text
}
