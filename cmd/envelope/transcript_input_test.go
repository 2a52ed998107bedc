package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Where reading takes more than a second, a line says how far it is, and is gone in the end.
func TestTranscriptProgress(t *testing.T) {
	var e bytes.Buffer
	in := &logInput{
		ReadCloser: nopCloser{strings.NewReader(strings.Repeat("x", 3<<20))}, size: 5 << 20,
		started: time.Now(), to: &e,
	}
	p := make([]byte, 1<<20)
	_, err := in.Read(p)
	require.NoError(t, err)
	assert.Empty(t, e.String(), "not in the first second")
	in.started = in.started.Add(-2 * time.Second)
	for range 2 {
		_, err = in.Read(p)
		require.NoError(t, err)
	}
	assert.Equal(t, "2 of 5 MiB read", e.String(), "not with every read")
	in.clear()
	in.clear()
	assert.Equal(t, "2 of 5 MiB read\r"+strings.Repeat(" ", 15)+"\r", e.String())
	assert.False(t, terminal(&e))
}

type nopCloser struct{ *strings.Reader }

func (nopCloser) Close() error { return nil }
