package main

import (
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"
)

// logInput is the log that a command reads, and the line that says how far it is.
type logInput struct {
	io.ReadCloser
	path    string // "" for standard input
	size    int64  // 0 when that is not known
	read    int64
	started time.Time
	shown   time.Time
	to      io.Writer // nil: nowhere
	width   int       // of the line that stands there
}

func openLog(f logFlags, args []string, s streams) (*logInput, error) {
	file, err := parse(f.FlagSet, args, s)
	if err != nil {
		return nil, err
	}
	in := &logInput{ReadCloser: io.NopCloser(s.in), started: time.Now()}
	if file != "" && file != "-" {
		log, err := os.Open(file)
		if err != nil {
			return nil, printable(err)
		}
		if info, err := log.Stat(); err == nil && info.Mode().IsRegular() {
			in.size = info.Size()
		}
		in.ReadCloser, in.path = log, file
	}
	return in, nil
}

// progress has the log say on a terminal how far it is read, when that takes more than a second.
func (in *logInput) progress(s streams, quiet bool) io.Reader {
	if !quiet && terminal(s.err) {
		in.to = s.err
	}
	return in
}

func (in *logInput) Read(p []byte) (int, error) {
	n, err := in.ReadCloser.Read(p)
	in.read += int64(n)
	now := time.Now()
	if in.to != nil && now.Sub(in.started) > time.Second && now.Sub(in.shown) > time.Second/5 {
		in.clear()
		line := fmt.Sprintf("%d MiB read", in.read>>20)
		if in.size > 0 {
			line = fmt.Sprintf("%d of %d MiB read", in.read>>20, in.size>>20)
		}
		fmt.Fprint(in.to, line)
		in.shown, in.width = now, utf8.RuneCountInString(line)
	}
	return n, err
}

// clear removes the line.
func (in *logInput) clear() {
	if in.width > 0 {
		fmt.Fprintf(in.to, "\r%*s\r", in.width, "")
		in.width = 0
	}
}

// terminal reports whether w is one, or another character device.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
