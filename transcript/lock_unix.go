//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package transcript

import (
	"errors"
	"os"
	"syscall"
)

// fileLock is flock(2) on the log itself. The file is open already: package flock would open and close it once more for each lock,
// which takes three times as long as the write that it is for.
type fileLock struct{ conn syscall.RawConn }

func newLock(f *os.File, _ string) (locker, error) {
	conn, err := f.SyscallConn()
	return fileLock{conn}, err
}

func (l fileLock) Lock() error   { return l.flock(syscall.LOCK_EX) }
func (l fileLock) Unlock() error { return l.flock(syscall.LOCK_UN) }

func (l fileLock) flock(how int) error {
	var err error
	closed := l.conn.Control(func(fd uintptr) {
		for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
			err = syscall.Flock(int(fd), how)
		}
	})
	if closed != nil {
		return closed
	}
	return os.NewSyscallError("flock", err)
}
