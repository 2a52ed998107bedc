package envelope_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/untrusted-context/envelope"
)

func TestErrorStrings(t *testing.T) {
	tests := []struct {
		err  envelope.Error
		want string
	}{
		{envelope.Error{Err: envelope.ErrBlank, Item: 0, Offset: -1}, "envelope: item 0: blank"},
		{envelope.Error{Err: envelope.ErrSyntax, Item: 12, Field: "citation", Offset: 0}, "envelope: item 12: citation: not JSON (byte 0)"},
		{envelope.Error{Err: envelope.ErrFrame, Item: -1, Field: "text", Offset: 7}, "envelope: text: the frame is not as written (byte 7)"},
	}
	for _, tt := range tests {
		assert.EqualError(t, &tt.err, tt.want)
		assert.Equal(t, []error{tt.err.Err}, tt.err.Unwrap())
	}
	j := envelope.JSON{Wrapper: envelope.Wrapper{Begin: "SECRET\t__"}}
	_, err := j.Render(nil, envelope.Budget{})
	assert.EqualError(t, err, "envelope: wrapper.Begin: illegal wrapper: "+
		"a marker is printable ASCII without quotes and backslashes (byte 6)", "which of the rules")
}
