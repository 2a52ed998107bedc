package envelope_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

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
	assert.Equal(t, len(opening)+2+len(textEnd), trailing.Offset,
		"what is behind the end comes first")
	for n := range len(p.Content) {
		var e *envelope.Error
		require.ErrorAs(t, m.Check(p.Content[:n]), &e, "cut at byte %d", n)
		require.LessOrEqual(t, e.Offset, n)
	}
}

// A body must not have a raw line boundary or a raw hidden character: each code point up to the
// line separators is tried.
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
		heading := fmt.Sprintf("### Memory %d\n", limit+1)
		require.Equal(t, strings.Index(p.Content, heading), e.Offset)
	}
}

// Check reads a citation as one of this package's types or as any other, in its own scope.
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
		items := []envelope.Item{{Citation: tt.citation, Content: "x"}}
		p, err := envelope.Markdown{Scope: tt.scope}.Render(items, envelope.Budget{})
		require.NoError(t, err)
		for i, scope := range []string{"", "s", "t"} {
			err := envelope.Markdown{Scope: scope}.Check(p.Content)
			assert.Equal(t, tt.ok[i], err == nil,
				"%v in %q to %q: %v", tt.citation, tt.scope, scope, err)
		}
	}
}

// Checking takes time in proportion to the text, whoever wrote its lines.
func TestMarkdownCheckIsLinear(t *testing.T) {
	var nested strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&nested, `,"m%d":%d`, i, i)
	}
	citation := json.RawMessage(`{"u":{` + nested.String()[1:] + `}}`)
	items := []envelope.Item{{Citation: citation, Content: "x"}}
	p, err := envelope.Markdown{}.Render(items, envelope.Budget{MaxBytes: envelope.Unlimited})
	require.NoError(t, err)
	start := time.Now()
	require.NoError(t, envelope.Markdown{}.Check(p.Content))
	many := "u: " + strings.Repeat("a=1, ", 50_000) + "m0"
	require.Error(t, envelope.Markdown{}.Check(strings.Replace(p.Content, "u: m0=0", many, 1)))
	require.Less(t, time.Since(start), 2*time.Second, "a quadratic reader takes longer by far")
}

// FuzzMarkdownCheck changes texts: what Check accepts is intact for every line reader and has a
// block for each body.
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
		n := strings.Count(text, "\n    Truncated: ")
		if strings.Count(got, "(Blockquote(CodeBlock))") < 1 || n < 1 {
			t.Fatalf("%q is %s", text, got)
		}
	})
}
