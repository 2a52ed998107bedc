package main

import (
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope/examples/frameworks/internal/notes"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/stub"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/toolresult"
)

// The result arrives at the provider byte for byte, still opens, and is told of in the system's
// words.
func TestAsk(t *testing.T) {
	const message = `{"id":"m","type":"message","role":"assistant","model":"m",` +
		`"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1},"content":[`
	url, requests := stub.Server(t,
		message+`{"type":"tool_use","id":"call_7","name":"search","input":{"query":"branch"}}]}`,
		message+`{"type":"text","text":"On Thursdays."}]}`)
	client := anthropic.NewClient(
		option.WithBaseURL(url), option.WithAPIKey("none"), option.WithMaxRetries(0))
	answer, err := ask(t.Context(), client, "When is the branch cut?")
	require.NoError(t, err)
	assert.Equal(t, "On Thursdays.", answer)
	require.Len(t, *requests, 2)
	var request struct {
		System   []struct{ Text string }
		Messages []struct {
			Role    string
			Content []struct {
				Type      string
				ToolUseID string `json:"tool_use_id"`
				Content   []struct{ Type, Text string }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte((*requests)[1]), &request))
	assert.Equal(t, toolresult.Line.Instructions(), request.System[0].Text)
	require.Len(t, request.Messages, 3)
	require.Len(t, request.Messages[2].Content, 1)
	block := request.Messages[2].Content[0]
	assert.Equal(t, "tool_result", block.Type)
	assert.Equal(t, "call_7", block.ToolUseID)
	want, err := toolresult.Text("search", "call_7", notes.Found)
	require.NoError(t, err)
	require.Len(t, block.Content, 1)
	assert.Equal(t, want, block.Content[0].Text)
	opened, err := toolresult.Line.Open(block.Content[0].Text)
	require.NoError(t, err)
	assert.Equal(t, notes.Found, opened[0].Content)
}
