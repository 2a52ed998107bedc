package transcript_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope/transcript"
)

// The test binary is the other processes too: with helperEnv set it does that instead of running
// tests.
const helperEnv = "TRANSCRIPT_TEST_HELPER"

var helpers = map[string]func(log *transcript.Log, args []string) error{
	"write-until-killed": writeUntilKilled,
	"write-large":        writeLarge,
}

func TestMain(m *testing.M) {
	if do, ok := helpers[os.Getenv(helperEnv)]; ok {
		log, err := transcript.Open(os.Args[1], transcript.Options{})
		if err == nil {
			err = do(log, os.Args[2:])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// helper is another process that works on the log at path.
func helper(tb testing.TB, name, path string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(tb, err)
	cmd := exec.Command(self, append([]string{path}, args...)...)
	// The race detector would wait a second at the end.
	cmd.Env = append(os.Environ(), helperEnv+"="+name, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

type numbered struct {
	Writer, Number int
	Text           string
}

// text is what record n holds: of any length, with what makes lines, and told from every other.
func (r numbered) text(longest int) string {
	part := fmt.Sprintf("\n{\"%d\u2028%d\":中}", r.Writer, r.Number)
	size := longest * (1 + (r.Number*7919+r.Writer*104729)%97) / 97
	return strings.Repeat(part, 1+size/len(part))
}

const killedLongest = 128 << 10

// writeUntilKilled appends records, and says on standard output which one it has appended.
func writeUntilKilled(log *transcript.Log, args []string) error {
	writer, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if writer%2 == 1 {
		log.Wrap(func(f transcript.File) transcript.File { return pieces{f} })
	}
	for n := 0; ; n++ {
		r := numbered{Writer: writer, Number: n}
		r.Text = r.text(killedLongest)
		if err := log.Append(r); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// pieces writes as a slow system does that looks for signals between the pages of one write.
type pieces struct{ transcript.File }

func (f pieces) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = f.File.Write(p[n:min(n+4096, len(p))])
		n += m
		time.Sleep(50 * time.Microsecond)
	}
	return n, err
}

// A writer is killed at random moments, 200 times. After each the log is opened and appended to
// again: no record that was appended is lost, none is glued, and each fragment is reported. A
// Follow that reads along sees the same, each once.
func TestKilledWriters(t *testing.T) {
	kills := 200
	if testing.Short() {
		t.Skip("it starts 200 processes")
	}
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(5, 5))
	fragments := 0
	const perFile = 20 // which bounds the file
	for first := 0; first < kills; first += perFile {
		path := filepath.Join(dir, fmt.Sprint(first))
		along := readAlong(t, path)
		var want []numbered
		for writer := first; writer < first+perFile; writer++ {
			cmd := helper(t, "write-until-killed", path, fmt.Sprint(writer))
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewScanner(out)
			require.True(t, lines.Scan(), "the first record")
			appended := 1
			after := time.Duration(rng.IntN(3000)) * time.Microsecond
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
			for lines.Scan() {
				appended++
			}
			require.Error(t, cmd.Wait())
			for n := range appended {
				want = append(want, numbered{Writer: writer, Number: n})
			}
			log, err := transcript.Open(path, transcript.Options{})
			require.NoError(t, err)
			require.NoError(t, log.Append(numbered{Writer: -1, Number: writer}))
			require.NoError(t, log.Close())
			want = append(want, numbered{Writer: -1, Number: writer})
		}
		f, err := os.Open(path)
		require.NoError(t, err)
		lines := 0
		for r, err := range transcript.Records(f, transcript.Options{}) {
			lines++
			if fault := (*transcript.Fault)(nil); errors.As(err, &fault) {
				require.Equal(t, transcript.Torn, fault.Kind)
				require.Equal(t, lines, fault.Line)
				fragments++
				continue
			}
			require.NoError(t, err)
			require.Equal(t, lines, r.Line)
			var got numbered
			require.NoError(t, r.Decode(&got))
			if got.Writer >= 0 {
				require.True(t, got.Text == got.text(killedLongest))
			}
			got.Text = ""
			if len(want) > 0 && got == want[0] {
				want = want[1:]
				continue
			}
			// The writer was killed behind its write and before it could tell.
			require.True(
				t, len(want) > 0 && want[0].Writer == -1 && got.Writer == want[0].Number,
				"%+v, want %+v", got, want[:min(1, len(want))],
			)
		}
		require.Empty(t, want)
		require.NoError(t, f.Close())
		along.requireWhole()
		require.NoError(t, os.Remove(path))
	}
	assert.NotZero(t, fragments)
	t.Log(kills, "kills left", fragments, "fragments")
}

// alongside is a Follow that reads a log while others write it.
type alongside struct {
	t      *testing.T
	path   string
	cancel context.CancelFunc
	mu     sync.Mutex
	got    []string
	ended  chan struct{}
}

// readAlong begins with the log at path, which it creates if need be.
func readAlong(t *testing.T, path string) *alongside {
	log, err := transcript.Open(path, transcript.Options{})
	require.NoError(t, errors.Join(err, log.Close()))
	ctx, cancel := context.WithCancel(t.Context())
	a := &alongside{t: t, path: path, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		for r, err := range transcript.Follow(ctx, path, transcript.Options{}) {
			if ctx.Err() == nil {
				a.mu.Lock()
				a.got = append(a.got, summary(r, err))
				a.mu.Unlock()
			}
		}
	}()
	return a
}

func summary(r transcript.Record, err error) string {
	return fmt.Sprint(r.Line, r.Offset, crc32.ChecksumIEEE(r.JSON), err)
}

// requireWhole requires that it has seen what stands in the log now, in its order, and nothing
// else.
func (a *alongside) requireWhole() {
	f, err := os.Open(a.path)
	require.NoError(a.t, err)
	defer f.Close()
	var want []string
	for r, err := range transcript.Records(f, transcript.Options{}) {
		want = append(want, summary(r, err))
	}
	seen := func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.got)
	}
	all := func() bool { return seen() >= len(want) }
	require.Eventually(a.t, all, time.Minute, time.Millisecond)
	a.cancel()
	<-a.ended
	require.Equal(a.t, want, a.got)
}

const largeRecord, largeEach = 300_000, 50

func writeLarge(log *transcript.Log, args []string) error {
	each, err := strconv.Atoi(args[1])
	for n := range each {
		writer, _ := strconv.Atoi(args[0])
		r := numbered{Writer: writer, Number: n}
		r.Text = strings.Repeat(string(rune('a'+writer)), largeRecord)
		err = errors.Join(err, log.Append(r))
	}
	return errors.Join(err, log.Close())
}

// Six processes append fifty records of 300 KB each to one log: 300 whole records.
func TestSixProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes")
	}
	path := filepath.Join(t.TempDir(), "log")
	along := readAlong(t, path)
	var running []*exec.Cmd
	for writer := range 6 {
		cmd := helper(t, "write-large", path, fmt.Sprint(writer), fmt.Sprint(largeEach))
		require.NoError(t, cmd.Start())
		running = append(running, cmd)
	}
	for _, cmd := range running {
		require.NoError(t, cmd.Wait())
	}
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	next := map[int]int{}
	for r, err := range transcript.Records(f, transcript.Options{}) {
		require.NoError(t, err)
		var got numbered
		require.NoError(t, r.Decode(&got))
		require.Equal(t, next[got.Writer], got.Number, "each writer's records are in its order")
		next[got.Writer]++
		require.True(t, got.Text == strings.Repeat(string(rune('a'+got.Writer)), largeRecord))
	}
	along.requireWhole()
	assert.Equal(
		t,
		map[int]int{
			0: largeEach, 1: largeEach, 2: largeEach, 3: largeEach, 4: largeEach, 5: largeEach,
		},
		next,
	)
}

// checkWhole requires that the log at path is made of whole records, of exactly these numbers.
func checkWhole(tb testing.TB, path string, records int) {
	f, err := os.Open(path)
	require.NoError(tb, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(tb, err)
	in, err := transcript.Inspect(f, transcript.Options{})
	require.NoError(tb, err)
	require.Equal(tb, transcript.Inspection{Records: records}, in)
	if info.Size() > 0 {
		last := make([]byte, 1)
		_, err = f.ReadAt(last, info.Size()-1)
		require.NoError(tb, err)
		require.Equal(tb, "\n", string(last), "the file ends at a whole record")
	}
}

// readReport reads the JSON that a helper wrote.
func readReport(tb testing.TB, cmd *exec.Cmd, v any) {
	out, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	data, err := io.ReadAll(out)
	require.NoError(tb, err)
	require.NoError(tb, cmd.Wait())
	require.NoError(tb, json.Unmarshal(data, v), "%s", data)
}
