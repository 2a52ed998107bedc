package toolresult

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"github.com/untrusted-context/envelope"
)

// What the options of the line cost in tokens of o200k, whatever digits the checksum has.
func TestTokens(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	require.NoError(t, err)
	for i := range 1000 {
		items := []envelope.Item{{Content: "on Thursdays"}, {}}
		items[0].Citation = map[string]int{"call": i}
		count := func(j envelope.JSON) int {
			prepared, err := j.Render(items, envelope.Budget{})
			require.NoError(t, err)
			n, err := codec.Count(prepared.Content)
			require.NoError(t, err)
			return n
		}
		plain, bare := count(envelope.JSON{}), count(envelope.JSON{Bare: true})
		assert.GreaterOrEqual(t, plain-bare, 39)
		assert.LessOrEqual(t, count(envelope.JSON{Omitted: true})-plain, 6)
		assert.LessOrEqual(t, count(envelope.JSON{Bare: true, Omitted: true})-bare, 6)
		assert.LessOrEqual(t, count(envelope.JSON{Checksum: true})-plain, 16)
		assert.LessOrEqual(t, count(envelope.JSON{Bare: true, Checksum: true})-bare, 16)
	}
}
