package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"

	"github.com/untrusted-context/envelope/internal/strictjson"
)

// Inspection is what a log holds.
type Inspection struct {
	Records   int      // lines that are records
	Recovered int      // whole records in the faulty lines, which [Repair] delivers besides
	Faults    []*Fault // each line that is neither a record nor blank
}

// Inspect reads the whole log in r. The error is one of r or of o; a fault of a line is none.
func Inspect(r io.Reader, o Options) (Inspection, error) {
	in, _, err := repair(io.Discard, r, o)
	return in, err
}

// ErrNothing is the error of a repair that would deliver nothing of an input that is not empty.
var ErrNothing = errors.New("transcript: no whole record in an input that is not empty")

// Repair writes all whole records of src to dst, in their order and with their bytes, each ended
// by one LF. Those that stand in a faulty line are among them: see [Recover]. What it leaves out
// is the rest of the lines that the Inspection names, blank lines, white space around a record
// and a byte order mark.
//
// The error is one of src, dst or o, or [ErrNothing]. What is in dst is then no repaired log.
// Dst must not be the file that src reads.
func Repair(dst io.Writer, src io.Reader, o Options) (Inspection, error) {
	in, empty, err := repair(dst, src, o)
	if err == nil && !empty && in.Records+in.Recovered == 0 {
		err = ErrNothing
	}
	return in, err
}

func repair(dst io.Writer, src io.Reader, o Options) (in Inspection, empty bool, err error) {
	counted := &countingReader{Reader: src}
	w := bufio.NewWriterSize(dst, 64<<10)
	faulty := 0 // the last line that was
	for rec, err := range scan(source{Reader: counted, recover: true}, o) {
		if fault, ok := err.(*Fault); ok {
			in.Faults = append(in.Faults, fault)
			faulty = fault.Line
			continue
		}
		if err != nil {
			return in, false, errors.Join(err, w.Flush())
		}
		if rec.Line == faulty {
			in.Recovered++
		} else {
			in.Records++
		}
		_, _ = w.Write(rec.JSON) // its error stays, and comes with the LF
		if err := w.WriteByte('\n'); err != nil {
			return in, false, err
		}
	}
	return in, counted.n == 0, w.Flush()
}

type countingReader struct {
	io.Reader
	n int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += int64(n)
	return n, err
}

// Recover returns the records of the log in r as [Records] does and, behind the fault of a line,
// the whole records that stand in it: two on one line, one before or behind NUL bytes, one
// behind the torn beginning of another. They have the Line of the fault.
//
// An object that could be a value of the torn or headless record beside it is not recovered,
// since a tool's arguments, which anybody may have written, would become a message of their own.
// So none is where the text before it, on the line, leaves room for a value; and none behind
// other text where a comma or a closing bracket follows. Nothing is recovered from a line that
// is too long.
func Recover(r io.Reader, o Options) iter.Seq2[Record, error] {
	return records(source{Reader: r, recover: true}, o)
}

// recovered calls yield with the bounds of each whole record in the faulty line that was checked
// last, until it returns false.
func (c *checker) recovered(yield func(start, end int) bool) bool {
	line := c.Data
	defer func() { c.Data = line }()
	for begin := 0; begin < len(line); {
		// NUL bytes are no part of any record.
		end := len(line)
		if nul := bytes.IndexByte(line[begin:], 0); nul >= 0 {
			end = begin + nul
		}
		c.Data = line[:end]
		if !c.recoveredFrom(begin, yield) {
			return false
		}
		begin = end + 1
	}
	return true
}

// place is what stands before an object.
type place uint8

const (
	lineStart   place = iota // nothing on the line
	behindOther              // NUL bytes, another record, or the torn beginning of one
	behindJunk               // text that is no JSON, or the end of a record without its beginning
)

// recoveredFrom does it for a stretch without NUL bytes, from byte i to the end of the data.
func (c *checker) recoveredFrom(i int, yield func(start, end int) bool) bool {
	before := lineStart
	if i > 0 {
		before = behindOther
	}
	for i = c.Space(i); bytes.HasPrefix(c.Data[i:], []byte(byteOrderMark)); {
		i = c.Space(i + len(byteOrderMark))
	}
	for first := true; i < len(c.Data); first = false {
		// The first value of a line may be an array, whose objects are no records.
		if c.Data[i] != '{' && !(first && c.Data[i] == '[') {
			if i, before = c.nextRecord(i), behindJunk; i == len(c.Data) {
				break
			}
		}
		end, err := c.loosely(i)
		switch {
		case err == nil:
			if c.whole(i, end, before) && !yield(i, end) {
				return false
			}
			i, before = c.Space(end), behindOther
		case err.Reason == strictjson.UnexpectedEnd:
			return true // what is left is part of this value
		default:
			second := c.second(err)
			if before = behindOther; second <= i {
				second, before = c.nextRecord(max(err.Offset, i+1)), behindJunk
			}
			i = second
		}
	}
	return true
}

// loosely returns where the value at byte i ends, whatever its strings and names are. Of one
// that is nested too deeply it only counts the brackets.
func (c *checker) loosely(i int) (int, *strictjson.Error) {
	c.Loose = true
	end, err := c.Value(i)
	c.Loose = false
	if err == nil || err.Reason != strictjson.TooDeep {
		return end, err
	}
	depth := 0
	for end = i; end < len(c.Data); end++ {
		switch c.Data[end] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return end + 1, nil
			}
		case '"':
			for end++; end < len(c.Data) && c.Data[end] != '"'; end++ {
				if c.Data[end] == '\\' {
					end++
				}
			}
		}
	}
	return 0, &strictjson.Error{Reason: strictjson.UnexpectedEnd, Offset: len(c.Data)}
}

// whole reports whether the value at bytes i to end is a record of its own.
func (c *checker) whole(i, end int, before place) bool {
	if c.Data[i] != '{' {
		return false
	}
	if _, err := c.Value(i); err != nil {
		return false
	}
	if before == lineStart {
		return true
	}
	after := c.Space(end)
	if after < len(c.Data) && bytes.IndexByte([]byte(",]}"), c.Data[after]) >= 0 {
		return false // a value of a record whose beginning is lost
	}
	return before == behindOther || c.Data[c.Space(i+1)] != '}' // any text may hold {}
}

// nextRecord returns the first byte from i on where a record begins, or the end of the data.
func (c *checker) nextRecord(i int) int {
	for ; i < len(c.Data); i++ {
		brace := bytes.IndexByte(c.Data[i:], '{')
		if brace < 0 {
			break
		}
		if i += brace; c.begins(i) {
			return i
		}
	}
	return len(c.Data)
}
