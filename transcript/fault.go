package transcript

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/untrusted-context/envelope/internal/forms"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// Fault is a line that is no record, as an error. Its message holds nothing of the line.
type Fault struct {
	Line   int   // from 1
	Offset int64 // of the first byte at fault, from 0, in the whole log
	Kind   FaultKind
}

func (f *Fault) Error() string {
	text := "transcript: line " + strconv.Itoa(f.Line) + ": " + f.Kind.String() +
		" (byte " + strconv.FormatInt(f.Offset, 10) + ")"
	if f.Kind == Encoding {
		text += ": not UTF-8 text but UTF-16, UTF-32 or compressed: convert or decompress it first"
	}
	return text
}

// FaultKind says what is wrong with a line. Each line has one fault at the most: the first of
// its text, but that NUL bytes, a byte order mark and a second record explain what else they
// cause.
type FaultKind uint8

// The kinds, and which byte is at fault.
const (
	// Torn: it is cut short, at the end of the file or before a newline. The byte is the one
	// after its last.
	Torn FaultKind = iota + 1
	// Spliced: a second record, or the beginning of one, stands behind the first or inside a
	// string of it. The byte is where the second begins.
	Spliced
	// NULPadding: it holds NUL bytes, as a crash leaves them. The byte is the first of them.
	NULPadding
	// InvalidUTF8: the byte is the first that is no part of a character.
	InvalidUTF8
	// LoneSurrogate: an escape is half of a surrogate pair. The byte is its backslash.
	LoneSurrogate
	// NotObject: it is another JSON value or none, or nested more than 10,000 deep. The byte is
	// where that shows.
	NotObject
	// DuplicateKey: an object has two members of one name, however spelt. The byte is the second
	// one's quote.
	DuplicateKey
	// TooLong: it has more than Options.MaxLine bytes. The byte is the first beyond.
	TooLong
	// BOM: it begins with a byte order mark, and not at offset 0, where one is skipped.
	BOM
	// Encoding: the whole file is UTF-16, UTF-32, or compressed with gzip, zstd or another of
	// the usual programs, as its first bytes tell. It is the only fault, of line 1 and byte 0,
	// and nothing of the file is read. The file is not damaged: convert or decompress it first.
	Encoding
	// NotMessage: it has no role that is a string, or no content. Only Messages says so: to
	// Records it is a record. The byte is where the other value begins, or the object.
	NotMessage
)

var faultKinds = [...]string{
	"", "torn", "spliced", "nul-padding", "invalid-utf8", "lone-surrogate", "not-object",
	"duplicate-key", "too-long", "bom", "encoding", "not-message",
}

func (k FaultKind) String() string {
	if k > 0 && int(k) < len(faultKinds) {
		return faultKinds[k]
	}
	return "unknown"
}

// maxDepth is how deeply a record may nest: encoding/json reads no more.
const maxDepth = 10000

const byteOrderMark = "\ufeff"

// headLength is how many bytes of a file tell its encoding: more than any mark, and four characters
// of UTF-16.
const headLength = 8

// encoded reports whether a file that begins with head is in another encoding than UTF-8, or
// compressed. It looks at the first line at most, since no reader waits for more.
func encoded(head []byte) bool {
	head = head[:min(len(head), headLength)]
	if end := bytes.IndexByte(head, '\n'); end >= 0 {
		head = head[:end]
	}
	if _, ok := forms.Of(head); ok {
		return true
	}
	// UTF-16 without a mark: the first characters of a log are ASCII, and of each one byte is NUL.
	return len(head) == headLength && (alternates(head) || head[0] == 0 && alternates(head[1:]))
}

// alternates reports whether b is ASCII and NUL in turns.
func alternates(b []byte) bool {
	for i, c := range b {
		if c >= utf8.RuneSelf || (c == 0) != (i%2 == 1) {
			return false
		}
	}
	return true
}

// checker decides whether a line is a record. Its Data is the line that it checked last.
type checker struct{ strictjson.Scanner }

func newChecker() checker {
	return checker{strictjson.Scanner{MaxDepth: maxDepth, AnyNumber: true}}
}

// check returns the bounds of the record that a line is, nothing for a blank line, or what is
// wrong at which byte.
func (c *checker) check(line []byte) (start, end int, kind FaultKind, at int) {
	whole := line
	end = len(line)
	for end > 0 && strictjson.IsSpace(line[end-1]) { // in a file of CRLF, torn is before the CR
		end--
	}
	line = line[:end]
	c.Data = line
	start = c.Space(0)
	if start == end {
		return start, end, 0, 0
	}
	after, err := 0, &strictjson.Error{Reason: strictjson.Syntax, Offset: start}
	if line[start] == '{' {
		after, err = c.Value(start)
	}
	if err == nil && after == end {
		return start, end, 0, 0
	}
	if kind, at = c.fault(start, after, err); kind == Torn {
		at = len(bytes.TrimSuffix(whole, []byte("\r"))) // white space may be the last of a string
	}
	return start, end, kind, at
}

// fault names what is wrong with a line whose first value ends at byte after, before the line
// does, or is wrong.
func (c *checker) fault(start, after int, err *strictjson.Error) (kind FaultKind, at int) {
	line := c.Data
	if nul := bytes.IndexByte(line, 0); nul >= 0 {
		return NULPadding, nul
	}
	if bytes.HasPrefix(line[start:], []byte(byteOrderMark)) {
		return BOM, start
	}
	if err == nil {
		return Spliced, c.Space(after)
	}
	if err.Reason == strictjson.UnexpectedEnd {
		return Torn, len(line)
	}
	at = err.Offset
	if second := c.second(err); second > start {
		return Spliced, second
	}
	switch err.Reason {
	case strictjson.InvalidUTF8:
		return InvalidUTF8, at
	case strictjson.LoneSurrogate:
		return LoneSurrogate, at
	case strictjson.DuplicateName:
		return DuplicateKey, at
	case strictjson.Syntax:
		if r, width := utf8.DecodeRune(line[at:]); r == utf8.RuneError && width == 1 {
			return InvalidUTF8, at
		}
	}
	return NotObject, at
}

// second returns where a record begins that was written behind the torn text of another and made
// the error, or -1. A text that is cut off is right up to the cut, so the record behind it makes
// the error at once: it is no continuation (1), its first quote closes the string that the cut
// left open, behind which no name can go on (2), or it leaves half a character or a lone
// surrogate (3).
func (c *checker) second(err *strictjson.Error) int {
	line, at := c.Data, err.Offset
	switch {
	case err.Reason == strictjson.InvalidUTF8 || err.Reason == strictjson.LoneSurrogate:
		longest := len(`\ud83d\ude4`)
		near := line[at:min(at+longest+1, len(line))]
		if brace := bytes.IndexByte(near, '{'); brace >= 0 && c.begins(at+brace) {
			return at + brace // (3)
		}
		return -1
	case err.Reason != strictjson.Syntax:
		return -1
	case c.begins(at):
		return at // (1)
	}
	back := func(i int, b byte) int { // the b before byte i, behind white space at most
		for i--; i >= 0 && strictjson.IsSpace(line[i]); i-- {
		}
		if i < 0 || line[i] != b {
			return -1
		}
		return i
	}
	if quote := back(at, '"'); quote >= 0 {
		if brace := back(quote, '{'); brace >= 0 && c.begins(brace) {
			return brace // (2)
		}
	}
	return -1
}

// begins reports whether at byte i stands what a record begins with: a brace, a name and a
// colon, as much as the line has of them.
func (c *checker) begins(i int) bool {
	if c.Data[i] != '{' {
		return false
	}
	name := c.Space(i + 1)
	if name >= len(c.Data) {
		return true
	}
	if c.Data[name] != '"' {
		return c.Data[name] == '}'
	}
	end, err := c.Value(name)
	if err != nil {
		return err.Reason == strictjson.UnexpectedEnd
	}
	colon := c.Space(end)
	return colon >= len(c.Data) || c.Data[colon] == ':'
}
