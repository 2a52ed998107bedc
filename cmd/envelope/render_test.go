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
	for _, args := range []string{"render -max-items 12", "render - --max-items=12"} {
		status, again, _ := call(array, strings.Fields(args)...)
		assert.Equal(t, done, status)
		assert.Equal(t, out, again)
	}
}

func TestRenderStatus(t *testing.T) {
	huge := strings.Repeat("x", 3000)
	runStatus(t, []statusTest{
		{"one item", "render", one, done, `"content":"hello"`, ""},
		{"nothing", "render", "", nothing, "", "no items"},
		{"an empty array", "render", "[]", nothing, "", "no items"},
		{"nothing that can be delivered", "render", `{"content":"x"}`, nothing, "", "1 uncited"},
		{"a budget of one byte", "render -max-bytes 1", one, nothing, "", "1 no-room"},
		{"an empty response is a document", "render -prepared -max-bytes 1", one, nothing,
			`"status":"empty","content":null,"content_bytes":0}`, "1 no-room"},
		{"a response", "render -prepared", one, done, `"status":"ready","content":"PowerContext`,
			""},
		{"no bound", "render -max-bytes -1 -max-item-bytes -1",
			`{"citation":{"u":1},"content":"` + huge + `"}`, done, huge, ""},
		{"classes", "render -escape markup,nonascii", `{"citation":{"u":1},"content":"<é>"}`,
			done, `\u003c\u00e9\u003e`, ""},
		{"a scope", "render -scope s",
			`{"citation":{"artifact":{"scope_id":"s","artifact":` +
				`{"family":"f","artifact_id":"a","revision":1}}},"content":"x"}`,
			done, `{"artifact_ref":{`, ""},
		{"items that are left out are counted", "render -max-items 1",
			one + "\n" + strings.Replace(one, `"u"`, `"v"`, 1), done, `"content":"hello"`,
			"not all items are delivered: 1 included, 1 over-limit"},
		{"markdown", "render -format markdown -scope s -show confidence,recall_rank", one, done,
			"    Confidence: unknown (not assessed)\n    Recall rank: 1\n    Truncated: no\n\n" +
				">     hello\n\nEND",
			""},
		{"markdown sections", "render -format markdown -sections a-b:1,memory",
			`{"kind":"a-b","citation":{"u":1},"content":"x"}` + "\n" + one, done,
			"## A B\n\n### A B 1\n", ""},
		{"no markdown section", "render -format markdown -sections=", one, nothing, "",
			"1 unselected"},
		{"a line alone", "render -bare", one, done, `{"trust":"untrusted_history","items":[{`, ""},
		{"all that a line can say", "render -bare -omitted -checksum", one, done,
			`"truncated":false}],"omitted":0,"crc32c":"`, ""},
		{"nothing delivered, and the line says so",
			"render -bare -omitted", `{"content":"x"}`, done,
			`{"trust":"untrusted_history","items":[],"omitted":1}` + "\n",
			"not all items are delivered: 1 uncited"},
		{"nothing delivered and no room to say so", "render -omitted -max-bytes 50",
			`{"content":"x"}`, nothing, "", "1 uncited"},
		{"malformed and alone", "render", `{"citation":[1],"content":"secret"}`, nothing, "",
			"1 malformed: item 0: citation:"},
	})
}

// With -even a long item first does not leave the others out, and the report says the bound.
func TestRenderEven(t *testing.T) {
	list := `{"citation":{"u":1},"content":"` + strings.Repeat("x", 1900) + `"}` + "\n" +
		`{"citation":{"u":2},"content":"second"}` + "\n"
	for format, least := range map[string]int{"json": 500, "markdown": 400} {
		args := []string{"render", "-format", format, "-max-bytes", "1200"}
		status, out, stderr := call(list, args...)
		assert.Equal(t, done, status)
		assert.NotContains(t, out, "second")
		assert.Contains(t, stderr, "1 no-room")
		file := filepath.Join(t.TempDir(), "report")
		status, out, stderr = call(list, append(args, "-even", "-report", file)...)
		assert.Equal(t, done, status)
		assert.Contains(t, out, "second")
		assert.Empty(t, stderr)
		var report struct {
			Budget struct {
				MaxItemBytes int `json:"max_item_bytes"`
			}
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &report))
		assert.Greater(t, report.Budget.MaxItemBytes, least, format)
		assert.Less(t, report.Budget.MaxItemBytes, 1200, format)
	}
}

func TestRenderInputFails(t *testing.T) {
	var stderr bytes.Buffer
	in := io.MultiReader(strings.NewReader(one), failingReader{})
	assert.Equal(t, failed, run([]string{"render"}, streams{in, io.Discard, &stderr}))
	assert.Contains(t, stderr.String(), "standard input: broken pipe")
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("broken pipe") }
