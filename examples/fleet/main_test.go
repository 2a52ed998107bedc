package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope/transcript"
)

// The test binary is the command too, since a pipeline belongs to a process of its own.
const commandEnv = "FLEET_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd = exec.Command(self, args...)
	cmd.Env = append(os.Environ(), commandEnv+"=1")
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	return cmd, stderr
}

// fleet writes logs, of which one in ten is damaged, and returns what is to be reported.
func fleet(t *testing.T, dir string, size int) (want map[string]report, sum totals) {
	damages := []struct {
		line   string
		whole  int64
		faults map[string]int64
	}{
		{`{"role":"us`, 0, map[string]int64{"torn": 1}},
		{`{"a":1}{"b":2}`, 2, map[string]int64{"spliced": 1}},
		{"{\"a\":1}\x00\x00\x00", 1, map[string]int64{"nul-padding": 1}},
		{"text\n{\"a\":1,\"a\":2}", 0, map[string]int64{"not-object": 1, "duplicate-key": 1}},
	}
	want = map[string]report{}
	sum.Faults = map[string]int64{}
	for n := range size {
		path := filepath.Join(dir, fmt.Sprint(n%7), fmt.Sprintf("%d.jsonl", n))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		r := report{File: path, Records: int64(1 + n%13), Faults: map[string]int64{}}
		text := strings.Repeat(fmt.Sprintf("{\"role\":\"user\",\"content\":\"%d\"}\n", n), 1+n%13)
		if n%10 == 3 {
			d := damages[n/10%len(damages)]
			text = d.line + "\n" + text
			r.Recovered, r.Faults = d.whole, d.faults
			sum.Damaged++
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		want[path] = r
		sum.Files++
		sum.Records += r.Records
		sum.Recovered += r.Recovered
		for kind, n := range r.Faults {
			sum.Faults[kind] += n
		}
	}
	return want, sum
}

// Two thousand logs, two hundred of them damaged. The command is killed four times on its way, and
// run again: no log is lost, none is counted twice, and every repaired one is whole.
func TestKilledAndRunAgain(t *testing.T) {
	logs, out, repaired := t.TempDir(), t.TempDir(), t.TempDir()
	want, sum := fleet(t, logs, 2000)
	require.EqualValues(t, 200, sum.Damaged)
	args := []string{"-logs", logs + "/*/*.jsonl", "-out", out, "-repaired", repaired}
	begun := time.Now()
	killed := 0
	for _, after := range []time.Duration{60, 120, 200, 300} {
		cmd, _ := command(t, args...)
		require.NoError(t, cmd.Start())
		timer := time.AfterFunc(after*time.Millisecond, func() { _ = cmd.Process.Kill() })
		if cmd.Wait() != nil {
			killed++
		}
		timer.Stop()
	}
	assert.NotZero(t, killed)
	cmd, stderr := command(t, args...)
	require.NoError(t, cmd.Run(), "%s", stderr)
	t.Log(killed, "runs killed and one whole in", time.Since(begun))

	file, err := os.Open(filepath.Join(out, "reports.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	seen := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var got report
		require.NoError(t, json.Unmarshal(lines.Bytes(), &got))
		require.False(t, seen[got.File], "%s twice", got.File)
		seen[got.File] = true
		expected := want[got.File]
		if len(expected.Faults) > 0 {
			expected.Repaired = repaired + strings.TrimPrefix(got.File, logs)
			requireWhole(t, expected)
		}
		require.Equal(t, expected, got)
	}
	require.Len(t, seen, len(want))

	data, err := os.ReadFile(filepath.Join(out, "totals.json"))
	require.NoError(t, err)
	var got totals
	require.NoError(t, json.Unmarshal(data, &got))
	sum.Repaired = sum.Damaged
	assert.Equal(t, sum, got)

	files, err := filepath.Glob(repaired + "/*/*.jsonl")
	require.NoError(t, err)
	assert.Len(t, files, int(sum.Damaged), "what a killed run left has no name of a log")
}

func requireWhole(t *testing.T, r report) {
	file, err := os.Open(r.Repaired)
	require.NoError(t, err)
	defer file.Close()
	in, err := transcript.Inspect(file, transcript.Options{})
	require.NoError(t, err)
	require.Equal(t, transcript.Inspection{Records: int(r.Records + r.Recovered)}, in)
}

// A log that cannot be repaired is a report, and costs no other.
func TestWhatCannotBeRepaired(t *testing.T) {
	logs, out, repaired := t.TempDir(), t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"utf16.jsonl": "\xff\xfe{\x00}\x00", "text.jsonl": "x\n",
		"empty.jsonl": "", "good.jsonl": "{}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(logs, name), []byte(text), 0o600))
	}
	cmd, stderr := command(t, "-logs", logs+"/*", "-out", out, "-repaired", repaired)
	require.NoError(t, cmd.Run(), "%s", stderr)
	data, err := os.ReadFile(filepath.Join(out, "totals.json"))
	require.NoError(t, err)
	var got totals
	require.NoError(t, json.Unmarshal(data, &got))
	faults := map[string]int64{"encoding": 1, "not-object": 1}
	assert.Equal(t, totals{Files: 4, Damaged: 2, Unreadable: 2, Records: 1, Faults: faults}, got)
	left, err := os.ReadDir(repaired)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{}, {"-logs", dir + "/*"}, {"-logs", dir + "/*.jsonl", "-out", dir},
		{"-logs", dir + "/*", "-out", dir, "-repaired", dir},
		{"-logs", dir + "/*", "-out", dir, "-repaired", dir + "/below"},
	} {
		cmd, stderr := command(t, args...)
		require.Error(t, cmd.Run(), "%v", args)
		assert.Contains(t, stderr.String(), "fleet: ", "%v", args)
	}
}
