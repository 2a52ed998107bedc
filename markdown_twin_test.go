package envelope_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// twinMarkdown is the Markdown renderer written to be obviously right: piece by piece, and for each
// item and each length of it the whole text is rendered anew.
type twinMarkdown struct {
	envelope.Markdown // with nothing left out
}

func newTwinMarkdown(m envelope.Markdown) twinMarkdown {
	if m.Title == "" {
		m.Title = "# PowerContext historical context"
	}
	if m.Wrapper == (envelope.Wrapper{}) {
		m.Wrapper = envelope.PowerContextTextV1
	}
	if m.Sections == nil {
		m.Sections = []envelope.Section{
			{Kind: "memory", Title: "Memory", Limit: 6},
			{Kind: "experience", Title: "Experience", Limit: 2},
		}
	}
	return twinMarkdown{m}
}

type twinShown struct {
	section   int
	metadata  []string
	rank      int
	body      string
	truncated bool
}

func (w *twinMarkdown) render(items []twinShown) string {
	blocks := []string{w.Title, w.Wrapper.Notice, w.Wrapper.Begin}
	last, number := -1, 0
	for _, item := range items {
		if item.section != last {
			blocks = append(blocks, "## "+w.Sections[item.section].Title)
			last, number = item.section, 0
		}
		number++
		lines := append([]string(nil), item.metadata...)
		if w.Show&envelope.ShowConfidence != 0 {
			lines = append(lines, "Confidence: unknown (not assessed)")
		}
		if w.Show&envelope.ShowRank != 0 {
			lines = append(lines, fmt.Sprintf("Recall rank: %d", item.rank))
		}
		truncated := map[bool]string{false: "no", true: "yes"}[item.truncated]
		lines = append(lines, "Truncated: "+truncated)
		blocks = append(blocks, fmt.Sprintf("### %s %d", w.Sections[item.section].Title, number),
			twinBreak("    "+strings.Join(lines, "\n    "), w.Wrapper),
			twinBreak(">     "+strings.ReplaceAll(item.body, "\n", "\n>     "), w.Wrapper))
	}
	return strings.Join(append(blocks, w.Wrapper.End), "\n\n")
}

// pieces cuts a body into what is never split, as displayed. It ends before invalid UTF-8, and
// says whether there was some.
func (w *twinMarkdown) pieces(s string) (shown []string, valid bool) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			return shown, false
		}
		s = s[n:]
		switch {
		case r == '\n' || r == '\r' || r == 0x2028 || r == 0x2029:
			shown = append(shown, "\n")
		case unicode.In(r, unicode.Cc, unicode.Cf),
			w.Invisible && unicode.In(r, invisibleTables...):
			if r < 0x10000 {
				shown = append(shown, fmt.Sprintf(`\u%04x`, r))
			} else {
				shown = append(shown, fmt.Sprintf(`\U%08x`, r))
			}
		default:
			shown = append(shown, string(r))
		}
	}
	return shown, true
}

func (w *twinMarkdown) append(items []envelope.Item, b envelope.Budget) (string, []twinOutcome) {
	b = twinBudget(b)
	outcomes := make([]twinOutcome, len(items))
	var delivered []twinShown
	for i := range items {
		outcomes[i] = twinOutcome{envelope.Unselected, 0, -1}
	}
	for k, section := range w.Sections {
		limit := b.MaxItems
		if section.Limit > 0 {
			limit = section.Limit
		}
		seen := map[string]bool{}
		inSection, rank := 0, 0
		for i, item := range items {
			if item.Kind != section.Kind && !(item.Kind == "" && section.Kind == "memory") {
				continue
			}
			outcomes[i] = func() twinOutcome {
				metadata, uncited, malformed := w.metadata(item.Citation)
				shown, valid := w.pieces(item.Content)
				size := len(strings.Join(shown, ""))
				switch {
				case uncited:
					return twinOutcome{envelope.Uncited, 0, -1}
				case malformed:
					return twinOutcome{envelope.Malformed, 0, -1}
				case !valid:
					// Malformed, if the bad byte could be delivered; otherwise the shown pieces
					// before it are more than enough.
					rest := item.Content
					total := 0
					for rest != "" {
						p, ok := w.pieces(rest)
						total += len(strings.Join(p, ""))
						if ok {
							break
						}
						total++
						rest = rest[w.sourceLen(rest)+1:]
					}
					if total <= b.MaxItemBytes || size+1 <= b.MaxItemBytes-3 {
						return twinOutcome{envelope.Malformed, 0, -1}
					}
				}
				if twinBlank(item.Content) {
					return twinOutcome{envelope.Blank, 0, -1}
				}
				key := strings.Join(metadata, "\n")
				if seen[key] {
					return twinOutcome{envelope.Duplicate, 0, -1}
				}
				seen[key] = true
				rank++
				if inSection >= limit || len(delivered) >= b.MaxItems {
					return twinOutcome{envelope.OverLimit, 0, -1}
				}
				in := twinShown{section: k, metadata: metadata, rank: rank}
				fits := func(body string, truncated bool) bool {
					in.body, in.truncated = body, truncated
					if len(body) > b.MaxItemBytes {
						return false
					}
					return len(w.render(append(slices.Clone(delivered), in))) <= b.MaxBytes
				}
				if valid && fits(strings.Join(shown, ""), false) {
					delivered = append(delivered, in)
					inSection++
					return twinOutcome{envelope.Included, size, -1}
				}
				if !valid {
					size = 1 << 30
				}
				outcome := envelope.NoRoom
				last := len(shown) - 1
				if !valid {
					last++ // the bad byte is what is cut
				}
				for n := last; n > 0; n-- {
					prefix := strings.Join(shown[:n], "")
					if !fits(prefix+"…", true) {
						continue
					}
					outcome = envelope.TooShort
					if d := len(prefix) + 3; d >= b.MinTruncatedBytes && d < size {
						delivered = append(delivered, in)
						inSection++
						return twinOutcome{envelope.Truncated, d, -1}
					}
				}
				return twinOutcome{outcome, 0, -1}
			}()
		}
	}
	if len(delivered) == 0 {
		return "", outcomes
	}
	return w.render(delivered), outcomes
}

// sourceLen returns how much of s stands before its first invalid byte.
func (w *twinMarkdown) sourceLen(s string) int {
	for i := range s {
		if !utf8.ValidString(s[:i]) {
			for k := i - 1; ; k-- {
				if utf8.ValidString(s[:k]) {
					return k
				}
			}
		}
	}
	for k := len(s); ; k-- {
		if utf8.ValidString(s[:k]) {
			return k
		}
	}
}

func (w *twinMarkdown) metadata(v any) (lines []string, uncited, malformed bool) {
	plain := func(s string) string {
		t := twinJSON{escape: envelope.EscapeNonASCII | envelope.EscapeControls}
		return t.quote(s)
	}
	scope := func(s string) {
		if s == "" {
			s = w.Scope
		}
		if s != "" {
			lines = append(lines, "Scope: "+plain(s))
		}
	}
	artifact := func(r envelope.ArtifactRef) {
		lines = append(lines, fmt.Sprintf("Artifact: family=%s, id=%s, revision=%d",
			plain(r.Family), plain(r.ArtifactID), r.Revision))
	}
	_, uncited, malformed = (&twinJSON{}).citation(v)
	switch c := v.(type) {
	case envelope.MemoryCitation:
		scope(c.Scope)
		artifact(c.Memory)
		lines = append(lines,
			fmt.Sprintf("Entry: id=%s, version=%s", plain(c.EntryID), plain(c.EntryVersionID)))
	case envelope.ArtifactCitation:
		scope(c.Scope)
		artifact(c.Artifact)
	case map[string]any:
		const inNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
		own := []string{"Scope", "Artifact", "Entry", "Confidence", "Truncated"}
		for name, value := range c {
			if strings.Trim(name, inNames) != "" || name == "" || len(name) > 64 ||
				slices.Contains(own, name) {
				name = plain(name)
			}
			lines = append(lines, name+": "+plain(value.(string)))
		}
	}
	return lines, uncited, malformed
}

// textWrappers are the wrappers that the random cases of Markdown use.
var textWrappers = []envelope.Wrapper{
	{},
	{Notice: "n", Begin: "<untrusted-context>", End: "</untrusted-context>"},
	{Notice: "Two\n\nblocks.", Begin: "==-==-==-==", End: "==-==== END"},
	{Notice: "n", Begin: "BEGIN CONTEXT", End: "### END ###"},
}

func randomMarkdown(rng *rand.Rand) (envelope.Markdown, []envelope.Item, envelope.Budget) {
	j, items, b := randomCase(rng)
	m := envelope.Markdown{
		Scope:     j.Scope,
		Wrapper:   textWrappers[rng.IntN(len(textWrappers))],
		Show:      envelope.Show(rng.IntN(4)),
		Invisible: rng.IntN(2) == 0,
	}
	if rng.IntN(3) == 0 {
		m.Title = "# T"
		m.Sections = []envelope.Section{
			{Kind: "instructions", Title: "Instructions"},
			{Kind: "memory", Title: "M *m*", Limit: 1 + rng.IntN(2)},
		}
	}
	w := newTwinMarkdown(m)
	for i := range items {
		if rng.IntN(4) == 0 {
			items[i].Content += w.Wrapper.Begin + "\n" + w.Wrapper.End
		}
		if rng.IntN(3) > 0 {
			items[i].Kind = "memory"
		}
	}
	if b.MaxBytes > 1 {
		b.MaxBytes += rng.IntN(500)
	}
	return m, items, b
}

func TestMarkdownTwin(t *testing.T) {
	const shards = 4
	for shard := range uint64(shards) {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(21, shard))
			counts := map[envelope.Outcome]int{}
			for range twinCases() / shards {
				m, items, b := randomMarkdown(rng)
				compareMarkdown(t, m, items, b, counts)
			}
			for o := envelope.Included; o <= envelope.NoRoom; o++ {
				require.NotZero(t, counts[o], "no case came out %s", o)
			}
		})
	}
}

func compareMarkdown(
	t testing.TB, m envelope.Markdown, items []envelope.Item, b envelope.Budget,
	counts map[envelope.Outcome]int,
) {
	twin := newTwinMarkdown(m)
	want, outcomes := twin.append(items, b)
	got, report, err := m.Append(append(make([]byte, 0, 64), "keep"...), items, b)
	same := err == nil && string(got) == "keep"+want &&
		report.Bytes == len(want) && len(report.Items) == len(items)
	for i := range report.Items {
		r := report.Items[i]
		counts[r.Outcome]++
		same = same && r.Outcome == outcomes[i].outcome &&
			r.DeliveredBytes == outcomes[i].delivered && r.SourceBytes == len(items[i].Content)
	}
	if !same {
		t.Fatalf("%#v\n%#v\n%+v\nwant %q %v\ngot  %q %+v %v",
			m, items, b, want, outcomes, got, report, err)
	}
	if want == "" {
		return
	}
	requireIntact(t, want, twin.Wrapper)
	if err := m.Check(want); err != nil {
		t.Fatalf("%v: %q", err, want)
	}
}

// One payload goes through both renderers. Both texts are intact; only JSON promises that the
// content comes back.
func TestBothRenderers(t *testing.T) {
	ends := strings.Join(lineReadersAll(), end)
	data, err := json.Marshal("\u2028" + ends + envelope.PowerContextTextV1.End)
	require.NoError(t, err)
	var content string
	require.NoError(t, json.Unmarshal(data, &content))
	items := []envelope.Item{memory("e", content)}
	j, err := envelope.JSON{}.Render(items, envelope.Budget{})
	require.NoError(t, err)
	requireIntact(t, j.Content, envelope.PowerContextV1)
	requireDelivered(t, envelope.JSON{}, j.Content, items, j.Report)
	m, err := envelope.Markdown{}.Render(items, envelope.Budget{})
	require.NoError(t, err)
	requireIntact(t, m.Content, envelope.PowerContextTextV1)
	require.NoError(t, envelope.Markdown{}.Check(m.Content))
	require.False(t, bytes.Contains([]byte(m.Content), []byte(content)))
}

func lineReadersAll() (ends []string) {
	for _, set := range lineReaders {
		ends = append(ends, set)
	}
	return ends
}
