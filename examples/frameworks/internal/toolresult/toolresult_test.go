package toolresult

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A result of 22,000 bytes arrives whole, a longer one says that it is cut, a blank one is none.
func TestText(t *testing.T) {
	text, err := Text("t", "1", strings.Repeat("x", 22_000))
	require.NoError(t, err)
	opened, err := Line.Open(text)
	require.NoError(t, err)
	assert.Len(t, opened[0].Content, 22_000)
	assert.False(t, opened[0].Truncated)

	text, err = Text("t", "1", strings.Repeat("x", 40_000))
	require.NoError(t, err)
	assert.Len(t, text, 32_000)
	opened, err = Line.Open(text)
	require.NoError(t, err)
	assert.True(t, opened[0].Truncated)

	text, err = Text("t", "1", "\n")
	require.NoError(t, err)
	assert.Empty(t, text)
	text, err = Text("t", "1", "\xff")
	require.NoError(t, err)
	assert.Equal(t, `{"trust":"untrusted_history","items":[],"omitted":1}`, text)
}
