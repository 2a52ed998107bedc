package transcript_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope/transcript"
)

// Another program holds the lock and is stopped. Appends of several goroutines end after the
// time that was asked for, and Close does not wait at all.
func TestLockedByAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	holder, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	defer holder.Close()
	lock, got, err := transcript.Lock(holder, path)
	require.True(t, got && err == nil, err)

	const timeout = 300 * time.Millisecond
	log, err := transcript.Open(path, transcript.Options{LockTimeout: timeout})
	require.NoError(t, err)
	errs := make(chan error)
	begun := time.Now()
	for range 2 {
		go func() { errs <- log.Append(demo[0]) }()
	}
	for range 2 {
		assert.ErrorIs(t, <-errs, transcript.ErrLocked)
	}
	took := time.Since(begun)
	assert.True(t, timeout <= took && took < timeout+5*time.Second, took)
	require.NoError(t, log.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Empty(t, data, "nothing is written without the lock")

	patient, err := transcript.Open(path, transcript.Options{LockTimeout: -1})
	require.NoError(t, err)
	go func() { errs <- patient.Append(demo[0]) }()
	time.Sleep(50 * time.Millisecond)
	begun = time.Now()
	require.NoError(t, patient.Close())
	assert.Less(t, time.Since(begun), time.Second)
	assert.ErrorIs(t, <-errs, os.ErrClosed, "an append that waits ends with the log")

	// The lock comes free while an append waits for it.
	log, err = transcript.Open(path, transcript.Options{})
	require.NoError(t, err)
	go func() { errs <- log.Append(demo[1]) }()
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, lock.Unlock())
	require.NoError(t, <-errs)
	require.NoError(t, log.Close())
}

// Without an option an append waits ten seconds.
func TestLockTimeout(t *testing.T) {
	for want, o := range map[time.Duration]transcript.Options{
		10 * time.Second: {},
		time.Nanosecond:  {LockTimeout: 1},
		-1:               {LockTimeout: -1},
	} {
		assert.Equal(t, want, transcript.LockTimeout(o))
	}
}
