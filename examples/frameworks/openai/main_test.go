package main

import (
	"encoding/json"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope/examples/frameworks/internal/notes"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/stub"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/toolresult"
)

// The result arrives at the provider byte for byte, still opens, and is told of in the developer's
// words.
func TestAsk(t *testing.T) {
	const response = `{"id":"r","object":"response","status":"completed","model":"m","output":[`
	url, requests := stub.Server(t,
		response+`{"type":"function_call","id":"f","call_id":"call_7","name":"search",`+
			`"arguments":"{\"query\":\"branch\"}","status":"completed"}]}`,
		response+`{"type":"message","id":"a","role":"assistant","status":"completed",`+
			`"content":[{"type":"output_text","text":"On Thursdays.","annotations":[]}]}]}`)
	client := openai.NewClient(
		option.WithBaseURL(url), option.WithAPIKey("none"), option.WithMaxRetries(0))
	answer, err := ask(t.Context(), client, "When is the branch cut?")
	require.NoError(t, err)
	assert.Equal(t, "On Thursdays.", answer)
	require.Len(t, *requests, 2)
	var request struct {
		Instructions string
		Input        []struct {
			Type, Output string
			CallID       string `json:"call_id"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte((*requests)[1]), &request))
	assert.Equal(t, toolresult.Line.Instructions(), request.Instructions)
	require.Len(t, request.Input, 3)
	output := request.Input[2]
	assert.Equal(t, "function_call_output", output.Type)
	assert.Equal(t, "call_7", output.CallID)
	want, err := toolresult.Text("search", "call_7", notes.Found)
	require.NoError(t, err)
	assert.Equal(t, want, output.Output)
	opened, err := toolresult.Line.Open(output.Output)
	require.NoError(t, err)
	assert.Equal(t, notes.Found, opened[0].Content)
}
