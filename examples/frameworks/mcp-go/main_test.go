package main

import (
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope/examples/frameworks/internal/notes"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/toolresult"
)

// The result arrives at the client byte for byte, whether the tool has failed or not.
func TestSearch(t *testing.T) {
	c, err := client.NewInProcessClient(newServer())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Start(t.Context()))
	initialized, err := c.Initialize(t.Context(), mcp.InitializeRequest{})
	require.NoError(t, err)
	assert.Equal(t, toolresult.Line.Instructions(), initialized.Instructions)
	for _, query := range []string{"branch", "fail"} {
		request := mcp.CallToolRequest{}
		request.Params.Name = "search"
		request.Params.Arguments = map[string]any{"query": query}
		result, err := c.CallTool(t.Context(), request)
		require.NoError(t, err)
		assert.Equal(t, query == "fail", result.IsError)
		require.Len(t, result.Content, 1)
		want, err := toolresult.Text("search", "block 0", notes.Found)
		require.NoError(t, err)
		text := result.Content[0].(mcp.TextContent).Text
		assert.Equal(t, want, text)
		opened, err := toolresult.Line.Open(text)
		require.NoError(t, err)
		assert.Equal(t, notes.Found, opened[0].Content)
	}
}
