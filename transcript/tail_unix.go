//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package transcript

import (
	"os"
	"syscall"
)

// readOnce reads what there is of p at an offset, with one call of the system. ReadAt would ask
// once more to see that there is no more.
func readOnce(f file, p []byte, offset int64) int {
	own, ok := f.(*os.File)
	if !ok {
		n, _ := f.ReadAt(p, offset)
		return n
	}
	n, err := syscall.Pread(int(own.Fd()), p, offset)
	if err != nil {
		return 0 // the caller finds another way, and its error
	}
	return n
}
