package transcript

import (
	"errors"
	"math/rand/v2"
	"time"
)

// ErrLocked is the error of an append for which the lock did not come free within
// Options.LockTimeout. Nothing is written.
var ErrLocked = errors.New("another program holds the lock")

// locker is an advisory lock between processes. One that is held elsewhere is no error.
type locker interface {
	TryLock() (bool, error)
	TryRLock() (bool, error)
	Unlock() error
}

const defaultLockTimeout = 10 * time.Second

func (o Options) lockTimeout() time.Duration {
	if o.LockTimeout == 0 {
		return defaultLockTimeout
	}
	return o.LockTimeout
}

// waitFor calls try until it says true or fails, for as long as timeout says, or until stop is
// closed. Between two calls it sleeps, at first shortly. flock(2) itself could not be
// interrupted.
func waitFor(try func() (bool, error), timeout time.Duration, stop <-chan struct{}) error {
	if done, err := try(); done || err != nil { // nearly always, and without a clock
		return err
	}
	begun := time.Now()
	pause := 50 * time.Microsecond
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return errStopped
		case <-timer.C:
		}
		if done, err := try(); done || err != nil {
			return err
		}
		pause = min(2*pause, 5*time.Millisecond)
		next := pause/2 + rand.N(pause) // so that two who wait do not keep step
		if timeout >= 0 {
			left := timeout - time.Since(begun)
			if left <= 0 {
				return ErrLocked
			}
			next = min(next, left)
		}
		timer.Reset(next)
	}
}

var errStopped = errors.New("stopped")
