package envelope_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// The wording is kept in a file for review. After an intended change:
// go test -run Instructions . -update
func TestInstructionsWording(t *testing.T) {
	var got strings.Builder
	show := func(name, text string) { fmt.Fprintf(&got, "== %s\n%s\n\n", name, text) }
	show("JSON", envelope.JSON{}.Instructions())
	show("JSON, bare, omitted, checksum",
		envelope.JSON{Bare: true, Omitted: true, Checksum: true}.Instructions())
	show("JSON, bare, all classes", envelope.JSON{Bare: true, Escape: 15}.Instructions())
	show("Markdown", envelope.Markdown{}.Instructions())
	golden := filepath.Join("testdata", "instructions.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
}

// Instructions are valid text. They name the markers only where the renderer writes them, and do
// not depend on what is rendered.
func TestInstructions(t *testing.T) {
	for _, w := range wrappers {
		for _, j := range lineOptions() {
			for e := range envelope.Escape(16) {
				j.Wrapper, j.Escape, j.Trust = w, e, "t\u2028é<\n"+w.End
				text := j.Instructions()
				require.True(t, utf8.ValidString(text))
				require.NotContains(t, text, "  ")
				require.Equal(t, 1, strings.Count(text, "\n"), text)
				for _, paragraph := range strings.Split(text, "\n") {
					require.Less(t, strings.IndexFunc(paragraph, unicode.IsControl), 0)
				}
				named := 1
				full := w
				if w == (envelope.Wrapper{}) {
					full = envelope.PowerContextV1
				}
				if j.Bare {
					named = 0
				}
				if w.Begin != "citation" { // a word that the instructions use
					require.Equal(t, named, strings.Count(text, full.Begin))
				}
				require.Equal(t, named, strings.Count(text, full.End))
				for mark, set := range map[string]bool{
					`"omitted"`: j.Omitted, `"crc32c"`: j.Checksum,
					`\u009b`:     e&envelope.EscapeControls != 0,
					`\u200b`:     e&envelope.EscapeInvisible != 0,
					`\u003e`:     e&envelope.EscapeMarkup != 0,
					`\u00e9 for`: e&envelope.EscapeNonASCII != 0,
					`\u2026`:     e&envelope.EscapeNonASCII != 0,
				} {
					require.Equal(t, set, strings.Contains(text, mark), "%s: %s", mark, text)
				}
			}
		}
	}
	for _, w := range textWrappers {
		full := w
		if w == (envelope.Wrapper{}) {
			full = envelope.PowerContextTextV1
		}
		text := envelope.Markdown{Wrapper: w}.Instructions()
		assert.Equal(t, 1, strings.Count(text, full.Begin))
		assert.Equal(t, 1, strings.Count(text, full.End))
	}
}

// What the instructions say of a text is true of it.
func TestInstructionsHold(t *testing.T) {
	shown := map[string]string{
		`\n`: "\n", `\u2028`: "\u2028", `\u009b`: "\u009b", `\u200b`: "\u200b",
		`\u003c`: "<", `\u003e`: ">", `\u0026`: "&", `\u0060`: "`", `\u00e9`: "é",
	}
	names := []string{"citation", "content", "truncated", "kind", "omitted", "crc32c"}
	for _, j := range lineOptions() {
		for e := range envelope.Escape(16) {
			j.Escape = e
			text := j.Instructions()
			content := strings.Repeat("\n\u2028\u009b\u200b<>&`é", 9)
			p, err := j.Render([]envelope.Item{
				memory("e", content), {},
				{Kind: "k", Citation: map[string]int{"u": 1}, Content: content},
			}, envelope.Budget{MaxItemBytes: 100})
			require.NoError(t, err)
			line := lineOf(p.Content)
			_, opening, _ := strings.Cut(text, "begins with ")
			opening = opening[:strings.Index(opening, "[")+1]
			require.True(t, strings.HasPrefix(line, opening), "%s: %s", opening, line)
			for written, char := range shown {
				if strings.Contains(text, written) {
					require.Contains(t, line, written)
					require.NotContains(t, line, char)
				}
			}
			for _, name := range names {
				written := strings.Contains(line, `"`+name+`":`)
				require.Equal(t, strings.Contains(text, `"`+name+`"`), written, name)
			}
			_, dots, _ := strings.Cut(text, "it ends in ")
			dots, _, _ = strings.Cut(dots, ", which")
			require.Contains(t, line, dots+`","truncated":true`)
		}
	}
	items := []envelope.Item{memory("e", strings.Repeat("a\u200b", 300)+textEnd)}
	p, err := envelope.Markdown{}.Render(items, envelope.Budget{MaxItemBytes: 90})
	require.NoError(t, err)
	text := envelope.Markdown{}.Instructions()
	for _, said := range []string{"Truncated: yes", "…", `\u`} {
		assert.Contains(t, text, said)
		assert.Contains(t, p.Content, said)
	}
}

// Instructions are empty for options that Append refuses.
func TestInstructionsOfIllegalOptions(t *testing.T) {
	assert.Empty(t, envelope.JSON{Trust: "\xff"}.Instructions())
	assert.Empty(t, envelope.JSON{Wrapper: envelope.Wrapper{Begin: "x"}}.Instructions())
	assert.Empty(t, envelope.JSON{Escape: 128, Bare: true}.Instructions())
	assert.Empty(t, envelope.Markdown{Title: "a\nb"}.Instructions())
	assert.NotEmpty(t, envelope.JSON{}.Instructions())
	assert.NotEmpty(t, envelope.Markdown{}.Instructions())
}
