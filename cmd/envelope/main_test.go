package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

const demo = "../../testdata/demo.jsonl"

// call runs the command as main does.
func call(stdin string, args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(args, streams{strings.NewReader(stdin), &out, &err})
	return status, out.String(), err.String()
}

const one = `{"citation":{"url":"u"},"content":"hello"}`

func TestRenderDemo(t *testing.T) {
	status, out, stderr := call("", "render", "-max-items", "12", demo)
	require.Equal(t, done, status, stderr)
	require.Empty(t, stderr)
	text, ok := strings.CutSuffix(out, "\n")
	require.True(t, ok)
	opened, err := envelope.JSON{}.Open(text)
	require.NoError(t, err)
	data, err := os.ReadFile(demo)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	require.Len(t, opened, len(lines))
	for i, line := range lines {
		var item struct{ Content string }
		require.NoError(t, json.Unmarshal([]byte(line), &item))
		assert.Equal(t, item.Content, opened[i].Content)
		assert.False(t, opened[i].Truncated)
	}
	// The array, and standard input, are the same.
	array := "[" + strings.Join(lines, ",\n") + "]"
	for _, args := range [][]string{{"render", "-max-items", "12"}, {"render", "-", "--max-items=12"}} {
		status, again, _ := call(array, args...)
		assert.Equal(t, done, status)
		assert.Equal(t, out, again)
	}
}

func TestStatus(t *testing.T) {
	huge := strings.Repeat("x", 3000)
	tests := []struct {
		why    string
		args   string
		stdin  string
		status int
		stdout string // a part of it; "" is none at all
		stderr string // likewise
	}{
		{"no command", "", "", failed, "", "usage: envelope"},
		{"an unknown command", "frob", "", failed, "", "usage: envelope"},
		{"help", "help", "", done, "usage: envelope", ""},
		{"help of a command", "render -h", "", done, "-max-item-bytes", ""},
		{"one item", "render", one, done, `"content":"hello"`, ""},
		{"an array", "render", "\n[" + one + "]\n", done, `"content":"hello"`, ""},
		{"blank lines and a BOM", "render", "\ufeff\n\n" + one + "\r\n\n", done, `"content":"hello"`, ""},
		{"nothing", "render", "", nothing, "", "no items"},
		{"an empty array", "render", "[]", nothing, "", "no items"},
		{"nothing that can be delivered", "render", `{"content":"x"}`, nothing, "", "1 uncited"},
		{"a budget of one byte", "render -max-bytes 1", one, nothing, "", "1 no-room"},
		{"an empty response is a document", "render -prepared -max-bytes 1", one, nothing, `"status":"empty","content":null,"content_bytes":0}`, "1 no-room"},
		{"a response", "render -prepared", one, done, `"status":"ready","content":"PowerContext`, ""},
		{"a negative budget", "render -max-bytes -2", one, failed, "", "budget.MaxBytes"},
		{"a budget that is no number", "render -max-bytes 1e3", one, failed, "", "invalid value"},
		{"no bound", "render -max-bytes -1 -max-item-bytes -1", `{"citation":{"u":1},"content":"` + huge + `"}`, done, huge, ""},
		{"classes", "render -escape markup,nonascii", `{"citation":{"u":1},"content":"<é>"}`, done, `\u003c\u00e9\u003e`, ""},
		{"an unknown class", "render -escape html", one, failed, "", "classes are controls"},
		{"an unknown format", "render -format html", one, failed, "", "formats are json, markdown"},
		{"an unknown flag, in odd characters", "render -\u202e\x1b[2J", one, failed, "", `\u202e\x1b[2J`},
		{"two files", "render a b", "", failed, "", "more than one FILE"},
		{"a file without a name", "render EMPTY", one, failed, "", "open : no such file"},
		{"no such file", "render no-such-file", "", failed, "", "no-such-file"},
		{"a scope", "render -scope s", `{"citation":{"artifact":{"scope_id":"s","artifact":{"family":"f","artifact_id":"a","revision":1}}},"content":"x"}`, done, `{"artifact_ref":{`, ""},
		{"not JSON", "render", "{]", failed, "", "item 0: syntax error (byte 1)"},
		{"not JSON, in the second line", "render", one + "\n{\"a\":", failed, "", "item 1: unexpected end"},
		{"two values on a line", "render", one + one, failed, "", "item 0: syntax error (byte 42)"},
		{"an item over two lines", "render", "{\n}", failed, "", "item 0: unexpected end (byte 1)"},
		{"an array with text behind", "render", "[] x", failed, "", "syntax error (byte 3)"},
		{"no object", "render", "7", failed, "", "item 0: not an object (byte 0)"},
		{"no object in an array", "render", `[` + one + `,"x"]`, failed, "", "item 1: not an object (byte 44)"},
		{"an unknown member", "render", `{"content":"x","secret":1}`, failed, "", "item 0: an unknown member: those of an item are kind, citation, content (byte 15)"},
		{"another spelling", "render", `{"Content":"x"}`, failed, "", "an unknown member"},
		{"a repeated member", "render", `{"content":"x","content":"y"}`, failed, "", "item 0: a member stands twice (byte 15)"},
		{"no content", "render", `{"citation":{}}`, failed, "", "no content"},
		{"another type of content", "render", `{"content":null}`, failed, "", "content is not a string"},
		{"another type of kind", "render", `{"content":"x","kind":1}`, failed, "", "kind is not a string"},
		{"a malformed item is named and the other delivered", "render", "{\"citation\":{\"u\":1},\"content\":\"secret\xff\"}\n" + one, done, `"content":"hello"`, "item 0: content: invalid UTF-8 (byte 6)"},
		{"a lone surrogate likewise", "render", `{"citation":{"u":1},"content":"a\ud83d"}` + "\n" + one, done, `"content":"hello"`, "item 0: content: invalid UTF-8 (byte 1)"},
		{"a citation that is no object likewise", "render", `{"citation":[1],"content":"a"}` + "\n" + one, done, `"content":"hello"`, "item 0: citation: does not encode to a JSON object (byte 0)"},
		{"a repeated member of a citation likewise", "render", `{"citation":{"a":1,"a":2},"content":"a"}` + "\n" + one, done, `"content":"hello"`, "item 0: citation: a member name stands twice (byte 7)"},
		{"a citation that is too deep likewise", "render", `{"citation":{"a":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `},"content":"a"}` + "\n" + one, done, `"content":"hello"`, "nested too deeply (byte 64)"},
		{"one that is as deep as may be, in an array", "render", `[{"citation":{"a":` + strings.Repeat("[", 59) + strings.Repeat("]", 59) + `},"content":"a"}]`, done, `"content":"a"`, ""},
		{"deeper than anybody asks", "render", strings.Repeat("[", 20_000), failed, "", "nested too deeply"},
		{"items that are left out are counted", "render -max-items 1", one + "\n" + strings.Replace(one, `"u"`, `"v"`, 1), done, `"content":"hello"`, "not all items are delivered: 1 included, 1 over-limit"},
		{"flags behind the operands' mark", "render -- -x", "", failed, "", "open -x"},
		{"a report on standard output", "render -report -", one, failed, "", "standard output is for the text"},
		{"markdown", "render -format markdown -scope s -show confidence,recall_rank", one, done, "    Confidence: unknown (not assessed)\n    Recall rank: 1\n    Truncated: no\n\n>     hello\n\nEND", ""},
		{"markdown sections", "render -format markdown -sections a-b:1,memory", `{"kind":"a-b","citation":{"u":1},"content":"x"}` + "\n" + one, done, "## A B\n\n### A B 1\n", ""},
		{"no markdown section", "render -format markdown -sections=", one, nothing, "", "1 unselected"},
		{"a section twice", "render -format markdown -sections memory,memory", one, failed, "", "sections[1].Kind: illegal value: an earlier section"},
		{"a section with an odd limit", "render -format markdown -sections memory:x", one, failed, "", "positive number"},
		{"a section without a kind", "render -format markdown -sections :3", one, failed, "", "without a kind"},
		{"an unknown line", "render -format markdown -show date", one, failed, "", "lines are confidence, recall_rank"},
		{"markdown's flags without markdown", "render -invisible", one, failed, "", "for -format markdown"},
		{"JSON's flags with markdown", "render -format markdown -escape markup", one, failed, "", "for -format json"},
		{"verify: markdown that is none", "verify -format markdown", "x", refused, "not intact: line 1: text: the notice", ""},
		{"verify: an illegal option is no verdict", "verify -scope \xff", "x", failed, "", "scope: illegal value: invalid UTF-8"},
		{"malformed and alone", "render", `{"citation":[1],"content":"secret"}`, nothing, "", "1 malformed: item 0: citation:"},
		{"verify: not intact", "verify", "x", refused, "not intact: line 1: text: the notice", ""},
		{"verify: a bad bound", "verify -max-bytes -2", "x", failed, "", "budget"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			args := strings.Fields(tt.args)
			for i := range args {
				if args[i] == "EMPTY" {
					args[i] = ""
				}
			}
			status, out, stderr := call(tt.stdin, args...)
			assert.Equal(t, tt.status, status)
			for _, o := range []struct{ want, got string }{{tt.stdout, out}, {tt.stderr, stderr}} {
				if o.want == "" {
					assert.Empty(t, o.got)
				} else {
					assert.Contains(t, o.got, o.want)
				}
			}
			assert.NotContains(t, stderr, "secret")
			assert.NotContains(t, stderr, "\x1b")
			if tt.args != "" && tt.args != "frob" && tt.stderr != "" {
				assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
				assert.True(t, strings.HasPrefix(stderr, "envelope: "), stderr)
			}
		})
	}
}

func TestVerify(t *testing.T) {
	for _, flags := range []string{"", "-escape markup", "-escape controls,invisible,markup,nonascii", "-scope project:demo"} {
		status, text, stderr := call("", append(strings.Fields("render -max-items 12 "+flags), demo)...)
		require.Equal(t, done, status, stderr)
		status, verdict, _ := call(text, "verify")
		assert.Equal(t, done, status, verdict)
		assert.Contains(t, verdict, "intact: ")
		status, _, _ = call(text, append([]string{"verify"}, strings.Fields(flags)...)...)
		assert.Equal(t, done, status)

		status, verdict, _ = call(text, "verify", "-max-bytes", "100")
		assert.Equal(t, refused, status)
		assert.Contains(t, verdict, "too long: ")
		status, verdict, _ = call(strings.Replace(text, "hostile-line-separator", "x\u2028", 1), "verify")
		assert.Equal(t, refused, status)
		assert.Contains(t, verdict, "not intact: line 5: text: a character that some reader takes for the end of a line (byte ")
		status, _, _ = call(text+"\n", "verify")
		assert.Equal(t, refused, status, "two line feeds are one too many")
	}
	_, text, _ := call(`{"citation":{"u":1},"content":"<"}`, "render", "-escape", "markup")
	status, verdict, _ := call(text, "verify", "-escape", "controls")
	assert.Equal(t, refused, status, verdict)
	_, text, _ = call("", "render", "-format", "markdown", "-show", "recall_rank", demo)
	status, verdict, _ = call(text, "verify", "-format", "markdown", "-show", "recall_rank")
	assert.Equal(t, done, status, verdict)
	status, verdict, _ = call(strings.Replace(text, ">     ", ">    ", 1), "verify", "-format", "markdown", "-show", "recall_rank")
	assert.Contains(t, verdict, "not intact: line ")
	assert.Equal(t, refused, status, verdict)
}

func TestReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	status, _, stderr := call("{\"citation\":{\"u\":1},\"content\":\"\xff\"}\n"+one+"\n"+one, "render", "-report", file)
	require.Equal(t, done, status, stderr)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var report struct {
		Bytes int
		Items []map[string]any
	}
	require.NoError(t, json.Unmarshal(data, &report))
	require.Len(t, report.Items, 3)
	assert.Equal(t, map[string]any{"index": 0., "outcome": "malformed", "source_bytes": 1., "delivered_bytes": 0., "error": "envelope: item 0: content: invalid UTF-8 (byte 0)"}, report.Items[0])
	assert.Equal(t, map[string]any{"index": 1., "outcome": "included", "source_bytes": 5., "delivered_bytes": 5.}, report.Items[1])
	assert.Equal(t, "duplicate", report.Items[2]["outcome"])
	link := file + ".link"
	require.NoError(t, os.Symlink(file, link))
	status, _, stderr = call(one, "render", "-report", link)
	require.Equal(t, done, status, stderr)
	again, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.NotEqual(t, data, again, "written through the link")

	status, out, stderr := call(one, "render", "-report", filepath.Join(file, "no", "such"))
	assert.Equal(t, failed, status)
	assert.Empty(t, out, "nothing is written when the report cannot be")
	assert.NotEmpty(t, stderr)
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left\n") }

func TestOutputFails(t *testing.T) {
	for _, args := range [][]string{{"render"}, {"verify"}} {
		var stderr bytes.Buffer
		assert.Equal(t, failed, run(args, streams{strings.NewReader(one), fullDisk{}, &stderr}))
		assert.Contains(t, stderr.String(), `no space left\n`)
	}
	var stderr bytes.Buffer
	assert.Equal(t, failed, run([]string{"render"}, streams{io.MultiReader(strings.NewReader(one), failingReader{}), io.Discard, &stderr}))
	assert.Contains(t, stderr.String(), "broken pipe")
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("broken pipe") }
