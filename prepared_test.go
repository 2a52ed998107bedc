package envelope_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

func TestPreparedMarshalJSON(t *testing.T) {
	tests := []struct {
		why, content, want string
	}{
		{"empty", "", `{"schema":"powercontext.prepared-context.v1","status":"empty","content":null,"content_bytes":0}`},
		{"ready", "é<\n", `{"schema":"powercontext.prepared-context.v1","status":"ready","content":"é<\n","content_bytes":4}`},
		{"what other classes of the escaper escape", "中<\x7f\u200b", `{"schema":"powercontext.prepared-context.v1","status":"ready","content":"中<` + "\x7f\u200b" + `","content_bytes":8}`},
		{"one line to every reader", "a\u2028\u2029\u0085\r", `{"schema":"powercontext.prepared-context.v1","status":"ready","content":"a\u2028\u2029\u0085\r","content_bytes":10}`},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			p := envelope.Prepared{Content: tt.content}
			assert.Equal(t, tt.content != "", p.Ready())
			got, err := p.MarshalJSON()
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
			through, err := json.Marshal(p)
			require.NoError(t, err)
			assert.False(t, strings.ContainsAny(string(through), "\n\r\u0085\u2028\u2029"))
			var back struct {
				Content *string `json:"content"`
				Bytes   int     `json:"content_bytes"`
			}
			require.NoError(t, json.Unmarshal(through, &back))
			if tt.content == "" {
				assert.Nil(t, back.Content)
			} else {
				assert.Equal(t, tt.content, *back.Content)
			}
			assert.Equal(t, len(tt.content), back.Bytes)
		})
	}
}

func TestPreparedMarshalJSONRefuses(t *testing.T) {
	tests := []struct {
		why, content string
		what         error
		offset       int
	}{
		{"no text", "\xffa", envelope.ErrInvalidUTF8, 0},
		{"text, and then none", "a\xff", envelope.ErrInvalidUTF8, 1},
		{"blank", " \u2028", envelope.ErrBlank, -1},
	}
	for _, tt := range tests {
		_, err := envelope.Prepared{Content: tt.content}.MarshalJSON()
		assert.Equal(t, &envelope.Error{Err: tt.what, Item: -1, Field: "content", Offset: tt.offset}, err, tt.why)
	}
}

func TestReport(t *testing.T) {
	r := envelope.Report{Items: []envelope.ItemReport{{Outcome: envelope.Blank}, {Outcome: envelope.Blank}, {Outcome: envelope.NoRoom}}}
	assert.Equal(t, 2, r.Count(envelope.Blank))
	assert.Equal(t, 0, r.Count(envelope.Included))
	assert.NoError(t, r.Err())
	var names []string
	for o := envelope.Included; o <= envelope.NoRoom+1; o++ {
		names = append(names, o.String())
	}
	assert.Equal(t, []string{"included", "truncated", "unselected", "uncited", "malformed", "blank", "duplicate", "over-limit", "too-short", "no-room", "unknown"}, names)
}

func TestErrorStrings(t *testing.T) {
	tests := []struct {
		err  envelope.Error
		want string
	}{
		{envelope.Error{Err: envelope.ErrBlank, Item: 0, Offset: -1}, "envelope: item 0: blank"},
		{envelope.Error{Err: envelope.ErrSyntax, Item: 12, Field: "citation", Offset: 0}, "envelope: item 12: citation: not JSON (byte 0)"},
		{envelope.Error{Err: envelope.ErrFrame, Item: -1, Field: "text", Offset: 7}, "envelope: text: the notice, a marker or the space between them is not as written (byte 7)"},
	}
	for _, tt := range tests {
		assert.EqualError(t, &tt.err, tt.want)
		assert.Equal(t, []error{tt.err.Err}, tt.err.Unwrap())
	}
	_, err := envelope.JSON{Wrapper: envelope.Wrapper{Begin: "SECRET\t__"}}.Render(nil, envelope.Budget{})
	assert.EqualError(t, err, "envelope: wrapper.Begin: illegal wrapper: a marker is printable ASCII without quotes and backslashes (byte 6)", "which of the rules")
}
