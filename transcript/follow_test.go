package transcript_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/transcript"
)

// following is a Follow in a goroutine of its own.
type following struct {
	t      *testing.T
	got    chan string
	cancel context.CancelCauseFunc
}

var errEnough = errors.New("enough")

func follow(t *testing.T, path string, o transcript.Options) *following {
	ctx, cancel := context.WithCancelCause(t.Context())
	f := &following{t, make(chan string, 1000), cancel}
	go func() {
		defer close(f.got)
		for r, err := range transcript.Follow(ctx, path, o) {
			if err != nil {
				f.got <- err.Error()
				continue
			}
			f.got <- fmt.Sprintf("%d@%d %s", r.Line, r.Offset, r.JSON)
		}
	}()
	t.Cleanup(func() { cancel(errEnough) })
	return f
}

// expect waits for what comes next.
func (f *following) expect(want ...string) {
	f.t.Helper()
	for _, w := range want {
		select {
		case got := <-f.got:
			require.Equal(f.t, w, got)
		case <-time.After(20 * time.Second):
			require.Fail(f.t, "nothing came", "want %s", w)
		}
	}
}

// silent requires that nothing comes for a while.
func (f *following) silent() {
	f.t.Helper()
	select {
	case got := <-f.got:
		require.Fail(f.t, "too early", "%s", got)
	case <-time.After(100 * time.Millisecond):
	}
}

// end ends it and requires that its error is the last.
func (f *following) end() {
	f.t.Helper()
	f.cancel(errEnough)
	f.expect("enough")
	_, more := <-f.got
	require.False(f.t, more)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, errors.Join(err, f.Close()))
}

const (
	truncated = "transcript: the file was truncated or written anew"
	replaced  = "transcript: another file has taken the place of the log"
)

func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "\ufeff{\"a\":1}\n\n{\"b\"")
	f := follow(t, path, transcript.Options{})
	f.expect(`1@3 {"a":1}`)
	f.silent()
	write(t, path, ":2}")
	f.silent()
	write(t, path, "\n{\"c\":3}\n{\"torn\n[]\n")
	f.expect(`3@12 {"b":2}`, `4@20 {"c":3}`)
	f.expect("transcript: line 5: torn (byte 34)", "transcript: line 6: not-object (byte 35)")
	for n := range 5 {
		write(t, path, fmt.Sprintf("{\"n\":%d}\n", n))
		f.expect(fmt.Sprintf(`%d@%d {"n":%d}`, 7+n, 38+8*n, n))
	}
	f.end()
}

func TestFollowTooLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "{\"a\":\""+strings.Repeat("x", 100_000))
	f := follow(t, path, transcript.Options{MaxLine: 1000})
	f.silent()
	write(t, path, strings.Repeat("x", 100_000)+"\"}\n{}\n")
	f.expect("transcript: line 1: too-long (byte 1000)", "2@200009 {}")
	f.end()
}

// A file that is cut, emptied, or written anew.
func TestFollowTruncated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "{\"a\":1}\n{\"b\":2}\n")
	f := follow(t, path, transcript.Options{})
	f.expect(`1@0 {"a":1}`, `2@8 {"b":2}`)
	require.NoError(t, os.Truncate(path, 8))
	f.expect(truncated, `1@0 {"a":1}`)
	require.NoError(t, os.Truncate(path, 0))
	f.expect(truncated)
	write(t, path, "{\"c\":3}\n")
	f.expect(`1@0 {"c":3}`)

	// An unfinished line is not delivered, so that cutting it back is nothing to tell.
	write(t, path, "{\"unfinished\":")
	f.silent()
	require.NoError(t, os.Truncate(path, 8))
	f.silent()
	write(t, path, "{\"d\":4}\n")
	f.expect(`2@8 {"d":4}`)

	// Emptied and grown again, to the same size and beyond, faster than anybody looks.
	same := "{\"e\":5}\n{\"f\":6}\n"
	require.NoError(t, os.WriteFile(path, []byte(same), 0o600))
	f.expect(truncated, `1@0 {"e":5}`, `2@8 {"f":6}`)
	longer := strings.Replace(same, "6", "7", 1) + "{\"g\":7}\n"
	require.NoError(t, os.WriteFile(path, []byte(longer), 0o600))
	f.expect(truncated, `1@0 {"e":5}`, `2@8 {"f":7}`, `3@16 {"g":7}`)
	f.end()
}

// Another file is put in the place: what is left of the old one comes first, its end too.
func TestFollowReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file is not renamed there")
	}
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "{\"a\":1}\n{\"b\":2}")
	f := follow(t, path, transcript.Options{})
	f.expect(`1@0 {"a":1}`)
	require.NoError(t, os.Rename(path, path+".1"))
	f.silent()
	write(t, path+".1", "\n{\"c\":3}\n{\"torn")
	f.expect(`2@8 {"b":2}`, `3@16 {"c":3}`)
	write(t, path, "{\"d\":4}\n")
	f.expect("transcript: line 4: torn (byte 30)", replaced, `1@0 {"d":4}`)

	// Directly, as a program does that writes a file beside it first.
	write(t, path+".new", "{\"e\":5}\n")
	require.NoError(t, os.Rename(path+".new", path))
	f.expect(replaced, `1@0 {"e":5}`)
	require.NoError(t, os.Remove(path))
	f.silent()
	write(t, path, "{\"f\":6}\n{\"g\":7}\n")
	f.expect(replaced, `1@0 {"f":6}`, `2@8 {"g":7}`)
	write(t, path, "{\"h\":8}\n")
	f.expect(`3@16 {"h":8}`)
	f.end()
}

// A link is followed to the file that it names.
func TestFollowLink(t *testing.T) {
	if os.Getenv("ENVELOPE_WINE") != "" {
		t.Skip("a link of Wine is none to who opens it")
	}
	dir := t.TempDir()
	path, link := filepath.Join(dir, "log"), filepath.Join(t.TempDir(), "link")
	write(t, path, "")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	f := follow(t, link, transcript.Options{})
	begun := time.Now()
	for n := range 20 {
		write(t, path, "{}\n")
		f.expect(fmt.Sprintf("%d@%d {}", n+1, 3*n))
	}
	t.Log("20 records in", time.Since(begun))
	f.end()
}

func TestFollowErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	last := func(ctx context.Context, path string, o transcript.Options) (last error) {
		n := 0
		for _, last = range transcript.Follow(ctx, path, o) {
			n++
		}
		assert.Equal(t, 1, n)
		return last
	}
	assert.ErrorIs(t, last(t.Context(), path, transcript.Options{}), os.ErrNotExist)
	write(t, path, "")
	illegal := transcript.Options{MaxLine: -1}
	assert.ErrorIs(t, last(t.Context(), path, illegal), envelope.ErrOption)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, last(ctx, path, transcript.Options{}), context.DeadlineExceeded)
	assert.ErrorIs(
		t, last(ctx, path, transcript.Options{}), context.DeadlineExceeded, "at once too",
	)

	// Another encoding is one fault, and nothing of the file is read until there is another.
	gz := filepath.Join(dir, "gz")
	write(t, gz, "\x1f\x8b\x08\n{}\n")
	f := follow(t, gz, transcript.Options{})
	f.expect((&transcript.Fault{Line: 1, Kind: transcript.Encoding}).Error())
	write(t, gz, "{}\n")
	f.silent()
	require.NoError(t, os.WriteFile(gz, []byte("{}\n"), 0o600))
	f.expect(truncated, "1@0 {}")
	f.end()
}

// The caller stops, wherever it is.
func TestFollowStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "{}\n{}\n")
	for range transcript.Follow(t.Context(), path, transcript.Options{}) {
		break
	}
	for range transcript.Follow(t.Context(), path, transcript.Options{}) {
		_ = os.Truncate(path, 0)
		break
	}
	n := 0
	write(t, path, "{}\n")
	for _, err := range transcript.Follow(t.Context(), path, transcript.Options{}) {
		if n++; err == nil {
			require.NoError(t, os.Truncate(path, 0))
			continue
		}
		require.ErrorIs(t, err, transcript.ErrTruncated)
		break
	}
	assert.Equal(t, 2, n)
}

// A program holds the lock: what it writes or others write comes all the same, only later.
func TestFollowWhileLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "{}\n")
	holder, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer holder.Close()
	lock, got, err := transcript.Lock(holder, path)
	require.True(t, got && err == nil, err)
	defer func() { assert.NoError(t, lock.Unlock()) }()
	f := follow(t, path, transcript.Options{LockTimeout: 200 * time.Millisecond})
	f.silent()
	f.expect("1@0 {}")
	f.cancel(errEnough)
	f.expect("enough")
}
