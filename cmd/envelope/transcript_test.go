package main

import (
	"bytes"
	"fmt"
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

const (
	goodLog = `{"role":"user","content":"hi"}` + "\n" +
		`{"role":"tool","content":"secret"}` + "\n"
	badFaults = "line 2: torn (byte 46)\nline 4: spliced (byte 55)\n"
	badLog    = `{"role":"user","content":"hi"}` + "\n" + `{"role":"secret` + "\n\n" +
		`{"a":1}{"b":2}` + "\r\n" + `{"sum":1}`
)

func TestTranscriptStatus(t *testing.T) {
	tests := []struct {
		why    string
		args   string
		stdin  string
		status int
		stdout string // "" is none at all
		stderr string // a part of it, likewise
	}{
		{"no command", "", "", failed, "", "the commands are check, repair and show"},
		{"an unknown one", "frob", "", failed, "", "the commands are"},
		{"check: clean", "check", goodLog, done, "2 records, 0 faults\n", ""},
		{"check: nothing", "check -", "", done, "0 records, 0 faults\n", ""},
		{
			"check: faults", "check", badLog, refused,
			"line 2: torn (byte 46)\nline 4: spliced (byte 55)\n2 records, 2 faults\n", "",
		},
		{
			"check: for machines", "check -json", badLog, refused,
			`{"faults":[{"line":2,"offset":46,"kind":"torn"},{"line":4,"offset":55,` +
				`"kind":"spliced"}],"records":2}` + "\n",
			"",
		},
		{
			"check: for machines, clean", "check -json", goodLog, done,
			`{"faults":[],"records":2}` + "\n", "",
		},
		{
			"check: a bound", "check -max-line 31", goodLog, refused,
			"line 2: too-long (byte 62)\n1 records, 1 faults\n", "",
		},
		{"check: a bad bound", "check -max-line -1", goodLog, failed, "", "options.MaxLine"},
		{"check: no such file", "check no-such-file", "", failed, "", "no-such-file"},
		{"check: two files", "check a b", "", failed, "", "more than one FILE"},
		{"repair: no output", "repair", goodLog, failed, "", "-o FILE"},
		{
			"show: clean", "show", goodLog, done,
			"# 1 \"user\"\n|     hi\n\n# 2 \"tool\"\n|     secret\n\n", "",
		},
		{
			"show: faults and other records", "show", badLog, refused,
			"# 1 \"user\"\n|     hi\n\n* line 2: torn (byte 46)\n\n* line 4: spliced " +
				"(byte 55)\n\n* line 5: not-message (byte 64)\n|     {\"sum\":1}\n\n",
			"",
		},
		{
			"show: other records alone", "show", `{"sum":1}`, done,
			"* line 1: not-message (byte 0)\n|     {\"sum\":1}\n\n", "",
		},
		{"show: a bad bound", "show -max-line -1", goodLog, failed, "", "options.MaxLine"},
		{
			"show: what it is about", "show", `{"role":"a\n# 1","content":"x\r\ny\u2028# 2 ` +
				`\u001b[2J\t\u202e\u009b🙂\ud83d\ude42","\u0007":"\u200b` + "\u200b" +
				`","n":[1]}`,
			done,
			"# 1 \"a\\n# 1\"\n+ \"\\u0007\": \"\\u200b\\u200b\"\n+ \"n\": [1]\n" +
				"|     x\n|     y\n|     # 2 \\u001b[2J\\u0009\\u202e\\u009b🙂🙂\n\n",
			"",
		},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			status, out, stderr := call(
				tt.stdin, append([]string{"transcript"}, strings.Fields(tt.args)...)...,
			)
			assert.Equal(t, tt.status, status)
			assert.Equal(t, tt.stdout, out)
			if tt.stderr == "" {
				assert.Empty(t, stderr)
			} else {
				assert.Contains(t, stderr, tt.stderr)
				assert.True(t, strings.HasPrefix(stderr, "envelope: transcript: "), stderr)
				assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
			}
			assert.NotContains(t, stderr, "secret")
		})
	}
	for args, want := range map[string]string{
		"-h": "repair", "check -h": "-json", "repair -h": "-o file",
		"show -h": "There is no way back",
	} {
		status, out, stderr := call("", append([]string{"transcript"}, strings.Fields(args)...)...)
		assert.Equal(t, done, status)
		assert.Contains(t, out, want)
		assert.Contains(t, out, "usage: envelope transcript ")
		assert.Empty(t, stderr)
	}
}

func TestTranscriptOutputFails(t *testing.T) {
	for _, args := range []string{"check", "check -json", "show"} {
		var e bytes.Buffer
		assert.Equal(
			t, failed,
			run(
				append([]string{"transcript"}, strings.Fields(args)...),
				streams{strings.NewReader(goodLog), fullDisk{}, &e},
			),
		)
		assert.Contains(t, e.String(), `no space left\n`)
		e.Reset()
		assert.Equal(
			t, failed,
			run(
				append([]string{"transcript"}, strings.Fields(args)...),
				streams{failingReader{}, &e, &e},
			),
		)
		assert.Contains(t, e.String(), "broken pipe")
	}
}

// A log of nothing but faults takes no memory for them.
func TestTranscriptMemory(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("it measures a process by what Linux says of it")
	}
	binary := build(t)
	dir := t.TempDir()
	large, small := filepath.Join(dir, "large"), filepath.Join(dir, "small")
	require.NoError(t, os.WriteFile(large, bytes.Repeat([]byte("x\n"), 16<<20), 0o600))
	require.NoError(t, os.WriteFile(small, bytes.Repeat([]byte("x\n"), 2<<20), 0o600))
	for _, args := range [][]string{
		{"check", large},
		{"check", "-json", small},
		{"check", "-messages", small},
		{"repair", "-o", filepath.Join(dir, "out"), small},
		{"show", small},
	} {
		command := exec.Command(binary, append([]string{"transcript"}, args...)...)
		require.NoError(t, command.Start())
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		most := 0
		for running := true; running; {
			most = max(most, mostMemory(command.Process.Pid))
			select {
			case err := <-ended:
				require.Error(t, err, "%v", args)
				running = false
			case <-time.After(5 * time.Millisecond):
			}
		}
		t.Log(args[0], most>>10, "MiB")
		assert.NotZero(t, most)
		assert.Less(t, most, 64<<10, "%v", args)
	}
}

// mostMemory is the largest size that a process had so far in memory, in KiB; 0 when it is gone.
// The system's account at its end would begin with that of the process that started it.
func mostMemory(pid int) (size int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	if _, line, found := strings.Cut(string(status), "VmHWM:"); found {
		_, _ = fmt.Sscan(line, &size)
	}
	return size
}
