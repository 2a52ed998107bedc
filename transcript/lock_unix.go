//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package transcript

import (
	"errors"
	"os"
	"syscall"
)

// fileLock is flock(2) on the log itself. The file is open already: package flock would open and
// close it once more for each lock, which takes three times as long as the write that it is for.
type fileLock struct{ *os.File }

func newLock(f *os.File, _ string) locker { return fileLock{f} }

func (l fileLock) TryLock() (bool, error)  { return l.try(syscall.LOCK_EX) }
func (l fileLock) TryRLock() (bool, error) { return l.try(syscall.LOCK_SH) }
func (l fileLock) Unlock() error           { return l.flock(syscall.LOCK_UN) }

func (l fileLock) try(how int) (bool, error) {
	err := l.flock(how | syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func (l fileLock) flock(how int) error {
	fd := l.Fd()
	if fd == ^uintptr(0) {
		return os.ErrClosed
	}
	for {
		if err := syscall.Flock(int(fd), how); !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("flock", err) // nil when err is
		}
	}
}
