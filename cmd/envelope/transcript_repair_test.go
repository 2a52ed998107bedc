package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTranscriptRepair(t *testing.T) {
	dir := t.TempDir()
	source, out := filepath.Join(dir, "log"), filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(source, []byte(badLog), 0o600))
	status, report, stderr := call("", "transcript", "repair", "-o", out, source)
	require.Equal(t, done, status, stderr)
	assert.Equal(t, badFaults+"2 records, 2 recovered, 2 faults\n", report)
	requireFile(t, out, `{"role":"user","content":"hi"}`+"\n{\"a\":1}\n{\"b\":2}\n{\"sum\":1}\n")
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
	status = run(
		[]string{"transcript", "repair", "-o", half}, streams{failingReader{}, fullDisk{}, &e},
	)
	assert.Equal(t, failed, status)
	assert.Contains(t, e.String(), "broken pipe")
	status, _, _ = call(goodLog, "transcript", "repair", "-o", filepath.Join(dir, "no", "such"))
	assert.Equal(t, failed, status)
	status, report, _ = call(goodLog, "transcript", "repair", "-json", "-o", half)
	assert.Equal(t, done, status)
	assert.True(t, json.Valid([]byte(report)))
	requireFile(t, half, goodLog)
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
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
		begun := func() bool { return len(left()) == 1 }
		require.Eventually(t, begun, 10*time.Second, time.Millisecond)
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

// A usage error, so that nothing of that name comes to be.
func TestTranscriptRepairToStandardOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	status, out, stderr := call(goodLog, "transcript", "repair", "-o", "-")
	assert.Equal(t, failed, status)
	assert.Empty(t, out)
	assert.Equal(
		t, "envelope: transcript: -o takes a file: standard output is for what was left out\n",
		stderr,
	)
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, left)
}

// What holds no record is no success, and leaves no file that looks like a repaired log.
func TestTranscriptRepairOfNothing(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	for log, faults := range map[string]string{
		"x\n":  "line 1: not-object (byte 0)\n",
		"\n\n": "",
		"\xff\xfe{\x00}": "line 1: encoding (byte 0): not UTF-8 text but UTF-16, UTF-32 " +
			"or compressed: convert or decompress it first\n",
	} {
		status, report, stderr := call(log, "transcript", "repair", "-o", out)
		assert.Equal(t, failed, status)
		assert.Equal(t, faults, report)
		assert.Equal(
			t, "envelope: transcript: no whole record in an input that is not empty\n", stderr,
		)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
	status, report, _ := call("", "transcript", "repair", "-o", out)
	assert.Equal(t, done, status, "an empty log is whole")
	assert.Equal(t, "0 records, 0 recovered, 0 faults\n", report)
	requireFile(t, out, "")
}

// A reader of the report that goes away is an error of output, and the repair leaves nothing.
func TestTranscriptRepairWithoutReport(t *testing.T) {
	dir := t.TempDir()
	var e bytes.Buffer
	log := strings.NewReader(strings.Repeat("x\n", 100_000) + goodLog)
	args := []string{"transcript", "repair", "-o", filepath.Join(dir, "out")}
	assert.Equal(t, failed, run(args, streams{log, fullDisk{}, &e}))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// Two repairs race for one name, sixty times: one wins, the other says that the file exists, and
// what is there is whole. A third program that puts its file there first keeps it.
func TestTranscriptRepairsThatRace(t *testing.T) {
	dir := t.TempDir()
	logs := make([]string, 3)
	for i := range logs {
		logs[i] = strings.Repeat(fmt.Sprintf("{\"n\":%d}\n", i), 5000)
	}
	for round := range 60 {
		out := filepath.Join(dir, fmt.Sprint(round))
		status := make([]int, len(logs))
		var group sync.WaitGroup
		for i, log := range logs[:2] {
			group.Add(1)
			go func() {
				defer group.Done()
				status[i], _, _ = call(log, "transcript", "repair", "-o", out)
			}()
		}
		group.Add(1)
		go func() {
			defer group.Done()
			time.Sleep(time.Duration(round) * 50 * time.Microsecond)
			f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				status[2] = failed
				return
			}
			_, err = f.WriteString(logs[2])
			assert.NoError(t, errors.Join(err, f.Close()))
		}()
		group.Wait()
		winner := -1
		for i, s := range status {
			if s == done {
				require.Equal(t, -1, winner, "one wins: %v", status)
				winner = i
			}
		}
		require.NotEqual(t, -1, winner)
		requireFile(t, out, logs[winner])
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// Where the file system has no links, the name is taken first.
func TestPublishWithoutLinks(t *testing.T) {
	dir := t.TempDir()
	temp, out := filepath.Join(dir, "temp"), filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(temp, []byte(goodLog), 0o600))
	require.NoError(t, publishWithoutLinks(temp, out))
	requireFile(t, out, goodLog)
	require.NoError(t, os.WriteFile(temp, []byte(badLog), 0o600))
	assert.ErrorIs(t, publishWithoutLinks(temp, out), errExists)
	requireFile(t, out, goodLog)
	other := filepath.Join(dir, "other")
	assert.ErrorIs(t, publishWithoutLinks(filepath.Join(dir, "no"), other), os.ErrNotExist)
	_, err := os.Stat(other)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// A repair that is killed, at any moment, leaves either the whole file or none, and beside it at
// most one whose name is none of a log.
func TestTranscriptRepairKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes")
	}
	binary := build(t)
	dir := t.TempDir()
	source := filepath.Join(t.TempDir(), "log")
	log := strings.Repeat(goodLog, 100_000)
	require.NoError(t, os.WriteFile(source, []byte(log), 0o600))
	whole, none := 0, 0
	for round := range 30 {
		out := filepath.Join(dir, "out.jsonl")
		command := exec.Command(binary, "transcript", "repair", "-o", out, source)
		require.NoError(t, command.Start())
		time.Sleep(time.Duration(round) * 5 * time.Millisecond)
		_ = command.Process.Kill()
		_ = command.Wait()
		if data, err := os.ReadFile(out); err == nil {
			whole++
			require.True(t, string(data) == log)
			require.NoError(t, os.Remove(out))
		} else {
			none++
		}
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, entry := range left {
			require.Regexp(t, `^\.out\.jsonl\.repair-[0-9]+\.tmp$`, entry.Name())
			require.NoError(t, os.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	t.Log(none, "killed in time,", whole, "done")
	assert.NotZero(t, none)
}
