package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// TestHookEvents has a reason for each event that is not used.
func TestHookEvents(t *testing.T) {
	unset(t)
	const name = `"hook_event_name":"UserPromptSubmit"`
	tests := []struct {
		why, stdin, reason string // no reason: the server is asked
	}{
		{"only what is needed", `{` + name + `,"prompt":"q","cwd":"c"}`, ""},
		{"white space around it", " \n{" + name + ",\"prompt\":\"q\",\"cwd\":\"c\"}\n", ""},
		{
			"unknown members of all kinds",
			`{` + name + `,"prompt":"q","cwd":"c","x":{"y":[1,null]},"prompts":1}`, "",
		},
		{"another spelling", `{"HookEventName":"user_prompt_submit","Prompt":"q","CWD":"c"}`, ""},
		{"another event", `{"hook_event_name":"Stop","prompt":"q","cwd":"c"}`, "event-name"},
		{"no event", `{"prompt":"q","cwd":"c"}`, "event-name"},
		{
			"a long s is no s", `{"hook_event_name":"UſerPromptSubmit","prompt":"q","cwd":"c"}`,
			"event-name",
		},
		{"no prompt", `{` + name + `,"cwd":"c"}`, "no-prompt"},
		{"a blank prompt", `{` + name + `,"prompt":" \n\u3000","cwd":"c"}`, "blank-prompt"},
		{"nothing", ``, "event-cut-short"},
		{"cut short", `{` + name + `,"prompt":"secr`, "event-cut-short"},
		{"not JSON", `secret`, "event-not-object"},
		{"no JSON inside", `{secret}`, "event-syntax"},
		{"brackets that do not match", `{"x":]`, "event-syntax"},
		{"something behind it", `{` + name + `,"prompt":"q","cwd":"c"}{}`, ""},
		{"a byte order mark", "\ufeff{" + name + `,"prompt":"q","cwd":"c"}`, ""},
		{"two of them", "\ufeff\ufeff{" + name + `,"prompt":"q","cwd":"c"}`, ""},
		{
			"white space between them",
			"\r\n\ufeff \ufeff\n{" + name + `,"prompt":"q","cwd":"c"}`, "",
		},
		{
			"three of them", "\ufeff\ufeff\ufeff{" + name + `,"prompt":"q","cwd":"c"}`,
			"event-not-object",
		},
		{"half of one", "\xef\xbb", "event-syntax"},
		{
			"not UTF-8", `{` + name + ",\"prompt\":\"secret\xff\",\"cwd\":\"c\"}",
			"event-invalid-utf8",
		},
		{"ISO-8859-1", `{` + name + ",\"prompt\":\"caf\xe9\",\"cwd\":\"c\"}", "event-invalid-utf8"},
		{"UTF-16", "\xff\xfe{\x00", "event-encoding"},
		{"UTF-16 without a mark", "{\x00\"\x00", "event-syntax"},
		{
			"half an emoji", `{` + name + `,"prompt":"secret\ud83d","cwd":"c"}`,
			"event-lone-surrogate",
		},
		{"no object", `["secret"]`, "event-not-object"},
		{
			"a repeated member", `{` + name + `,"prompt":"q","prompt":"secret","cwd":"c"}`,
			"event-repeated-member",
		},
		{
			"a repeated member in another spelling",
			`{` + name + `,"prompt":"q","Prompt":"secret","cwd":"c"}`, "event-repeated-member",
		},
		{
			"a prompt that is no text", `{` + name + `,"prompt":["secret"],"cwd":"c"}`,
			"event-member-type",
		},
		{
			"an event that is no text", `{"hook_event_name":1,"prompt":"q","cwd":"c"}`,
			"event-member-type",
		},
		{"very deep", `{` + name + `,"x":` + strings.Repeat("[", 100000), "event-too-deep"},
		{"no scope", `{` + name + `,"prompt":"q"}`, "scope"},
		{"a scope that is no text", `{` + name + `,"prompt":"q","cwd":null}`, "scope"},
		{
			"a scope that is hashed",
			`{` + name + `,"prompt":"q","cwd":"` + strings.Repeat("é", 257) + `"}`, "",
		},
		{
			"one that need not be",
			`{` + name + `,"prompt":"q","cwd":"` + strings.Repeat("é", 256) + `"}`, "",
		},
		{"a scope that is a number", `{` + name + `,"prompt":"q","cwd":7}`, "event-member-type"},
		{"a NUL in the folder", `{` + name + `,"prompt":"q","cwd":"a\u0000b"}`, "scope"},
		{
			"half an emoji in a member that is not used",
			`{` + name + `,"prompt":"q","cwd":"c","x":"\ud83d"}`, "",
		},
		{"no UTF-8 in one", `{` + name + `,"prompt":"q","cwd":"c","x":"` + "\xff" + `"}`, ""},
		{"a repeated one", `{` + name + `,"prompt":"q","cwd":"c","x":1,"x":2}`, ""},
		{
			"a repeated one deeper down",
			`{` + name + `,"prompt":"q","cwd":"c","x":{"prompt":1,"prompt":2}}`, "",
		},
		{
			"half an emoji in the folder", `{` + name + `,"prompt":"q","cwd":"c\ud83d"}`,
			"event-lone-surrogate",
		},
		{"user_prompt", `{` + name + `,"user_prompt":"q","cwd":"c"}`, ""},
		{"user_prompt beside prompt", `{` + name + `,"user_prompt":7,"prompt":"q","cwd":"c"}`, ""},
		{
			"user_prompt and no prompt",
			`{` + name + `,"user_prompt":"q","prompt":null,"cwd":"c"}`, "",
		},
		{
			"a user_prompt that is no text", `{` + name + `,"user_prompt":7,"cwd":"c"}`,
			"event-member-type",
		},
		{"strings full of braces", `{` + name + `,"prompt":"}]{[\\\"}","cwd":"c"}`, ""},
		{
			"a session", `{"hook_event_name":"SessionStart","source":"compact","cwd":"c"}`,
			"no-session-query",
		},
		{
			"too large",
			`{` + name + `,"prompt":"q","cwd":"c","x":"` + strings.Repeat("x", 8<<20) + `"}`,
			"event-too-large",
		},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			requests := 0
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				respond(t, prepared(t, envelope.JSON{}))(w, r)
			})
			status, out, stderr := call(
				tt.stdin, "hook", "-host", "codex", "-scope", "cwd", "-url", url,
			)
			assert.Equal(t, done, status)
			if tt.reason == "" {
				assert.NotEmpty(t, injected(t, out))
				assert.Empty(t, stderr)
				return
			}
			assert.Zero(t, requests)
			assert.Empty(t, out)
			assert.Equal(t, skippedLine(tt.reason), stderr)
		})
	}
	// However the bytes come in, it is the same.
	for _, tt := range tests {
		if len(tt.stdin) > 1<<20 {
			continue
		}
		whole, wrong := readObject(strings.NewReader(tt.stdin))
		object, reason := readObject(iotest.OneByteReader(strings.NewReader(tt.stdin)))
		assert.Equal(t, wrong, reason, tt.why)
		assert.Equal(t, string(whole), string(object), tt.why)
	}
	var out, stderr bytes.Buffer
	in := io.MultiReader(strings.NewReader("{"), failingReader{})
	assert.Equal(t, done, run([]string{"hook", "-host", "codex"}, streams{in, &out, &stderr}))
	assert.Empty(t, out.String())
	assert.Equal(t, skippedLine("input"), stderr.String())
}

// TestEventsOfHosts holds what the hook does with each event that a host was seen to write against
// the table of the events.
func TestEventsOfHosts(t *testing.T) {
	unset(t)
	const folder = "testdata/events"
	table, err := os.ReadFile(folder + "/README.md")
	require.NoError(t, err)
	p := prepared(t, envelope.JSON{})
	asked := ""
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		asked = string(body)
		respond(t, p)(w, r)
	})
	files, err := filepath.Glob(folder + "/*.json")
	require.NoError(t, err)
	require.Len(t, files, 27)
	rows := strings.Count(string(table), "\n| `")
	assert.Equal(t, len(files), rows, "a row for each file")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, row, found := strings.Cut(string(table), "\n| `"+filepath.Base(file)+"` | `")
			require.True(t, found)
			row, _, _ = strings.Cut(row, "\n")
			cells := strings.Split(row, " | ")
			require.Len(t, cells, 3)
			host, use := strings.TrimSuffix(cells[0], "`"), cells[1]
			_, reason, _ := strings.Cut(cells[2], "`")
			reason, _, _ = strings.Cut(reason, "`")
			stdin, err := os.ReadFile(file)
			require.NoError(t, err)

			asked = ""
			status, out, stderr := call(string(stdin), "hook", "-host", host, "-url", url)
			assert.Equal(t, done, status)
			if use == "used" {
				assert.Empty(t, stderr)
				assert.NotEmpty(t, out)
				assert.Contains(t, asked, `"query":"What did we decide about the release branch?"`)
				return
			}
			assert.Equal(t, skippedLine(reason), stderr)
			assert.Empty(t, out)
			assert.Empty(t, asked)
			if use == "skipped" {
				return
			}
			require.Equal(t, "used with -session-query", use)
			_, out, stderr = call(
				string(stdin), "hook", "-host", host, "-url", url, "-session-query", "All of it?",
			)
			assert.Empty(t, stderr)
			assert.Contains(t, asked, `"query":"All of it?"`)
			_, event, _ := strings.Cut(string(stdin), `"hook_event_name":"`)
			event, _, _ = strings.Cut(event, `"`)
			assert.Contains(t, out, `{"hookSpecificOutput":{"hookEventName":"`+event+`",`)
		})
	}
}

// FuzzEvent reads events in one piece and byte by byte: no input panics, and both are the same.
func FuzzEvent(f *testing.F) {
	files, err := filepath.Glob("testdata/events/*.json")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte("\ufeff\ufeff {\"prompt\":\"\\ud83d\",\"x\":[{}]}{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		object, reason := readObject(bytes.NewReader(data))
		again, other := readObject(iotest.OneByteReader(bytes.NewReader(data)))
		require.Equal(t, reason, other)
		require.Equal(t, string(object), string(again))
		if reason != "" {
			return
		}
		e, reason := parseEvent(object)
		if reason != "" {
			return
		}
		for _, name := range []string{memberEvent, memberPrompt, memberFolder} {
			if text, found, _ := e.text(name); found {
				require.True(t, utf8.ValidString(text))
			}
		}
	})
}
