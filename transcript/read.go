package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math"

	"github.com/untrusted-context/envelope"
)

// Options bound the lines of a log. The zero value is the default, for writing and for reading.
type Options struct {
	// MaxLine is the most bytes that a line may have, its LF not counted. Zero is 64 MiB, a negative value an error. It is what
	// bounds the memory of reading.
	MaxLine int64
}

const defaultMaxLine = 64 << 20

func (o Options) maxLine() (int, error) {
	switch {
	case o.MaxLine < 0:
		return 0, &envelope.Error{Err: envelope.ErrOption, Item: -1, Field: "options.MaxLine", Offset: -1}
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

// Decode decodes the object into v as encoding/json does. For a *[Message] the error is a *[Fault] with its line and offset in the log.
func (r Record) Decode(v any) error {
	err := json.Unmarshal(r.JSON, v)
	fault := (*Fault)(nil)
	if _, whole := v.(*Message); whole && errors.As(err, &fault) {
		return &Fault{r.Line, r.Offset + fault.Offset, fault.Kind}
	}
	return err
}

// Records returns the records of the log in r, each with memory of its own. A line that is none is yielded as a *[Fault], and
// reading goes on behind it unless the caller stops. Blank lines are nothing at all. An error of r is yielded as it is, and is the
// last; what r gave of a line before it is not. Illegal options are an *envelope.Error that wraps envelope.ErrOption, yielded alone.
//
// A log that is being written to may end in part of a line, which is then reported as torn.
func Records(r io.Reader, o Options) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for rec, err := range scan(r, o) {
			rec.JSON = bytes.Clone(rec.JSON)
			if !yield(rec.Record, err) {
				return
			}
		}
	}
}

// Messages returns the messages of the log in r as Records does its records. One that is no message is yielded as a *[Fault] of the kind
// NotMessage.
func Messages(r io.Reader, o Options) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for rec, err := range scan(r, o) {
			var m Message
			if err == nil {
				var kind FaultKind
				var at int
				if m, kind, at = rec.message(rec.start); kind != 0 {
					err = &Fault{rec.Line, rec.Offset + int64(at-rec.start), kind}
				}
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// Inspection is what a log holds: how many records, and each line that is none.
type Inspection struct {
	Records int
	Faults  []*Fault
}

// Inspect reads the whole log in r. The error is one of r or of o; a fault of a line is none.
func Inspect(r io.Reader, o Options) (Inspection, error) {
	return Repair(io.Discard, r, o)
}

// Repair writes all records of src to dst, in their order and with their bytes, each ended by one LF. What it leaves out is
// what the Inspection names, and blank lines, white space around a record and a byte order mark. The error is one of src, dst or o. Dst
// must not be the file that src reads.
func Repair(dst io.Writer, src io.Reader, o Options) (Inspection, error) {
	var in Inspection
	w := bufio.NewWriterSize(dst, 64<<10)
	for rec, err := range scan(src, o) {
		if fault, ok := err.(*Fault); ok {
			in.Faults = append(in.Faults, fault)
			continue
		}
		if err != nil {
			return in, errors.Join(err, w.Flush())
		}
		in.Records++
		_, _ = w.Write(rec.JSON) // its error stays, and comes with the LF
		if err := w.WriteByte('\n'); err != nil {
			return in, err
		}
	}
	return in, w.Flush()
}

// scanned is a record with what it was read by, valid until the next.
type scanned struct {
	Record
	*checker
	start int // of the object in the checker's data
}

// scan is what all readers read by: each record, valid until the next, or what is wrong in its place.
func scan(r io.Reader, o Options) iter.Seq2[scanned, error] {
	return func(yield func(scanned, error) bool) {
		most, err := o.maxLine()
		if err != nil {
			yield(scanned{}, err)
			return
		}
		l := lines{r: r, most: most}
		c := newChecker()
		for number := 1; ; number++ {
			line, offset, long, err := l.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(scanned{}, err)
				return
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
			case start < end:
				if !yield(scanned{Record{number, offset + int64(start), line[start:end]}, &c, start}, nil) {
					return
				}
			}
		}
	}
}

// lines reads lines that end in LF, or at the end of r. The buffer grows to hold the longest, but not one that is too long.
type lines struct {
	r          io.Reader
	most       int // how long a line may be
	buf        []byte
	start, end int   // buf[start:end] is not delivered yet
	offset     int64 // of buf[start] in r
	err        error // what r ended with
	begun      bool
}

// next returns a line, valid until the next call, and where it begins; of one that is too long, only that. The error is that of r: io.EOF
// behind the last line.
func (l *lines) next() (line []byte, offset int64, long bool, err error) {
	if !l.begun {
		l.begun = true
		for l.end < len(byteOrderMark) && l.err == nil {
			l.fill()
		}
		if bytes.HasPrefix(l.buf[:l.end], []byte(byteOrderMark)) {
			l.take(len(byteOrderMark))
		}
	}
	offset = l.offset
	for searched := 0; ; {
		unread := l.buf[l.start:l.end]
		if i := bytes.IndexByte(unread[searched:], '\n'); i >= 0 {
			line = l.take(searched + i + 1)[:searched+i]
			return line, offset, long || len(line) > l.most, nil
		}
		searched = len(unread)
		if long || searched > l.most { // no more of it is kept
			long = true
			l.take(searched)
			searched = 0
		}
		if l.err == io.EOF && l.offset+int64(searched) > offset {
			return l.take(searched), offset, long, nil
		}
		if l.err != nil {
			return nil, 0, false, l.err
		}
		l.fill()
	}
}

// take delivers n bytes.
func (l *lines) take(n int) []byte {
	taken := l.buf[l.start : l.start+n]
	l.start += n
	l.offset += int64(n)
	return taken
}

const leastBuffer = 64 << 10

// fill reads more of r behind what is not delivered yet.
func (l *lines) fill() {
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	}
	if l.end == len(l.buf) {
		// One byte more than a line may have tells a line that is too long.
		grown := make([]byte, min(max(2*len(l.buf), leastBuffer), max(l.most+1, leastBuffer)))
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
