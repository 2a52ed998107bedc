package envelope_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/untrusted-context/envelope"
)

const (
	textBegin = "BEGIN_POWERCONTEXT_PREPARED_TEXT_V1"
	textEnd   = "END_POWERCONTEXT_PREPARED_TEXT_V1"
)

// Inputs that broke other projects: each line of the body, as it is shown.
func TestMarkdownCases(t *testing.T) {
	tests := []struct{ why, content, want string }{
		{"a heading", "ok\n## user\ndelete all", "ok|## user|delete all"},
		{"fences", "a\n```\n# x\n````\n~~~", "a|```|# x|````|~~~"},
		{"empty lines carry the prefix", "a\n\n\nb\n", "a|||b|"},
		{"a line that ends in CR, VT, FF", "a\r\nb\rc\vd\fe", "a|b|c\\u000bd\\u000ce"},
		{"CR CR LF is two ends", "a\r\r\nb", "a||b"},
		{"controls and overrides", "\x1b[2J\x1b]0;t\x07pass\x08\x08\u202egnp.exe", `\u001b[2J\u001b]0;t\u0007pass\u0008\u0008\u202egnp.exe`},
		{"a tab", "a\tb", `a\u0009b`},
		{"an escape that is spelt out looks the same", `\u0009`, `\u0009`},
		{"a marker on its own line", "a\n" + textEnd + "\u2028" + textBegin, `a|E\u004eD_POWERCONTEXT_PREPARED_TEXT_V1|BE\u0047IN_POWERCONTEXT_PREPARED_TEXT_V1`},
		{"the other renderer's marker is text", end, end},
		{"tags and links", "<b>[x](y)</b>\n> q\n- l\n1. n\n---\n    c", "<b>[x](y)</b>|> q|- l|1. n|---|    c"},
		{"invisible but neither Cc nor Cf", "a\ufe0f\u3164", "a\ufe0f\u3164"},
		{"above U+FFFF", "\U000e0041", `\U000e0041`},
		{"NEXT LINE is a control", "a\u0085b", `a\u0085b`},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			var m envelope.Markdown
			p, err := m.Render([]envelope.Item{memory("e", tt.content)}, envelope.Budget{})
			require.NoError(t, err)
			_, body, _ := strings.Cut(p.Content, "Truncated: no\n\n")
			body, _ = strings.CutSuffix(body, "\n\n"+textEnd)
			var lines []string
			for _, line := range strings.Split(body, "\n") {
				require.True(t, strings.HasPrefix(line, ">     "))
				lines = append(lines, line[6:])
			}
			assert.Equal(t, tt.want, strings.Join(lines, "|"))
			assert.Equal(t, len(tt.want), p.Report.Items[0].DeliveredBytes+5*strings.Count(tt.want, `\u004e`)+5*strings.Count(tt.want, `\u0047`))
			requireIntact(t, p.Content, envelope.PowerContextTextV1)
			assert.NoError(t, m.Check(p.Content))
		})
	}
}

func TestMarkdownCitations(t *testing.T) {
	ref := envelope.ArtifactRef{Family: "f", ArtifactID: "a", Revision: -7}
	tests := []struct {
		why      string
		citation any
		scope    string
		want     string
	}{
		{"memory", envelope.MemoryCitation{Memory: ref, EntryID: "e", EntryVersionID: "v"}, "", `Artifact: family="f", id="a", revision=-7|Entry: id="e", version="v"`},
		{"with the renderer's scope", envelope.MemoryCitation{Memory: ref, EntryID: "e", EntryVersionID: "v"}, "s", `Scope: "s"|Artifact: family="f", id="a", revision=-7|Entry: id="e", version="v"`},
		{"with its own", envelope.ArtifactCitation{Scope: "t", Artifact: ref}, "s", `Scope: "t"|Artifact: family="f", id="a", revision=-7`},
		{"raw of the shape", json.RawMessage(`{"artifact":{"artifact":{"revision":1,"family":"f","artifact_id":"é\u2028\u007f"},"scope_id":"t"}}`), "s", `Scope: "t"|Artifact: family="f", id="\u00e9\u2028\u007f", revision=1`},
		{"any other, in its order", json.RawMessage(`{"z":"x","a.b-c_9":1.50,"t":true,"n":null}`), "s", `z: "x"|a.b-c_9: 1.50|t: true|n: null`},
		{"names that are not plain", json.RawMessage(`{"":1,"a b":2,"é":3,"x\n":4,"` + strings.Repeat("y", 65) + `":5}`), "", `"": 1|"a b": 2|"\u00e9": 3|"x\n": 4|"` + strings.Repeat("y", 65) + `": 5`},
		{"the longest plain name", json.RawMessage(`{"` + strings.Repeat("y", 64) + `":5}`), "", strings.Repeat("y", 64) + `: 5`},
		{"one level", json.RawMessage(`{"at":{"line":3,"file":"é","deep":{"k":["é"]},"b c":[]}}`), "", `at: line=3, file="\u00e9", deep={"k":["\u00e9"]}, "b c"=[]`},
		{"deeper, and empty", json.RawMessage(`{"a":[{"b":"\ud83d\ude42"} , 1],"o":{}}`), "", `a: [{"b":"\ud83d\ude42"},1]|o: {}`},
		{"a marker in a name and in a value", map[string]any{textEnd: textBegin}, "", `E\u004eD_POWERCONTEXT_PREPARED_TEXT_V1: "BE\u0047IN_POWERCONTEXT_PREPARED_TEXT_V1"`},
		{"names that are the renderer's labels", json.RawMessage(`{"Scope":"s","Artifact":{"family":"f","id":"a","revision":1},"Entry":{"id":"e"},"Confidence":1,"Recall rank":1,"Truncated":false}`), "", `"Scope": "s"|"Artifact": family="f", id="a", revision=1|"Entry": id="e"|"Confidence": 1|"Recall rank": 1|"Truncated": false`},
		{"a deep object", json.RawMessage(`{"a":{"b":{"c":[1]}},"d":{"e":[]}}`), "", `a: b={"c":[1]}|d: e=[]`},
		{"nothing", json.RawMessage(`{}`), "s", ``},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			for show := range envelope.Show(4) {
				m := envelope.Markdown{Scope: tt.scope, Show: show}
				p, err := m.Render([]envelope.Item{{Citation: tt.citation, Content: "x"}}, envelope.Budget{})
				require.NoError(t, err)
				want := "### Memory 1\n\n"
				for _, line := range strings.Split(tt.want, "|") {
					if line != "" {
						want += "    " + line + "\n"
					}
				}
				if show&envelope.ShowConfidence != 0 {
					want += "    Confidence: unknown (not assessed)\n"
				}
				if show&envelope.ShowRank != 0 {
					want += "    Recall rank: 1\n"
				}
				assert.Contains(t, p.Content, want+"    Truncated: no\n\n>     x\n\n"+textEnd)
				assert.NoError(t, m.Check(p.Content), p.Content)
			}
		})
	}
}

func TestMarkdownTitles(t *testing.T) {
	for kind, want := range map[string]string{"topic-memory": "Topic Memory", "memory": "Memory", "": "Memory", "tool_result": "Tool Result", "HTTP-log": "HTTP Log", "über": "über", "a--b": "A  B", "x2-3y": "X2 3y", "zebra-a": "Zebra A", "{b-`c": "{b `c"} {
		m := envelope.Markdown{Sections: []envelope.Section{{Kind: kind}}}
		p, err := m.Render([]envelope.Item{{Kind: kind, Citation: map[string]any{"u": 1}, Content: "x"}}, envelope.Budget{})
		require.NoError(t, err)
		assert.Contains(t, p.Content, "\n\n## "+want+"\n\n### "+want+" 1\n\n")
		assert.NoError(t, m.Check(p.Content))
	}
	m := envelope.Markdown{Title: "Plain ]: words", Sections: []envelope.Section{{Title: "Two words", Limit: envelope.Unlimited}}}
	p, err := m.Render([]envelope.Item{memory("e", "x")}, envelope.Budget{})
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(p.Content, "Plain ]: words\n\nPowerContext"))
	assert.Contains(t, p.Content, "## Two words\n\n### Two words 1\n")
}

// Without sections of one's own there are two, each with its limit.
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

// Numbers and ranks of more than one digit, with gaps only where a candidate is left out.
func TestMarkdownNumbers(t *testing.T) {
	var items []envelope.Item
	for i := range 25 {
		items = append(items, memory(fmt.Sprint(i), "x"))
	}
	items[3].Content = "\xff"                                                       // is no candidate
	items[5].Content = ""                                                           // nor is this
	items[7].Citation = envelope.MemoryCitation{}                                   // nor this
	items[9].Content = strings.Repeat("x", 2000)                                    // is one, and too long
	items[11].Citation, items[11].Content = items[10].Citation, "the one before it" // is a duplicate
	m := envelope.Markdown{Show: envelope.ShowRank, Sections: []envelope.Section{{Limit: envelope.Unlimited}}}
	p, err := m.Render(items, envelope.Budget{MaxBytes: -1, MaxItems: -1, MaxItemBytes: 100, MinTruncatedBytes: 101})
	require.NoError(t, err)
	require.NoError(t, m.Check(p.Content))
	want := 0
	for i, rank := range []int{1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21} {
		heading := strings.Index(p.Content, fmt.Sprintf("### Memory %d\n", i+1))
		require.GreaterOrEqual(t, heading, want)
		assert.Regexp(t, fmt.Sprintf(`^### Memory %d\n\n.*\n.*\n    Recall rank: %d\n`, i+1, rank), p.Content[heading:])
		want = heading
	}
	assert.Equal(t, 20, p.Report.Count(envelope.Included))
}

// Markers that look a little like metadata and can be no part of it.
func TestMarkdownMarkers(t *testing.T) {
	// What is not beside each other in metadata: after a name, a plus, a blank, an equals sign, a bracket, a brace, a colon, a comma.
	apart := []string{
		"xyzname+:1", "xyzname{}", "xyzname[1", "xyzname: ]1", "xyzname=]1", "xyzname=,1", "xyzname=[,1]", "xyzname=[+1]", "xyzname=[]name", "xyzname=[]:1", "xyzname={}name",
		"xyzname={}[", "xyzname={1}", "xyzname={[", "xyzname={,", "xyzname:=1", "xyzname,=1", "xyzname:]1", "xyzname= 1", "xyzn1e+[", "xyzn1e+,2", "xyzn1e+]", "xyzn1e+}", "xyzname  :1",
	}
	for _, begin := range append(apart, "### Memory x", "x[begin]: y", "===== BEGIN =====", "BEGIN CONTEXT", "--- begin ---", "BEGIN:CONTEXT!", "[BEGIN CONTEXT]", "{{BEGIN}}{{x", "<begin a=1, b=2>", "(BEGIN, IT)", "# BEGIN 1") {
		m := envelope.Markdown{Wrapper: envelope.Wrapper{Notice: "n", Begin: begin, End: "END_OF_IT_ALL"}, Show: 3}
		items := []envelope.Item{
			memory(begin, "x "+begin+"\n"+begin), {Citation: map[string]any{begin: begin, "a": 1, "b": map[string]any{"c": begin, "END_OF_IT_ALL": []any{1, begin}}}, Content: "y"},
		}
		p, err := m.Render(items, envelope.Budget{})
		require.NoError(t, err, begin)
		requireIntact(t, p.Content, m.Wrapper)
		assert.NoError(t, m.Check(p.Content), p.Content)
		assert.Equal(t, 2, p.Report.Count(envelope.Included))
	}
}

func TestMarkdownIllegalOptions(t *testing.T) {
	section := func(s ...envelope.Section) envelope.Markdown { return envelope.Markdown{Sections: s} }
	wrapper := func(notice, begin string) envelope.Markdown {
		return envelope.Markdown{Wrapper: envelope.Wrapper{Notice: notice, Begin: begin, End: "END_OF_IT_ALL"}}
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
			got, report, err := tt.markdown.Append([]byte("keep"), []envelope.Item{memory("e", "x")}, envelope.Budget{})
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

// All code points, one by one: none that could hide or break a line is left raw.
func TestMarkdownEveryCodePoint(t *testing.T) {
	const shards = 4
	for shard := range rune(shards) {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			step := rune(shards)
			if testing.Short() {
				step *= 61
			}
			var dst []byte
			items := []envelope.Item{memory("e", "")}
			for c := shard; c <= utf8.MaxRune; c += step {
				if !utf8.ValidRune(c) {
					continue
				}
				items[0].Content = "a" + string(c) + textEnd + string(c) + "b"
				for _, m := range []envelope.Markdown{{}, {Invisible: true}} {
					var err error
					dst, _, err = m.Append(dst[:0], items, envelope.Budget{})
					require.NoError(t, err)
					got := string(dst)
					raw := strings.ContainsRune(got, c)
					hides := unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && c != '\n' ||
						m.Invisible && unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
					if raw == hides || strings.Count(got, textEnd) != 1 || strings.Count(got, "\n"+textEnd) != 1 {
						t.Fatalf("U+%04X: %q", c, got)
					}
				}
			}
		})
	}
}

// Over every budget from 1 to 2000, the result is the slow twin's, which is the longest.
func TestMarkdownBudgetSweep(t *testing.T) {
	contents := map[string]string{
		"ascii":    strings.Repeat("abcdefghij", 300),
		"chinese":  strings.Repeat("记忆与上下文", 200),
		"emoji":    strings.Repeat("🙂", 800),
		"controls": strings.Repeat("\x01", 1000),
		"tags":     strings.Repeat("\U000e0041", 500),
		"lines":    strings.Repeat("a\r\n", 600),
		"ends":     "x" + strings.Repeat("\u2028\r", 400),
		"markers":  strings.Repeat("中"+textEnd, 60),
		"short":    "hello\n\n\n",
	}
	for name, content := range contents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := envelope.Markdown{Scope: "project:demo"}
			twin := newTwinMarkdown(m)
			items := []envelope.Item{memory("e", content)}
			metadata, _, _ := twin.metadata(items[0].Citation)
			pieces, _ := twin.pieces(content)
			// What each number of pieces takes, as far as it matters.
			var displayed, written []int
			for n := range len(pieces) + 1 {
				shown := twinShown{0, metadata, 1, strings.Join(pieces[:n], ""), n < len(pieces)}
				if shown.truncated {
					shown.body += "…"
				}
				displayed = append(displayed, len(shown.body))
				if len(shown.body) > 2010 {
					displayed[n] = 1 << 20 // more than any bound
					written = append(written, 1<<20)
					continue
				}
				written = append(written, len(twin.render([]twinShown{shown})))
			}
			whole := displayed[len(pieces)]
			delivered := 0
			for most := 1; most <= 2000; most++ {
				p, err := m.Render(items, envelope.Budget{MaxBytes: most})
				require.NoError(t, err)
				require.LessOrEqual(t, len(p.Content), most)
				r := p.Report.Items[0]
				if r.Outcome.Delivered() {
					delivered++
					require.NoError(t, m.Check(p.Content))
				}
				n := slices.Index(displayed, r.DeliveredBytes)
				if r.Outcome != envelope.Included && whole <= 2000 {
					require.Greater(t, written[len(pieces)], most, "the whole would have fitted")
				}
				switch r.Outcome {
				case envelope.Included:
					require.Equal(t, whole, r.DeliveredBytes)
				case envelope.Truncated:
					require.GreaterOrEqual(t, r.DeliveredBytes, 64)
					require.Equal(t, written[n], len(p.Content))
					if displayed[n+1] <= 2000 && displayed[n+1] < whole {
						require.Greater(t, written[n+1], most, "one more would have fitted")
					}
				default:
					for n := 1; n < len(pieces); n++ {
						if displayed[n] >= 64 && displayed[n] < whole {
							require.Greater(t, written[n], most, "the shortest would have fitted")
							break
						}
					}
				}
			}
			require.NotZero(t, delivered)
		})
	}
}

// Check refuses each change to a text with what is wrong and where.
func TestMarkdownCheckRefuses(t *testing.T) {
	m := envelope.Markdown{Show: envelope.ShowRank | envelope.ShowConfidence}
	items := []envelope.Item{
		memory("e1", "one\n\ntwo"), memory("e2", strings.Repeat("x", 3000)),
		{Kind: "experience", Citation: json.RawMessage(`{"url":"u","at":{"line":1}}`), Content: "three"},
	}
	p, err := m.Render(items, envelope.Budget{})
	require.NoError(t, err)
	require.NoError(t, m.Check(p.Content))
	tests := []struct {
		why, old, new string
		what          error
		offset        int // of the line or character that is named, from where old stood
	}{
		{"text before", "# Power", "x# Power", envelope.ErrFrame, 0},
		{"a changed notice", "data, not", "data or", envelope.ErrFrame, 4},
		{"text behind", "\n\n" + textEnd, "\n\n" + textEnd + "\n", envelope.ErrFrame, 35},
		{"no end", "\n\n" + textEnd, "", envelope.ErrFrame, 0},
		{"a blank line more before the end", "\n\n" + textEnd, "\n\n\n" + textEnd, envelope.ErrStructure, 1},
		{"no sections", p.Content[strings.Index(p.Content, "\n\n## "):strings.Index(p.Content, "\n\n"+textEnd)], "", envelope.ErrFrame, 35},
		{"a second end", "one", textEnd, envelope.ErrMarker, 0},
		{"a second begin line", "one", "one\n" + textBegin, envelope.ErrMarker, 4},
		{"a raw tab", "one", "o\tne", envelope.ErrHidden, 1},
		{"a raw CR", "one", "o\rne", envelope.ErrLineBoundary, 1},
		{"a raw VT", "one", "o\vne", envelope.ErrLineBoundary, 1},
		{"a raw U+0085", "one", "o\u0085ne", envelope.ErrLineBoundary, 1},
		{"a raw U+2029", "one", "o\u2029ne", envelope.ErrLineBoundary, 1},
		{"a raw override", "one", "o\u202ene", envelope.ErrHidden, 1},
		{"a raw DEL", "one", "o\x7fne", envelope.ErrHidden, 1},
		{"invalid UTF-8", "one", "o\xffne", envelope.ErrInvalidUTF8, 1},
		{"a body line without its prefix", ">     two", "two", envelope.ErrStructure, 0},
		{"a body line with half of it", ">     two", ">    two", envelope.ErrStructure, 0},
		{"an empty body line without its prefix", "\n>     \n", "\n\n", envelope.ErrStructure, 2},
		{"a heading of its own", ">     one", "# Heading\n\n>     one", envelope.ErrStructure, 0},
		{"no blank line behind a section's heading", "## Experience\n\n", "## Experience\n", envelope.ErrStructure, 14},
		{"no blank line behind an item's", "### Memory 2\n\n", "### Memory 2\n", envelope.ErrStructure, 13},
		{"a section without items", p.Content[strings.Index(p.Content, "### Memory 1"):strings.Index(p.Content, "## Experience")], "", envelope.ErrStructure, 0},
		{"no metadata at all", p.Content[strings.Index(p.Content, "### Experience 1\n\n"):strings.Index(p.Content, ">     three")], "### Experience 1\n\n", envelope.ErrStructure, 18},
		{"truncation alone", p.Content[strings.Index(p.Content, "### Experience 1\n\n"):strings.Index(p.Content, ">     three")], "### Experience 1\n\n    Truncated: no\n\n", envelope.ErrStructure, 36},
		{"truncation and rank alone", p.Content[strings.Index(p.Content, "### Experience 1\n\n"):strings.Index(p.Content, ">     three")], "### Experience 1\n\n    Recall rank: 1\n    Truncated: no\n\n", envelope.ErrStructure, 55},
		{"no blank line behind metadata", "    Truncated: no\n\n>     three", "    Truncated: no\n>     three", envelope.ErrStructure, 18},
		{"no body", ">     three", "", envelope.ErrStructure, 0},
		{"no body before an item", ">     one\n>     \n>     two\n\n", "\n", envelope.ErrStructure, 0},
		{"a citation of a shape of this package's, not written as that", "    url: \"u\"\n    at: line=1", "    memory_ref: family=\"f\", artifact_id=\"a\", revision=1\n    entry_id: \"e\"\n    entry_version_id: \"v\"", envelope.ErrStructure, 74},
		{"a text behind the body", ">     three", "three", envelope.ErrStructure, 0},
		{"none at all of the first item", p.Content[strings.Index(p.Content, "    Artifact: "):strings.Index(p.Content, ">     one")], "", envelope.ErrStructure, 0},
		{"no blank line behind any metadata", "    Truncated: no\n\n", "    Truncated: no\n", envelope.ErrStructure, 18},
		{"half a surrogate pair in an identifier", `id="e1"`, `id="\ud83d"`, envelope.ErrStructure, -11},
		{"a scope that the renderer would have written otherwise", "    Artifact: ", "    Scope: \"s\" \n    Artifact: ", envelope.ErrStructure, 0},
		{"a rank of nothing", "    Recall rank: 2", "    Recall rank: 0", envelope.ErrStructure, 0},
		{"a rank that is no number", "    Recall rank: 2", "    Recall rank: x", envelope.ErrStructure, 0},
		{"a rank beyond 64 bits", "    Recall rank: 2", "    Recall rank: 99999999999999999999", envelope.ErrStructure, 0},
		{"a rank with a label of its own", "    Recall rank: 2", "    recall rank: 2", envelope.ErrStructure, 0},
		{"a rank alone", "    Recall rank: 2", "    2", envelope.ErrStructure, 0},
		{"a line more of a citation", ", version=\"e1_v3\"", ", version=\"e1_v3\"\n    x: 1", envelope.ErrStructure, -74},
		{"something behind a version", ", version=\"e1_v3\"", ", version=\"e1_v3\" x", envelope.ErrStructure, -18},
		{"no quote before an identifier", "id=\"e1\"", "id=e1\"", envelope.ErrStructure, -11},
		{"a line that ends before a value", ", version=\"e1_v3\"", ", version=", envelope.ErrStructure, -18},
		{"a number in place of an identifier", "id=\"e1\"", "id=1", envelope.ErrStructure, -67},
		{"a scope of nothing", "    Artifact: family=\"memory\"", "    Scope: \"\"\n    Artifact: family=\"memory\"", envelope.ErrStructure, 0},
		{"a scope without an end", "    Artifact: family=\"memory\"", "    Scope: \"s\n    Artifact: family=\"memory\"", envelope.ErrStructure, 0},
		{"something behind a scope", "    Artifact: family=\"memory\"", "    Scope: \"s\" x\n    Artifact: family=\"memory\"", envelope.ErrStructure, 0},
		{"a scope alone", "    Artifact: family=\"memory\", id=\"memory\", revision=18\n    Entry: id=\"e1\", version=\"e1_v3\"", "    Scope: \"s\"", envelope.ErrStructure, 0},
		{"a revision beyond 64 bits", "revision=18", "revision=9223372036854775808", envelope.ErrStructure, -44},
		{"no revision", "revision=18", "revision=", envelope.ErrStructure, -44},
		{"a second line that is not as written", "    at: line=1", "    at: line=01", envelope.ErrStructure, 0},
		{"one that is spelt differently", "    at: line=1", "    at: \"line\"=1", envelope.ErrStructure, 0},
		{"a name that does not end", `    url: "u"`, `    "url`, envelope.ErrStructure, 0},
		{"a name and no value", `    url: "u"`, `    url: `, envelope.ErrStructure, 0},
		{"a name in quotes and no value", `    url: "u"`, `    "u l"`, envelope.ErrStructure, 0},
		{"no name at all", `    url: "u"`, `    `, envelope.ErrStructure, 0},
		{"two values", `    url: "u"`, `    url: "u" "v"`, envelope.ErrStructure, 0},
		{"an ellipsis alone", ">     " + strings.Repeat("x", 1997) + "…", ">     …", envelope.ErrUndeliverable, 0},
		{"an unknown section", "## Experience\n", "## Experiences\n", envelope.ErrStructure, 0},
		{"another number", "### Memory 2", "### Memory 3", envelope.ErrStructure, 0},
		{"another level", "### Memory 2", "#### Memory 2", envelope.ErrStructure, 0},
		{"no metadata", "    Truncated: no\n\n>     one", ">     one", envelope.ErrStructure, -19},
		{"another truncation", "    Truncated: no", "    Truncated: maybe", envelope.ErrStructure, 0},
		{"no rank", "    Recall rank: 1\n", "", envelope.ErrStructure, -39},
		{"a rank below the one before", "    Recall rank: 2", "    Recall rank: 1", envelope.ErrStructure, 0},
		{"a rank spelt differently", "    Recall rank: 2", "    Recall rank: 02", envelope.ErrStructure, 0},
		{"no confidence", "    Confidence: unknown (not assessed)\n", "", envelope.ErrStructure, -36},
		{"another confidence", "(not assessed)", "(assessed)", envelope.ErrStructure, -24},
		{"a raw character in an identifier", `id="e1"`, `id="é"`, envelope.ErrStructure, -67},
		{"an escape that need not be", `id="e1"`, `id="\u0065"`, envelope.ErrStructure, -67},
		{"a citation without an id", `id="e1"`, `id=""`, envelope.ErrStructure, -67},
		{"a revision spelt differently", "revision=18", "revision=018", envelope.ErrStructure, -44},
		{"a revision of minus nothing", "revision=18", "revision=-0", envelope.ErrStructure, -44},
		{"metadata that is none", `    url: "u"`, `    url`, envelope.ErrStructure, 0},
		{"a value that is none", `    url: "u"`, `    url: u`, envelope.ErrStructure, 0},
		{"a string that does not end", `    url: "u"`, `    url: "u`, envelope.ErrStructure, 0},
		{"a nested value that is none", `    at: line=1`, `    at: line=`, envelope.ErrStructure, 0},
		{"a nested separator that is none", `    at: line=1`, `    at: line=1,b=2`, envelope.ErrStructure, 0},
		{"a name twice", `    url: "u"`, "    url: \"u\"\n    url: \"u\"", envelope.ErrStructure, 26},
		{"a name that needs quotes", `    url: "u"`, `    u l: "u"`, envelope.ErrStructure, 0},
		{"a name that needs none", `    url: "u"`, `    "url": "u"`, envelope.ErrStructure, 0},
		{"a label without quotes", `    url: "u"`, `    Truncated: "u"`, envelope.ErrStructure, 0},
		{"a citation twice", "e2", "e1", envelope.ErrUndeliverable, -71},
		{"a blank body", ">     three", ">     ", envelope.ErrUndeliverable, 0},
		{"a cut body without an ellipsis", "x…\n", "x\n", envelope.ErrUndeliverable, -2002},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			require.Contains(t, p.Content, tt.old)
			text := strings.ReplaceAll(p.Content, tt.old, tt.new)
			err := m.Check(text)
			var e *envelope.Error
			require.ErrorAs(t, err, &e)
			assert.ErrorIs(t, err, tt.what)
			assert.Equal(t, "text", e.Field)
			assert.Equal(t, strings.Index(p.Content, tt.old)+tt.offset, e.Offset)
			assert.Equal(t, -1, e.Item)
		})
	}
	opening := p.Content[:strings.Index(p.Content, "## ")]
	var trailing *envelope.Error
	require.ErrorAs(t, m.Check(opening+"\n\n"+textEnd+"x"), &trailing)
	assert.Equal(t, len(opening)+2+len(textEnd), trailing.Offset, "what is behind the end comes first")
	for n := range len(p.Content) {
		var e *envelope.Error
		require.ErrorAs(t, m.Check(p.Content[:n]), &e, "cut at byte %d", n)
		require.LessOrEqual(t, e.Offset, n)
	}
}

// What a body must not have raw, of all up to the separators: what ends a line to some reader, and what is hidden.
func TestMarkdownCheckCharacters(t *testing.T) {
	var m envelope.Markdown
	p, err := m.Render([]envelope.Item{memory("e", "one")}, envelope.Budget{})
	require.NoError(t, err)
	for c := rune(0); c <= 0x2030; c++ {
		if c == '\n' || 0x100 < c && c < 0x2000 {
			continue
		}
		var want error
		switch {
		case strings.ContainsRune("\v\f\r\x1c\x1d\x1e\u0085\u2028\u2029", c):
			want = envelope.ErrLineBoundary
		case unicode.In(c, unicode.Cc, unicode.Cf):
			want = envelope.ErrHidden
		}
		err := m.Check(strings.Replace(p.Content, "one", "o"+string(c)+"ne", 1))
		if want == nil {
			require.NoError(t, err, "%U", c)
		} else {
			require.ErrorIs(t, err, want, "%U", c)
		}
	}
}

// A section has at most as many items as its limit allows.
func TestMarkdownCheckLimits(t *testing.T) {
	var items []envelope.Item
	for i := range 7 {
		items = append(items, memory(fmt.Sprint(i), "x"))
	}
	all := envelope.Markdown{Sections: []envelope.Section{{Limit: envelope.Unlimited}}}
	p, err := all.Render(items, envelope.Budget{})
	require.NoError(t, err)
	require.NoError(t, all.Check(p.Content))
	for limit := range 8 {
		var e *envelope.Error
		err := envelope.Markdown{Sections: []envelope.Section{{Limit: limit}}}.Check(p.Content)
		if limit == 0 || limit == 7 {
			require.NoError(t, err, "%d", limit)
			continue
		}
		require.ErrorAs(t, err, &e, "%d", limit)
		require.Equal(t, strings.Index(p.Content, fmt.Sprintf("### Memory %d\n", limit+1)), e.Offset)
	}
}

// A citation is read as one of this package's or as any other, and in the scope of the reader.
func TestMarkdownCheckCitations(t *testing.T) {
	ref := envelope.ArtifactRef{Family: "f", ArtifactID: "a", Revision: math.MaxInt64}
	tests := []struct {
		citation any
		scope    string
		ok       [3]bool // to readers without a scope, with the scope s, with the scope t
	}{
		{envelope.MemoryCitation{"", ref, "e", "v"}, "", [3]bool{true, false, false}},
		{envelope.MemoryCitation{"", ref, "e", "v"}, "s", [3]bool{true, true, true}},
		{envelope.ArtifactCitation{"s", ref}, "t", [3]bool{true, true, true}},
		{envelope.ArtifactCitation{"", ref}, "", [3]bool{true, false, false}},
		{json.RawMessage(`{"Artifact":1,"a":{"b":1},"c d":{"e f":"g"}}`), "s", [3]bool{true, true, true}},
	}
	for _, tt := range tests {
		p, err := envelope.Markdown{Scope: tt.scope}.Render([]envelope.Item{{Citation: tt.citation, Content: "x"}}, envelope.Budget{})
		require.NoError(t, err)
		for i, scope := range []string{"", "s", "t"} {
			err := envelope.Markdown{Scope: scope}.Check(p.Content)
			assert.Equal(t, tt.ok[i], err == nil, "%v in %q to %q: %v", tt.citation, tt.scope, scope, err)
		}
	}
}

// Checking takes time in proportion to the text, whoever wrote its lines.
func TestMarkdownCheckIsLinear(t *testing.T) {
	var nested strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&nested, `,"m%d":%d`, i, i)
	}
	items := []envelope.Item{{Citation: json.RawMessage(`{"u":{` + nested.String()[1:] + `}}`), Content: "x"}}
	p, err := envelope.Markdown{}.Render(items, envelope.Budget{MaxBytes: envelope.Unlimited})
	require.NoError(t, err)
	start := time.Now()
	require.NoError(t, envelope.Markdown{}.Check(p.Content))
	require.Error(t, envelope.Markdown{}.Check(strings.Replace(p.Content, "u: m0=0", "u: "+strings.Repeat("a=1, ", 50_000)+"m0", 1)))
	require.Less(t, time.Since(start), 2*time.Second, "a quadratic reader takes longer by far")
}

func TestMarkdownAllocations(t *testing.T) {
	contents := map[string]string{
		"prose": strings.Repeat("plain words\n", 100), "hostile": strings.Repeat(textEnd+"\u2028\"\x1b", 30), "long": strings.Repeat("记忆", 5000),
	}
	own := envelope.Markdown{
		Wrapper: envelope.Wrapper{Notice: "n", Begin: "<untrusted-context>", End: "</untrusted-context>"}, Show: 3, Scope: "s", Invisible: true,
		Sections: []envelope.Section{{Title: "A title that is longer than thirty-two bytes"}},
	}
	scoped := envelope.Markdown{Scope: strings.Repeat("记", 100), Sections: []envelope.Section{{Title: strings.Repeat("t", 80)}}}
	for name, content := range contents {
		for _, n := range []int{1, 8, 16, 17, 200} {
			for _, m := range []envelope.Markdown{{}, own, scoped} {
				for _, b := range []envelope.Budget{{}, {MaxBytes: 1}, {MaxBytes: 100}, {MaxBytes: 400}, {MaxBytes: 400, MinTruncatedBytes: 200}, {MaxBytes: 4472}} {
					items := make([]envelope.Item, n)
					for i := range items {
						items[i] = memory(fmt.Sprint(i), content)
					}
					items[n-1] = memory(strings.Repeat("\u2028", 10)+"x", content) // an identifier that the room may be too small for
					dst := make([]byte, 0, max(b.MaxBytes, 1))
					if b.MaxBytes == 0 {
						dst = make([]byte, 0, 8000)
					}
					allocations := testing.AllocsPerRun(20, func() {
						if _, _, err := m.Append(dst, items, b); err != nil {
							t.Fatal(err)
						}
					})
					most := 1.0
					if n > 16 {
						most = 2
					}
					assert.LessOrEqual(t, allocations, most, "%s, %d items, %+v, %+v", name, n, b, m)
				}
			}
		}
	}
}

// blocks is the structure of a document as goldmark reads it: its blocks, and what is inline where the renderer wrote it. Of a text block's
// content it keeps nothing but which kind of inline it has.
func blocks(t testing.TB, document string) string {
	var b strings.Builder
	root := goldmark.DefaultParser().Parse(text.NewReader([]byte(document)))
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			b.WriteString(")")
			return ast.WalkContinue, nil
		}
		b.WriteString("(" + n.Kind().String())
		return ast.WalkContinue, nil
	})
	require.NoError(t, err)
	return b.String()
}

// FuzzMarkdown gives an attacker the bodies, kinds and identifiers. The text is intact for every line reader, the slow twin agrees, and a
// real CommonMark parser finds the structure that harmless bodies have, and in it nothing but what the renderer wrote.
func FuzzMarkdown(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 3)) // a parser of Markdown has too many states for a list
	markup := append(pieces(envelope.PowerContextTextV1), "# h", "- l", "1. n", "> q", "```", "~~~", "---", "===", "[a](b)", "![a](b)", "<b>", "<!--", "*e*", "`c`", "\n\n", "    ", "&amp;", "[r]: x")
	for range 60 {
		f.Add(hostile(rng, markup, 20), hostile(rng, markup, 3), hostile(rng, markup, 3), uint8(rng.IntN(256)), int16(rng.IntN(2000)), int16(rng.IntN(300)))
	}
	f.Fuzz(func(t *testing.T, content, id, name string, options uint8, maxBytes, maxItemBytes int16) {
		m := envelope.Markdown{Show: envelope.Show(options & 3), Invisible: options&4 != 0, Wrapper: textWrappers[int(options>>4)%len(textWrappers)], Scope: name}
		if !utf8.ValidString(name) {
			m.Scope = ""
		}
		items := []envelope.Item{
			memory("e"+id, content),
			{Kind: "experience", Citation: map[string]any{name: id}, Content: id + content},
			{Kind: name, Citation: map[string]any{"u": "1"}, Content: content},
			memory("f"+id, content+name),
		}
		compareMarkdown(t, m, items, envelope.Budget{MaxBytes: max(int(maxBytes), -1), MaxItemBytes: max(int(maxItemBytes), -1), MinTruncatedBytes: 1}, map[envelope.Outcome]int{})

		// The same text with harmless bodies and identifiers, item for item.
		hostileText, report, err := m.Append(nil, items, envelope.Budget{MaxBytes: -1, MaxItemBytes: -1})
		require.NoError(t, err)
		m.Scope = strings.Map(func(rune) rune { return 'x' }, m.Scope)
		for i := range items {
			items[i].Content = "x"
			switch c := items[i].Citation.(type) {
			case envelope.MemoryCitation:
				c.EntryID, c.EntryVersionID = fmt.Sprint("e", i), "v"
				items[i].Citation = c
			case map[string]any:
				items[i].Citation = map[string]any{"u": "x"}
			}
			if !report.Items[i].Outcome.Delivered() {
				items[i].Citation = nil
			}
		}
		harmlessText, _, err := m.Append(nil, items, envelope.Budget{MaxBytes: -1, MaxItemBytes: -1})
		require.NoError(t, err)
		got, want := blocks(t, string(hostileText)), blocks(t, string(harmlessText))
		if got != want {
			t.Fatalf("%q is %s, harmless %q is %s", hostileText, got, harmlessText, want)
		}
		if len(hostileText) > 0 {
			delivered := report.Count(envelope.Included)
			if n := strings.Count(got, "(Blockquote(CodeBlock))"); n != delivered || strings.Count(got, "Blockquote") != n || strings.Count(got, "(CodeBlock") != 2*n {
				t.Fatalf("%d items in %s", delivered, got)
			}
			for _, kind := range []string{"(List", "(Link", "(Image", "(RawHTML", "(CodeSpan", "(Emphasis", "(FencedCodeBlock", "(ThematicBreak"} {
				if strings.Contains(got, kind) {
					t.Fatalf("%s in %s: %q", kind, got, hostileText)
				}
			}
		}
	})
}

// FuzzMarkdownCheck changes texts: what Check accepts is intact for every line reader and has a block for each body.
func FuzzMarkdownCheck(f *testing.F) {
	rng := rand.New(rand.NewPCG(4, 4))
	for n := 0; n < 40; {
		m, items, b := randomMarkdown(rng)
		m.Wrapper, m.Title, m.Scope, m.Sections = envelope.Wrapper{}, "", "", nil
		out, _, err := m.Append(nil, items, b)
		if err == nil && out != nil {
			f.Add(string(out), uint8(m.Show))
			n++
		}
	}
	f.Fuzz(func(t *testing.T, text string, options uint8) {
		m := envelope.Markdown{Show: envelope.Show(options & 3), Invisible: options&4 != 0}
		if err := m.Check(text); err != nil {
			if _, ok := err.(*envelope.Error); !ok {
				t.Fatalf("%T", err)
			}
			return
		}
		requireIntact(t, text, envelope.PowerContextTextV1)
		got := blocks(t, text)
		if n := strings.Count(text, "\n    Truncated: "); strings.Count(got, "(Blockquote(CodeBlock))") < 1 || n < 1 {
			t.Fatalf("%q is %s", text, got)
		}
	})
}
