//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package transcript

// readOnce reads what there is of p at an offset.
func readOnce(f file, p []byte, offset int64) int {
	n, _ := f.ReadAt(p, offset)
	return n
}
