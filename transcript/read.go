package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// Options bound the lines of a log and the wait for its lock. The zero value is the default, for
// writing and for reading.
type Options struct {
	// MaxLine is the most bytes that a line may have, its LF not counted. Zero is 64 MiB, a
	// negative value an error. It is what bounds the memory of reading.
	MaxLine int64
	// LockTimeout is how long an append waits for the lock that another program holds. Zero is
	// ten seconds, a negative value no bound.
	LockTimeout time.Duration
}

const defaultMaxLine = 64 << 20

func (o Options) maxLine() (int, error) {
	switch {
	case o.MaxLine < 0:
		return 0, &envelope.Error{
			Err: envelope.ErrOption, Item: -1, Field: "options.MaxLine", Offset: -1,
		}
	case o.MaxLine == 0:
		return defaultMaxLine, nil
	}
	return int(min(o.MaxLine, math.MaxInt/2)), nil
}

// Record is one object of a log.
type Record struct {
	Line   int   // from 1
	Offset int64 // of the object's first byte, from 0, in the whole log
	JSON   json.RawMessage
}

// Decode decodes the object into v as encoding/json does. For a *[Message] the error is a
// *[Fault], for anything else a *[DecodeError], both with line and offset in the log. The record
// stays as it is: what does not decode into one type may decode into another.
func (r Record) Decode(v any) error {
	if m, ok := v.(*Message); ok && m != nil {
		err := m.UnmarshalJSON(r.JSON)
		if fault := (*Fault)(nil); errors.As(err, &fault) {
			return &Fault{r.Line, r.Offset + fault.Offset, fault.Kind}
		}
		return err
	}
	if err := json.Unmarshal(r.JSON, v); err != nil {
		return &DecodeError{Line: r.Line, Offset: r.Offset + int64(valueAt(r.JSON, err)), Err: err}
	}
	return nil
}

// DecodeError says that a record does not decode into a value of the caller's. Its message holds
// nothing of the record; what it wraps may.
type DecodeError struct {
	Line   int   // from 1
	Offset int64 // where the value begins that does not decode; where the object does, if unknown
	Err    error // of encoding/json, or of the value's own UnmarshalJSON
}

func (e *DecodeError) Error() string {
	return "transcript: line " + strconv.Itoa(e.Line) + ": does not decode (byte " +
		strconv.FormatInt(e.Offset, 10) + ")"
}

func (e *DecodeError) Unwrap() error { return e.Err }

// valueAt returns where the value begins that an error of encoding/json is about, or 0.
func valueAt(object []byte, err error) int {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return 0
	}
	if offsetIsStart {
		return int(min(wrong.Offset, int64(len(object))))
	}
	// The error has the byte behind the value, or behind its first, or one more: the value is the
	// last that begins before.
	at := 0
	for i := 0; i < len(object) && int64(i) < wrong.Offset; i++ {
		switch c := object[i]; {
		case c == '"':
			end := strictjson.StringEnd(object, i)
			if next := nextByte(object[end:]); next != ':' {
				at = i
			}
			i = end - 1
		case c == '{' || c == '[':
			at = i
		case bytes.IndexByte([]byte("-0123456789tfn"), c) >= 0:
			at = i
			for i+1 < len(object) && bytes.IndexByte([]byte(" \t\r\n,]}"), object[i+1]) < 0 {
				i++
			}
		}
	}
	return at
}

// offsetIsStart is how GOEXPERIMENT=jsonv2 differs: it says where the value begins.
var offsetIsStart = func() bool {
	var list []int
	var wrong *json.UnmarshalTypeError
	return errors.As(json.Unmarshal([]byte(`["x"]`), &list), &wrong) && wrong.Offset == 1
}()

// nextByte returns the first byte that is no white space, or 0.
func nextByte(b []byte) byte {
	if b = bytes.TrimLeft(b, " \t\r\n"); len(b) > 0 {
		return b[0]
	}
	return 0
}

// Records returns the records of the log in r, each with memory of its own. A line that is none
// is yielded as a *[Fault], and reading goes on behind it unless the caller stops. Blank lines
// are skipped. An error of r is yielded as it is, and is the last; what r gave of a line before
// it is not. Illegal options are an *envelope.Error that wraps envelope.ErrOption, yielded
// alone.
//
// A log that is being written to may end in part of a line, which is then reported as torn.
// [Follow] waits for the rest of it.
func Records(r io.Reader, o Options) iter.Seq2[Record, error] {
	return records(source{Reader: r}, o)
}

func records(r source, o Options) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r.give = true
		for rec, err := range scan(r, o) {
			if len(rec.JSON) < largestBuffer { // a longer one is in memory of its own already
				rec.JSON = bytes.Clone(rec.JSON)
			}
			if !yield(rec.Record, err) {
				return
			}
		}
	}
}

// Messages returns the messages of the log in r as [Records] does its records. A record that is
// no message is yielded as a *[Fault] of the kind NotMessage.
func Messages(r io.Reader, o Options) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for rec, err := range scan(source{Reader: r}, o) {
			var m Message
			if err == nil {
				var kind FaultKind
				var at int
				if m, kind, at = rec.message(rec.start, rec.start+len(rec.JSON)); kind != 0 {
					err = &Fault{rec.Line, rec.Offset + int64(at-rec.start), kind}
				}
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// source is a log, or the part of one from some line on.
type source struct {
	io.Reader
	line    int   // how many lines stand before it
	offset  int64 // how many bytes
	growing bool  // a last line without LF is not finished yet, and is not delivered
	recover bool  // whole records in faulty lines are delivered too, behind the fault
	give    bool  // records that are longer than a buffer are the caller's
}

// scanned is a record with what it was read by, valid until the next.
type scanned struct {
	Record
	*checker
	start int // of the object in the checker's data
}

// scan is what all readers read by: each record, valid until the next, or what is wrong in its
// place.
func scan(r source, o Options) iter.Seq2[scanned, error] {
	return func(yield func(scanned, error) bool) {
		most, err := o.maxLine()
		if err != nil {
			yield(scanned{}, err)
			return
		}
		l := lines{r: r, most: most, offset: r.offset, growing: r.growing, give: r.give}
		if r.offset == 0 && l.begin() {
			yield(scanned{}, &Fault{1, 0, Encoding})
			return
		}
		c := newChecker()
		for number := r.line + 1; ; number++ {
			line, offset, long, err := l.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(scanned{}, err)
				return
			}
			deliver := func(start, end int) bool {
				record := Record{number, offset + int64(start), c.Data[start:end]}
				return yield(scanned{record, &c, start}, nil)
			}
			start, end, kind, at := 0, 0, TooLong, most
			if !long {
				start, end, kind, at = c.check(line)
			}
			switch {
			case kind != 0:
				if !yield(scanned{}, &Fault{number, offset + int64(at), kind}) {
					return
				}
				if r.recover && !long && !c.recovered(deliver) {
					return
				}
			case start < end:
				if !deliver(start, end) {
					return
				}
			}
		}
	}
}

// lines reads lines that end in LF, or at the end of r. A line that is longer than the buffer is
// collected in pieces and joined when its end is found, so that no more than twice its size is
// needed; one that is too long is not collected.
type lines struct {
	r          io.Reader
	most       int // how long a line may be
	growing    bool
	give       bool // a joined line is the caller's, and not used again
	buf        []byte
	start, end int      // buf[start:end] is not delivered yet
	offset     int64    // of buf[start] in r
	pieces     [][]byte // what stands before buf[start] of a line, full buffers all
	spare      [][]byte // pieces to be used again
	joined     []byte
	err        error // what r ended with
}

// begin reports whether r begins as another encoding does, and skips a byte order mark. It reads
// no more than the first line.
func (l *lines) begin() (otherEncoding bool) {
	for l.end < headLength && l.err == nil && bytes.IndexByte(l.buf[:l.end], '\n') < 0 {
		l.fill()
	}
	if bytes.HasPrefix(l.buf[:l.end], []byte(byteOrderMark)) {
		l.take(len(byteOrderMark))
	}
	return encoded(l.buf[:l.end])
}

// next returns a line, valid until the next call, and where it begins; of one that is too long,
// only that. The error is that of r: io.EOF behind the last line.
func (l *lines) next() (line []byte, offset int64, long bool, err error) {
	offset = l.offset
	for searched := 0; ; {
		unread := l.buf[l.start:l.end]
		if i := bytes.IndexByte(unread[searched:], '\n'); i >= 0 {
			line = l.join(l.take(searched + i + 1)[:searched+i])
			return line, offset, long || len(line) > l.most, nil
		}
		searched = len(unread)
		if long || len(l.pieces)*largestBuffer+searched > l.most { // no more of it is kept
			long = true
			l.reuse()
			l.take(searched)
			searched = 0
		}
		if searched == largestBuffer {
			l.setAside()
			searched = 0
		}
		if l.err == io.EOF && l.offset+int64(searched) > offset && !l.growing {
			return l.join(l.take(searched)), offset, long, nil
		}
		if l.err != nil {
			return nil, 0, false, l.err
		}
		l.fill()
	}
}

// setAside makes a piece of the whole buffer.
func (l *lines) setAside() {
	l.pieces = append(l.pieces, l.take(len(l.buf)))
	if last := len(l.spare) - 1; last >= 0 {
		l.buf, l.spare = l.spare[last], l.spare[:last]
	} else {
		l.buf = make([]byte, largestBuffer)
	}
	l.start, l.end = 0, 0
}

// join returns the line that ends in rest.
func (l *lines) join(rest []byte) []byte {
	if len(l.pieces) == 0 {
		return rest
	}
	size := len(l.pieces)*largestBuffer + len(rest)
	line := l.joined
	if l.give || cap(line) < size {
		line = make([]byte, 0, size)
	}
	line = line[:0]
	for _, piece := range l.pieces {
		line = append(line, piece...)
	}
	line = append(line, rest...)
	l.reuse()
	if !l.give {
		l.joined = line
	}
	return line
}

// reuse keeps some of the pieces for the next long line.
func (l *lines) reuse() {
	const kept = 8
	l.spare = append(l.spare, l.pieces[:min(len(l.pieces), max(0, kept-len(l.spare)))]...)
	l.pieces = nil
}

// take delivers n bytes.
func (l *lines) take(n int) []byte {
	taken := l.buf[l.start : l.start+n]
	l.start += n
	l.offset += int64(n)
	return taken
}

const (
	leastBuffer   = 64 << 10
	largestBuffer = 1 << 20
)

// fill reads more of r behind what is not delivered yet.
func (l *lines) fill() {
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	}
	if l.end == len(l.buf) {
		// One byte more than a line may have tells a line that is too long.
		size := min(max(2*len(l.buf), leastBuffer), max(l.most+1, leastBuffer), largestBuffer)
		grown := make([]byte, size)
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	for range 100 {
		var n int
		n, l.err = l.r.Read(l.buf[l.end:])
		l.end += n
		if n > 0 || l.err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}
