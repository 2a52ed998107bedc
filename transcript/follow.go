package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// What [Follow] says besides faults. In both cases it goes on with the first line of the file
// that stands there now.
var (
	ErrTruncated = errors.New("transcript: the file was truncated or written anew")
	ErrReplaced  = errors.New("transcript: another file has taken the place of the log")
)

// Follow returns the records of the log at path, those that are there and then those that are
// appended, until ctx ends. It yields a record, or the *[Fault] of a line, when the line is
// ended; for the end of the last line it waits. A [Log] that appends is not kept waiting for
// longer than it takes to look for the end of its last line, and what it may still take back is
// not yielded: a record that comes from here was appended.
//
// When the file is cut below what was yielded, [ErrTruncated] is yielded in its place; when
// another file is put at path, what is left of the old one and then [ErrReplaced]. Reading then
// begins anew, with line 1. A file that was removed is waited for. One that was emptied and has
// grown again in between is told by the bytes before the place where reading stopped.
//
// Each iteration ends in an error, unless the caller stops: that of ctx (its cause), of the file
// (also that there is none at first), or of o. Changes are reported by the system (fsnotify)
// where it can, and looked for each second, or four times a second where it cannot.
func Follow(ctx context.Context, path string, o Options) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f := follower{path: path, options: o}
		_, err := o.maxLine()
		if err == nil {
			err = f.open()
		}
		if err == nil {
			defer func() { _ = f.file.Close() }()
			// Before the first look, so that no change is missed behind it.
			f.changes = watch(path)
			defer f.changes.stop()
			err = f.follow(ctx, yield)
		}
		if err != nil && err != errDone {
			yield(Record{}, err)
		}
	}
}

// errDone says that the caller wants no more.
var errDone = errors.New("done")

// follower reads a log while it grows.
type follower struct {
	path    string
	options Options
	changes *changes
	file    *os.File
	lock    locker

	line    int    // how many lines are read
	offset  int64  // how many bytes: a line begins there
	before  []byte // the last of them
	looked  int64  // no LF stands in between
	refused bool   // the file is in another encoding
}

// open opens the file that is at the path now.
func (f *follower) open() error {
	file, err := os.Open(f.path)
	if err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	if f.file != nil {
		_ = f.file.Close()
	}
	f.file, f.lock = file, newLock(file, f.path)
	f.restart()
	return nil
}

// restart begins with the first line.
func (f *follower) restart() {
	f.line, f.offset, f.before, f.looked, f.refused = 0, 0, nil, 0, false
}

func (f *follower) follow(ctx context.Context, yield func(Record, error) bool) error {
	for {
		end, err := f.ended(ctx)
		if err == nil && end > f.offset {
			err = f.read(ctx, end, true, yield)
		}
		if err == ErrTruncated {
			if !yield(Record{}, err) {
				return errDone
			}
			f.restart()
			continue
		}
		if err != nil {
			return err
		}
		now, err := os.Stat(f.path)
		switch own, e := f.file.Stat(); {
		case e != nil:
			return fmt.Errorf("transcript: %w", e)
		case err == nil && !os.SameFile(own, now):
			if err := f.replaced(ctx, yield); err != nil {
				return err
			}
			continue
		case err != nil && !os.IsNotExist(err):
			return fmt.Errorf("transcript: %w", err)
		}
		if err := f.changes.wait(ctx); err != nil {
			return err
		}
	}
}

// ended returns where the last line ends that is ended. The lock is held for it, so that no
// append is half done; when it does not come free, that is so all the same, or its holder is no
// writer.
func (f *follower) ended(ctx context.Context) (int64, error) {
	err := waitFor(f.lock.TryRLock, f.options.lockTimeout(), ctx.Done())
	if err == errStopped {
		return 0, context.Cause(ctx)
	}
	if err == nil {
		defer func() { _ = f.lock.Unlock() }()
	}
	info, err := f.file.Stat()
	if err != nil {
		return 0, fmt.Errorf("transcript: %w", err)
	}
	size := info.Size()
	if size < f.offset || !f.unchanged() {
		return 0, ErrTruncated
	}
	if size < f.looked { // an append was cut back
		f.looked = f.offset
	}
	end, err := lastEnd(f.file, f.looked, size)
	if f.looked = size; err != nil {
		return 0, err
	}
	return max(end, f.offset), nil
}

// unchanged reports whether the bytes before the place of reading are still those that were
// read.
func (f *follower) unchanged() bool {
	now := make([]byte, len(f.before))
	n, _ := f.file.ReadAt(now, f.offset-int64(len(now)))
	return bytes.Equal(now[:n], f.before)
}

// lastEnd returns the byte behind the last LF between bytes from and to, or 0.
func lastEnd(r io.ReaderAt, from, to int64) (int64, error) {
	var buf [16 << 10]byte
	for to > from {
		part := buf[:min(int64(len(buf)), to-from)]
		n, err := r.ReadAt(part, to-int64(len(part)))
		if err != nil && err != io.EOF {
			return 0, fmt.Errorf("transcript: %w", err)
		}
		to -= int64(len(part))
		if i := bytes.LastIndexByte(part[:n], '\n'); i >= 0 {
			return to + int64(i) + 1, nil
		}
	}
	return 0, nil
}

// read yields what stands from the place of reading to byte end. If that is growing, the last
// line is ended.
func (f *follower) read(
	ctx context.Context, end int64, growing bool, yield func(Record, error) bool,
) error {
	part := &passing{Reader: io.NewSectionReader(f.file, f.offset, end-f.offset), last: f.before}
	from := source{Reader: part, line: f.line, offset: f.offset, growing: growing}
	for rec, err := range records(from, f.options) {
		if f.refused {
			break
		}
		fault, isFault := err.(*Fault)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !isFault:
			return fmt.Errorf("transcript: %w", err)
		case !yield(rec, err):
			return errDone
		}
		f.refused = isFault && fault.Kind == Encoding
	}
	if !f.refused && part.n < end-f.offset {
		return ErrTruncated // while it was read
	}
	f.line += part.lines
	f.offset, f.looked = end, max(end, f.looked)
	f.before = part.last
	return nil
}

// replaced yields what is left of a file that another has taken the place of, and opens that.
func (f *follower) replaced(ctx context.Context, yield func(Record, error) bool) error {
	info, err := f.file.Stat()
	if err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	if size := info.Size(); size > f.offset {
		if err := f.read(ctx, size, false, yield); err != nil && err != ErrTruncated {
			return err
		}
	}
	if !yield(Record{}, ErrReplaced) {
		return errDone
	}
	err = f.open()
	for errors.Is(err, os.ErrNotExist) {
		if err := f.changes.wait(ctx); err != nil {
			return err
		}
		err = f.open()
	}
	f.changes.again()
	return err
}

// passing counts what is read through it, and keeps the last of it.
type passing struct {
	io.Reader
	n     int64
	lines int
	last  []byte
}

// keptBefore is how many bytes tell that a file was written anew.
const keptBefore = 256

func (p *passing) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.n += int64(n)
	p.lines += bytes.Count(b[:n], []byte("\n"))
	p.last = append(p.last, b[max(0, n-keptBefore):n]...)
	if more := len(p.last) - keptBefore; more > 0 {
		p.last = append([]byte(nil), p.last[more:]...)
	}
	return n, err
}
