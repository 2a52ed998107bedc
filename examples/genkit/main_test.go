package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/plugins/compat_oai/openai"
	"github.com/openai/openai-go/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The result arrives at the provider byte for byte, and still opens.
func TestAsk(t *testing.T) {
	const choice = `{"id":"c","object":"chat.completion","model":"m",` +
		`"choices":[{"index":0,"message":`
	answers := []string{
		choice + `{"role":"assistant","content":"","tool_calls":[{"id":"call_7",` +
			`"type":"function","function":{"name":"search",` +
			`"arguments":"{\"query\":\"branch\"}"}}]},` +
			`"finish_reason":"tool_calls"}]}`,
		choice + `{"role":"assistant","content":"On Thursdays."},"finish_reason":"stop"}]}`,
	}
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		requests = append(requests, string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answers[min(len(requests), len(answers))-1])
	}))
	defer server.Close()
	plugin := &openai.OpenAI{
		APIKey: "none",
		Opts:   []option.RequestOption{option.WithBaseURL(server.URL), option.WithMaxRetries(0)},
	}
	answer, err := ask(t.Context(), plugin, "When is the branch cut?")
	require.NoError(t, err)
	assert.Equal(t, "On Thursdays.", answer)
	require.Len(t, requests, 2)
	var request struct {
		Messages []struct {
			Role       string
			Content    json.RawMessage
			ToolCallID string `json:"tool_call_id"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(requests[1]), &request))
	require.Len(t, request.Messages, 4)
	text := func(i int) (s string) {
		require.NoError(t, json.Unmarshal(request.Messages[i].Content, &s))
		return s
	}
	assert.Equal(t, "system", request.Messages[0].Role)
	assert.Equal(t, results.Instructions(), text(0))
	assert.Equal(t, "tool", request.Messages[3].Role)
	assert.Equal(t, "call_7", request.Messages[3].ToolCallID)
	want, err := result(&ai.ToolResponse{Name: "search", Ref: "call_7", Output: found})
	require.NoError(t, err)
	assert.Equal(t, string(want.Output.(json.RawMessage)), text(3))
	opened, err := results.Open(text(3))
	require.NoError(t, err)
	assert.Equal(t, found, opened[0].Content)
}

// An output that is no string is the JSON of it, and a blank one is empty.
func TestResult(t *testing.T) {
	r, err := result(&ai.ToolResponse{Name: "t", Output: map[string]any{"n": 1}})
	require.NoError(t, err)
	opened, err := results.Open(string(r.Output.(json.RawMessage)))
	require.NoError(t, err)
	assert.Equal(t, `{"n":1}`, opened[0].Content)
	r, err = result(&ai.ToolResponse{Name: "t", Output: " "})
	require.NoError(t, err)
	assert.Equal(t, "", r.Output)
}
