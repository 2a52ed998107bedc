package transcript_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope/transcript"
)

// A file that the system does not lock is an error, and not tried for ever.
func TestLockThatFails(t *testing.T) {
	const pathOnly = 0x200000 // O_PATH: the handle is good for nothing but to name the file
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	fd, err := syscall.Open(path, pathOnly, 0)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	_, _, err = transcript.Lock(f, path)
	assert.ErrorIs(t, err, syscall.EBADF)
}
