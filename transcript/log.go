package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/encode"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// Log is a file open for appending. Several goroutines may share one, and several processes one
// file: each append takes an advisory lock for its one write, on the file itself (flock) or,
// where that would keep readers out, on a file beside it whose name ends in ".lock". A program
// that writes to the file without the lock is not kept from it.
//
// A Log stays with the file that it opened, also when another is put in its place: then open it
// anew.
type Log struct {
	path    string
	most    int
	timeout time.Duration
	stop    chan struct{} // closed with the log

	mu     sync.Mutex // held for moments and for a write, never while the lock is waited for
	closed bool
	file   file
	lock   locker
	buf    []byte
	end    int64 // the size of the file after the last append, where a line ended
	utf8   bool  // the beginning of the file was looked at, and is in no other encoding
	tail   [2]byte
}

// file is what a Log needs of an *os.File.
type file interface {
	io.Writer
	io.ReaderAt
	io.Seeker
	io.Closer
	Truncate(size int64) error
	Sync() error
	Stat() (os.FileInfo, error)
}

// Open opens the log at path for appending and creates it if need be, readable by its owner
// alone; the permission of a file that is there is left as it is. It writes nothing: a last line
// that a dead writer left torn is ended by the next append. A file in another encoding than
// UTF-8, or a compressed one, is refused with a *[Fault] of the kind Encoding.
func Open(path string, o Options) (*Log, error) {
	most, err := o.maxLine()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	l := &Log{
		path: path, most: most, timeout: o.lockTimeout(), stop: make(chan struct{}),
		file: f, lock: newLock(f, path),
	}
	if err := l.checkEncoding(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return l, nil
}

// checkEncoding looks at the beginning of the file, until there is enough of it.
func (l *Log) checkEncoding() error {
	if l.utf8 {
		return nil
	}
	var head [headLength]byte
	n, err := l.file.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("transcript: %w", err)
	}
	if encoded(head[:n]) {
		return &Fault{Line: 1, Offset: 0, Kind: Encoding}
	}
	l.utf8 = n == headLength
	return nil
}

// Append writes each record as one line, all of them with one write, or none. A record is a
// [Message], a json.RawMessage, a [Record], or any value that encodes to a JSON object. A raw
// message is kept as the Value of a [Member] is, without white space around it. No records are
// nothing to do. Every line is one to every line reader that decodes UTF-8, and at most
// Options.MaxLine bytes long.
//
// A record that the readers of this package would not give back is refused with a *[RecordError]
// before anything is written. When another program holds the lock for longer than
// Options.LockTimeout, nothing is written and the error is [ErrLocked]. A write that fails is
// cut back to where it began and its error returned; when that fails too, the error is also
// [ErrFragment]. Nothing is synced: a record survives the death of the process, and after
// [Log.Sync] that of the machine.
func (l *Log) Append(records ...any) error {
	if len(records) == 0 {
		return nil
	}
	buf, err := l.encode(records)
	if err != nil {
		return err
	}
	if err := l.acquire(); err != nil {
		return err
	}
	defer l.mu.Unlock()
	if cap(buf) <= keptBuffer {
		l.buf = buf
	}
	err = l.write(buf)
	if e := l.lock.Unlock(); e != nil && err == nil {
		err = fmt.Errorf("transcript: appended, but the lock stays: %w", e)
	}
	return err
}

// keptBuffer is the largest buffer that a Log keeps from one append to the next.
const keptBuffer = 1 << 20

// encode returns the lines of records, behind an LF that is for a torn last line of the file.
// Whether there is one shows under the lock.
func (l *Log) encode(records []any) ([]byte, error) {
	// Encoding may run code of the caller's, which may append to this log: nothing is held for
	// it.
	l.mu.Lock()
	buf := l.buf
	l.buf = nil
	l.mu.Unlock()
	buf = append(buf[:0], '\n')
	for i, record := range records {
		start := len(buf)
		out, err := appendRecord(buf, record)
		if err != nil {
			if refused := (*RecordError)(nil); errors.As(err, &refused) {
				refused.Record = i
			}
			return nil, err
		}
		if len(out)-start > l.most {
			return nil, &RecordError{Err: ErrTooLong, Record: i, Offset: -1}
		}
		buf = append(out, '\n')
	}
	return buf, nil
}

// acquire takes the lock, and returns with l.mu held when it has it.
func (l *Log) acquire() error {
	err := waitFor(l.tryAcquire, l.timeout, l.stop)
	switch err {
	case nil:
		return nil
	case errStopped:
		err = os.ErrClosed
	case ErrLocked:
		return fmt.Errorf("transcript: append: %w", err)
	}
	return fmt.Errorf("transcript: lock: %w", err)
}

func (l *Log) tryAcquire() (got bool, err error) {
	l.mu.Lock()
	if l.closed {
		err = os.ErrClosed
	} else {
		got, err = l.lock.TryLock()
	}
	if !got || err != nil {
		l.mu.Unlock()
		return false, err
	}
	return true, nil
}

// write writes what follows the LF that data begins with, and the LF too where a last line has
// none. The lock is held.
func (l *Log) write(data []byte) error {
	size, ended, err := l.lastLine()
	if err == nil {
		err = l.checkEncoding()
	}
	if err != nil {
		return err
	}
	if ended {
		data = data[1:]
	}
	n, err := l.file.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil {
		l.end = size + int64(n)
		return nil
	}
	if n > 0 {
		if e := l.cut(size); e != nil {
			return fmt.Errorf("transcript: append: %w; %w: %w", err, ErrFragment, e)
		}
	}
	return fmt.Errorf("transcript: append: %w", err)
}

// lastLine returns the size of the file and whether its last line is ended. Another program may
// have appended to the file, cut it, or emptied it and written anew, to the same size too: so
// the end is read each time.
func (l *Log) lastLine() (size int64, ended bool, err error) {
	// As a rule nobody has written in between: then one byte is there, and no second.
	if l.end > 0 {
		if readOnce(l.file, l.tail[:], l.end-1) == 1 {
			return l.end, l.tail[0] == '\n', nil
		}
	}
	size, err = l.file.Seek(0, io.SeekEnd)
	if size < l.end {
		l.utf8 = false
	}
	if err == nil && size > 0 {
		_, err = l.file.ReadAt(l.tail[:1], size-1)
	}
	if err != nil {
		return 0, false, fmt.Errorf("transcript: %w", err)
	}
	return size, size == 0 || l.tail[0] == '\n', nil
}

// cut makes the file end at byte size.
func (l *Log) cut(size int64) error {
	if l.file.Truncate(size) == nil {
		return nil
	}
	// A handle for appending cannot do that on every system.
	f, err := os.OpenFile(l.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	own, err := l.file.Stat()
	if err != nil {
		return err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(own, now) {
		return errors.Join(errors.New("another file has taken its place"), err)
	}
	return f.Truncate(size)
}

// Sync commits what was appended to stable storage.
func (l *Log) Sync() error { return l.file.Sync() }

// Close closes the file, after which the other methods fail with os.ErrClosed. It does not wait
// for the lock: an append that does is ended with that error too, and writes nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.stop)
	}
	return l.file.Close()
}

// What Append reports besides [ErrLocked] and the sentinels of package envelope: ErrInvalidUTF8,
// ErrNotObject, ErrSyntax, ErrDuplicateName, ErrLoneSurrogate, ErrTooDeep and, for the parts of
// a message, ErrOption.
var (
	ErrTooLong  = errors.New("longer than Options.MaxLine")
	ErrFragment = errors.New("a part of the append stays in the file")
)

// RecordError says which record is refused, and why. Its message never holds content. What
// [errors.Unwrap] and its kin find below the sentinel may be an error of other code, such as a
// record's own MarshalJSON, which makes no such promise.
type RecordError struct {
	Err    error  // what: ErrTooLong or one of package envelope's Err… values
	Record int    // the index of the record in the call
	Field  string // the part of a Message, as "content" or "extra[0].value"; "" for the record
	Offset int    // the first byte at fault, from 0, within the field; -1 when it is not about one
	cause  error
}

func (e *RecordError) Error() string {
	text := "transcript: record " + strconv.Itoa(e.Record) + ": "
	if e.Field != "" {
		text += e.Field + ": "
	}
	text += e.Err.Error()
	if e.Offset >= 0 {
		text += " (byte " + strconv.Itoa(e.Offset) + ")"
	}
	return text
}

// Unwrap returns the sentinel and, where other code reported the fault, that code's error.
func (e *RecordError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.cause}
}

// appendRecord appends the one line that a record is, without its end.
func appendRecord(dst []byte, record any) ([]byte, error) {
	raw := json.RawMessage(nil)
	switch r := record.(type) {
	case Message:
		return appendMessage(dst, &r)
	case *Message:
		if r == nil {
			return nil, &RecordError{Err: envelope.ErrNotObject, Offset: -1}
		}
		return appendMessage(dst, r)
	case Record:
		raw = r.JSON
	case *Record:
		if r != nil {
			raw = r.JSON
		}
	case json.RawMessage:
		raw = r
	case *json.RawMessage:
		if r != nil {
			raw = *r
		}
	default:
		data, err := encode.JSON(record, maxDepth)
		if fault, ok := err.(*strictjson.Error); ok {
			return nil, &RecordError{Err: fault.Sentinel(), Offset: fault.Offset}
		}
		if err != nil {
			return nil, &RecordError{Err: envelope.ErrNotObject, Offset: -1, cause: err}
		}
		raw = data
	}
	return appendRaw(dst, raw, "")
}

// appendRaw appends JSON in strict form, a field of a message or, when that is "", a record, as
// part of one line.
func appendRaw(dst, raw []byte, field string) ([]byte, error) {
	s := strictjson.Scanner{Data: raw, MaxDepth: maxDepth, AnyNumber: true}
	if field != "" {
		s.MaxDepth-- // the message is the outermost level
	}
	start, end, fault := s.Whole()
	if fault != nil {
		return nil, &RecordError{Err: fault.Sentinel(), Field: field, Offset: fault.Offset}
	}
	if field == "" && raw[start] != '{' {
		return nil, &RecordError{Err: envelope.ErrNotObject, Offset: start}
	}
	raw = raw[start:end]
	if bytes.ContainsAny(raw, "\n\r") {
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			return nil, &RecordError{Err: envelope.ErrSyntax, Field: field, Offset: -1, cause: err}
		}
		raw = compact.Bytes()
	}
	return envelope.EscapeJSON(dst, raw, 0), nil
}
