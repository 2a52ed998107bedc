//go:build linux || darwin

package transcript_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope/transcript"
)

func init() { helpers["fill"] = fill }

type filled struct {
	Appended, Failed int
	Full, Fragment   bool // what the first failure was
}

// fill appends under a limit of the file's size until an append fails, and then once more.
func fill(log *transcript.Log, args []string) error {
	limit, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ) // the write is to fail, not the process
	rlimit := syscall.Rlimit{Cur: limit, Max: limit}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &rlimit); err != nil {
		return err
	}
	var r filled
	m := transcript.Message{Role: "tool", Content: strings.Repeat("满", 10_000)}
	for r.Failed < 2 {
		err := log.Append(m, m)
		if err == nil {
			r.Appended += 2
			continue
		}
		if r.Failed++; r.Failed == 1 {
			r.Full = errors.Is(err, syscall.EFBIG)
			r.Fragment = errors.Is(err, transcript.ErrFragment)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// No more fits in the middle of an append: the error is reported, and the file ends at a whole
// record. With room again, it goes on.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes")
	}
	m := transcript.Message{Role: "tool", Content: strings.Repeat("满", 10_000)}
	pair := len(writeJSON([]transcript.Message{m, m}))
	for _, before := range []string{"", "{\"torn"} {
		for _, limit := range []int{
			3 * pair, 3*pair + 1, 3*pair + 7, 3*pair + pair/2, 3*pair + pair/2 + 1, 4*pair - 1,
		} {
			path := filepath.Join(t.TempDir(), "log")
			if before != "" {
				require.NoError(t, os.WriteFile(path, []byte(before), 0o600))
			}
			along := readAlong(t, path)
			var r filled
			readReport(t, helper(t, "fill", path, fmt.Sprint(limit)), &r)
			assert.Equal(t, filled{Appended: r.Appended, Failed: 2, Full: true}, r)
			assert.Contains(t, []int{4, 6}, r.Appended)
			if before == "" {
				assert.Equal(t, 6, r.Appended)
				checkWhole(t, path, r.Appended)
			}
			log, err := transcript.Open(path, transcript.Options{})
			require.NoError(t, err)
			require.NoError(t, log.Append(demo[0]))
			require.NoError(t, log.Close())
			along.requireWhole() // of an append that was cut back, it has seen nothing
			if before == "" {
				checkWhole(t, path, r.Appended+1)
			}
		}
	}
}
