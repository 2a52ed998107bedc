package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// check -messages names records that are no messages, and calls and results without their other
// half, in the forms of the vendors' APIs.
func TestTranscriptMessages(t *testing.T) {
	const (
		user      = `{"role":"user","content":"q"}`
		assistant = `{"role":"assistant","content":"a"}`
	)
	calls := func(ids ...string) string {
		var list []string
		for _, id := range ids {
			list = append(
				list, `{"id":"`+id+`","type":"function","function":{"name":"f","arguments":"{}"}}`,
			)
		}
		return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(list, ",") + `]}`
	}
	tool := func(id string) string {
		return `{"role":"tool","tool_call_id":"` + id + `","content":"r"}`
	}
	use := func(ids ...string) string {
		list := []string{`{"type":"text","text":"t"}`}
		for _, id := range ids {
			list = append(list, `{"type":"tool_use","id":"`+id+`","name":"f","input":{}}`)
		}
		return `{"role":"assistant","content":[` + strings.Join(list, ",") + `]}`
	}
	results := func(ids ...string) string {
		var list []string
		for _, id := range ids {
			list = append(list, `{"type":"tool_result","tool_use_id":"`+id+`","content":"r"}`)
		}
		return `{"role":"user","content":[` + strings.Join(list, ",") + `]}`
	}
	item := func(typ, id string) string { return `{"type":"` + typ + `","call_id":"` + id + `"}` }
	tests := []struct {
		why  string
		log  []string
		want string // line, kind, and what stands in the line where it is; @ is a comma
	}{
		{"text alone", []string{user, assistant}, ""},
		{
			"no messages",
			[]string{
				`{"sum":1}`, `{"role":1,"content":""}`, `{"type":"message"}`, `{"role":"user"}`,
			},
			`1 not-message {,2 not-message 1,3 not-message {,4 not-message {`,
		},

		{"chat", []string{user, calls("a", "b"), tool("b"), tool("a"), assistant}, ""},
		{
			"chat: a missing content beside calls",
			[]string{`{"role":"assistant","tool_calls":[{"id":"a"}]}`, tool("a")}, "",
		},
		{
			"chat: one result is missing", []string{calls("a", "b"), tool("b"), assistant},
			`1 call-without-result {"id":"a"`,
		},
		{
			"chat: it comes too late", []string{calls("a"), user, tool("a")},
			`1 call-without-result {"id":"a",3 result-without-call {`,
		},
		{
			"chat: at the end", []string{user, calls("a", "b")},
			`2 call-without-result {"id":"a",2 call-without-result {"id":"b"`,
		},
		{
			"chat: a result of nothing", []string{user, tool("a"), assistant},
			`2 result-without-call {`,
		},
		{
			"chat: a result twice", []string{calls("a"), tool("a"), tool("a")},
			`3 result-without-call {`,
		},
		{
			"chat: a call twice", []string{calls("a", "a"), tool("a")},
			`1 call-without-result {"id":"a"`,
		},
		{"chat: an id spelt otherwise", []string{calls(`\u0061`), tool("a")}, ""},
		{
			"chat: no list of calls",
			[]string{
				`{"role":"assistant","content":"x","tool_calls":null}`,
				`{"role":"assistant","content":"x","tool_calls":[7,{"id":7},{}]}`,
			},
			"",
		},

		{"blocks", []string{user, use("a", "b"), results("a", "b"), assistant}, ""},
		{
			"blocks: one turn in two messages",
			[]string{use("a"), use("b"), results("b"), results("a"), assistant}, "",
		},
		{
			"blocks: one result is missing",
			[]string{use("a", "b"), results("a"), user, assistant},
			`1 call-without-result {"type":"tool_use"@"id":"b"`,
		},
		{
			"blocks: it comes too late", []string{use("a"), user, assistant, results("a")},
			`1 call-without-result {"type":"tool_use",4 result-without-call {"type"`,
		},
		{"blocks: at the end", []string{use("a")}, `1 call-without-result {"type":"tool_use"`},
		{"blocks: a result of nothing", []string{results("a")}, `1 result-without-call {"type"`},
		{
			"blocks: a tool that the vendor runs",
			[]string{
				`{"role":"assistant","content":[{"type":"server_tool_use","id":"s"},` +
					`{"type":"web_search_tool_result","tool_use_id":"s"}]}`,
			},
			"",
		},
		{
			"blocks: and one of its without a result",
			[]string{
				`{"role":"assistant","content":[{"type":"server_tool_use","id":"s"}]}`, user,
				assistant,
			},
			`1 call-without-result {"type"`,
		},
		{
			"blocks: other contents",
			[]string{
				`{"role":"user","content":[7,"x",{"type":7},{"type":"tool_use"},` +
					`{"type":"image","id":"i"}]}`,
			},
			"",
		},
		{
			"a call of one form and a result of another", []string{calls("a"), results("a")},
			`1 call-without-result {"id":"a",2 result-without-call {"type"`,
		},

		{
			"items",
			[]string{
				user, item("reasoning", "x"), item("function_call", "a"),
				`{"type":"reasoning","summary":[]}`, item("function_call", "b"),
				item("function_call_output", "b"), item("function_call_output", "a"), assistant,
			},
			"",
		},
		{
			"items: other tools",
			[]string{
				item("custom_tool_call", "a"), item("custom_tool_call_output", "a"),
				item("computer_call", "b"), item("computer_call_output", "b"),
				`{"type":"web_search_call","id":"w"}`,
				`{"type":"tool_search_call","call_id":null}`,
				`{"type":"local_shell_call","id":"l","call_id":"m"}`,
				`{"type":"local_shell_call_output","id":"l"}`,
			},
			"",
		},
		{
			"items: a result is missing", []string{item("function_call", "a"), user, assistant},
			`1 call-without-result {`,
		},
		{
			"items: a result before its call",
			[]string{item("function_call_output", "a"), item("function_call", "a")},
			`1 result-without-call {,2 call-without-result {`,
		},
		{
			"faults of lines come in their place", []string{"x", results("a"), "[1]"},
			`1 not-object x,2 result-without-call {"type",3 not-object [`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			want, status, faults := "", done, 0
			for fault := range strings.SplitSeq(tt.want, ",") {
				var line int
				var kind, what string
				if _, err := fmt.Sscan(fault, &line, &kind, &what); err != nil {
					continue
				}
				at := strings.Index(tt.log[line-1], strings.ReplaceAll(what, "@", ","))
				require.GreaterOrEqual(t, at, 0)
				offset := at
				for _, before := range tt.log[:line-1] {
					offset += len(before) + 1
				}
				want += fmt.Sprintf("line %d: %s (byte %d)\n", line, kind, offset)
				status = refused
				faults++
			}
			got, out, stderr := call(strings.Join(tt.log, "\n"), "transcript", "check", "-messages")
			assert.Equal(t, status, got)
			assert.Empty(t, stderr)
			last := strings.LastIndexByte(strings.TrimSuffix(out, "\n"), '\n') + 1
			assert.Equal(t, want, out[:last])
			assert.Regexp(
				t, fmt.Sprintf("^[0-9]+ records, [0-9]+ messages, %d faults\n$", faults),
				out[last:],
			)
		})
	}
	status, out, _ := call(
		user+"\n"+item("function_call", "a"), "transcript", "check", "-messages", "-json",
	)
	assert.Equal(t, refused, status)
	assert.Equal(
		t,
		`{"faults":[{"line":2,"offset":30,"kind":"call-without-result"}],"records":2,`+
			`"messages":1}`+"\n",
		out,
	)
}

// The conversations of the vendors' SDKs are whole. Without one of their records they are not.
func TestTranscriptMessagesOfSDKs(t *testing.T) {
	files, err := filepath.Glob("../../transcript/testdata/conversations/*.jsonl")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		status, out, _ := call(string(data), "transcript", "check", "-messages")
		assert.Equal(t, done, status, "%s: %s", file, out)
		show, _, _ := call(string(data), "transcript", "show")
		assert.Equal(t, done, show)
		lines := strings.SplitAfter(string(data), "\n")
		halves := 0
		for i, line := range lines {
			rest := strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")
			status, out, _ := call(rest, "transcript", "check", "-messages")
			half := strings.Contains(line, "call_") || strings.Contains(line, "toolu_")
			if half {
				halves++
			}
			assert.Equal(t, half, status == refused, "%s without line %d: %s", file, i+1, out)
		}
		assert.NotZero(t, halves)
	}
}
