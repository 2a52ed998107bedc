package main

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/notes"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/stub"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/toolresult"
)

// What is recalled and what the tool finds arrive at the provider byte for byte, and still open.
func TestAsk(t *testing.T) {
	const choice = `{"id":"c","object":"chat.completion","model":"m",` +
		`"choices":[{"index":0,"message":`
	url, requests := stub.Server(t,
		choice+`{"role":"assistant","content":"","tool_calls":[{"id":"call_7","type":"function",`+
			`"function":{"name":"search","arguments":"{\"query\":\"branch\"}"}}]},`+
			`"finish_reason":"tool_calls"}]}`,
		choice+`{"role":"assistant","content":"On Thursdays."},"finish_reason":"stop"}]}`)
	chat, err := openai.NewChatModel(t.Context(), &openai.ChatModelConfig{
		APIKey: "none", Model: "m", BaseURL: url,
	})
	require.NoError(t, err)
	answer, err := ask(t.Context(), chat, "When is the branch cut?", false)
	require.NoError(t, err)
	assert.Equal(t, "On Thursdays.", answer)
	require.Len(t, *requests, 2)
	var request struct {
		Messages []struct {
			Role, Content string
			ToolCallID    string `json:"tool_call_id"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte((*requests)[1]), &request))
	require.Len(t, request.Messages, 5)
	roles := []string{"system", "user", "user", "assistant", "tool"}
	for i, m := range request.Messages {
		assert.Equal(t, roles[i], m.Role)
	}
	assert.Equal(t, toolresult.Line.Instructions(), request.Messages[0].Content)
	opened, err := envelope.JSON{}.Open(request.Messages[1].Content)
	require.NoError(t, err)
	assert.Equal(t, memories()[0].Content, opened[0].Content)
	assert.Equal(t, "When is the branch cut?", request.Messages[2].Content)
	want, err := toolresult.Text("search", "call_7", notes.Found)
	require.NoError(t, err)
	assert.Equal(t, want, request.Messages[4].Content)
	assert.Equal(t, "call_7", request.Messages[4].ToolCallID)
	opened, err = toolresult.Line.Open(request.Messages[4].Content)
	require.NoError(t, err)
	assert.Equal(t, notes.Found, opened[0].Content)
}

// What a tool streams is one envelope.
func TestEnvelopedStream(t *testing.T) {
	streams := func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
		half := len(notes.Found) / 2 // inside whatever stands there
		parts := []string{notes.Found[:half], notes.Found[half:]}
		return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray(parts)}, nil
	}
	out, err := envelopedStream(streams)(t.Context(), &compose.ToolInput{Name: "t", CallID: "1"})
	require.NoError(t, err)
	text, err := out.Result.Recv()
	require.NoError(t, err)
	want, err := toolresult.Text("t", "1", notes.Found)
	require.NoError(t, err)
	assert.Equal(t, want, text)
}
