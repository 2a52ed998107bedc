package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

func TestVerifyStatus(t *testing.T) {
	runStatus(t, []statusTest{
		{"verify: markdown that is none", "verify -format markdown", "x", refused,
			"not intact: line 1: text: the frame", ""},
		{"verify: not intact", "verify", "x", refused, "not intact: line 1: text: the frame",
			""},
	})
}

const lineBoundary = "a character that some reader takes for the end of a line (byte "

func TestVerify(t *testing.T) {
	for _, flags := range []string{
		"", "-escape markup", "-escape controls,invisible,markup,nonascii", "-scope project:demo",
	} {
		renderArgs := append(strings.Fields("render -max-items 12 "+flags), demo)
		status, text, stderr := call("", renderArgs...)
		require.Equal(t, done, status, stderr)
		status, verdict, _ := call(text, "verify")
		assert.Equal(t, done, status, verdict)
		assert.Contains(t, verdict, "intact: ")
		status, _, _ = call(text, append([]string{"verify"}, strings.Fields(flags)...)...)
		assert.Equal(t, done, status)

		status, verdict, _ = call(text, "verify", "-max-bytes", "100")
		assert.Equal(t, refused, status)
		assert.Contains(t, verdict, "too long: ")
		broken := strings.Replace(text, "hostile-line-separator", "x\u2028", 1)
		status, verdict, _ = call(broken, "verify")
		assert.Equal(t, refused, status)
		assert.Contains(t, verdict, "not intact: line 5: text: "+lineBoundary)
		status, _, _ = call(text+"\n", "verify")
		assert.Equal(t, refused, status, "two line feeds are one too many")
	}
	_, text, _ := call(`{"citation":{"u":1},"content":"<"}`, "render", "-escape", "markup")
	status, verdict, _ := call(text, "verify", "-escape", "controls")
	assert.Equal(t, refused, status, verdict)
	_, text, _ = call("", "render", "-format", "markdown", "-show", "recall_rank", demo)
	status, verdict, _ = call(text, "verify", "-format", "markdown", "-show", "recall_rank")
	assert.Equal(t, done, status, verdict)
	text = strings.Replace(text, ">     ", ">    ", 1)
	status, verdict, _ = call(text, "verify", "-format", "markdown", "-show", "recall_rank")
	assert.Contains(t, verdict, "not intact: line ")
	assert.Equal(t, refused, status, verdict)
}

// A text is intact for the flags that it was rendered with, and for no others.
func TestVerifyLine(t *testing.T) {
	sets := []string{"", "-bare", "-omitted", "-checksum", "-bare -omitted -checksum"}
	for _, rendered := range sets {
		_, text, _ := call("", append(strings.Fields("render "+rendered), demo)...)
		for _, read := range sets {
			status, verdict, _ := call(text, strings.Fields("verify "+read)...)
			assert.Equal(t, rendered == read, status == done, "%s, %s: %s", rendered, read, verdict)
		}
		if strings.Contains(rendered, "checksum") {
			changed := strings.Replace(text, `"content":"`, `"content":"x`, 1)
			require.NotEqual(t, text, changed)
			status, verdict, _ := call(changed, strings.Fields("verify "+rendered)...)
			assert.Equal(t, refused, status)
			assert.Contains(t, verdict, "the checksum is not that of the text")
		}
	}
}

// What render -prepared writes, verify -prepared reads: first the response, then the text in it.
func TestVerifyPrepared(t *testing.T) {
	wrapper := fileOf(t, "w.json", goodWrapper)
	for _, flags := range []string{
		"", "-escape markup", "-format markdown -show recall_rank", "-wrapper " + wrapper,
	} {
		renderArgs := append(strings.Fields("render -prepared "+flags), demo)
		status, response, stderr := call("", renderArgs...)
		require.Equal(t, done, status, stderr)
		verifyArgs := append(strings.Fields("verify -prepared "), strings.Fields(flags)...)
		status, verdict, _ := call(response, verifyArgs...)
		assert.Equal(t, done, status, verdict)
		var p envelope.Prepared
		require.NoError(t, json.Unmarshal([]byte(response), &p))
		assert.Equal(t, fmt.Sprintf("intact: %d bytes\n", len(p.Content)), verdict)
		status, verdict, _ = call(response, append(verifyArgs, "-max-bytes", "100")...)
		assert.Equal(t, refused, status)
		assert.Contains(t, verdict, "too long: ")
	}

	_, response, _ := call(one, "render", "-prepared")
	_, text, _ := call(one, "render")
	responseOf := func(content string) string {
		data, err := envelope.Prepared{Content: content}.MarshalJSON()
		require.NoError(t, err)
		return string(data)
	}
	runStatus(t, []statusTest{
		{"empty", "verify -prepared", preparedOne, done,
			"intact: an empty response, without a text\n", ""},
		{"white space around it", "verify -prepared", "\n\n" + response + "\n", done, "intact: ",
			""},
		{"cut short", "verify -prepared", response[:50], refused,
			"not intact: line 1: prepared: cut-short (byte 50)\n", ""},
		{"a length that does not match", "verify -prepared",
			strings.Replace(preparedOne, ":0}", ":\n1}", 1), refused,
			"not intact: line 2: prepared.content_bytes: length-mismatch (byte 94)\n", ""},
		{"a member is missing", "verify -prepared",
			`{"status":"empty","content":null,"content_bytes":0}`, refused,
			"not intact: prepared.schema: missing-member\n", ""},
		{"a text without a response", "verify -prepared", text, refused,
			"not intact: line 1: prepared: not-object", ""},
		{"a text that is not intact", "verify -prepared",
			responseOf(strings.Replace(text[:len(text)-1], "hello", "<\u2028", 1)), refused,
			"not intact: line 5 of the content: text: " + lineBoundary, ""},
		{"a line feed behind the text, in the response", "verify -prepared", responseOf(text),
			refused, "not intact: line ", ""},
		{"an illegal option is no verdict", "verify -prepared -scope \xff", response, failed, "",
			"scope: illegal value"},
		{"a response where none was told", "verify", response, refused,
			"not intact: a response of four members, not a text: -prepared is for it\n", ""},
		{"another object where none was told", "verify", `{"schema":1}`, refused,
			"not intact: line 1: text: ", ""},
	})
}
