package envelope

import (
	"log/slog"
	"math"
	"strconv"
	"strings"

	"github.com/untrusted-context/envelope/internal/quote"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// Prepared is a rendered text and the report on it, and as JSON the response that carries the
// text to a host.
type Prepared struct {
	Content string // "" is the empty result: nothing could be delivered
	Report  Report // does not travel
}

// Ready reports whether there is a text.
func (p Prepared) Ready() bool { return p.Content != "" }

// LogValue is the report for package log/slog, without the text.
func (p Prepared) LogValue() slog.Value { return p.Report.LogValue() }

// The values of the response's form.
const (
	schema      = "powercontext.prepared-context.v1"
	statusReady = "ready"
	statusEmpty = "empty"
)

// MarshalJSON writes the four members schema ("powercontext.prepared-context.v1"), status
// ("ready" or "empty"), content (null when the status is "empty") and content_bytes, the length
// of content in bytes of UTF-8. It is one line for every reader that decodes UTF-8. A content
// that is blank or not valid UTF-8 is an error.
func (p Prepared) MarshalJSON() ([]byte, error) {
	if !p.Ready() {
		return []byte(`{"schema":"` + schema + `","status":"` + statusEmpty +
			`","content":null,"content_bytes":0}`), nil
	}
	if bad := quote.FirstInvalid(p.Content); bad >= 0 {
		return nil, &Error{Err: ErrInvalidUTF8, Item: -1, Field: "content", Offset: bad}
	}
	if quote.Blank(p.Content, len(p.Content)) {
		return nil, optionError(ErrBlank, "content", -1, "")
	}
	b := make([]byte, 0, len(p.Content)+len(p.Content)/8+128)
	b = append(b, `{"schema":"`+schema+`","status":"`+statusReady+`","content":`...)
	b = lineQuoter.AppendLiteral(b, p.Content)
	b = append(b, `,"content_bytes":`...)
	b = strconv.AppendInt(b, int64(len(p.Content)), 10)
	return append(b, '}'), nil
}

// ParsePrepared reads the response that carries a text to a host, and refuses everything but what
// [Prepared.MarshalJSON] writes up to the order of the members, white space between tokens and
// the spelling of strings. The content is at most maxBytes long: 0 is 8000, [Unlimited] is no
// bound. The error is an *[Error]: for any other negative number one that wraps [ErrBudget], and
// otherwise one that wraps a [Reason].
//
// Nothing is built from data that is longer than 6*maxBytes + 4096: six bytes are the longest
// spelling of a byte of content, and what is around it needs less than 512, so that the rest is
// room for white space.
//
// It says nothing about the content but that it is text and not blank: whether it is an envelope
// is for [JSON.Open] and [Markdown.Check] to say. The Report of the result is empty.
func ParsePrepared(data []byte, maxBytes int) (Prepared, error) {
	if maxBytes < Unlimited {
		return Prepared{}, optionError(ErrBudget, "maxBytes", -1, "")
	}
	content, err := parsePrepared(data, bound(maxBytes, defaultBytes, math.MaxInt))
	if err != nil {
		return Prepared{}, err
	}
	return Prepared{Content: content}, nil
}

// UnmarshalJSON is [ParsePrepared] without a bound on the size. On an error p stays as it is; a
// null is one.
func (p *Prepared) UnmarshalJSON(data []byte) error {
	parsed, err := ParsePrepared(data, Unlimited)
	if err == nil {
		*p = parsed
	}
	return err
}

// Reason is why [ParsePrepared] refuses a response: a code that does not change, for a host to
// log and to count. It is the Err of an *[Error], so that errors.Is finds it there and errors.As
// takes it out. Where more than one reason applies it is the first of those that the table lists.
//
//	too-large            the data is longer than any response with such a content
//	not-object           it does not begin with {: HTML, a byte order mark, another JSON value
//	cut-short            it ends before the object does
//	syntax               a byte that JSON does not allow there
//	invalid-utf8         a byte inside a string that is not UTF-8
//	lone-surrogate       an escape that is half of a surrogate pair
//	repeated-member      a name stands twice, however it is spelt
//	too-deep             nested more than 16 levels deep, where a response has one
//	trailing             anything but white space behind the object, a NUL too
//	misspelt-member      a name that some reader takes for one of the four: case, blanks, NULs
//	extra-member         any other name
//	missing-member       not all four
//	wrong-schema         schema is anything else
//	wrong-status         status is neither "ready" nor "empty"
//	content-type         content is neither a string nor null
//	content-bytes-type   content_bytes is not a number
//	content-bytes-form   content_bytes is a number in other characters than digits: 8e3, -1
//	status-content       ready with null, empty with a string
//	length-mismatch      content_bytes is not the length of the content in UTF-8
//	too-long             the content is longer than maxBytes
//	blank                the content is empty or nothing but white space
//
// Those from not-object to trailing are found reading from the first byte, so among them it is
// the one that stands first; likewise of misspelt-member and extra-member.
type Reason string

// The reasons.
const (
	ReasonTooLarge         Reason = "too-large"
	ReasonNotObject        Reason = "not-object"
	ReasonCutShort         Reason = "cut-short"
	ReasonSyntax           Reason = "syntax"
	ReasonInvalidUTF8      Reason = "invalid-utf8"
	ReasonLoneSurrogate    Reason = "lone-surrogate"
	ReasonRepeatedMember   Reason = "repeated-member"
	ReasonTooDeep          Reason = "too-deep"
	ReasonTrailing         Reason = "trailing"
	ReasonMisspeltMember   Reason = "misspelt-member"
	ReasonExtraMember      Reason = "extra-member"
	ReasonMissingMember    Reason = "missing-member"
	ReasonWrongSchema      Reason = "wrong-schema"
	ReasonWrongStatus      Reason = "wrong-status"
	ReasonContentType      Reason = "content-type"
	ReasonContentBytesType Reason = "content-bytes-type"
	ReasonContentBytesForm Reason = "content-bytes-form"
	ReasonStatusContent    Reason = "status-content"
	ReasonLengthMismatch   Reason = "length-mismatch"
	ReasonTooLong          Reason = "too-long"
	ReasonBlank            Reason = "blank"
)

// Error returns the code.
func (r Reason) Error() string { return string(r) }

// responseReasons and reasonSentinels tie the reasons to what the scanner and the rest of the
// package call the same fault.
var (
	responseReasons = [...]Reason{
		strictjson.Syntax:        ReasonSyntax,
		strictjson.UnexpectedEnd: ReasonCutShort,
		strictjson.InvalidUTF8:   ReasonInvalidUTF8,
		strictjson.LoneSurrogate: ReasonLoneSurrogate,
		strictjson.DuplicateName: ReasonRepeatedMember,
		strictjson.TooDeep:       ReasonTooDeep,
	}
	reasonSentinels = map[Reason]error{
		ReasonNotObject:      ErrNotObject,
		ReasonCutShort:       ErrSyntax,
		ReasonSyntax:         ErrSyntax,
		ReasonTrailing:       ErrSyntax,
		ReasonInvalidUTF8:    ErrInvalidUTF8,
		ReasonLoneSurrogate:  ErrLoneSurrogate,
		ReasonRepeatedMember: ErrDuplicateName,
		ReasonTooDeep:        ErrTooDeep,
		ReasonMisspeltMember: ErrMember,
		ReasonExtraMember:    ErrMember,
		ReasonMissingMember:  ErrMember,
		ReasonBlank:          ErrBlank,
	}
)

// frameBytes is what a response may have around its content: each of its characters spelt as an
// escape, and white space.
const frameBytes = 4096

// foreignDepth is how deeply a response may nest, so that a member that has no place in it is
// called that.
const foreignDepth = 16

// The members of a response.
const (
	memberSchema = iota
	memberStatus
	memberContent
	memberBytes
)

var memberNames = [...]string{"schema", "status", "content", "content_bytes"}

// parsePrepared returns the content of the response, of at most the given length.
func parsePrepared(data []byte, most int) (string, error) {
	bounded := most <= (math.MaxInt-frameBytes)/quote.UnitBytes
	if bounded && len(data) > quote.UnitBytes*most+frameBytes {
		return "", responseError(ReasonTooLarge, "", -1)
	}
	members, err := responseMembers(data)
	if err != nil {
		return "", err
	}
	text := func(k int) (value string, ok bool) {
		literal := data[members[k].ValueStart:members[k].ValueEnd]
		if literal[0] != '"' {
			return string(literal), false
		}
		return string(strictjson.Decode(literal)), true
	}
	wrong := func(r Reason, k int) (string, error) {
		return "", responseError(r, memberNames[k], members[k].ValueStart)
	}
	if value, _ := text(memberSchema); value != schema { // JSON has no such word of its own
		return wrong(ReasonWrongSchema, memberSchema)
	}
	status, _ := text(memberStatus)
	if status != statusReady && status != statusEmpty {
		return wrong(ReasonWrongStatus, memberStatus)
	}
	content, some := text(memberContent)
	if !some && content != "null" {
		return wrong(ReasonContentType, memberContent)
	}
	digits := string(data[members[memberBytes].ValueStart:members[memberBytes].ValueEnd])
	if digits[0] != '-' && (digits[0] < '0' || digits[0] > '9') {
		return wrong(ReasonContentBytesType, memberBytes)
	}
	if strings.Trim(digits, "0123456789") != "" {
		return wrong(ReasonContentBytesForm, memberBytes)
	}
	if some != (status == statusReady) {
		return wrong(ReasonStatusContent, memberContent)
	}
	if !some {
		content = ""
	}
	switch {
	case digits != strconv.Itoa(len(content)): // JSON has no leading zeros
		return wrong(ReasonLengthMismatch, memberBytes)
	case len(content) > most:
		return wrong(ReasonTooLong, memberContent)
	case some && quote.Blank(content, len(content)):
		return wrong(ReasonBlank, memberContent)
	}
	return content, nil
}

// responseMembers returns the four members, by their place in memberNames.
func responseMembers(data []byte) (members [len(memberNames)]strictjson.Member, err error) {
	s := strictjson.Scanner{Data: data, MaxDepth: foreignDepth, AnyNumber: true}
	start := s.Space(0)
	if start < len(data) && data[start] != '{' {
		return members, responseError(ReasonNotObject, "", start)
	}
	end, fault := s.Value(start)
	if fault != nil {
		return members, responseError(responseReasons[fault.Reason], "", fault.Offset)
	}
	if after := s.Space(end); after < len(data) {
		return members, responseError(ReasonTrailing, "", after)
	}
	for _, m := range s.Members(start) {
		k := memberNamed(string(m.Name))
		if k < 0 {
			reason := ReasonExtraMember
			if misspelt(string(m.Name)) {
				reason = ReasonMisspeltMember
			}
			return members, responseError(reason, "", m.NameStart)
		}
		members[k] = m
	}
	for k := range members {
		if members[k].ValueEnd == 0 {
			return members, responseError(ReasonMissingMember, memberNames[k], -1)
		}
	}
	return members, nil
}

func memberNamed(name string) int {
	for k := range memberNames {
		if memberNames[k] == name {
			return k
		}
	}
	return -1
}

// misspelt reports whether name, which is no member's, is one to a reader that folds case, as
// Go's decoder does, or that cuts at a NUL or trims.
func misspelt(name string) bool {
	name, _, _ = strings.Cut(name, "\x00")
	name = strings.TrimFunc(name, quote.WhiteSpace)
	for k := range memberNames {
		if strings.EqualFold(name, memberNames[k]) {
			return true
		}
	}
	return false
}

// responseError is about the response, or about a member of it.
func responseError(r Reason, member string, offset int) *Error {
	field := "prepared"
	if member != "" {
		field += "." + member
	}
	return &Error{Err: r, Item: -1, Field: field, Offset: offset, cause: reasonSentinels[r]}
}
