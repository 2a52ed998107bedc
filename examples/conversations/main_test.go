package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope/transcript"
)

// testdata is where the package's own tests have the conversations.
const testdata = "../../transcript/testdata/conversations"

// The files of the package's tests are what the SDKs make of the conversations today. After a
// change that is meant: go run ./conversations DIR into an empty directory, and copy.
func TestFilesAreTheSDKs(t *testing.T) {
	for _, a := range apis {
		path := filepath.Join(t.TempDir(), a.name+".jsonl")
		require.NoError(t, a.write(t.Context(), path))
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		want, err := os.ReadFile(filepath.Join(testdata, a.name+".jsonl"))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), a.name)
	}
}

// A history that was read from a log is, to the API, the history that was sent before it was
// stored.
func TestHistoryComesBack(t *testing.T) {
	for _, a := range apis {
		server := newStandIn(a.replies)
		defer server.Close()
		path := filepath.Join(t.TempDir(), "log.jsonl")
		log, err := transcript.Open(path, transcript.Options{})
		require.NoError(t, err)
		require.NoError(t, a.talk(t.Context(), server.URL, log))
		require.NoError(t, log.Close())
		before := sent(t, server.last())
		require.NoError(t, a.resume(t.Context(), server.URL, path, "And now?"))
		after := sent(t, server.last())
		require.Len(t, after, len(before)+2, "the last answer, and the new question")
		for i := range before {
			assert.Empty(t, cmp.Diff(shorn(before[i]), shorn(after[i])), "%s: %d", a.name, i)
		}
		text, err := json.Marshal(after[len(before)])
		require.NoError(t, err)
		assert.Contains(t, string(text), `The last rule holds.\u2028Done.`)
	}
}

// sent is the history in a request.
func sent(t *testing.T, body []byte) []any {
	var request struct{ Messages, Input []any }
	require.NoError(t, json.Unmarshal(body, &request))
	return append(request.Messages, request.Input...)
}

// shorn is a message without the members that say nothing: to the API null and an empty list are as
// if they were not there.
func shorn(message any) any {
	m, ok := message.(map[string]any)
	if !ok {
		return message
	}
	for name, value := range m {
		if list, ok := value.([]any); value == nil || ok && len(list) == 0 {
			delete(m, name)
		}
	}
	return m
}
