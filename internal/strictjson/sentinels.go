package strictjson

import "errors"

// What the packages of this module tell their callers of a refusal. Package envelope exports them.
var (
	ErrSyntax        = errors.New("not JSON")
	ErrInvalidUTF8   = errors.New("invalid UTF-8")
	ErrLoneSurrogate = errors.New("an escape is half of a surrogate pair")
	ErrDuplicateName = errors.New("a member name stands twice")
	ErrTooDeep       = errors.New("nested too deeply")
	ErrNumber        = errors.New("a number that is infinite as a binary64") // RFC 7493, 2.2
)

var sentinels = [...]error{
	Syntax:        ErrSyntax,
	UnexpectedEnd: ErrSyntax,
	InvalidUTF8:   ErrInvalidUTF8,
	LoneSurrogate: ErrLoneSurrogate,
	DuplicateName: ErrDuplicateName,
	TooDeep:       ErrTooDeep,
	Infinite:      ErrNumber,
}

// Sentinel returns the sentinel of the refusal.
func (e *Error) Sentinel() error { return sentinels[e.Reason] }
