package envelope

import (
	"errors"
	"strconv"

	"github.com/untrusted-context/envelope/internal/strictjson"
)

// What can be wrong. Every error of this package is an *[Error] that wraps one of these or a
// [Reason].
var (
	ErrBudget  = errors.New("illegal budget: bounds are positive, 0 for the default, -1 for none")
	ErrWrapper = errors.New("illegal wrapper")
	ErrOption  = errors.New("illegal value")
	ErrCounter = errors.New("the counter of tokens failed")

	ErrInvalidUTF8   = strictjson.ErrInvalidUTF8 // invalid UTF-8
	ErrNotObject     = errors.New("does not encode to a JSON object")
	ErrSyntax        = strictjson.ErrSyntax        // not JSON
	ErrDuplicateName = strictjson.ErrDuplicateName // a member name stands twice
	ErrLoneSurrogate = strictjson.ErrLoneSurrogate // half of a surrogate pair
	ErrTooDeep       = strictjson.ErrTooDeep       // nested too deeply
	ErrNumber        = strictjson.ErrNumber        // infinite as a binary64
	ErrBlank         = errors.New("blank")
	ErrMissing       = errors.New("missing or blank")
	ErrNotCitation   = errors.New("not a citation of this type")
	ErrDecode        = errors.New("does not decode into the value given")

	ErrFrame         = errors.New("the frame is not as written")
	ErrNotice        = errors.New("the notice before the markers is another one")
	ErrMarker        = errors.New("a marker stands where it must not")
	ErrLineBoundary  = errors.New("a character that some reader takes for the end of a line")
	ErrHidden        = errors.New("a character that the renderer shows as an escape")
	ErrStructure     = errors.New("a line that the renderer does not write there")
	ErrMember        = errors.New("a member is missing, unknown or out of order")
	ErrUndeliverable = errors.New("an item that the renderer would not deliver")
	ErrChecksum      = errors.New("the checksum is not that of the text")
	ErrNotCanonical  = errors.New("not the bytes that the renderer writes")
)

// Error says what is wrong and where. Its message never holds content, a citation or a marker, so
// it may be logged as it is. What [errors.As] finds below the sentinel may be an error of other
// code, such as one that a citation's own MarshalJSON returned, and makes no such promise.
type Error struct {
	Err  error // what: one of this package's Err… values, or a Reason
	Item int   // the index of the item, -1 when it is not about one
	// Field is the part of the item, the option or the text: "content", "citation.entry_id",
	// "wrapper.Begin".
	Field string
	// Offset is the first byte at fault, from 0, within the field. It is the field's length when
	// that is too short, and -1 when the fault is not about a byte.
	Offset int
	rule   string // which rule of several, if the sentinel stands for several
	cause  error
}

func (e *Error) Error() string {
	text := "envelope: "
	if e.Item >= 0 {
		text += "item " + strconv.Itoa(e.Item) + ": "
	}
	if e.Field != "" {
		text += e.Field + ": "
	}
	text += e.Err.Error()
	if e.rule != "" {
		text += ": " + e.rule
	}
	if e.Offset >= 0 {
		text += " (byte " + strconv.Itoa(e.Offset) + ")"
	}
	return text
}

// Unwrap returns Err and, where something else reported the fault, that error; for a [Reason],
// the sentinel of the same fault if there is one.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.cause}
}

// optionError is an illegal setting, at a byte of it or, with -1, as a whole.
func optionError(what error, field string, offset int, rule string) *Error {
	return &Error{Err: what, Item: -1, Field: field, Offset: offset, rule: rule}
}

// notText is an option that is not valid UTF-8.
func notText(field string, offset int) *Error {
	err := optionError(ErrOption, field, offset, ErrInvalidUTF8.Error())
	err.cause = ErrInvalidUTF8
	return err
}

// openError is a fault of a rendered text, at a byte of it.
func openError(what error, offset int) *Error {
	return &Error{Err: what, Item: -1, Field: "text", Offset: offset}
}
