package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Blocks of text are shown as text, others by their type and size.
func TestTranscriptShowParts(t *testing.T) {
	tests := []struct{ why, content, want string }{
		{"null", `null`, "- null, 4 bytes\n"},
		{"no blocks", `[]`, ""},
		{
			"blocks of text",
			`[{"type":"text","text":"a\n# 1 b"},{"text":"c","type":"input_text"},` +
				`{"type":"output_text","text":""}]`,
			"|     a\n|     # 1 b\n|     c\n|     \n",
		},
		{"strings", `["a",""]`, "|     a\n|     \n"},
		{"other blocks", `[{"type":"image","source":{"data":"AAAA"}}, ` +
			`{"type":"tool_result","text":"x"},{"type":"text"},{"type":"text","text":7}]`,
			"- \"image\", 41 bytes\n- \"tool_result\", 33 bytes\n" +
				"- \"text\", 15 bytes\n- \"text\", 24 bytes\n"},
		{
			"a hostile type", `[{"type":"x\n# 1\u202e"},{"type":["text"]}]`,
			"- \"x\\n# 1\\u202e\", 23 bytes\n- object, 17 bytes\n",
		},
		{
			"other values", `[1,-2.5,true,false,null,[{"type":"text","text":"x"}]]`,
			"- number, 1 bytes\n- number, 4 bytes\n- boolean, 4 bytes\n- boolean, 5 " +
				"bytes\n- null, 4 bytes\n- array, 28 bytes\n",
		},
		{"an object", `{"type":"text","text":"x"}`, "|     x\n"},
	}
	for _, tt := range tests {
		log := `{"role":"a","content":` + tt.content + `,"x":1}`
		status, out, stderr := call(log, "transcript", "show")
		assert.Equal(t, done, status, tt.why)
		assert.Empty(t, stderr, tt.why)
		assert.Equal(t, "# 1 \"a\"\n+ \"x\": 1\n"+tt.want+"\n", out, tt.why)
	}
}

// show and check say the same of a log.
func TestTranscriptShowAndCheckAgree(t *testing.T) {
	for _, log := range []string{
		"", goodLog, badLog, "{}\n", `{"sum":1}`, `{"role":"a","content":null}`, "x", "\x00",
		"{}{}", "\xff\xfe{\x00", `{"role":"a","content":"x","n":1e999}`,
		`{"role":"a","content":[{"a":1,"a":2}]}`, "\ufeff{}", "{}\n\ufeff{}",
		`{"n":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}",
	} {
		check, _, _ := call(log, "transcript", "check")
		show, _, stderr := call(log, "transcript", "show")
		assert.Equal(t, check, show, "%.40q", log)
		assert.Empty(t, stderr)
	}
}

func TestTranscriptFollowNeedsAFile(t *testing.T) {
	for _, args := range [][]string{{"-f"}, {"-f", "-"}} {
		status, out, stderr := call(goodLog, append([]string{"transcript", "show"}, args...)...)
		assert.Equal(t, failed, status)
		assert.Empty(t, out)
		assert.Contains(t, stderr, "-f takes a FILE")
	}
}

// show -f shows what is appended until it is interrupted.
func TestTranscriptFollow(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no signals")
	}
	binary := build(t)
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, []byte(goodLog), 0o600))
	command := exec.Command(binary, "transcript", "show", "-f", path)
	pipe, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	out := bufio.NewReader(pipe)
	timer := time.AfterFunc(20*time.Second, func() { _ = command.Process.Kill() })
	defer timer.Stop()
	expect := func(want string) {
		got := make([]byte, len(want))
		_, err := io.ReadFull(out, got)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	expect("# 1 \"user\"\n|     hi\n\n# 2 \"tool\"\n|     secret\n\n")
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	defer log.Close()
	for _, part := range []string{`{"role":"us`, `er","content":"`, "more\"}\n{\"torn\n"} {
		_, err := log.WriteString(part)
		require.NoError(t, err)
	}
	expect("# 3 \"user\"\n|     more\n\n* line 4: torn (byte 105)\n\n")
	require.NoError(t, os.Truncate(path, 0))
	expect("* the file was truncated or written anew\n\n")
	_, err = log.WriteString(goodLog)
	require.NoError(t, err)
	expect("# 1 \"user\"\n|     hi\n\n# 2 \"tool\"\n|     secret\n\n")
	require.NoError(t, command.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	assert.Empty(t, rest)
	_ = command.Wait()
	assert.Equal(t, refused, command.ProcessState.ExitCode(), "one line was faulty")

	missing := exec.Command(binary, "transcript", "show", "-f", path+".no")
	assert.Error(t, missing.Run())
	assert.Equal(t, failed, missing.ProcessState.ExitCode())
}
