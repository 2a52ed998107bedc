// Package strictjson reads JSON texts (RFC 8259) the way a security boundary must: what two readers
// could take for different values is an error, and so is what some reader refuses a whole text for.
// Besides the grammar it demands valid UTF-8, no lone surrogate escape, no repeated member name and
// no number beyond a binary64, and it says at which byte a text fails.
//
// It serves the packages of this module that take JSON from outside.
package strictjson

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/untrusted-context/envelope/internal/quote"
)

// MaxDepth is how deeply arrays and objects may nest unless a Scanner says otherwise. Readers in
// use refuse what is deeper than some bound, and with it all that stands beside it; the lowest are
// 64 (.NET) and 100 (Ruby), and citations stand three levels down.
const MaxDepth = 60

// Reason is why a text was refused.
type Reason uint8

// The reasons.
const (
	Syntax        Reason = iota + 1 // a byte that the grammar does not allow here
	UnexpectedEnd                   // the text ends inside a value
	InvalidUTF8                     // in a string; outside of strings such a byte is Syntax
	LoneSurrogate                   // half of a surrogate pair, spelt as an escape
	DuplicateName                   // an object has two members of one name, however spelt
	TooDeep                         // more than MaxDepth levels
	Infinite                        // a number that is infinite as a binary64
)

var reasons = [...]string{
	Syntax:        "syntax error",
	UnexpectedEnd: "unexpected end",
	InvalidUTF8:   "invalid UTF-8",
	LoneSurrogate: "lone surrogate",
	DuplicateName: "duplicate member name",
	TooDeep:       "nested too deeply",
	Infinite:      "number beyond a binary64",
}

// Error is a refusal: why, and at which byte of the text.
type Error struct {
	Reason Reason
	Offset int
}

func (e *Error) Error() string { return reasons[e.Reason] }

// Scanner reads values from Data. Its zero flags are the strict choice.
type Scanner struct {
	Data []byte
	// Loose lets invalid UTF-8, lone surrogates, repeated names and numbers of any size pass, for a
	// caller that decides about them later, value by value.
	Loose bool

	// AnyNumber lets numbers of any size pass, for a caller that keeps them as they are spelt.
	AnyNumber bool

	// MaxDepth is how deeply arrays and objects may nest. Zero is the package's MaxDepth.
	MaxDepth int

	names [][]byte // the first member names of all open objects, decoded, innermost last
	long  []span   // the strings of longBytes and more that were read, in order
}

// span is where a string begins and ends.
type span struct{ start, end int }

// longBytes is the length from which a string is remembered, so as not to be read again.
const longBytes = 64

// Value reads the value that starts at byte i, without white space before it, and returns where it
// ends.
func (s *Scanner) Value(i int) (end int, err *Error) {
	s.names, s.long = s.names[:0], s.long[:0]
	return s.value(i, 0)
}

// Whole reads Data as one value with nothing but white space around it and returns the value's
// bounds.
func (s *Scanner) Whole() (start, end int, err *Error) {
	start = s.Space(0)
	end, err = s.Value(start)
	if err != nil {
		return 0, 0, err
	}
	if after := s.Space(end); after < len(s.Data) {
		return 0, 0, &Error{Syntax, after}
	}
	return start, end, nil
}

// Space returns the first byte at or after i that is not JSON white space.
func (s *Scanner) Space(i int) int {
	for i < len(s.Data) && IsSpace(s.Data[i]) {
		i++
	}
	return i
}

// IsSpace reports whether c is JSON white space.
func IsSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// Member is one member of an object: byte offsets into the scanned data.
type Member struct {
	Name                 []byte // decoded
	NameStart            int    // of the name's opening quote
	ValueStart, ValueEnd int
}

// Members returns the members of the object at byte i, which Value or Whole has accepted.
func (s *Scanner) Members(i int) []Member {
	members := make([]Member, 0, 4)
	s.EachMember(i, func(m Member) { members = append(members, m) })
	return members
}

// EachMember calls yield with each of them.
func (s *Scanner) EachMember(i int, yield func(Member)) {
	s.elements(i, func(name, nameEnd, start, end int) {
		yield(Member{Decode(s.Data[name:nameEnd]), name, start, end})
	})
}

// Elements calls yield with the bounds of each element of the array at byte i, which Value or Whole
// has accepted.
func (s *Scanner) Elements(i int, yield func(start, end int)) {
	s.elements(i, func(_, _, start, end int) { yield(start, end) })
}

// elements walks an accepted array or object. For an array, the name is nothing.
func (s *Scanner) elements(i int, yield func(name, nameEnd, start, end int)) {
	object := s.Data[i] == '{'
	i = s.Space(i + 1)
	for s.Data[i] != '}' && s.Data[i] != ']' {
		name, nameEnd := i, i
		if object {
			nameEnd = s.stringEnd(i)
			i = s.Space(s.Space(nameEnd) + 1)
		}
		end := s.skip(i)
		yield(name, nameEnd, i, end)
		i = s.Space(end)
		if s.Data[i] == ',' {
			i = s.Space(i + 1)
		}
	}
}

// skip returns the end of the accepted value at byte i.
func (s *Scanner) skip(i int) int {
	for depth := 0; i < len(s.Data); {
		switch c := s.Data[i]; c {
		case '"':
			i = s.stringEnd(i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default: // a number, a literal, or what stands between values
			for i++; i < len(s.Data) && !ends[s.Data[i]]; i++ {
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// stringEnd returns the end of the accepted string at byte i.
func (s *Scanner) stringEnd(i int) int {
	k, found := slices.BinarySearchFunc(s.long, i, func(l span, i int) int { return l.start - i })
	if found {
		return s.long[k].end
	}
	return StringEnd(s.Data, i)
}

// ends holds the bytes at which a number or a literal ends, or a value begins or ends.
var ends = func() (t [256]bool) {
	for _, c := range " \t\n\r,:\"{}[]" {
		t[c] = true
	}
	return t
}()

func (s *Scanner) value(i, depth int) (int, *Error) {
	if i >= len(s.Data) {
		return 0, &Error{UnexpectedEnd, i}
	}
	switch c := s.Data[i]; {
	case c == '"':
		return s.str(i)
	case c == '{':
		return s.object(i, depth+1)
	case c == '[':
		return s.array(i, depth+1)
	case c == '-' || '0' <= c && c <= '9':
		return s.number(i)
	case c == 't':
		return s.literal(i, "true")
	case c == 'f':
		return s.literal(i, "false")
	case c == 'n':
		return s.literal(i, "null")
	}
	return 0, &Error{Syntax, i}
}

func (s *Scanner) maxDepth() int {
	if s.MaxDepth == 0 {
		return MaxDepth
	}
	return s.MaxDepth
}

func (s *Scanner) literal(i int, word string) (int, *Error) {
	for k := range len(word) {
		if i+k >= len(s.Data) {
			return 0, &Error{UnexpectedEnd, i + k}
		}
		if s.Data[i+k] != word[k] {
			return 0, &Error{Syntax, i + k}
		}
	}
	return i + len(word), nil
}

func (s *Scanner) array(i, depth int) (int, *Error) {
	if depth > s.maxDepth() {
		return 0, &Error{TooDeep, i}
	}
	i = s.Space(i + 1)
	if i < len(s.Data) && s.Data[i] == ']' {
		return i + 1, nil
	}
	for {
		end, err := s.value(i, depth)
		if err != nil {
			return 0, err
		}
		i, err = s.next(end, ']')
		if err != nil {
			return 0, err
		}
		if s.Data[i-1] == ']' {
			return i, nil
		}
		i = s.Space(i)
	}
}

// next reads white space and then a comma or the closing byte, and returns the byte after it.
func (s *Scanner) next(i int, closing byte) (int, *Error) {
	i = s.Space(i)
	if i >= len(s.Data) {
		return 0, &Error{UnexpectedEnd, i}
	}
	if c := s.Data[i]; c != ',' && c != closing {
		return 0, &Error{Syntax, i}
	}
	return i + 1, nil
}

func (s *Scanner) object(i, depth int) (int, *Error) {
	if depth > s.maxDepth() {
		return 0, &Error{TooDeep, i}
	}
	seen := nameSet{s: s, base: len(s.names)}
	defer seen.close()
	i = s.Space(i + 1)
	if i < len(s.Data) && s.Data[i] == '}' {
		return i + 1, nil
	}
	for {
		if i >= len(s.Data) {
			return 0, &Error{UnexpectedEnd, i}
		}
		if s.Data[i] != '"' {
			return 0, &Error{Syntax, i}
		}
		end, err := s.str(i)
		if err != nil {
			return 0, err
		}
		if !s.Loose && !seen.add(i, end) {
			return 0, &Error{DuplicateName, i}
		}
		i = s.Space(end)
		if i >= len(s.Data) {
			return 0, &Error{UnexpectedEnd, i}
		}
		if s.Data[i] != ':' {
			return 0, &Error{Syntax, i}
		}
		end, err = s.value(s.Space(i+1), depth)
		if err != nil {
			return 0, err
		}
		i, err = s.next(end, '}')
		if err != nil {
			return 0, err
		}
		if s.Data[i-1] == '}' {
			return i, nil
		}
		i = s.Space(i)
	}
}

// str reads the string whose opening quote is at byte i.
func (s *Scanner) str(i int) (int, *Error) {
	data, start := s.Data, i
	for i++; i < len(data); {
		switch c := data[i]; {
		case plain[c]:
			i += 1 + quote.StringRun(data[i+1:])
		case c == '"':
			if i++; i-start >= longBytes {
				s.long = append(s.long, span{start, i})
			}
			return i, nil
		case c < ' ':
			return 0, &Error{Syntax, i}
		case c == '\\':
			n, err := s.escape(i)
			if err != nil {
				return 0, err
			}
			i += n
		default:
			r, width := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && width == 1 && !s.Loose {
				if !utf8.FullRune(data[i:]) {
					return 0, &Error{UnexpectedEnd, i}
				}
				return 0, &Error{InvalidUTF8, i}
			}
			i += width
			i += quote.StringRun(data[i:])
		}
	}
	return 0, &Error{UnexpectedEnd, len(data)}
}

// plain holds the bytes that stand for themselves in a string and are one character.
var plain = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// escape reads the escape whose backslash is at byte i and returns its length: a surrogate pair is
// one escape.
func (s *Scanner) escape(i int) (int, *Error) {
	data := s.Data
	if i+1 >= len(data) {
		return 0, &Error{UnexpectedEnd, i + 1}
	}
	switch data[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
	default:
		return 0, &Error{Syntax, i + 1}
	}
	r := unit(data[i:])
	for k := i + 2; r < 0 && k < i+6; k++ {
		if k >= len(data) {
			return 0, &Error{UnexpectedEnd, k}
		}
		if hexValue(data[k]) < 0 {
			return 0, &Error{Syntax, k}
		}
	}
	if !utf16.IsSurrogate(r) {
		return 6, nil
	}
	if low := unit(data[i+6:]); utf16.DecodeRune(r, low) != utf8.RuneError {
		return 12, nil
	}
	if s.Loose {
		return 6, nil
	}
	rest := data[i+6:]
	if r < 0xdc00 && len(rest) < 6 && bytes.HasPrefix([]byte(`\u`), rest[:min(2, len(rest))]) {
		return 0, &Error{UnexpectedEnd, len(data)}
	}
	return 0, &Error{LoneSurrogate, i}
}

// unit returns the UTF-16 code unit of the \uXXXX escape that b starts with, or -1.
func unit(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	r := hexValue(b[2])<<12 | hexValue(b[3])<<8 | hexValue(b[4])<<4 | hexValue(b[5])
	return max(r, -1) // a digit that is none makes it negative
}

func hexValue(c byte) rune { return rune(hexValues[c]) }

var hexValues = func() (t [256]int8) {
	for c := range t {
		t[c] = -1
	}
	for v, c := range "0123456789abcdef" {
		t[c] = int8(v)
	}
	for v, c := range "ABCDEF" {
		t[c] = int8(10 + v)
	}
	return t
}()

// Decode returns the value of an accepted string literal. Without an escape in it that is a part of
// the literal itself, not a copy. A lone surrogate, which only a loose Scanner accepts, decodes to
// the three bytes that UTF-8 would have for it and does not allow.
func Decode(literal []byte) []byte {
	inside := literal[1 : len(literal)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside
	}
	return AppendDecoded(make([]byte, 0, len(inside)), literal)
}

// AppendDecoded appends the value of an accepted string literal to dst.
func AppendDecoded(dst, literal []byte) []byte {
	b := literal[1 : len(literal)-1]
	dst = slices.Grow(dst, len(b)) // no escape is shorter than what it stands for
	for {
		n := quote.CopyToBackslash(dst[len(dst):cap(dst)], b)
		dst, b = dst[:len(dst)+n], b[n:]
		switch {
		case len(b) == 0:
			return dst
		case b[0] != '\\':
			dst, b = append(dst, b[0]), b[1:]
			continue
		case b[1] != 'u':
			dst, b = append(dst, unescape[b[1]]), b[2:]
			continue
		}
		r := unit(b)
		b = b[6:]
		if !utf16.IsSurrogate(r) {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		if pair := utf16.DecodeRune(r, unit(b)); pair != utf8.RuneError {
			dst = utf8.AppendRune(dst, pair)
			b = b[6:]
			continue
		}
		dst = append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
}

var unescape = [256]byte{
	'"': '"', '\\': '\\', '/': '/',
	'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// AppendCompact appends an accepted value without the white space between its tokens.
func AppendCompact(dst, value []byte) []byte {
	for i := 0; i < len(value); {
		switch c := value[i]; {
		case c == '"':
			end := StringEnd(value, i)
			dst = append(dst, value[i:end]...)
			i = end
		case IsSpace(c):
			i++
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// StringEnd returns the byte after the accepted string literal at byte i of an accepted value.
func StringEnd(value []byte, i int) int {
	for {
		i += 1 + bytes.IndexByte(value[i+1:], '"')
		// The quote is escaped if an odd number of backslashes stands before it.
		escaped := false
		for k := i - 1; value[k] == '\\'; k-- {
			escaped = !escaped
		}
		if !escaped {
			return i + 1
		}
	}
}
