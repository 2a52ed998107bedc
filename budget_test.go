package envelope_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// Over every budget from 1 to 2000, no cut content is shorter than the minimum, and one more
// character would not fit.
func TestJSONBudgetSweep(t *testing.T) {
	contents := map[string]string{
		"ascii":    strings.Repeat("abcdefghij", 300),
		"chinese":  strings.Repeat("记忆与上下文", 200),
		"emoji":    strings.Repeat("🙂", 800),
		"controls": strings.Repeat("\x01", 1000),
		"quotes":   strings.Repeat(`"\`, 1000),
		"U+2028":   strings.Repeat("a\u2028", 600),
		"dashes":   "x" + strings.Repeat("—", 50),
		"markers":  strings.Repeat("中"+end, 60),
		"short":    "hello",
	}
	for name, content := range contents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			twin := twinJSON{wrapper: envelope.PowerContextV1, trust: "untrusted_history"}
			citation, _, _ := twin.citation(memory("e", "").Citation)
			size := func(content string, truncated bool) int {
				return len(twin.render([]twinItem{{"memory", citation, content, truncated}}, 0))
			}
			delivered := 0
			items := []envelope.Item{memory("e", content)}
			for most := 1; most <= 2000; most++ {
				p, err := envelope.JSON{}.Render(items, envelope.Budget{MaxBytes: most})
				require.NoError(t, err)
				require.LessOrEqual(t, len(p.Content), most)
				require.Equal(t, len(p.Content), p.Report.Bytes)
				r := p.Report.Items[0]
				switch r.Outcome {
				case envelope.Included:
					require.Equal(t, content, decodeLine(t, p.Content).Items[0].Content)
					delivered++
				case envelope.Truncated:
					delivered++
					got := decodeLine(t, p.Content).Items[0].Content
					require.Equal(t, len(got), r.DeliveredBytes)
					require.GreaterOrEqual(t, len(got), 64)
					require.LessOrEqual(t, len(got), 2000)
					require.Greater(t, size(content, false), most, "the whole would have fitted")
					prefix, ok := strings.CutSuffix(got, "…")
					require.True(t, ok && strings.HasPrefix(content, prefix))
					_, width := utf8.DecodeRuneInString(content[len(prefix):])
					more := content[:len(prefix)+width] + "…"
					if len(more) <= 2000 && len(more) < len(content) {
						require.Greater(t, size(more, true), most, "one more would have fitted")
					}
				default:
					require.Empty(t, p.Content)
					if len(content) <= 2000 {
						require.Greater(t, size(content, false), most,
							"the whole would have fitted")
					}
					cutAway := []envelope.Outcome{envelope.TooShort, envelope.NoRoom}
					require.Contains(t, cutAway, r.Outcome)
					for n, c := range content {
						if n += utf8.RuneLen(c); n+3 >= 64 && n+3 < len(content) {
							require.Greater(t, size(content[:n]+"…", true), most,
								"the shortest would have fitted")
							break
						}
					}
				}
			}
			require.NotZero(t, delivered)
		})
	}
}

// Each bound is tried one below, at and one above a length.
func TestJSONBounds(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		why      string
		contents []string
		budget   envelope.Budget
		outcomes []string
		bytes    []int
	}{
		{"a later, shorter item is tried after one that does not fit", []string{x(900), x(5000), x(30)}, envelope.Budget{MaxBytes: 1646, MinTruncatedBytes: 100}, []string{"included", "too-short", "included"}, []int{900, 0, 30}},
		{"the item bound is exact", []string{x(2000), x(2001), x(1999)}, envelope.Budget{}, []string{"included", "truncated", "included"}, []int{2000, 2000, 1999}},
		{"a multi-byte character at the item bound", []string{strings.Repeat("中", 667)}, envelope.Budget{}, []string{"truncated"}, []int{665*3 + 3}},
		{"no item bound", []string{x(5000)}, envelope.Budget{MaxItemBytes: envelope.Unlimited}, []string{"included"}, []int{5000}},
		{"no bound at all", []string{x(1 << 20)}, envelope.Budget{MaxBytes: -1, MaxItems: -1, MaxItemBytes: -1, MinTruncatedBytes: -1}, []string{"included"}, []int{1 << 20}},
		{"nine items", []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}, envelope.Budget{}, []string{"included", "included", "included", "included", "included", "included", "included", "included", "over-limit"}, []int{1, 1, 1, 1, 1, 1, 1, 1, 0}},
		{"any number of items", strings.Split(x(30), ""), envelope.Budget{MaxItems: envelope.Unlimited}, strings.Split(strings.Repeat("included ", 29)+"included", " "), nil},
		{"the ellipsis counts for the minimum", []string{x(500)}, envelope.Budget{MaxItemBytes: 64}, []string{"truncated"}, []int{64}},
		{"below the minimum", []string{x(500)}, envelope.Budget{MaxItemBytes: 63}, []string{"too-short"}, []int{0}},
		{"no minimum", []string{x(500)}, envelope.Budget{MaxItemBytes: 4, MinTruncatedBytes: envelope.Unlimited}, []string{"truncated"}, []int{4}},
		{"an ellipsis alone delivers nothing", []string{x(500)}, envelope.Budget{MaxItemBytes: 3, MinTruncatedBytes: 1}, []string{"no-room"}, []int{0}},
		{"white space beyond the item bound is white space", []string{strings.Repeat(" ", 3000) + "x"}, envelope.Budget{}, []string{"truncated"}, []int{2000}},
		{"more than 64 KiB of white space are blank, whatever follows", []string{strings.Repeat(" ", 64<<10+1) + "x", strings.Repeat(" ", 64<<10) + "x"}, envelope.Budget{}, []string{"blank", "truncated"}, []int{0, 2000}},
		{"unless that much can be delivered", []string{strings.Repeat(" ", 65<<10) + "x"}, envelope.Budget{MaxBytes: -1, MaxItemBytes: -1}, []string{"included"}, []int{65<<10 + 1}},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			var items []envelope.Item
			for i, content := range tt.contents {
				items = append(items, memory(fmt.Sprint(i), content))
			}
			p, err := envelope.JSON{}.Render(items, tt.budget)
			require.NoError(t, err)
			assert.Equal(t, tt.outcomes, outcomesOf(p.Report))
			for i, n := range tt.bytes {
				assert.Equal(t, n, p.Report.Items[i].DeliveredBytes, i)
			}
		})
	}
}

// An item bound above MaxBytes looks at no more than 64 KiB of a content, to the byte.
func TestJSONLooksAt64KiB(t *testing.T) {
	const last = 64<<10 - len("…") - 1 // that could be delivered in so many bytes
	for at, want := range map[int]string{last: "malformed", last + 1: "truncated"} {
		content := strings.Repeat("x", at) + "\xff" + strings.Repeat("y", 100)
		items := []envelope.Item{memory("e", content)}
		p, err := envelope.JSON{}.Render(items, envelope.Budget{MaxItemBytes: envelope.Unlimited})
		require.NoError(t, err)
		assert.Equal(t, []string{want}, outcomesOf(p.Report), at)
	}
}

// An ellipsis takes the place of more bytes than its own, so that a cut content is always shorter
// than its source.
func TestJSONEllipsisStandsForMore(t *testing.T) {
	for content, want := range map[string]string{
		"abc":                  "no-room",
		"abcd":                 "too-short",
		"abcde":                "a…",
		"abcdef":               "ab…",
		"a中文":                  "a…",
		"\x01\x01\x01\x01\x01": "\x01…",
		"a\x01":                "too-short",
	} {
		items := []envelope.Item{memory("e", content)}
		p, err := envelope.JSON{}.Render(items, envelope.Budget{})
		require.NoError(t, err)
		p, err = envelope.JSON{}.Render(items, envelope.Budget{
			MaxBytes:          len(p.Content) - 1,
			MinTruncatedBytes: 1,
		})
		require.NoError(t, err)
		got := p.Report.Items[0].Outcome.String()
		if p.Ready() {
			got = decodeLine(t, p.Content).Items[0].Content
			assert.Less(t, len(got), len(content))
		}
		assert.Equal(t, want, got, "%q", content)
	}
}

func TestJSONEmptyResults(t *testing.T) {
	items := []envelope.Item{memory("e", "content")}
	for _, most := range []int{1, 2, 3, 63, 64, 243, 244, 300} {
		dst := []byte("keep\x00\xff")
		got, report, err := envelope.JSON{}.Append(dst[:4], items, envelope.Budget{MaxBytes: most})
		require.NoError(t, err)
		assert.Equal(t, "keep", string(got))
		assert.Equal(t, 0, report.Bytes)
		assert.Equal(t, []string{"no-room"}, outcomesOf(report), most)
	}
	for _, items := range [][]envelope.Item{nil, {}, {memory("e", " ")}} {
		p, err := envelope.JSON{}.Render(items, envelope.Budget{})
		require.NoError(t, err)
		assert.False(t, p.Ready())
		assert.NoError(t, p.Report.Err())
		assert.Len(t, p.Report.Items, len(items))
	}
}

// Invalid UTF-8 behind what could be delivered is not looked at.
func TestJSONInvalidBeyondTheBound(t *testing.T) {
	content := strings.Repeat("x", 1997) + "\xff" + strings.Repeat("y", 10)
	items := []envelope.Item{memory("e", content)}
	p, err := envelope.JSON{}.Render(items, envelope.Budget{})
	require.NoError(t, err)
	assert.Equal(t, []string{"truncated"}, outcomesOf(p.Report))
	p, err = envelope.JSON{}.Render(items, envelope.Budget{MaxItemBytes: envelope.Unlimited})
	require.NoError(t, err)
	assert.Equal(t, []string{"malformed"}, outcomesOf(p.Report))
}

// Invalid UTF-8 within the item bound is found even where the text has no room for the content.
func TestInvalidBeyondTheRoom(t *testing.T) {
	items := []envelope.Item{memory("e", strings.Repeat("x", 99)+"\xff")}
	type render func([]envelope.Item, envelope.Budget) (envelope.Prepared, error)
	j, m := envelope.JSON{}, envelope.Markdown{}
	renders := map[string]render{"JSON": j.Render, "Markdown": m.Render}
	for most := 1; most <= 600; most++ {
		for name, render := range renders {
			p, err := render(items, envelope.Budget{MaxBytes: most, MaxItemBytes: 100})
			require.NoError(t, err)
			require.Equal(t, []string{"malformed"}, outcomesOf(p.Report), "%s %d", name, most)
		}
	}
}
