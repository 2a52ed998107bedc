// Command mcp-go is a server of the Model Context Protocol on standard input and output, built with
// mark3labs/mcp-go. The results of all of its tools are envelopes, by one middleware.
//
//	go run ./mcp-go
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/untrusted-context/envelope/examples/frameworks/internal/notes"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/toolresult"
)

func main() {
	if err := server.ServeStdio(newServer()); err != nil {
		fmt.Fprintln(os.Stderr, "mcp-go:", err)
		os.Exit(1)
	}
}

// newServer is a server with one tool. Its instructions are those for reading an envelope.
func newServer() *server.MCPServer {
	s := server.NewMCPServer("envelope-example", "v0.1.0",
		server.WithInstructions(toolresult.Line.Instructions()),
		server.WithToolHandlerMiddleware(enveloped))
	search := mcp.NewTool("search", mcp.WithString("query"),
		mcp.WithDescription("Searches notes that anybody may write."))
	s.AddTool(search, func(_ context.Context, q mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		query := q.GetString("query", "")
		if query == "fail" {
			return mcp.NewToolResultError(notes.Found), nil
		}
		return mcp.NewToolResultText(notes.Search(query)), nil
	})
	return s
}

// enveloped makes each text of a tool's result an envelope. A tool that has structured content too
// would have to leave it out: a host may show either.
func enveloped(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, q mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, err := next(ctx, q)
		if err != nil || result == nil {
			return result, err
		}
		for i, block := range result.Content {
			if text, ok := block.(mcp.TextContent); ok {
				text.Text, err = toolresult.Text(q.Params.Name, fmt.Sprint("block ", i), text.Text)
				if err != nil {
					return nil, err
				}
				result.Content[i] = text
			}
		}
		return result, nil
	}
}
