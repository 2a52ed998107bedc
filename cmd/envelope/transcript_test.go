package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	goodLog = `{"role":"user","content":"hi"}` + "\n" + `{"role":"tool","content":"secret"}` + "\n"
	badLog  = `{"role":"user","content":"hi"}` + "\n" + `{"role":"secret` + "\n\n" + `{"a":1}{"b":2}` + "\r\n" + `{"sum":1}`
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
		{"check: faults", "check", badLog, refused, "line 2: torn (byte 46)\nline 4: spliced (byte 55)\n2 records, 2 faults\n", ""},
		{"check: for machines", "check -json", badLog, refused, `{"faults":[{"line":2,"offset":46,"kind":"torn"},{"line":4,"offset":55,"kind":"spliced"}],"records":2}` + "\n", ""},
		{"check: for machines, clean", "check -json", goodLog, done, `{"faults":[],"records":2}` + "\n", ""},
		{"check: a bound", "check -max-line 31", goodLog, refused, "line 2: too-long (byte 62)\n1 records, 1 faults\n", ""},
		{"check: a bad bound", "check -max-line -1", goodLog, failed, "", "options.MaxLine"},
		{"check: no such file", "check no-such-file", "", failed, "", "no-such-file"},
		{"check: two files", "check a b", "", failed, "", "more than one FILE"},
		{"repair: no output", "repair", goodLog, failed, "", "-o FILE"},
		{"show: clean", "show", goodLog, done, "# 1 \"user\"\n|     hi\n\n# 2 \"tool\"\n|     secret\n\n", ""},
		{"show: faults and other records", "show", badLog, refused, "# 1 \"user\"\n|     hi\n\n* line 2: torn (byte 46)\n\n* line 4: spliced (byte 55)\n\n* line 5: not-message (byte 64)\n|     {\"sum\":1}\n\n", ""},
		{"show: other records alone", "show", `{"sum":1}`, done, "* line 1: not-message (byte 0)\n|     {\"sum\":1}\n\n", ""},
		{"show: a bad bound", "show -max-line -1", goodLog, failed, "", "options.MaxLine"},
		{"show: what it is about", "show", `{"role":"a\n# 1","content":"x\r\ny\u2028# 2 \u001b[2J\t\u202e\u009b🙂\ud83d\ude42","\u0007":"\u200b` + "\u200b" + `","n":[1]}`, done,
			"# 1 \"a\\n# 1\"\n+ \"\\u0007\": \"\\u200b\\u200b\"\n+ \"n\": [1]\n|     x\n|     y\n|     # 2 \\u001b[2J\\u0009\\u202e\\u009b🙂🙂\n\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			status, out, stderr := call(tt.stdin, append([]string{"transcript"}, strings.Fields(tt.args)...)...)
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
	for args, want := range map[string]string{"-h": "repair", "check -h": "-json", "repair -h": "-o file", "show -h": "There is no way back"} {
		status, out, stderr := call("", append([]string{"transcript"}, strings.Fields(args)...)...)
		assert.Equal(t, done, status)
		assert.Contains(t, out, want)
		assert.Contains(t, out, "usage: envelope transcript ")
		assert.Empty(t, stderr)
	}
}

func TestTranscriptRepair(t *testing.T) {
	dir := t.TempDir()
	source, out := filepath.Join(dir, "log"), filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(source, []byte(badLog), 0o600))
	status, report, stderr := call("", "transcript", "repair", "-o", out, source)
	require.Equal(t, done, status, stderr)
	assert.Equal(t, "line 2: torn (byte 46)\nline 4: spliced (byte 55)\n2 records, 2 faults\n", report)
	requireFile(t, out, `{"role":"user","content":"hi"}`+"\n"+`{"sum":1}`+"\n")
	requireFile(t, source, badLog)

	// What exists is never written over: neither the source, by any name, nor another file.
	link := filepath.Join(dir, "link")
	names := []string{source, out, filepath.Join(dir, ".", "..", filepath.Base(dir), "log")}
	if os.Symlink(source, link) == nil {
		names = append(names, link)
	}
	if hard := filepath.Join(dir, "hard"); os.Link(source, hard) == nil {
		names = append(names, hard)
	}
	for _, name := range names {
		status, report, stderr = call("", "transcript", "repair", source, "-o", name)
		assert.Equal(t, failed, status)
		assert.Empty(t, report)
		assert.Contains(t, stderr, "exists")
	}
	requireFile(t, source, badLog)

	// What cannot be read to its end leaves nothing.
	half := filepath.Join(dir, "half")
	var e bytes.Buffer
	status = run([]string{"transcript", "repair", "-o", half}, streams{failingReader{}, fullDisk{}, &e})
	assert.Equal(t, failed, status)
	assert.Contains(t, e.String(), "broken pipe")
	status, _, _ = call(goodLog, "transcript", "repair", "-o", filepath.Join(dir, "no", "such"))
	assert.Equal(t, failed, status)
	status, report, _ = call(goodLog, "transcript", "repair", "-json", "-o", half)
	assert.Equal(t, done, status)
	assert.True(t, json.Valid([]byte(report)))
	requireFile(t, half, goodLog)
	left, err := filepath.Glob(filepath.Join(dir, ".repair-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// A repair that is told to end leaves nothing.
func TestTranscriptRepairTold(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no signals")
	}
	binary := build(t)
	dir := t.TempDir()
	left := func() []string {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		return names
	}
	for _, told := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		command := exec.Command(binary, "transcript", "repair", "-o", filepath.Join(dir, "out"))
		in, err := command.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
		_, err = in.Write([]byte(goodLog))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return len(left()) == 1 }, 10*time.Second, time.Millisecond)
		time.Sleep(50 * time.Millisecond) // from the file to the handler
		require.NoError(t, command.Process.Signal(told))
		require.Error(t, command.Wait(), "%v", told)
		assert.Empty(t, left(), "%v", told)
	}
}

func requireFile(t *testing.T, name, want string) {
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, want, string(data))
}

func TestTranscriptOutputFails(t *testing.T) {
	for _, args := range []string{"check", "check -json", "show"} {
		var e bytes.Buffer
		assert.Equal(t, failed, run(append([]string{"transcript"}, strings.Fields(args)...), streams{strings.NewReader(goodLog), fullDisk{}, &e}))
		assert.Contains(t, e.String(), `no space left\n`)
		e.Reset()
		assert.Equal(t, failed, run(append([]string{"transcript"}, strings.Fields(args)...), streams{failingReader{}, &e, &e}))
		assert.Contains(t, e.String(), "broken pipe")
	}
}

// Where reading takes more than a second, a line says how far it is, and is gone in the end.
func TestTranscriptProgress(t *testing.T) {
	var e bytes.Buffer
	in := &logInput{ReadCloser: nopCloser{strings.NewReader(strings.Repeat("x", 3<<20))}, size: 5 << 20, started: time.Now(), to: &e}
	p := make([]byte, 1<<20)
	_, err := in.Read(p)
	require.NoError(t, err)
	assert.Empty(t, e.String(), "not in the first second")
	in.started = in.started.Add(-2 * time.Second)
	for range 2 {
		_, err = in.Read(p)
		require.NoError(t, err)
	}
	assert.Equal(t, "2 of 5 MiB read", e.String(), "not with every read")
	in.clear()
	in.clear()
	assert.Equal(t, "2 of 5 MiB read\r"+strings.Repeat(" ", 15)+"\r", e.String())
	assert.False(t, terminal(&e))
}

type nopCloser struct{ *strings.Reader }

func (nopCloser) Close() error { return nil }
