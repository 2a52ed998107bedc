//go:build goexperiment.simd && amd64

package quote

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// eachWidth runs a test with every width of vectors that the processor has.
func eachWidth(t *testing.T, test func(t *testing.T)) {
	if !vectors {
		t.Skip("no vectors")
	}
	widest := wideVectors
	defer func() { wideVectors = widest }()
	for _, wide := range []bool{false, true} {
		if wide && !widest {
			continue
		}
		wideVectors = wide
		t.Run(fmt.Sprintf("wide=%v", wide), test)
	}
}

// The tests of what uses the vectors run with each width as well.
func TestEachWidth(t *testing.T) {
	eachWidth(t, func(t *testing.T) {
		TestAppendStringSeams(t)
		TestAppendStringRoom(t)
		TestAppendStringAtEachByte(t)
		TestFirstInvalidAtEachByte(t)
	})
}

// TestLook compares what is said of blocks with one character at a time.
func TestLook(t *testing.T) {
	eachWidth(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for n := range 30_000 {
			s := someText(r, n%3 != 0)
			for len(s) < vectorReach {
				s += someText(r, true) + "a"
			}
			compareLook(t, s)
		}
		for _, text := range []string{
			strings.Repeat("a", 70), strings.Repeat("ж", 35), strings.Repeat("漢", 24),
			strings.Repeat("🎉", 20),
		} {
			bytes := []byte(text)
			for at := range bytes {
				for c := range 256 {
					bytes[at] = byte(c)
					compareLook(t, string(bytes))
				}
				bytes[at] = text[at]
			}
		}
	})
}

func compareLook(t *testing.T, s string) {
	dirty, valid := uint64(0), 0
	for valid < blockBytes {
		r, width := utf8.DecodeRuneInString(s[valid:])
		if r == utf8.RuneError && width == 1 || valid+width > blockBytes {
			break
		}
		if For(0).Escapes(r) {
			dirty |= 1 << valid
		}
		valid += width
	}
	n, told := lookVector(s)
	if valid == 0 {
		require.Equal(t, 1, n, "%q", s)
		require.Equal(t, uint64(1), told, "%q", s)
		return
	}
	if n == valid && told == dirty {
		return
	}
	// It may stop earlier before what is not UTF-8, by a character.
	require.False(t, utf8.ValidString(s[:min(len(s), vectorReach)]), "%q: %d %x", s, n, told)
	require.LessOrEqual(t, n, valid, "%q", s)
	require.GreaterOrEqual(t, n, max(1, valid-utf8.UTFMax), "%q", s)
	if told != 1 || n > 1 {
		require.Equal(t, dirty&(1<<n-1), told, "%q", s)
	}
}

func TestCopyVectors(t *testing.T) {
	eachWidth(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(9, 10))
		for n := range 20_000 {
			s := "a"[:n%3/2] + someText(r, n%2 == 0) + "b"
			buf := make([]byte, r.IntN(7*len(s)+2))
			written, read := For(0).copyVectors(buf, 0, s, 0)
			want, _, _ := slowString(For(0), s[:read], math.MaxInt)
			require.Equal(t, want, string(buf[:written]), "%q", s)
			valid := validVector(s)
			require.True(t, utf8.ValidString(s[:valid]), "%q", s)
			if utf8.ValidString(s) {
				require.Greater(t, valid, len(s)-vectorReach, "%q", s)
			}
		}
	})
}

// TestSpread has every number of short escapes at random places, and now and then another.
func TestSpread(t *testing.T) {
	eachWidth(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 12))
		for round := range 50_000 {
			block := []byte(strings.Repeat("a", vectorReach))
			dirty := uint64(0)
			for range round % 80 {
				at := r.IntN(blockBytes)
				block[at] = "\"\\\b\f\n\r\t"[r.IntN(7)]
				dirty |= 1 << at
			}
			other := round%3 == 0
			if other {
				at := r.IntN(blockBytes)
				block[at] = []byte{0, 1, 7, 0x0b, 0x0e, 0x10, 0x1f, 0x80, 0xe2}[r.IntN(9)]
				dirty |= 1 << at
			}
			n := blockBytes - r.IntN(4)
			for k := n; k < blockBytes; k++ {
				block[k], dirty = 'a', dirty&(1<<n-1)
			}
			long := strings.ContainsAny(string(block), "\x00\x01\x07\x0b\x0e\x10\x1f")
			other = other && long || !utf8.Valid(block)
			var buf [spreadBytes]byte
			written := spread(&buf, string(block), n, dirty)
			if other {
				require.Zero(t, written, "%q", block)
				continue
			}
			want, _, _ := slowString(For(0), string(block[:n]), math.MaxInt)
			require.Equal(t, want, string(buf[:written]), "%q", block)
		}
	})
}
