package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// ask runs the hook for a prompt and returns the query that reaches the server, and what the hook
// says.
func ask(t *testing.T, prompt string, flags ...string) (query, stderr string) {
	unset(t)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Query string }
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.NoError(t, json.Unmarshal(body, &request))
		query = request.Query
		respond(t, prepared(t, envelope.JSON{}))(w, r)
	})
	event := jsonLine(map[string]string{
		"hook_event_name": "UserPromptSubmit", "prompt": prompt, "cwd": "c",
	})
	args := append([]string{"hook", "-host", "codex", "-url", url, "-scope", "s"}, flags...)
	status, _, stderr := call(string(event), args...)
	assert.Equal(t, done, status)
	return query, stderr
}

const deliveredLine = `{"component":"envelope.hook","event":"context_prepare",` +
	`"outcome":"delivered",` +
	`"http_status":200,"context_status":"ready","content_bytes":`

// The limit is characters, and of a longer prompt the beginning and the end are asked about.
func TestQueryOfLongPrompts(t *testing.T) {
	for _, letter := range []string{"x", "é", "字", "🙂"} {
		for _, n := range []int{8191, 8192} {
			query, stderr := ask(t, strings.Repeat(letter, n))
			assert.Equal(t, strings.Repeat(letter, n), query)
			assert.Empty(t, stderr)
		}
		query, stderr := ask(t, "A"+strings.Repeat(letter, 8191)+"Z")
		assert.Equal(
			t, "A"+strings.Repeat(letter, 4093)+"\n…\n"+strings.Repeat(letter, 4093)+"Z", query,
		)
		assert.LessOrEqual(t, utf8.RuneCountInString(query), 8192)
		assert.True(t, strings.HasPrefix(stderr, deliveredLine), stderr)
		assert.True(t, strings.HasSuffix(stderr, `,"query":"cut"}`+"\n"), stderr)
		strictObject(t, stderr)
	}
	var pasted strings.Builder
	for i := 0; pasted.Len() < 9000; i++ {
		fmt.Fprintf(&pasted, "12:00:%02d worker %d: retry\n", i%60, i)
	}
	query, _ := ask(t, pasted.String()+"\nWhy does the worker retry?")
	assert.True(t, strings.HasSuffix(query, "\nWhy does the worker retry?"))
	query, _ = ask(t, "Why does the worker retry?\n"+pasted.String())
	assert.True(t, strings.HasPrefix(query, "Why does the worker retry?\n"))
	_, stderr := ask(t, strings.Repeat("x", 9000), "-format", "markdown")
	assert.Contains(t, stderr, `"reason":"not-intact","query":"cut"}`, "of a failure too")
}

// Intact texts are taken out of a prompt, and nothing else is.
func TestQueryWithoutEnvelopes(t *testing.T) {
	own := prepared(t, envelope.JSON{}).Content
	escaped := prepared(t, envelope.JSON{Escape: envelope.EscapeMarkup}).Content
	markdown := prepared(t, envelope.Markdown{}).Content
	ranked := prepared(t, envelope.Markdown{Show: envelope.ShowRank}).Content
	begin, end := envelope.PowerContextV1.Begin, envelope.PowerContextV1.End
	cut := own[:len(own)/2]
	tests := []struct{ why, prompt, want string }{
		{"none", "What is it?", "What is it?"},
		{"one", "What is it? " + own, "What is it? "},
		{"in the middle", "a\n" + own + "\nb", "a\n\nb"},
		{"at the beginning", own + "b", "b"},
		{"two", own + "a" + own + "b", "ab"},
		{"two that touch", "a" + own + own + "b", "ab"},
		{"what a host put around it", "<x>" + escaped + "</x>", "<x></x>"},
		{"Markdown", "a" + markdown + "b", "ab"},
		{"both", markdown + "a" + own, "a"},
		{"one that is cut stays", "a" + cut + "b", "a" + cut + "b"},
		{"one behind one that is cut", "a" + cut + own + "b", "a" + cut + "b"},
		{
			"one word in it changed", strings.Replace(own, "secret", "sécret\n", 1),
			strings.Replace(own, "secret", "sécret\n", 1),
		},
		{"an end alone", "a\n" + end + "b", "a\n" + end + "b"},
		{"a beginning alone", "a\n" + begin + "\n{}", "a\n" + begin + "\n{}"},
		{"an end before the beginning", "a\n" + end + own, "a\n" + end},
		{"Markdown with more lines", "a" + ranked, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			query, stderr := ask(t, tt.prompt)
			assert.Equal(t, tt.want, query)
			assert.Empty(t, stderr)
		})
	}
	query, stderr := ask(t, " "+own+"\n")
	assert.Empty(t, query)
	assert.Equal(t, skippedLine("blank-prompt"), stderr)

	query, _ = ask(t, "q"+strings.Repeat(own, 100))
	assert.Equal(t, "q", query, "more than a query holds, and nothing of it is cut")
}

// A prompt of many beginnings or ends takes no time out of proportion.
func TestQueryIsLinear(t *testing.T) {
	h := &hookRun{}
	w := envelope.PowerContextV1
	opening, end := w.Notice+"\n\n"+w.Begin+"\n", "\n"+w.End
	for why, unit := range map[string]string{
		"beginnings": opening, "ends": end, "both": opening + end, "an item": opening +
			`{"trust"` + end,
	} {
		took := func(n int) time.Duration {
			prompt := strings.Repeat(unit, n/len(unit))
			start := time.Now()
			require.NotEmpty(t, h.withoutEnvelopes(prompt))
			return time.Since(start)
		}
		took(1 << 20)
		one, eight := took(1<<20), took(8<<20)
		assert.Less(t, eight, 40*one+time.Second, why)
	}
}
