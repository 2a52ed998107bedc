package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// realServer is the command of a server that somebody else wrote. .ci/mcp installs them.
func realServer(t *testing.T, name string) string {
	dir := os.Getenv("MCP_SERVERS")
	if dir == "" {
		t.Skip("MCP_SERVERS does not say where the servers are")
	}
	return filepath.Join(dir, name)
}

// sessions are one with the server through the proxy, and one with the server alone.
func sessions(
	t *testing.T, o func() *mcp.ClientOptions, server string, args ...string,
) (through, direct *mcp.ClientSession) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, append([]string{"-name", "real", "--", server}, args...)...)
	cmd.Env = append(os.Environ(), "MCP_PROXY_TEST=proxy", "MCP_PROXY_SERVER=")
	roots := []string{"/nowhere"}
	if len(args) > 0 {
		roots = args
	}
	return connect(t, cmd, o(), roots...), connect(t, exec.Command(server, args...), o(), roots...)
}

func noOptions() *mcp.ClientOptions { return nil }

// texts are those of a result that a model reads, and rest is the other blocks.
func texts(
	t *testing.T, r *mcp.CallToolResult, enveloped bool,
) (texts []string, rest []mcp.Content) {
	for _, c := range r.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			if enveloped {
				for _, d := range openText(t, c) {
					texts = append(texts, d.Content)
				}
				continue
			}
			texts = append(texts, c.Text)
		case *mcp.EmbeddedResource:
			if c.Resource.Text != "" {
				texts = append(texts, c.Resource.Text)
				continue
			}
			rest = append(rest, c)
		default:
			rest = append(rest, c)
		}
	}
	return texts, rest
}

// requireSame demands that a call gives the same through the proxy, with its texts in envelopes.
func requireSame(
	t *testing.T, through, direct *mcp.ClientSession, tool string, args map[string]any,
) {
	got, want := callTool(t, through, tool, args), callTool(t, direct, tool, args)
	gotTexts, gotRest := texts(t, got, true)
	wantTexts, wantRest := texts(t, want, false)
	assert.Equal(t, wantTexts, gotTexts, tool)
	assert.Equal(t, wantRest, gotRest, tool)
	assert.Equal(t, want.IsError, got.IsError, tool)
	assert.Nil(t, got.StructuredContent, tool)
	require.NotEmpty(t, got.Content, tool)
}

// The reference server that has everything that the protocol has.
func TestRealEverything(t *testing.T) {
	server := realServer(t, "mcp-server-everything")
	progress := make(chan float64, 100)
	through, direct := sessions(t, func() *mcp.ClientOptions {
		return &mcp.ClientOptions{ProgressNotificationHandler: func(
			_ context.Context, q *mcp.ProgressNotificationClientRequest,
		) {
			progress <- q.Params.Progress
		}}
	}, server)
	for tool, args := range map[string]map[string]any{
		"echo":                   {"message": attack},
		"get-sum":                {"a": 1, "b": 2},
		"get-tiny-image":         {},
		"get-resource-links":     {"count": 3},
		"get-structured-content": {"location": "Chicago"},
		"get-annotated-message":  {"messageType": "error", "includeImage": true},
		"get-roots-list":         {},
	} {
		requireSame(t, through, direct, tool, args)
	}
	for _, kind := range []string{"Text", "Blob"} {
		args := map[string]any{"resourceType": kind, "resourceId": 1}
		result := callTool(t, through, "get-resource-reference", args) // it has the time in it
		got, rest := texts(t, result, true)
		assert.Equal(t, kind == "Text", len(got) == 3)
		assert.Equal(t, kind == "Blob", len(rest) == 1)
	}

	params := &mcp.CallToolParams{
		Name: "trigger-long-running-operation", Meta: mcp.Meta{},
		Arguments: map[string]any{"duration": 1, "steps": 4},
	}
	params.SetProgressToken("p")
	_, err := through.CallTool(t.Context(), params)
	require.NoError(t, err)
	for i := range 4 {
		assert.Equal(t, float64(i+1), <-progress)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	params.Arguments = map[string]any{"duration": 60, "steps": 60}
	_, err = through.CallTool(ctx, params)
	assert.ErrorIs(t, err, context.DeadlineExceeded)

	for name, ask := range map[string]func(*mcp.ClientSession) (any, error){
		"prompts": func(s *mcp.ClientSession) (any, error) {
			return s.ListPrompts(t.Context(), nil)
		},
		"resources": func(s *mcp.ClientSession) (any, error) {
			return s.ListResources(t.Context(), nil)
		},
		"templates": func(s *mcp.ClientSession) (any, error) {
			return s.ListResourceTemplates(t.Context(), nil)
		},
		"prompt": func(s *mcp.ClientSession) (any, error) {
			return s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "simple-prompt"})
		},
		"no prompt": func(s *mcp.ClientSession) (any, error) {
			return s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "none"})
		},
	} {
		want, wantErr := ask(direct)
		got, err := ask(through)
		assert.Equal(t, want, got, name)
		assert.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), name)
	}
}

// The server of files: what stands in a file of somebody else's is data.
func TestRealFilesystem(t *testing.T) {
	server := realServer(t, "mcp-server-filesystem")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	hostile, plain := write("hostile.txt", attack), write("plain.txt", "hello\n")
	large := write("large.txt", strings.Repeat("many words, ", 100_000))
	image := write("a.png", "\x89PNG\r\n")
	through, direct := sessions(t, noOptions, server, dir)
	for _, path := range []string{hostile, filepath.Join(dir, "no"), "/etc/passwd"} {
		requireSame(t, through, direct, "read_text_file", map[string]any{"path": path})
	}
	requireSame(t, through, direct, "list_directory", map[string]any{"path": dir})
	requireSame(t, through, direct, "read_media_file", map[string]any{"path": image})
	requireSame(t, through, direct, "read_multiple_files",
		map[string]any{"paths": []string{hostile, plain}})
	text := callTool(t, through, "read_text_file", map[string]any{"path": large}).Content[0]
	assert.LessOrEqual(t, len(text.(*mcp.TextContent).Text), 32_000)
	assert.True(t, openText(t, text)[0].Truncated)
}
