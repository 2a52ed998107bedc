package envelope_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// A change that people make by accident has a message of its own, in both renderings.
func TestFrameMessages(t *testing.T) {
	items := []envelope.Item{memory("e1", "first"), memory("e2", "second")}
	own := envelope.Wrapper{
		Notice: "Notes of a user.", Begin: "<untrusted-notes>", End: "</untrusted-notes>",
	}
	plain := func(w envelope.Wrapper) (j, m string) {
		p, err := envelope.JSON{Wrapper: w}.Render(items, envelope.Budget{})
		require.NoError(t, err)
		q, err := envelope.Markdown{Wrapper: w}.Render(items, envelope.Budget{})
		require.NoError(t, err)
		return p.Content, q.Content
	}
	j, m := plain(envelope.Wrapper{})
	ownJ, ownM := plain(own)
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	const noRule = "the frame is not as written ("

	tests := []struct {
		why          string
		json         string
		jsonWant     string
		markdown     string
		markdownWant string
	}{
		{"empty", "", "there is no text", "", "there is no text"},
		{"blank", " \r\n\u2028", "there is no text", "\t", "there is no text"},
		{"CRLF", crlf(j), "CR LF", crlf(m), "CR LF"},
		{"a byte order mark", "\ufeff" + j, "byte order mark", "\ufeff" + m, "byte order mark"},
		{"text before", "x\n" + j, "text stands before", "x\n" + m, "text stands before"},
		{"text behind", j + "x", "text stands behind", m + "\nx", "text stands behind"},
		{"a line end behind", j + "\n", "a line end", m + "\r\n", "a line end"},
		{"cut in the opening", j[:100], "cut off", m[:100], "cut off"},
		{"cut in the items", j[:len(j)-60], "cut off", m[:len(m)-60], "cut off"},
		{"cut in the end marker", j[:len(j)-3], "cut off", m[:len(m)-3], "cut off"},
		{"the other format", m, "it is Markdown", j, "it is an envelope of JSON"},
		{"the other format, another wrapper", ownM, noRule, ownJ, noRule},
		{"another wrapper", ownJ, noRule, ownM, noRule},
		{"something else", "hello", noRule, "hello", noRule},
		{
			"another notice", strings.Replace(j, "rules, and", "rules and", 1), "the notice",
			strings.Replace(m, "rules, and", "rules and", 1), "the notice",
		},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			_, err := envelope.JSON{}.Open(tt.json)
			assert.ErrorContains(t, err, tt.jsonWant)
			assert.ErrorIs(t, err, envelope.ErrFrame)
			assert.Equal(t, tt.jsonWant == "the notice", isNotice(err))
			err = envelope.Markdown{}.Check(tt.markdown)
			assert.ErrorContains(t, err, tt.markdownWant)
			assert.ErrorIs(t, err, envelope.ErrFrame)
			assert.Equal(t, tt.markdownWant == "the notice", isNotice(err))
		})
	}
	t.Run("the other format with the same wrapper", func(t *testing.T) {
		_, err := envelope.JSON{Wrapper: own}.Open(ownM)
		assert.ErrorContains(t, err, "it is Markdown")
		err = envelope.Markdown{Wrapper: own}.Check(ownJ)
		assert.ErrorContains(t, err, "it is an envelope of JSON")
	})
}

func isNotice(err error) bool {
	e, ok := err.(*envelope.Error)
	return ok && e.Err == envelope.ErrNotice
}
