package transcript_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/transcript"
)

// Another program may empty the file under an open log, as a rotation does.
func TestAppendAfterTheFileWasEmptied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := transcript.Open(path, transcript.Options{})
	require.NoError(t, err)
	defer log.Close()
	require.NoError(t, log.Append(transcript.Message{Role: "a", Content: "1"}))
	require.NoError(t, os.Truncate(path, 0))
	require.NoError(t, log.Append(transcript.Message{Role: "a", Content: "2"}))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, `{"role":"a","content":"2"}`+"\n", string(data))
}

// Another program cuts the file inside a line, to a size that it had.
func TestAppendAfterTheFileWasCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := transcript.Open(path, transcript.Options{})
	require.NoError(t, err)
	defer log.Close()
	long := transcript.Message{Role: "a", Content: strings.Repeat("x", 100)}
	short := transcript.Message{Role: "a", Content: "1"}
	require.NoError(t, log.Append(long))
	require.NoError(t, log.Append(short))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	lengths := []int{len(data) - len(`{"role":"a","content":"1"}`+"\n"), len(`{"role":"a","content":"1"}` + "\n")}
	require.NoError(t, os.Truncate(path, int64(lengths[0]-lengths[1])))
	require.NoError(t, log.Append(short))
	data, err = os.ReadFile(path)
	require.NoError(t, err)
	in, err := transcript.Inspect(strings.NewReader(string(data)), transcript.Options{})
	require.NoError(t, err)
	assert.Equal(t, 1, in.Records, "%s", data)
	require.Len(t, in.Faults, 1)
	assert.Equal(t, transcript.Torn, in.Faults[0].Kind)
}

// A record's own code may append to the log that it is appended to.
type appending struct{ log *transcript.Log }

func (a appending) MarshalJSON() ([]byte, error) {
	return []byte(`{"outer":1}`), a.log.Append(map[string]int{"inner": 1})
}

func TestAppendFromAnEncodingMethod(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := transcript.Open(path, transcript.Options{})
	require.NoError(t, err)
	defer log.Close()
	require.NoError(t, log.Append(json.RawMessage(`{"before":1}`)), "there is a buffer now")
	done := make(chan error, 1)
	go func() { done <- log.Append(json.RawMessage(`{"first":1}`), appending{log}) }()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for itself")
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "{\"before\":1}\n{\"inner\":1}\n{\"first\":1}\n{\"outer\":1}\n", string(data))
}

// The file of a conversation is its owner's.
func TestModeOfANewLog(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has no such modes")
	}
	path := filepath.Join(t.TempDir(), "log")
	log, err := transcript.Open(path, transcript.Options{})
	require.NoError(t, err)
	require.NoError(t, log.Close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
}

// A log takes what its readers read, and no deeper.
func TestAppendDepth(t *testing.T) {
	deep := func(n int) json.RawMessage {
		return json.RawMessage(strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1))
	}
	log, err := transcript.Open(filepath.Join(t.TempDir(), "log"), transcript.Options{})
	require.NoError(t, err)
	defer log.Close()
	member := func(n int) transcript.Message {
		return transcript.Message{Extra: []transcript.Member{{Name: "x", Value: deep(n)}}}
	}
	assert.NoError(t, log.Append(deep(10000), member(9999)))
	assert.ErrorIs(t, log.Append(deep(10001)), envelope.ErrTooDeep)
	assert.ErrorIs(t, log.Append(member(10000)), envelope.ErrTooDeep)
}

func TestRecordIsWrittenAsItsObject(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := transcript.Open(path, transcript.Options{})
	require.NoError(t, err)
	defer log.Close()
	record := transcript.Record{Line: 7, JSON: []byte(`{"a":1}`)}
	require.NoError(t, log.Append(record, &record, map[string]string{"text": `\ufffd`}))
	assert.Error(t, log.Append((*transcript.Record)(nil)))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "{\"a\":1}\n{\"a\":1}\n{\"text\":\"\\\\ufffd\"}\n", string(data))
}

func TestDecodeRebasesTheFaultOfTheWholeOnly(t *testing.T) {
	const line = `{"pad":"xxxxxxxxxxxxxxxxxxxxxxxx","m":{"role":"u","content":5}}`
	for record, err := range transcript.Records(strings.NewReader("{}\n"+line), transcript.Options{}) {
		require.NoError(t, err)
		if record.Line == 1 {
			continue
		}
		var fault *transcript.Fault
		var message transcript.Message
		require.True(t, errors.As(record.Decode(&message), &fault))
		assert.Equal(t, transcript.Fault{Line: 2, Offset: 3, Kind: transcript.NotMessage}, *fault)
		var nested struct{ M transcript.Message }
		require.True(t, errors.As(record.Decode(&nested), &fault))
		assert.Equal(t, 1, fault.Line, "of the value alone: %v", fault)
	}
}

func TestUnmarshalLeavesTheReceiver(t *testing.T) {
	m := transcript.Message{Role: "keep", Content: "keep"}
	for _, data := range []string{`{"role":1}`, `{"role":"a"}`, `[]`, `{"role":"a","role":"b"}`} {
		require.Error(t, m.UnmarshalJSON([]byte(data)))
		assert.Equal(t, transcript.Message{Role: "keep", Content: "keep"}, m)
	}
}

func TestFaultsAtTheEndOfALine(t *testing.T) {
	tests := []struct {
		line   string
		kind   transcript.FaultKind
		offset int64
	}{
		{`{"a":1{`, transcript.Spliced, 6},
		{`{"a":{`, transcript.Torn, 6},
		{`{"a":"hello   `, transcript.Torn, 14},
		{"{\"a\":\"hello   \r", transcript.Torn, 14},
		{`{"a":1,  `, transcript.Torn, 9},
	}
	for _, tt := range tests {
		found, err := transcript.Inspect(strings.NewReader(tt.line+"\n"), transcript.Options{})
		require.NoError(t, err)
		require.Len(t, found.Faults, 1, tt.line)
		assert.Equal(t, transcript.Fault{Line: 1, Offset: tt.offset, Kind: tt.kind}, *found.Faults[0], "%q", tt.line)
	}
}
