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

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/encode"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// Log is a file open for appending. Several goroutines may share one, and several processes one file: each append takes an advisory
// lock for its one write, on the file itself (flock) or, where that would keep readers out, on a file beside it whose name ends in
// ".lock". Who writes to the file without the lock is not kept from it.
//
// A Log stays with the file that it opened: when another is put in its place, open it anew.
type Log struct {
	path string
	most int

	mu   sync.Mutex
	file file
	lock locker
	buf  []byte
	end  int64 // the size of the file after the last append, where a line ends
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

// locker is an advisory lock between processes.
type locker interface {
	Lock() error
	Unlock() error
}

// Open opens the log at path for appending and creates it if need be, readable by its owner alone. It neither reads nor writes: a last
// line that a dead writer left torn is ended by the next append.
func Open(path string, o Options) (*Log, error) {
	most, err := o.maxLine()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	return &Log{path: path, most: most, file: f, lock: newLock(f, path)}, nil
}

// Append writes each record as one line, all of them with one write, or none. A record is a [Message], a json.RawMessage, a [Record], or
// any value that encodes to a JSON object. A raw message is kept as the Value of a [Member] is, without white space around it. No records
// are nothing to do. Every line is one to
// every line reader that decodes UTF-8, and at most Options.MaxLine bytes long.
//
// A record that the readers of this package would not give back is refused with a *[RecordError] before anything is written. A write that fails
// is cut back to where it began and its error returned; when that fails too, the error is also [ErrFragment]. Nothing is synced: a record
// survives the death of the process, and after [Log.Sync] that of the machine.
func (l *Log) Append(records ...any) error {
	if len(records) == 0 {
		return nil
	}
	// Encoding may run code of the caller's, which may append to this log: no lock is held for it.
	l.mu.Lock()
	buf := l.buf
	l.buf = nil
	l.mu.Unlock()
	// The LF in front is for a torn last line. Whether there is one shows under the lock.
	buf = append(buf[:0], '\n')
	for i, record := range records {
		start := len(buf)
		out, err := appendRecord(buf, record)
		if err != nil {
			if refused := (*RecordError)(nil); errors.As(err, &refused) {
				refused.Record = i
			}
			return err
		}
		if len(out)-start > l.most {
			return &RecordError{Err: ErrTooLong, Record: i, Offset: -1}
		}
		buf = append(out, '\n')
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if cap(buf) <= keptBuffer {
		l.buf = buf
	}
	if err := l.lock.Lock(); err != nil {
		return fmt.Errorf("transcript: lock: %w", err)
	}
	err := l.write(buf)
	if e := l.lock.Unlock(); e != nil && err == nil {
		err = fmt.Errorf("transcript: appended, but the lock stays: %w", e)
	}
	return err
}

// keptBuffer is the largest buffer that a Log keeps from one append to the next.
const keptBuffer = 1 << 20

// write writes what follows the LF that data begins with, and the LF too where a last line has none. The lock is held.
func (l *Log) write(data []byte) error {
	size, err := l.file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	last := []byte("\n")
	if size != l.end && size > 0 { // at 0 another program has emptied it
		if _, err := l.file.ReadAt(last, size-1); err != nil {
			return fmt.Errorf("transcript: %w", err)
		}
	}
	if last[0] == '\n' {
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

// Close closes the file, after which the other methods fail with os.ErrClosed.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// What Append reports besides the sentinels of package envelope: ErrInvalidUTF8, ErrNotObject, ErrSyntax, ErrDuplicateName,
// ErrLoneSurrogate and ErrTooDeep.
var (
	ErrTooLong  = errors.New("longer than Options.MaxLine")
	ErrFragment = errors.New("a part of the append stays in the file")
)

// RecordError says which record is refused, and why. Its message never holds content. What [errors.Unwrap] and its kin find below
// the sentinel may be an error of other code, such as a record's own MarshalJSON, which makes no such promise.
type RecordError struct {
	Err    error  // what: ErrTooLong or one of package envelope's Err… values
	Record int    // the index of the record in the call
	Field  string // the part of a Message, such as "content" or "extra[0].value"; "" for the record itself
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

// appendRaw appends JSON in strict form, a field of a message or, when that is "", a record, as part of one line.
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
