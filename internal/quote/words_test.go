package quote

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// The fast ways look at many bytes at once. Here they are compared, on all that is small enough to
// be enumerated, with what they stand for. The tests are inside the package, since none of it shows
// from outside but as speed.

// special reports whether JSON escapes c in a string or c is not ASCII.
func special(c byte) bool { return c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf }

func TestSuspectsTellTheLowestByte(t *testing.T) {
	word := []byte("        ")
	for at := range wordBytes {
		for c := range 256 {
			// What stands above may be told wrongly when the byte below borrows from it.
			for _, above := range []byte{' ', 'a', '!', '#', ']', '~', 0, 0xff} {
				for i := range word {
					word[i] = ' '
				}
				word[at] = byte(c)
				if at+1 < wordBytes {
					word[at+1] = above
				}
				first := bytes.IndexFunc(word, func(r rune) bool {
					return r > 0xff || special(byte(r))
				})
				w := load64(string(word), 0)
				require.Equal(t, first, lowestByte(suspects(w)), "%q", word)
				require.Equal(t, first >= 0, highMask(suspects(w)) != 0, "%q", word)

				first = bytes.IndexAny(word, "<>&`\x7f")
				if c < utf8.RuneSelf && above < utf8.RuneSelf {
					require.Equal(t, first, lowestByte(classSuspects(w)), "%q", word)
				}
				require.Equal(t, bytes.IndexByte(word, 0), lowestByte(zeroBytes(w)), "%q", word)
				hidden := bytes.IndexFunc(word, func(r rune) bool { return r < ' ' || r > '~' })
				require.Equal(t, hidden, lowestByte(unprintable(w)), "%q", word)
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

// TestSuspectsMissNone has the byte above be what it may: no byte that has to be told is hidden by
// a borrow.
func TestSuspectsMissNone(t *testing.T) {
	for low := range 256 {
		for c := range 256 {
			word := string([]byte{byte(low), byte(c), ' ', ' ', ' ', ' ', ' ', ' '})
			if special(byte(c)) {
				require.NotZero(t, suspects(load64(word, 0))&0x8000, "%#x after %#x", c, low)
			}
		}
	}
}

// TestPrefixesOfBlocks has each byte at each place of the second block.
func TestPrefixesOfBlocks(t *testing.T) {
	text := []byte(strings.Repeat("a", 3*blockBytes))
	for at := blockBytes; at < 2*blockBytes; at++ {
		for c := range 256 {
			text[at] = byte(c)
			s := string(text)
			blocks := len(s)
			if special(byte(c)) {
				blocks = blockBytes
				upTo := uint64(2)<<(at-blockBytes) - 1
				require.Equal(t, uint64(1)<<(at-blockBytes),
					suspectMask(s[blockBytes:])&upTo, "%#x at %d", c, at)
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

func TestPlainTriples(t *testing.T) {
	clean := strings.Repeat("漢字", 48)
	for _, test := range []struct{ name, stop string }{
		{"ASCII", "a"},
		{"line separator", "\u2028"},
		{"a lead of which some are not valid", "ก"},
		{"surrogate", "\xed\xa0\x80"},
		{"two bytes", "é"},
		{"four bytes", "🎉"},
		{"no continuation", "\xe4\xb8a"},
		{"a stray continuation", "\x80"},
		{"no lead", "\xff"},
	} {
		for n := 0; n <= len(clean); n += 3 {
			s := clean[:n] + test.stop + clean
			require.Equal(t, n/48*48, plainTriples(s), "%s at %d", test.name, n)
		}
	}
	require.Equal(t, len(clean), plainTriples(clean))
}

func TestWordsOfStrings(t *testing.T) {
	text := "abcdefghij"
	for n := 1; n < wordBytes; n++ {
		var word [wordBytes]byte
		store64(word[:], 0, loadShort(text[:n]))
		for _, c := range []byte(text[:n]) {
			require.Contains(t, word, c, "%d", n)
		}
		for _, c := range word {
			require.Contains(t, []byte(text[:n]), c, "%d", n)
		}
		require.Equal(t, loadShort(text[:n]), LastWord(text[:n]))
	}
	require.Zero(t, LastWord(""))
	require.Equal(t, load64("cdefghij", 0), LastWord(text))
}

func TestIndexByte(t *testing.T) {
	text := bytes.Repeat([]byte("a"), 400)
	for n := 0; n < len(text); n += 7 {
		require.Equal(t, -1, IndexByte(text[:n], 'x'))
		for at := range n {
			text[at] = 'x'
			if n > 2 {
				text[n-1] = 'x' // the first counts
			}
			require.Equal(t, bytes.IndexByte(text[:n], 'x'), IndexByte(text[:n], 'x'))
			text[at], text[n-1] = 'a', 'a'
		}
	}
}
