package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"github.com/untrusted-context/envelope"
)

// TestUse holds the search to what it is for: the tokens are used, and few texts are counted.
// Where fewer than 90 in 100 are used, no budget in bytes uses many more: the rest has no room
// for another citation.
func TestUse(t *testing.T) {
	all, err := corpora()
	require.NoError(t, err)
	list, err := uses(all)
	require.NoError(t, err)
	for _, even := range []bool{false, true} {
		s := summarize(list, "all", even, 0)
		assert.Zero(t, s.over)
		assert.GreaterOrEqual(t, s.median, 97.0)
		assert.LessOrEqual(t, s.counts, 8)
		assert.LessOrEqual(t, s.most, 24)
		assert.GreaterOrEqual(t, summarize(list, "all", even, 1000).least, 90.0)
	}
	for _, u := range list {
		if 100*u.used >= 90*u.tokens || testing.Short() {
			continue
		}
		best, last := u.used, ""
		for size := 1; size < 6*u.tokens; size++ {
			b := everything
			b.MaxBytes, b.Even = size, u.even
			p, err := u.form.Render(u.items, b)
			require.NoError(t, err)
			if p.Content == last {
				continue
			}
			last = p.Content
			n, err := u.codec.Count(last)
			require.NoError(t, err)
			if n > u.tokens {
				break // a longer text may have a token less again, by chance
			}
			best = max(best, n)
		}
		assert.LessOrEqual(t, best-u.used, u.tokens/50, "%s: %d of %d", u.corpus, u.used, u.tokens)
	}
}

// TestEveryByteBudget tries every budget in bytes: none gives a text with more content that has few
// enough tokens, but for the tokens that the search leaves for the sake of its length.
func TestEveryByteBudget(t *testing.T) {
	cases := 2_000
	if testing.Short() {
		cases = 100
	}
	short := envelope.Wrapper{Notice: "Data.", Begin: "BEGIN_DATA", End: "END_DATA"}
	renderers := []renderer{
		envelope.JSON{Bare: true},
		envelope.JSON{Wrapper: short, Escape: envelope.EscapeMarkup | envelope.EscapeNonASCII},
		envelope.JSON{Wrapper: short, Omitted: true, Checksum: true},
		envelope.Markdown{Wrapper: short, Title: "# D", Show: envelope.ShowRank},
	}
	codecs := make([]tokenizer.Codec, len(vocabularies))
	all, err := corpora()
	require.NoError(t, err)
	for i, name := range vocabularies {
		codecs[i], err = tokenizer.Get(name)
		require.NoError(t, err)
	}
	rng := rand.New(rand.NewPCG(13, 3))
	behind := 0
	for n := range cases {
		codec, r := codecs[rng.IntN(len(codecs))], renderers[rng.IntN(len(renderers))]
		items := make([]envelope.Item, 1+rng.IntN(3))
		for i := range items {
			from := all[rng.IntN(len(all))].items
			content := from[rng.IntN(len(from))].Content
			content = strings.ToValidUTF8(content[:min(len(content), rng.IntN(150))], "")
			items[i] = envelope.Item{Citation: map[string]int{"id": i}, Content: content}
		}
		whole, err := r.Render(items, everything)
		require.NoError(t, err)
		tokens, err := codec.Count(whole.Content)
		require.NoError(t, err)
		b := envelope.Budget{
			MaxTokens: 1 + rng.IntN(tokens+3), MinTruncatedBytes: 1 + rng.IntN(30),
			Even: rng.IntN(2) == 0,
		}
		about := fmt.Sprintf("case %d: %T, %q, %+v", n, r, items, b)
		counter := &counting{Counter: codec}
		b.Counter = counter
		got, err := r.Render(items, b)
		require.NoError(t, err, about)
		require.LessOrEqual(t, counter.calls, 24, about)
		plain, err := r.Render(items, got.Report.Budget)
		require.NoError(t, err, about)
		require.Equal(t, plain.Content, got.Content, about)
		if got.Content != "" {
			is, err := codec.Count(got.Content)
			require.NoError(t, err)
			require.Equal(t, is, got.Report.Tokens, about)
			require.LessOrEqual(t, is, b.MaxTokens, about)
		}

		best, last := 0, ""
		for size := len(whole.Content); size > got.Report.Bytes; size-- {
			p, err := r.Render(items, envelope.Budget{
				MaxBytes: size, MinTruncatedBytes: b.MinTruncatedBytes, Even: b.Even,
			})
			require.NoError(t, err)
			if p.Content == last {
				continue
			}
			last = p.Content
			is, err := codec.Count(p.Content)
			require.NoError(t, err)
			if is <= b.MaxTokens {
				best = len(p.Content)
				break
			}
		}
		if best > got.Report.Bytes+8+len(whole.Content)/20 {
			behind++
		}
	}
	t.Logf("of %d texts, %d are more than 5 %% of everything behind some byte budget's",
		cases, behind)
	assert.LessOrEqual(t, behind, cases/100)
}

func TestPrintFigures(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, printFigures(&out))
	for _, figure := range []string{
		"MaxBytes of four times the tokens", "MaxTokens: tokens used", "one more item",
		"tokens of the text over those of the contents", "escape class adds", "time of one count",
	} {
		assert.Contains(t, out.String(), figure)
	}
}
