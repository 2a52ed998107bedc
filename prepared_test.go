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
	_, err := envelope.Prepared{Content: "a\xff"}.MarshalJSON()
	assert.ErrorIs(t, err, envelope.ErrInvalidUTF8)
	_, err = envelope.Prepared{Content: " \u2028"}.MarshalJSON()
	assert.ErrorIs(t, err, envelope.ErrBlank)
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
