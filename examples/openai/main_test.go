package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// The text arrives at the server byte for byte, and still opens.
func TestAsk(t *testing.T) {
	want, err := envelope.JSON{}.Render(memories(), envelope.Budget{})
	require.NoError(t, err)
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/responses", r.URL.Path)
		var err error
		body, err = io.ReadAll(r.Body)
		assert.NoError(t, err)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"r","object":"response","output":[`+
			`{"type":"message","id":"m","role":"assistant","status":"completed","content":[`+
			`{"type":"output_text","text":"On Thursdays.","annotations":[]}]}]}`)
	}))
	defer server.Close()
	client := openai.NewClient(
		option.WithBaseURL(server.URL), option.WithAPIKey("none"), option.WithMaxRetries(0))
	ask := func(items []envelope.Item) (texts []string) {
		answer, err := ask(t.Context(), client, items, "When is the branch cut?")
		require.NoError(t, err)
		assert.Equal(t, "On Thursdays.", answer)
		var request struct {
			Instructions any
			Input        []struct {
				Role    string
				Content []struct{ Type, Text string }
			}
		}
		require.NoError(t, json.Unmarshal(body, &request))
		assert.Nil(t, request.Instructions)
		require.Len(t, request.Input, 1)
		assert.Equal(t, "user", request.Input[0].Role)
		for _, c := range request.Input[0].Content {
			assert.Equal(t, "input_text", c.Type)
			texts = append(texts, c.Text)
		}
		return texts
	}
	texts := ask(memories())
	assert.Equal(t, []string{want.Content, "When is the branch cut?"}, texts)
	opened, err := envelope.JSON{}.Open(texts[0])
	require.NoError(t, err)
	assert.Equal(t, memories()[1].Content, opened[1].Content)
	assert.Equal(t, []string{"When is the branch cut?"}, ask(nil), "no memories, no block")
}
