package transcript

import (
	"math"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/quote"
)

// appendString appends s, a field of a message, as a JSON string that is part of one line to every
// reader.
func appendString(dst []byte, s, field string) ([]byte, error) {
	dst, n, valid := quote.For(0).AppendString(append(dst, '"'), s, math.MaxInt)
	if !valid {
		return nil, &RecordError{Err: envelope.ErrInvalidUTF8, Field: field, Offset: n}
	}
	return append(dst, '"'), nil
}
