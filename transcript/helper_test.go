package transcript_test

import (
	"bufio"
	"io"
)

// newLineScanner is bufio's, for lines of up to 64 MiB.
func newLineScanner(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 1<<20), 64<<20)
	return s
}
