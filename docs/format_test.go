package docs_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/quote"
)

func formatPage(t *testing.T) string {
	page, err := os.ReadFile("format.md")
	require.NoError(t, err)
	return string(page)
}

// ranges returns the code points of a list of the page.
func ranges(t *testing.T, page, name string) map[rune]bool {
	_, list, found := strings.Cut(page, "<!-- ranges: "+name+" -->\n```text\n")
	require.True(t, found, name)
	list, _, _ = strings.Cut(list, "```")
	set := map[rune]bool{}
	for _, line := range strings.Fields(list) {
		first, last, more := strings.Cut(line, "-")
		if !more {
			last = first
		}
		from, err := strconv.ParseInt(first, 16, 32)
		require.NoError(t, err)
		to, err := strconv.ParseInt(last, 16, 32)
		require.NoError(t, err)
		for r := rune(from); r <= rune(to); r++ {
			require.False(t, set[r], "%U stands twice", r)
			set[r] = true
		}
	}
	return set
}

func TestFormatCodePoints(t *testing.T) {
	page := formatPage(t)
	format, ignorable := ranges(t, page, "format"), ranges(t, page, "ignorable")
	space := ranges(t, page, "white space")
	shown, invisible := quote.NewDisplay("\n", false), quote.NewDisplay("\n", true)
	for r := range rune(utf8.MaxRune + 1) {
		if quote.IsInvisible(r) != (format[r] || ignorable[r]) || format[r] && ignorable[r] ||
			quote.WhiteSpace(r) != space[r] ||
			!quote.Control(r) && !quote.LineBoundary(r) && // these two are shown in other ways
				(shown.Hides(r) != format[r] || invisible.Hides(r) != (format[r] || ignorable[r])) {
			t.Errorf("%U", r)
		}
	}
}

func TestFormatNames(t *testing.T) {
	page := formatPage(t)
	w := envelope.PowerContextV1
	assert.Contains(t, page, "```text\n"+w.Notice+"\n```")
	for _, marker := range []string{
		w.Begin, w.End, envelope.PowerContextTextV1.Begin, envelope.PowerContextTextV1.End,
	} {
		assert.Contains(t, page, "`"+marker+"`")
	}
	assert.Equal(t, w.Notice, envelope.PowerContextTextV1.Notice)
	table := regexp.MustCompile("(?m)^\\| ([a-z0-9-]+) \\| `Err").FindAllStringSubmatch(page, -1)
	names := map[string]bool{}
	for _, row := range table {
		names[row[1]] = true
	}
	for fault := range faultNames {
		assert.True(t, names[fault], "%s is no row of the table", fault)
	}
}

// The markers of the page's example are refused for the rule that it explains, and what it says
// would be written is what breaking gives.
func TestFormatMarkerExample(t *testing.T) {
	const begin, end = "_CONTEXT", "fCONTEXT_END"
	page := formatPage(t)
	assert.Contains(t, page, "begin `"+begin+"` with end `"+end+"`")
	j := envelope.JSON{Wrapper: envelope.Wrapper{Notice: "n", Begin: begin, End: end}}
	_, err := j.Open("")
	assert.ErrorIs(t, err, envelope.ErrWrapper)
	assert.ErrorContains(t, err, "escaping a marker could write one")

	j.Wrapper.End = "another_end"
	items := []envelope.Item{{Citation: json.RawMessage("{}"), Content: "_CONTEXT_END"}}
	p, err := j.Render(items, envelope.Budget{})
	require.NoError(t, err)
	assert.Contains(t, p.Content, `"\u005fCONTEXT_END"`)
	assert.Contains(t, page, "`\\u005fCONTEXT_END`, in which end stands")
}

// The page's examples of objects that lack an id, and of one that does not.
func TestFormatLacksAnID(t *testing.T) {
	page := formatPage(t)
	for object, outcome := range map[string]envelope.Outcome{
		`{"memory_ref":null}`:                envelope.Uncited,
		`{"artifact":{"scope_id":"s"}}`:      envelope.Uncited,
		`{"artifact_ref":{"revision":null}}`: envelope.Included,
	} {
		assert.Contains(t, page, "`"+object+"`")
		items := []envelope.Item{{Citation: json.RawMessage(object), Content: "x"}}
		p, err := envelope.JSON{}.Render(items, envelope.Budget{})
		require.NoError(t, err)
		assert.Equal(t, outcome, p.Report.Items[0].Outcome, object)
	}
}

// The reasons are those of hosts.md, which are held against the program.
func TestFormatReasons(t *testing.T) {
	list := func(text, section, row string) (reasons []string) {
		_, text, found := strings.Cut(text, "# "+section)
		require.True(t, found)
		text, _, _ = strings.Cut(text, "\n#")
		for _, match := range regexp.MustCompile(row).FindAllStringSubmatch(text, -1) {
			reasons = append(reasons, match[1])
		}
		return reasons
	}
	hosts, err := os.ReadFile("hosts.md")
	require.NoError(t, err)
	want := list(string(hosts), "Reason codes", "(?m)^\\| `([a-z0-9-]+)` \\|")
	require.NotEmpty(t, want)
	got := list(formatPage(t), "The response", `(?m)^\| ([a-z][a-z0-9-]+) \|`)
	require.Equal(t, "reason", got[0])
	assert.Equal(t, want, got[1:])
}
