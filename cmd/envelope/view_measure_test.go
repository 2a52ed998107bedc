package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// viewOptions are the flags of rendering that change what a text is made of.
var viewOptions = []string{
	"", "-escape controls,invisible", "-escape nonascii",
	"-escape controls,invisible,markup,nonascii",
	"-scope s", "-format markdown", "-format markdown -invisible -show confidence,recall_rank",
	"-format markdown -sections tool:2,memory,page", "-format markdown -sections memory -scope s",
}

func parseOptions(t testing.TB, flags string) *options {
	var o options
	f := flagSet(&o)
	require.NoError(t, f.Parse(strings.Fields(flags)), flags)
	require.NoError(t, o.validate())
	return &o
}

// hostilePieces are what contents are made of here.
func hostilePieces() []string {
	var out []string
	for _, w := range []envelope.Wrapper{envelope.PowerContextV1, envelope.PowerContextTextV1} {
		out = append(out, w.Begin, w.End, "E\\u004eD_POWERCONTEXT_PREPARED_CONTEXT_V1")
	}
	return append(out, "\n", "\r\n", "\r", "\t", "\u2028", "\u0085", "\x1b[2J", "\u202e", "\u200b",
		"\U000e0041", "\ufe0f", "全", "✅", "😅", "plain text ", "\"", "\\", `\u2028`, "### Memory 1",
		">     ", "    Truncated: no", "</script><script>alert(1)</script>", "{{.Begin}}", "…")
}

func randomItems(rng *rand.Rand, n int) []envelope.Item {
	pieces := hostilePieces()
	text := func(most int) string {
		var b strings.Builder
		for range rng.IntN(most) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		return b.String()
	}
	var items []envelope.Item
	for i := range n {
		citation, _ := json.Marshal(map[string]any{"id": i, "note": text(5)})
		if rng.IntN(9) == 0 {
			citation = nil
		}
		item := envelope.Item{
			Kind:     []string{"", "memory", "experience", "tool", "page"}[rng.IntN(5)],
			Citation: json.RawMessage(citation), Content: text(60),
		}
		if rng.IntN(12) == 0 {
			item.Content += "\xff"
		}
		items = append(items, item)
	}
	return items
}

// The parts of a text are all of it, and each content is the source up to where it was cut: found
// here by comparing them, which the page does not do.
func TestDissect(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 1))
	cuts := 0
	for _, flags := range viewOptions {
		o := parseOptions(t, flags)
		for round := range 60 {
			items := randomItems(rng, rng.IntN(12))
			b := envelope.Budget{MaxBytes: 500 + rng.IntN(6000), MaxItemBytes: 40 + rng.IntN(900)}
			if round%3 == 0 {
				b = envelope.Budget{MaxBytes: -1, MaxItems: -1, MaxItemBytes: -1}
			}
			p, err := o.render(items, b)
			require.NoError(t, err)
			a, err := o.dissectAll(items, p)
			require.NoError(t, err, "%s %q", flags, p.Content)
			sum := a.frame
			for _, q := range a.portions {
				sum += q.labels + q.delivered + q.escapes
				source, r := items[q.index].Content, p.Report.Items[q.index]
				assert.Equal(t, r.DeliveredBytes, q.delivered)
				assert.GreaterOrEqual(t, q.escapes, 0)
				if r.Outcome == envelope.Truncated {
					cuts++
					require.Less(t, q.kept, len(source))
				}
				if o.format != jsonFormat {
					continue
				}
				want := source
				if r.Outcome == envelope.Truncated {
					want = source[:q.kept] + "…"
				}
				require.Equal(t, want, q.decoded)
				// What is written is the encoded content, as another way to it gives it.
				var decoded string
				written := a.text[q.content.Start:q.content.End]
				require.NoError(t, json.Unmarshal([]byte(`"`+written+`"`), &decoded))
				require.Equal(t, want, decoded)
				require.Equal(t, len(written)-len(decoded), q.escapes)
			}
			require.Equal(t, p.Report.Bytes, sum)
			require.Equal(t, len(p.Content), sum)
		}
	}
	require.Greater(t, cuts, 100)
}

// In Markdown the cut is where a content that ends there is displayed as what was delivered.
func TestCutOfMarkdown(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 2))
	o := parseOptions(t, "-format markdown -sections memory:100")
	cuts := 0
	for range 200 {
		items := randomItems(rng, 3)
		for i := range items {
			items[i].Kind = ""
		}
		p, err := o.render(items, envelope.Budget{MaxItemBytes: 70 + rng.IntN(200)})
		require.NoError(t, err)
		a, err := o.dissectAll(items, p)
		require.NoError(t, err)
		for _, q := range a.portions {
			if !q.truncated {
				continue
			}
			cuts++
			whole := envelope.Item{Citation: items[q.index].Citation,
				Content: items[q.index].Content[:q.kept]}
			if strings.TrimSpace(whole.Content) == "" {
				continue
			}
			unbounded := envelope.Budget{MaxBytes: -1, MaxItemBytes: -1}
			again, err := o.render([]envelope.Item{whole}, unbounded)
			require.NoError(t, err)
			if again.Content == "" {
				continue // blank
			}
			b, err := o.dissect(again.Content)
			require.NoError(t, err)
			assert.Equal(t, q.decoded, b.portions[0].decoded+"…")
		}
	}
	require.Greater(t, cuts, 50)
}

// A text that is not of the renderer is told from one that is.
func TestDissectOthers(t *testing.T) {
	o, markdown := parseOptions(t, ""), parseOptions(t, "-format markdown")
	for _, text := range []string{"x", "[]", "{", "{}x", "BEGIN", envelope.PowerContextV1.Begin} {
		for _, o := range []*options{o, markdown} {
			_, err := o.dissect(text)
			assert.ErrorIs(t, err, errNotRendered, "%s", text)
		}
	}
	for _, text := range []string{"{}", `{"items":1}`, `{"items":[1,{},{"content":2}]}`} {
		a, err := o.dissect(text)
		require.NoError(t, err, text)
		total := a.frame
		for _, q := range a.portions {
			total += q.labels + q.delivered + q.escapes
		}
		assert.Equal(t, len(text), total, text)
	}
}

func FuzzDissect(f *testing.F) {
	for i, s := range hostilePieces() {
		f.Add(s+"x"+s, i*30, i%3 == 0)
	}
	f.Fuzz(func(t *testing.T, content string, budget int, markdown bool) {
		o := &options{format: jsonFormat}
		if markdown {
			o.format = markdownFormat
		}
		items := []envelope.Item{
			{Citation: json.RawMessage(`{"a":1}`), Content: content},
			{Citation: json.RawMessage(fmt.Sprintf(`{"a":%q}`, "x")), Content: content},
		}
		p, err := o.render(items, envelope.Budget{
			MaxBytes: 400 + budget&0xfff, MaxItemBytes: 8 + budget>>3&0xff, MinTruncatedBytes: -1})
		require.NoError(t, err)
		_, err = o.dissectAll(items, p)
		require.NoError(t, err)
	})
}

func flagSet(o *options) *flag.FlagSet {
	f := flag.NewFlagSet("view", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	o.register(f)
	return f
}
