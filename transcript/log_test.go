package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/numbers"
	"github.com/untrusted-context/envelope/transcript"
)

// newLog opens a log that holds text already.
func newLog(
	tb testing.TB, text string, o transcript.Options,
) (log *transcript.Log, read func() string) {
	path := filepath.Join(tb.TempDir(), "log.jsonl")
	if text != "" {
		require.NoError(tb, os.WriteFile(path, []byte(text), 0o600))
	}
	log, err := transcript.Open(path, o)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = log.Close() })
	return log, func() string {
		data, err := os.ReadFile(path)
		require.NoError(tb, err)
		return string(data)
	}
}

func TestAppend(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	pointer := raw(`{"a": 1}`)
	tests := []struct {
		why    string
		record any
		want   string
	}{
		{"a message", demo[1], `{"role":"assistant","content":"先读文件"}`},
		{"an empty one", transcript.Message{}, `{"role":"","content":""}`},
		{"a pointer to one", &demo[1], `{"role":"assistant","content":"先读文件"}`},
		{
			"boundaries of every reader",
			transcript.Message{
				Role: "\u2029", Content: "\n\v\f\r\x1c\x1d\x1e\u0085\u2028\u2029\r\n",
			},
			`{"role":"\u2029","content":"\n\u000b\f\r\u001c\u001d\u001e\u0085\u2028\u2029\r\n"}`,
		},
		{
			"neighbours of the escaped",
			transcript.Message{Content: "\u0084\u0086\u00c2\u2027\u202a“”…—\x7f\ufffd\U0001f642"},
			`{"role":"","content":"` + "\u0084\u0086\u00c2\u2027\u202a“”…—\x7f\ufffd" +
				"\U0001f642" + `"}`,
		},
		{
			"parts", parts("a", ` [ {"type":"text", "text":"\u2028\/"} ] `),
			`{"role":"a","content":[ {"type":"text", "text":"\u2028\/"} ]}`,
		},
		{
			"parts over lines, with a raw boundary", parts("a", "[\n 1,\n \"\u2028\"\n]"),
			`{"role":"a","content":[1,"\u2028"]}`,
		},
		{
			"no content", parts("a", "null", transcript.Member{"tool_calls", raw("[]")}),
			`{"role":"a","content":null,"tool_calls":[]}`,
		},
		{
			"empty parts are none", transcript.Message{Role: "a", Content: "x", Parts: raw("")},
			`{"role":"a","content":"x"}`,
		},
		{
			"HTML and quotes", transcript.Message{Content: `<b>&"\/`},
			`{"role":"","content":"<b>&\"\\/"}`,
		},
		{
			"extra members",
			transcript.Message{
				Role: "a", Content: "b",
				Extra: []transcript.Member{
					{"", raw(`null`)}, {"n\n\u2028", raw(" [1.0e5, \"\\u0041\u2028\\/\"]\t")},
				},
			},
			`{"role":"a","content":"b","":null,"n\n\u2028":[1.0e5, "\u0041\u2028\/"]}`,
		},
		{
			"an extra member over lines",
			transcript.Message{Extra: []transcript.Member{{"x", raw("{\r\n \"a b\" : 1\n}")}}},
			`{"role":"","content":"","x":{"a b":1}}`,
		},
		{"a raw message", raw(`{"b": 1, "a":"\u0041"}`), `{"b": 1, "a":"\u0041"}`},
		{"a pointer to one", &pointer, `{"a": 1}`},
		{"one over lines", raw("\n{\n\t\"a\":\r1 }\n"), `{"a":1}`},
		{
			"one with raw boundaries", raw("{\"a\":\"\u0085\u2028\u2029\"}"),
			`{"a":"\u0085\u2028\u2029"}`,
		},
		{
			"one with what other classes of the escaper escape",
			raw("{\"中\":\"é<>&\u007f\u200b\ufeff\U000e0041\"}"),
			"{\"中\":\"é<>&\u007f\u200b\ufeff\U000e0041\"}",
		},
		{
			"a record", transcript.Record{Line: 7, JSON: raw(`{"a" :9007199254740993}`)},
			`{"a" :9007199254740993}`,
		},
		{"a map", map[string]any{"a": "\u2028<", "b": nil}, `{"a":"\u2028<","b":null}`},
		{"a struct", struct {
			A int     `json:"a"`
			M any     `json:"m"`
			F float64 `json:"f"`
		}{1, demo[1], 1e21}, `{"a":1,"m":{"role":"assistant","content":"先读文件"},"f":1e+21}`},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			log, read := newLog(t, "", transcript.Options{MaxLine: int64(len(tt.want))})
			require.NoError(t, log.Append(tt.record))
			assert.Equal(t, tt.want+"\n", read())
			assert.Equal(
				t, transcript.Inspection{Records: 1},
				requireAgreement(t, read(), transcript.Options{}),
			)

			log, read = newLog(t, "", transcript.Options{MaxLine: int64(len(tt.want) - 1)})
			assert.Equal(
				t, &transcript.RecordError{Err: transcript.ErrTooLong, Offset: -1},
				log.Append(tt.record),
			)
			assert.Empty(t, read())
		})
	}
}

// What is refused leaves the file as it was, and so do the records before it in the call.
// below puts a text into maps, one in the other.
func below(levels int, text string) any {
	var v any = text
	for range levels {
		v = map[string]any{"a": v}
	}
	return v
}

type panicking struct{}

func (panicking) MarshalText() ([]byte, error) { panic("secret") }

// A number of any size is kept as it is spelt: to refuse it would lose the record.
func TestAppendKeepsNumbers(t *testing.T) {
	for _, n := range numbers.Crooked {
		log, read := newLog(t, "", transcript.Options{})
		record := `{"role":"user","content":"x","n":` + n.Text + `}`
		require.NoError(t, log.Append(
			json.RawMessage(record),
			map[string]any{"n": json.Number(n.Text)},
			transcript.Message{
				Role: "user", Content: "x",
				Extra: []transcript.Member{{"n", json.RawMessage(n.Text)}},
			},
		), n.Why)
		require.Equal(t, record+"\n"+`{"n":`+n.Text+"}\n"+record+"\n", read(), n.Why)
		count := 0
		for _, err := range transcript.Records(strings.NewReader(read()), transcript.Options{}) {
			require.NoError(t, err, n.Why)
			count++
		}
		require.Equal(t, 3, count)
	}
}

func TestAppendRefuses(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	extra := func(members ...transcript.Member) transcript.Message {
		return transcript.Message{Extra: members}
	}
	one := raw("1")
	many := make([]transcript.Member, 300)
	for i := range many {
		many[i] = transcript.Member{Name: strings.Repeat("x", i), Value: one}
	}
	many[299].Name = many[7].Name
	tests := []struct {
		why    string
		record any
		err    error
		field  string
		offset int
	}{
		{
			"invalid UTF-8 in the role", transcript.Message{Role: "secret\xff"},
			envelope.ErrInvalidUTF8, "role", 6,
		},
		{
			"in the content", transcript.Message{Content: "中\xed\xa0\x80"},
			envelope.ErrInvalidUTF8, "content", 3,
		},
		{
			"behind a replacement character", transcript.Message{Content: "\ufffd\xff"},
			envelope.ErrInvalidUTF8, "content", 3,
		},
		{
			"half a character", transcript.Message{Content: "secret\xe4\xb8"},
			envelope.ErrInvalidUTF8, "content", 6,
		},
		{
			"in a name", extra(transcript.Member{"\xff", one}), envelope.ErrInvalidUTF8,
			"extra[0].name", 0,
		},
		{
			"in a value",
			extra(transcript.Member{"a", one}, transcript.Member{"b", raw("\"\xff\"")}),
			envelope.ErrInvalidUTF8, "extra[1].value", 1,
		},
		{
			"parts beside a content", transcript.Message{Content: "x", Parts: raw("null")},
			envelope.ErrOption, "parts", -1,
		},
		{"parts that are a string", parts("", ` "secret"`), envelope.ErrOption, "parts", -1},
		{"parts that are no JSON", parts("", `[secret]`), envelope.ErrSyntax, "parts", 1},
		{"parts with invalid UTF-8", parts("", "[\"\xff\"]"), envelope.ErrInvalidUTF8, "parts", 2},
		{
			"parts with a name twice", parts("", `[{"a":1,"a":2}]`), envelope.ErrDuplicateName,
			"parts", 8,
		},
		{
			"parts too deep", parts("", strings.Repeat("[", 10000)+strings.Repeat("]", 10000)),
			envelope.ErrTooDeep, "parts", 9999,
		},
		{
			"nested maps with invalid UTF-8 31 levels down", nested(31, "x\xff"),
			envelope.ErrInvalidUTF8, "", -1,
		},
		{
			"a second role", extra(transcript.Member{"role", raw(`"secret"`)}),
			envelope.ErrDuplicateName, "extra[0].name", -1,
		},
		{
			"a second content",
			extra(transcript.Member{"x", one}, transcript.Member{"content", one}),
			envelope.ErrDuplicateName, "extra[1].name", -1,
		},
		{
			"a name twice", extra(transcript.Member{"x", one}, transcript.Member{"x", one}),
			envelope.ErrDuplicateName, "extra[1].name", -1,
		},
		{
			"a name twice among many", extra(many...), envelope.ErrDuplicateName,
			"extra[299].name", -1,
		},
		{"no value", extra(transcript.Member{"x", nil}), envelope.ErrSyntax, "extra[0].value", 0},
		{
			"two values", extra(transcript.Member{"x", raw(`1,"role":2`)}), envelope.ErrSyntax,
			"extra[0].value", 1,
		},
		{
			"a value too deep",
			extra(
				transcript.Member{
					"x", raw(strings.Repeat("[", 10000) + strings.Repeat("]", 10000)),
				},
			),
			envelope.ErrTooDeep, "extra[0].value", 9999,
		},
		{
			"a name twice in a value", extra(transcript.Member{"x", raw(`{"a":1,"a":2}`)}),
			envelope.ErrDuplicateName, "extra[0].value", 7,
		},
		{"no message", (*transcript.Message)(nil), envelope.ErrNotObject, "", -1},
		{"nothing", nil, envelope.ErrNotObject, "", 0},
		{"an empty raw message", raw(""), envelope.ErrSyntax, "", 0},
		{"no raw message", (*json.RawMessage)(nil), envelope.ErrSyntax, "", 0},
		{"an array", raw(" [1]"), envelope.ErrNotObject, "", 1},
		{"a string", "secret", envelope.ErrNotObject, "", 0},
		{"bytes", []byte(`{"a":1}`), envelope.ErrNotObject, "", 0},
		{"two objects", raw(`{}{}`), envelope.ErrSyntax, "", 2},
		{"a torn one", raw(`{"secret":`), envelope.ErrSyntax, "", 10},
		{"a lone surrogate", raw(`{"a":"\ud83d"}`), envelope.ErrLoneSurrogate, "", 6},
		{
			"a name twice, however spelt", raw(`{"a":1,"\u0061":2}`), envelope.ErrDuplicateName,
			"", 7,
		},
		{"a raw invalid byte", raw("{\"a\":\"\xff\"}"), envelope.ErrInvalidUTF8, "", 6},
		{"invalid UTF-8 in a map", map[string]string{"a": "\xff"}, envelope.ErrInvalidUTF8, "", -1},
		{
			"in a struct", struct{ A []string }{[]string{"x", "\xff"}}, envelope.ErrInvalidUTF8,
			"", -1,
		},
		{"below 31 maps", below(31, "x\xff"), envelope.ErrInvalidUTF8, "", -1},
		{"below 9,999", below(9999, "x\xff"), envelope.ErrInvalidUTF8, "", -1},
		{"a map too deep", below(10001, "x"), envelope.ErrTooDeep, "", 10000 * len(`{"a":`)},
		{"a method that panics", map[string]any{"a": panicking{}}, envelope.ErrNotObject, "", -1},
		{"an encoder that fails", failing{}, envelope.ErrNotObject, "", -1},
		{
			"a message inside that fails", map[string]any{"m": transcript.Message{Role: "\xff"}},
			envelope.ErrNotObject, "", -1,
		},
		{"a channel", make(chan int), envelope.ErrNotObject, "", -1},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			const before = "{}\n{\"torn"
			log, read := newLog(t, before, transcript.Options{})
			err := log.Append(demo[0], tt.record, demo[1])
			require.ErrorIs(t, err, tt.err)
			refused, ok := err.(*transcript.RecordError)
			require.True(t, ok, "%T", err)
			assert.Equal(
				t, []any{1, tt.field, tt.offset},
				[]any{refused.Record, refused.Field, refused.Offset},
			)
			assert.NotContains(t, err.Error(), "secret")
			assert.Equal(t, before, read())
			require.NoError(t, log.Append(demo[1]), "the log is as usable as before")
		})
	}
	log, read := newLog(t, "{\"torn", transcript.Options{})
	require.NoError(t, log.Append())
	assert.Equal(t, "{\"torn", read(), "no records are nothing to do")
	assert.ErrorIs(t, log.Append(failing{}), errSecret)
	require.NoError(t, log.Sync())
	require.NoError(t, log.Close())
	assert.ErrorIs(t, log.Append(demo[0]), os.ErrClosed)
	assert.ErrorIs(t, log.Sync(), os.ErrClosed)
	assert.ErrorIs(t, log.Close(), os.ErrClosed)
	require.NoError(t, log.Append())
	_, err := transcript.Open(t.TempDir(), transcript.Options{})
	assert.Error(t, err)
	_, err = transcript.Open(filepath.Join(t.TempDir(), "no", "log"), transcript.Options{})
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = transcript.Open(filepath.Join(t.TempDir(), "log"), transcript.Options{MaxLine: -1})
	assert.ErrorIs(t, err, envelope.ErrOption)
}

// nested is a map of maps, levels deep, with text at the bottom.
func nested(levels int, text string) map[string]any {
	if levels == 1 {
		return map[string]any{"a": text}
	}
	return map[string]any{"a": nested(levels-1, text)}
}

type failing struct{}

var errSecret = errors.New("secret")

func (failing) MarshalJSON() ([]byte, error) { return nil, errSecret }

// A writer died after each byte of its record. The next record is whole, and so is what stood
// before; the fragment is reported.
func TestAppendAfterATornLine(t *testing.T) {
	dead := "{\"role\":\"tool\",\"content\":\"\u2028中\\n{\\\"a\\\":1}\"}"
	const good = "{\"a\":1}\n"
	next := writeJSON(demo[1:2])
	for cut := 0; cut <= len(dead); cut++ {
		log, read := newLog(t, good+dead[:cut], transcript.Options{})
		require.NoError(t, log.Append(demo[1]))
		want := good + dead[:cut] + "\n" + next
		if cut == 0 {
			want = good + next
		}
		require.Equal(t, want, read())
		in := requireAgreement(t, read(), transcript.Options{})
		switch cut {
		case 0:
			require.Equal(t, transcript.Inspection{Records: 2}, in)
		case len(dead):
			require.Equal(t, transcript.Inspection{Records: 3}, in, "only the LF was missing")
		default:
			require.Equal(t, 2, in.Records)
			require.Equal(
				t,
				[]*transcript.Fault{
					{Line: 2, Offset: int64(len(good) + cut), Kind: transcript.Torn},
				},
				in.Faults,
			)
		}
	}
	log, read := newLog(t, "{", transcript.Options{})
	require.NoError(t, log.Append(demo[1]))
	assert.Equal(t, "{\n"+next, read(), "a file of one byte")
	// Another writer tears a line between two appends of one log.
	log, read = newLog(t, "", transcript.Options{})
	require.NoError(t, log.Append(demo[0]))
	whole := read()
	f, err := os.OpenFile(pathOf(t, log), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = f.WriteString("{\"torn\x00\x00")
	require.NoError(t, errors.Join(err, f.Close()))
	require.NoError(t, log.Append(demo[1]))
	assert.Equal(t, whole+"{\"torn\x00\x00\n"+next, read())
}

func pathOf(t *testing.T, log *transcript.Log) string {
	path := ""
	log.Wrap(func(f transcript.File) transcript.File {
		path = f.(*os.File).Name()
		return f
	})
	require.NotEmpty(t, path)
	return path
}

// faulty is a file that writes part of the data and fails, or says nothing. What else has an
// error fails with it.
type faulty struct {
	transcript.File
	most                       int
	err                        error
	truncate, seek, read, stat error
	writes                     int
}

func (f *faulty) Seek(offset int64, whence int) (int64, error) {
	if f.seek != nil {
		return 0, f.seek
	}
	return f.File.Seek(offset, whence)
}

func (f *faulty) ReadAt(p []byte, offset int64) (int, error) {
	if f.read != nil {
		return 0, f.read
	}
	return f.File.ReadAt(p, offset)
}

func (f *faulty) Stat() (os.FileInfo, error) {
	if f.stat != nil {
		return nil, f.stat
	}
	return f.File.Stat()
}

func (f *faulty) Write(p []byte) (int, error) {
	f.writes++
	n, err := f.File.Write(p[:min(f.most, len(p))])
	if err == nil {
		err = f.err
	}
	return n, err
}

func (f *faulty) Truncate(size int64) error {
	if f.truncate != nil {
		return f.truncate
	}
	return f.File.Truncate(size)
}

// A write that fails after any number of bytes is cut back to where the append began, also
// without a word of its failure.
func TestFailedWrite(t *testing.T) {
	length := len(writeJSON(demo[:2]))
	for _, before := range []string{"", "{}\n", "{\"torn"} {
		whole := length + strings.Count(before, "torn") // the LF that ends it
		for _, failure := range []error{errFull, nil} {
			for most := range whole {
				log, read := newLog(t, before, transcript.Options{})
				log.Wrap(func(f transcript.File) transcript.File {
					return &faulty{File: f, most: most, err: failure}
				})
				err := log.Append(demo[0], demo[1])
				want := failure
				if failure == nil {
					want = io.ErrShortWrite
				}
				require.ErrorIs(t, err, want)
				require.NotErrorIs(t, err, transcript.ErrFragment)
				require.Equal(t, before, read())
			}
		}
	}
}

func TestFailedWriteThatCannotBeCut(t *testing.T) {
	const before = "{}\n"
	var wrapped *faulty
	log, read := newLog(t, before, transcript.Options{})
	log.Wrap(func(f transcript.File) transcript.File {
		wrapped = &faulty{
			File: f, most: 20, err: errFull, truncate: errors.New("not with this handle"),
		}
		return wrapped
	})
	require.ErrorIs(t, log.Append(demo[0]), errFull)
	assert.Equal(t, before, read(), "another handle on the same file can")

	if runtime.GOOS == "windows" {
		return // an open file is not renamed there
	}
	path := wrapped.File.(*os.File).Name()
	require.NoError(t, os.Rename(path, path+".moved"))
	most := wrapped.most
	wrapped.most = 0
	err := log.Append(demo[0])
	require.ErrorIs(t, err, errFull)
	require.NotErrorIs(t, err, transcript.ErrFragment, "there is nothing to cut")
	wrapped.most = most
	err = log.Append(demo[0])
	require.ErrorIs(t, err, errFull)
	require.ErrorIs(t, err, transcript.ErrFragment)
	require.ErrorIs(t, err, os.ErrNotExist, "why it cannot be cut")
	require.NoError(t, os.WriteFile(path, []byte("another log\n"), 0o600))
	require.ErrorIs(t, log.Append(demo[0]), transcript.ErrFragment)
	assert.Equal(t, "another log\n", read(), "a file that took its place is not cut")
	wrapped.stat = errors.New("no such handle")
	require.ErrorIs(t, log.Append(demo[0]), wrapped.stat)
	assert.Equal(t, "another log\n", read())

	wrapped.most, wrapped.err = 1<<20, nil
	require.NoError(t, log.Append(demo[1], demo[1]))
	assert.Equal(t, 6, wrapped.writes, "one write a call")
	moved, err := os.ReadFile(path + ".moved")
	require.NoError(t, err)
	in := requireAgreement(t, string(moved), transcript.Options{})
	assert.Equal(t, 3, in.Records)
	assert.NotEmpty(t, in.Faults)

	wrapped.most, wrapped.err, wrapped.truncate = 20, errFull, nil
	require.NotErrorIs(
		t, log.Append(demo[0]), transcript.ErrFragment, "its own handle needs no path",
	)
	after, err := os.ReadFile(path + ".moved")
	require.NoError(t, err)
	assert.Equal(t, moved, after)
}

// What fails before the write leaves the file as it was.
func TestFailureBeforeTheWrite(t *testing.T) {
	errBroken := errors.New("broken")
	tests := []struct {
		why  string
		file faulty
	}{
		{"its size is not known", faulty{seek: errBroken}},
		{"its last byte is not known", faulty{read: errBroken}},
	}
	for _, tt := range tests {
		const before = "{\"torn"
		log, read := newLog(t, before, transcript.Options{})
		log.Wrap(func(f transcript.File) transcript.File {
			tt.file.File, tt.file.most = f, 1<<20
			return &tt.file
		})
		assert.ErrorIs(t, log.Append(demo[0]), errBroken, tt.why)
		assert.Equal(t, before, read(), tt.why)
	}
}

// broken is a lock with errors of its own.
type broken struct {
	transcript.Locker
	lock, unlock error
}

func (b *broken) TryLock() (bool, error) {
	if b.lock != nil {
		return false, b.lock
	}
	return b.Locker.TryLock()
}

func (b *broken) Unlock() error { return errors.Join(b.unlock, b.Locker.Unlock()) }

func TestFailedLock(t *testing.T) {
	errLock := errors.New("no locks left")
	log, read := newLog(t, "", transcript.Options{})
	lock := &broken{lock: errLock}
	log.WrapLock(func(own transcript.Locker) transcript.Locker {
		lock.Locker = own
		return lock
	})
	assert.ErrorIs(t, log.Append(demo[1]), errLock)
	assert.Empty(t, read(), "nothing is written without the lock")

	lock.lock, lock.unlock = nil, errLock
	assert.ErrorIs(t, log.Append(demo[1]), errLock)
	assert.Equal(t, writeJSON(demo[1:2]), read(), "the record is there, and the error says so")

	log.Wrap(func(f transcript.File) transcript.File { return &faulty{File: f, err: errFull} })
	err := log.Append(demo[1])
	assert.ErrorIs(t, err, errFull, "why nothing was written comes first")
	assert.NotErrorIs(t, err, errLock)
}

func TestRecordErrorStrings(t *testing.T) {
	tests := []struct {
		err  transcript.RecordError
		want string
	}{
		{
			transcript.RecordError{Err: transcript.ErrTooLong, Record: 3, Offset: -1},
			"transcript: record 3: longer than Options.MaxLine",
		},
		{
			transcript.RecordError{Err: envelope.ErrSyntax, Offset: 0},
			"transcript: record 0: not JSON (byte 0)",
		},
		{
			transcript.RecordError{
				Err: envelope.ErrInvalidUTF8, Record: 1, Field: "content", Offset: 7,
			},
			"transcript: record 1: content: invalid UTF-8 (byte 7)",
		},
	}
	for _, tt := range tests {
		assert.EqualError(t, &tt.err, tt.want)
		assert.Equal(t, []error{tt.err.Err}, tt.err.Unwrap())
	}
}

// ailing is a file of which something else than writing fails.
type ailing struct {
	transcript.File
	seek, read, stat error
	closes           bool // once it has written
}

func (f ailing) Seek(offset int64, whence int) (int64, error) {
	n, err := f.File.Seek(offset, whence)
	return n, errors.Join(f.seek, err)
}

func (f ailing) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(p, offset)
	return n, errors.Join(f.read, err)
}

func (f ailing) Stat() (os.FileInfo, error) {
	info, err := f.File.Stat()
	return info, errors.Join(f.stat, err)
}

func (f ailing) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if f.closes {
		err = errors.Join(err, f.Close())
	}
	return n, err
}

// Whatever else fails, the caller learns of it, and nothing is written that is not known to
// begin a line.
func TestFilesThatFail(t *testing.T) {
	const before = "{}\n"
	broken := errors.New("unplugged")
	tests := []struct {
		why  string
		file ailing
		want error
	}{
		{"no end to write at", ailing{seek: broken}, broken},
		{"no last byte to see whether a line ends there", ailing{read: broken}, broken},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			log, read := newLog(t, before, transcript.Options{})
			log.Wrap(func(f transcript.File) transcript.File { tt.file.File = f; return tt.file })
			assert.ErrorIs(t, log.Append(demo[0]), tt.want)
			assert.Equal(t, before, read())
		})
	}
	t.Run("a part is written, and whose file it is in cannot be said", func(t *testing.T) {
		log, read := newLog(t, before, transcript.Options{})
		log.Wrap(func(f transcript.File) transcript.File {
			return ailing{
				File: &faulty{File: f, most: 5, err: errFull, truncate: broken}, stat: broken,
			}
		})
		err := log.Append(demo[0])
		for _, want := range []error{errFull, transcript.ErrFragment, broken} {
			assert.ErrorIs(t, err, want)
		}
		assert.Equal(t, before+writeJSON(demo[:1])[:5], read(), "nobody else's file is cut")
	})
	t.Run("all is written, and the lock cannot be given back", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("the lock is another file's there")
		}
		log, read := newLog(t, before, transcript.Options{})
		log.Wrap(func(f transcript.File) transcript.File { return ailing{File: f, closes: true} })
		err := log.Append(demo[0])
		assert.ErrorIs(t, err, os.ErrClosed)
		assert.ErrorContains(t, err, "appended")
		assert.Equal(t, before+writeJSON(demo[:1]), read())
	})
}

// Goroutines with a log each, and some with one in common: all records come back whole.
func TestConcurrentAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const writers, each = 8, 40
	shared, err := transcript.Open(path, transcript.Options{})
	require.NoError(t, err)
	defer shared.Close()
	var group sync.WaitGroup
	for w := range writers {
		group.Add(1)
		go func() {
			defer group.Done()
			log := shared
			if w%2 == 0 {
				own, err := transcript.Open(path, transcript.Options{})
				if !assert.NoError(t, err) {
					return
				}
				defer own.Close()
				log = own
			}
			for i := range each {
				m := transcript.Message{
					Role: strings.Repeat("w", w), Content: strings.Repeat("中\n", i*w*20),
				}
				assert.NoError(t, log.Append(m, json.RawMessage(`{"n":1}`)))
			}
		}()
	}
	group.Wait()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	in, err := transcript.Inspect(bytes.NewReader(data), transcript.Options{})
	require.NoError(t, err)
	assert.Equal(t, transcript.Inspection{Records: 2 * writers * each}, in)
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		require.Equal(t, i%2 == 1, line == `{"n":1}`, "the records of one call stay together")
	}
}

// Every code point: written as encoding/json and the escaper write it, on one line, and read
// back as it was.
func TestEveryCodePoint(t *testing.T) {
	step := rune(1)
	if testing.Short() {
		step = 61
	}
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	for c := rune(0); c <= 0x10ffff; c += step {
		if 0xd800 <= c && c < 0xe000 {
			continue
		}
		// Eight bytes and more are looked at together.
		m := transcript.Message{
			Role: string(c), Content: "abc" + string(c) + "defghijklmn" + string(c),
		}
		got, err := m.MarshalJSON()
		require.NoError(t, err)
		line.Reset()
		type plain struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		}
		require.NoError(t, e.Encode(plain{m.Role, m.Content}))
		want := envelope.EscapeJSON(nil, bytes.TrimSuffix(line.Bytes(), []byte("\n")), 0)
		if !bytes.Equal(want, got) || bytes.ContainsAny(got, lineBoundaries) {
			t.Fatalf("U+%04X: %q, want %q", c, got, want)
		}
		var back transcript.Message
		err = back.UnmarshalJSON(got)
		if err != nil || back.Role != m.Role || back.Content != m.Content {
			t.Fatalf("U+%04X: %q came back as %q (%v)", c, m, back, err)
		}
	}
}

// Eight bytes are looked at together: each character that has another form stands at each place
// among them.
func TestEveryPlace(t *testing.T) {
	special := []string{"\x00", "\x1f", "\n", `"`, `\`, "\u0085", "\u2028", "\u2029"}
	plain := []string{" ", "!", "#", "[", "]", "\x7f", "\u0084", "\u00a0", "\u2027", "\u202a"}
	form := func(s string) string {
		literal, err := json.Marshal(s)
		require.NoError(t, err)
		return string(envelope.EscapeJSON(nil, literal[1:len(literal)-1], 0))
	}
	for _, filler := range []string{"x", " ", "\u0084", "中"} {
		for _, c := range append(special, plain...) {
			for before := range 17 {
				for _, after := range []int{0, 1, 8} {
					front, back := strings.Repeat(filler, before), strings.Repeat(filler, after)
					m := transcript.Message{Content: front + c + back}
					got, err := m.MarshalJSON()
					require.NoError(t, err)
					want := `{"role":"","content":"` + front + form(c) + back + `"}`
					require.Equal(t, want, string(got))
				}
			}
		}
	}
}

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
	lengths := []int{
		len(data) - len(`{"role":"a","content":"1"}`+"\n"),
		len(`{"role":"a","content":"1"}` + "\n"),
	}
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

// Another program empties the file, and dies leaving exactly the old size without the end of its
// line: the size alone says nothing.
func TestAppendAfterTheSameSizeTorn(t *testing.T) {
	for _, torn := range []string{`{"x":"`, `{"a":1}`} {
		log, read := newLog(t, "", transcript.Options{})
		require.NoError(t, log.Append(demo[0]))
		size := len(read())
		dead := torn + strings.Repeat(" ", size-len(torn))
		require.NoError(t, os.WriteFile(pathOf(t, log), []byte(dead), 0o600))
		require.NoError(t, log.Append(demo[1]))
		assert.Equal(t, dead+"\n"+writeJSON(demo[1:2]), read())
		// And with the end of the line there is nothing to end.
		require.NoError(t, os.WriteFile(pathOf(t, log), []byte("{}\n"), 0o600))
		require.NoError(t, log.Append(demo[0], demo[1]))
		assert.Equal(t, "{}\n"+writeJSON(demo[:2]), read())
	}
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
