package transcript

import (
	"os"
	"time"
)

// File is what a Log needs of a file.
type File = file

// Wrap puts another file between the log and its own.
func (l *Log) Wrap(wrap func(File) File) { l.file = wrap(l.file) }

// Lock takes the lock that a log at path takes, unless another has it.
func Lock(f *os.File, path string) (l Locker, got bool, err error) {
	l = newLock(f, path)
	got, err = l.TryLock()
	return l, got, err
}

// WrapLock puts another lock in the place of the log's own.
func (l *Log) WrapLock(wrap func(Locker) Locker) { l.lock = wrap(l.lock) }

// Locker is what a Log needs of a lock.
type Locker = locker

// LockTimeout is how long an append waits for the lock.
func LockTimeout(o Options) time.Duration { return o.lockTimeout() }
