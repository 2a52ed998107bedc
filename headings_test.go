package envelope_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

func TestMarkdownTitles(t *testing.T) {
	for kind, want := range map[string]string{
		"topic-memory": "Topic Memory",
		"memory":       "Memory",
		"":             "Memory",
		"tool_result":  "Tool Result",
		"HTTP-log":     "HTTP Log",
		"über":         "über",
		"a--b":         "A  B",
		"x2-3y":        "X2 3y",
		"zebra-a":      "Zebra A",
		"{b-`c":        "{b `c",
	} {
		m := envelope.Markdown{Sections: []envelope.Section{{Kind: kind}}}
		items := []envelope.Item{{Kind: kind, Citation: map[string]any{"u": 1}, Content: "x"}}
		p, err := m.Render(items, envelope.Budget{})
		require.NoError(t, err)
		assert.Contains(t, p.Content, "\n\n## "+want+"\n\n### "+want+" 1\n\n")
		assert.NoError(t, m.Check(p.Content))
	}
	m := envelope.Markdown{
		Title:    "Plain ]: words",
		Sections: []envelope.Section{{Title: "Two words", Limit: envelope.Unlimited}},
	}
	p, err := m.Render([]envelope.Item{memory("e", "x")}, envelope.Budget{})
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(p.Content, "Plain ]: words\n\nPowerContext"))
	assert.Contains(t, p.Content, "## Two words\n\n### Two words 1\n")
}

// The default is two sections, each with its limit.
func TestMarkdownDefaultSections(t *testing.T) {
	var items []envelope.Item
	for i := range 8 {
		experience := memory(fmt.Sprint(i), "x")
		experience.Kind = "experience"
		items = append(items, memory(fmt.Sprint(i), "x"), experience)
	}
	p, err := envelope.Markdown{}.Render(items, envelope.Budget{MaxBytes: -1, MaxItems: -1})
	require.NoError(t, err)
	assert.Contains(t, p.Content, "### Memory 6\n")
	assert.NotContains(t, p.Content, "### Memory 7\n")
	assert.Contains(t, p.Content, "### Experience 2\n")
	assert.NotContains(t, p.Content, "### Experience 3\n")
	assert.Equal(t, len(items)-8, p.Report.Count(envelope.OverLimit))
}

func TestMarkdownIllegalOptions(t *testing.T) {
	section := func(s ...envelope.Section) envelope.Markdown {
		return envelope.Markdown{Sections: s}
	}
	wrapper := func(notice, begin string) envelope.Markdown {
		w := envelope.Wrapper{Notice: notice, Begin: begin, End: "END_OF_IT_ALL"}
		return envelope.Markdown{Wrapper: w}
	}
	tests := []struct {
		why      string
		markdown envelope.Markdown
		what     error
		field    string
		offset   int
	}{
		{"a title of two lines", envelope.Markdown{Title: "a\nb"}, envelope.ErrOption, "title", 1},
		{"a title with a tab", envelope.Markdown{Title: "a\tb"}, envelope.ErrOption, "title", 1},
		{"a title with an override", envelope.Markdown{Title: "# \u202eb"}, envelope.ErrOption, "title", 2},
		{"a title with a filler", envelope.Markdown{Title: "# \u3164b"}, envelope.ErrOption, "title", 2},
		{"a title with a separator", envelope.Markdown{Title: "\u2029"}, envelope.ErrOption, "title", 0},
		{"a blank title", envelope.Markdown{Title: " "}, envelope.ErrOption, "title", 1},
		{"a title of no text", envelope.Markdown{Title: "a\xff"}, envelope.ErrOption, "title", 1},
		{"a title of no text from the beginning", envelope.Markdown{Title: "\xffa"}, envelope.ErrOption, "title", 0},
		{"a title with the other marker", envelope.Markdown{Title: textBegin + " it is"}, envelope.ErrOption, "title", -1},
		{"a title that opens a fence", envelope.Markdown{Title: "  ```go"}, envelope.ErrOption, "title", -1},
		{"a title that opens a comment", envelope.Markdown{Title: "<!-- x"}, envelope.ErrOption, "title", -1},
		{"a title with a marker", envelope.Markdown{Title: "# " + textEnd}, envelope.ErrOption, "title", -1},
		{"a scope of no text", envelope.Markdown{Scope: "\xff"}, envelope.ErrInvalidUTF8, "scope", 0},
		{"an unknown line", envelope.Markdown{Show: 4}, envelope.ErrOption, "show", -1},
		{"a section's title of two lines", section(envelope.Section{}, envelope.Section{Kind: "k", Title: "a\u2028b"}), envelope.ErrOption, "sections[1].Title", 1},
		{"a kind that makes no title", section(envelope.Section{Kind: "a\x1b"}), envelope.ErrOption, "sections[0].Title", 1},
		{"a section's title with a marker", section(envelope.Section{Title: "x " + textBegin}), envelope.ErrOption, "sections[0].Title", -1},
		{"a kind twice", section(envelope.Section{}, envelope.Section{Kind: "memory"}), envelope.ErrOption, "sections[1].Kind", -1},
		{"a negative limit", section(envelope.Section{Limit: -2}), envelope.ErrOption, "sections[0].Limit", -1},
		{"a marker that begins like a body", wrapper("n", ">     BEGIN"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker that begins with a space", wrapper("n", " BEGINNING"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker that opens a fence", wrapper("n", "```BEGINNING"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker in the line of truncation", wrapper("n", "ncated: y"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker that is a label", wrapper("n", "revision"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker across a label and a number", wrapper("n", "l rank: 1"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker across a separator", wrapper("n", "false, b="), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker across a name and a value", wrapper("n", "name: 12"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker that closes what a value opens", wrapper("n", "x]}]}]}]"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker of an array", wrapper("n", "xyzname: [1"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker of an array in an array", wrapper("n", "xyzname=[[]]"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker of an object", wrapper("n", "xyzname={}"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker of an object in an array", wrapper("n", "xyzname=[{},{}]"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker of an exponent", wrapper("n", "xyzname: 1e+10"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker of elements", wrapper("n", "xyzname=[1,[2],3],"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker of the ends of objects", wrapper("n", "xyz={}},"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker of members without blanks", wrapper("n", "xyz:[],x"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker of objects", wrapper("n", "xyz:{},{"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a marker that is a link definition", wrapper("n", "[a]: BEGIN <x>"), envelope.ErrWrapper, "wrapper.Begin", 0},
		{"a kind of no words", section(envelope.Section{Kind: "-_"}), envelope.ErrOption, "sections[0].Title", 2},
		{"two sections shown alike", section(envelope.Section{Kind: "a-b"}, envelope.Section{Kind: "a_b"}), envelope.ErrOption, "sections[1].Title", -1},
		{"a whole heading that a number completes", envelope.Markdown{Wrapper: wrapper("n", "### Memory 1").Wrapper}, envelope.ErrOption, "sections[0].Title", -1},
		{"a marker that a number completes", envelope.Markdown{Wrapper: wrapper("n", "# Memory 12").Wrapper}, envelope.ErrOption, "sections[0].Title", -1},
		{"a notice that opens a fence", wrapper("n\n~~~", "BEGIN_IT_ALL"), envelope.ErrWrapper, "wrapper.Notice", 2},
		{"JSON's rules", wrapper("", "BEGIN_IT_ALL"), envelope.ErrWrapper, "wrapper.Notice", -1},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			items := []envelope.Item{memory("e", "x")}
			got, report, err := tt.markdown.Append([]byte("keep"), items, envelope.Budget{})
			var e *envelope.Error
			require.ErrorAs(t, err, &e)
			assert.ErrorIs(t, err, tt.what)
			assert.Equal(t, []any{tt.field, tt.offset, -1}, []any{e.Field, e.Offset, e.Item})
			assert.Equal(t, "keep", string(got))
			assert.Empty(t, report.Items)
			assert.ErrorIs(t, tt.markdown.Check("x"), tt.what)
			_, err = tt.markdown.Render(nil, envelope.Budget{})
			assert.ErrorIs(t, err, tt.what)
		})
	}
	got, _, err := envelope.Markdown{}.Append([]byte("keep"), nil, envelope.Budget{MaxBytes: -2})
	assert.ErrorIs(t, err, envelope.ErrBudget)
	assert.Equal(t, "keep", string(got))
}

// Sections and items are each looked at once, however many there are. Eight times as many took 64
// times as long when each section looked at each item.
func TestManySections(t *testing.T) {
	render := func(n int) time.Duration {
		sections := make([]envelope.Section, n)
		items := make([]envelope.Item, n)
		for i := range sections {
			kind := "kind-" + strconv.Itoa(i)
			sections[i] = envelope.Section{Kind: kind}
			items[n-1-i] = memory(strconv.Itoa(i), "x")
			items[n-1-i].Kind = kind
		}
		m := envelope.Markdown{Sections: sections}
		b := envelope.Budget{MaxBytes: envelope.Unlimited, MaxItems: envelope.Unlimited}
		start := time.Now()
		p, err := m.Render(items, b)
		took := time.Since(start)
		require.NoError(t, err)
		require.Equal(t, n, p.Report.Count(envelope.Included))
		require.NoError(t, m.Check(p.Content))
		return took
	}
	best := func(n int) time.Duration {
		shortest := render(n)
		for range 4 {
			shortest = min(shortest, render(n))
		}
		return shortest
	}
	few, many := best(2000), best(16_000)
	assert.Less(t, many, 40*few, "%v for 2,000, %v for 16,000", few, many)
}
