package main

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// The text arrives at the client byte for byte, and still opens.
func TestRecall(t *testing.T) {
	want, err := envelope.JSON{}.Render(memories(), envelope.Budget{})
	require.NoError(t, err)
	here, there := mcp.NewInMemoryTransports()
	server, err := newServer(memories()).Connect(t.Context(), there, nil)
	require.NoError(t, err)
	defer server.Close()
	implementation := &mcp.Implementation{Name: "test", Version: "v0.1.0"}
	client, err := mcp.NewClient(implementation, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	defer client.Close()
	recall := func(query string) (texts []string) {
		result, err := client.CallTool(t.Context(), &mcp.CallToolParams{
			Name:      "recall",
			Arguments: map[string]any{"query": query},
		})
		require.NoError(t, err)
		assert.False(t, result.IsError)
		assert.Nil(t, result.StructuredContent)
		for _, c := range result.Content {
			require.IsType(t, &mcp.TextContent{}, c)
			texts = append(texts, c.(*mcp.TextContent).Text)
		}
		return texts
	}
	texts := recall("cut")
	assert.Equal(t, []string{want.Content}, texts)
	opened, err := envelope.JSON{}.Open(texts[0])
	require.NoError(t, err)
	assert.Equal(t, memories()[1].Content, opened[1].Content)
	assert.Empty(t, recall("zebra"))
}
