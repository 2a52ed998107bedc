package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/untrusted-context/envelope/examples/frameworks/internal/notes"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/stub"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/toolresult"
)

// The result arrives at the provider byte for byte, still opens, and is told of in the system's
// words.
func TestAsk(t *testing.T) {
	url, requests := stub.Server(t,
		`{"candidates":[{"content":{"role":"model","parts":[`+
			`{"functionCall":{"id":"call_7","name":"search","args":{"query":"branch"}}}]}}]}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"On Thursdays."}]}}]}`)
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "none", Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
	require.NoError(t, err)
	answer, err := ask(t.Context(), client, "When is the branch cut?")
	require.NoError(t, err)
	assert.Equal(t, "On Thursdays.", answer)
	require.Len(t, *requests, 2)
	var request struct {
		SystemInstruction struct{ Parts []struct{ Text string } }
		Contents          []struct {
			Role  string
			Parts []struct {
				FunctionResponse *struct {
					ID, Name string
					Response map[string]string
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte((*requests)[1]), &request))
	assert.Equal(t, toolresult.Line.Instructions(), request.SystemInstruction.Parts[0].Text)
	require.Len(t, request.Contents, 3)
	response := request.Contents[2].Parts[0].FunctionResponse
	assert.Equal(t, "call_7", response.ID)
	want, err := toolresult.Text("search", "call_7", notes.Found)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"output": want}, response.Response)
	opened, err := toolresult.Line.Open(response.Response["output"])
	require.NoError(t, err)
	assert.Equal(t, notes.Found, opened[0].Content)
}
