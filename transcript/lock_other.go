//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package transcript

import (
	"os"

	"github.com/gofrs/flock"
)

// newLock locks a file beside the log: a lock on Windows is mandatory, and one on the log itself
// would keep its own writer and every reader out.
func newLock(_ *os.File, path string) locker { return flock.New(path + ".lock") }
