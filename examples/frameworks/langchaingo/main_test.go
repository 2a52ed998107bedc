package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms/openai"
	"github.com/tmc/langchaingo/schema"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/stub"
)

// The documents arrive at the provider byte for byte, each with its metadata, and still open.
func TestAsk(t *testing.T) {
	url, requests := stub.Server(t, `{"id":"c","object":"chat.completion","model":"m","choices":[`+
		`{"index":0,"message":{"role":"assistant","content":"On Thursdays."},`+
		`"finish_reason":"stop"}]}`)
	model, err := openai.New(openai.WithToken("none"), openai.WithBaseURL(url))
	require.NoError(t, err)
	answer, err := ask(t.Context(), model, store{}, "When is the branch cut?")
	require.NoError(t, err)
	assert.Equal(t, "On Thursdays.", answer)
	var request struct {
		Messages []struct{ Content any }
	}
	require.NoError(t, json.Unmarshal([]byte((*requests)[0]), &request))
	prompt := request.Messages[0].Content.(string)
	renderer := envelope.JSON{Omitted: true}
	at := strings.Index(prompt, envelope.PowerContextV1.Notice)
	length := strings.Index(prompt[at:], "\n"+envelope.PowerContextV1.End)
	require.Positive(t, length)
	text := prompt[at : at+length+len("\n"+envelope.PowerContextV1.End)]
	assert.Equal(t, "\n\nQuestion: When is the branch cut?\nHelpful Answer:", prompt[at+len(text):])
	opened, err := renderer.Open(text)
	require.NoError(t, err)
	want, err := store{}.GetRelevantDocuments(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, opened, len(want))
	for i, d := range want {
		assert.Equal(t, d.PageContent, opened[i].Content)
		var cited chunk
		require.NoError(t, opened[i].DecodeCitation(&cited))
		assert.Equal(t, chunk{i + 1, d.Metadata}, cited)
	}
}

type retriever func() ([]schema.Document, error)

func (r retriever) GetRelevantDocuments(context.Context, string) ([]schema.Document, error) {
	return r()
}

// Nothing found is no document, and an error stays one.
func TestEnveloped(t *testing.T) {
	fault := errors.New("fault")
	for _, want := range []error{nil, fault} {
		none := func() ([]schema.Document, error) { return nil, want }
		got, err := enveloped{retriever(none)}.GetRelevantDocuments(t.Context(), "q")
		assert.Empty(t, got)
		assert.Equal(t, want, err)
	}
}
