package transcript_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/transcript"
)

// Around each bound: lines of one byte less than allowed, as many, and one more, with
// neighbours.
func TestMaxLine(t *testing.T) {
	line := func(n int) string { return `{"a":"` + strings.Repeat("x", n-len(`{"a":""}`)) + `"}` }
	for _, most := range []int{8, 9, 100, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20} {
		for _, end := range []string{"\n", "\n{}\n", "", "\r\n{}"} {
			for more := -1; more <= 2; more++ {
				if most+more < 8 {
					continue
				}
				long := line(most + more)
				log := "{}\n" + long + end
				bytes := most + more + strings.Count(end, "\r")
				want := fmt.Sprintf("1@0 {}\n2@3 %s\n", long)
				if bytes > most {
					want = fmt.Sprintf("1@0 {}\n2@%d too-long\n", 3+most)
				}
				if strings.Contains(end, "{}") {
					want += fmt.Sprintf("3@%d {}\n", 3+len(long)+strings.Index(end, "{"))
				}
				require.Equal(
					t, want, reading(t, log, transcript.Options{MaxLine: int64(most)}), "%d%+d %q",
					most, more, end,
				)
			}
		}
		requireAgreement(
			t, "\ufeff"+line(most)+"\n"+line(most+1)+"\n"+line(most+100)+"\n{}\n"+line(most+3),
			transcript.Options{MaxLine: int64(most)},
		)
	}
}

func TestLongLines(t *testing.T) {
	for _, size := range []int{65536, 1 << 20, 9 << 20} {
		m := transcript.Message{Role: "tool", Content: strings.Repeat("长", size/3)}
		log := writeJSON([]transcript.Message{demo[0], m, demo[1]})
		assert.Equal(t, []transcript.Message{demo[0], m, demo[1]}, readJSON(log))
		in, err := transcript.Inspect(strings.NewReader(log), transcript.Options{MaxLine: 1000})
		require.NoError(t, err)
		require.Len(t, in.Faults, 1)
		assert.Equal(
			t,
			transcript.Inspection{
				Records: 2,
				Faults: []*transcript.Fault{
					{Line: 2, Offset: 82 + 1000, Kind: transcript.TooLong},
				},
			},
			in,
		)
	}
}

// Without an option a line has 64 MiB.
func TestDefaultMaxLine(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes the memory of such a line")
	}
	const most = 64 << 20
	line := func(n int) string {
		return `{"a":"` + strings.Repeat("x", n-len(`{"a":""}`)) + `"}` + "\n"
	}
	in, err := transcript.Inspect(
		strings.NewReader(line(most)+line(most+1)+"{}"), transcript.Options{},
	)
	require.NoError(t, err)
	assert.Equal(
		t,
		transcript.Inspection{
			Records: 2,
			Faults: []*transcript.Fault{
				{Line: 2, Offset: most + 1 + most, Kind: transcript.TooLong},
			},
		},
		in,
	)
}

func TestReadErrors(t *testing.T) {
	broken := func() io.Reader {
		return io.MultiReader(
			strings.NewReader("{}\n{\"a\":"), iotest.ErrReader(errors.New("unplugged")),
		)
	}
	var got []error
	for _, err := range transcript.Records(broken(), transcript.Options{}) {
		got = append(got, err)
	}
	require.Len(t, got, 2, "what was read of the second line is no torn record")
	assert.NoError(t, got[0])
	assert.EqualError(t, got[1], "unplugged")
	in, err := transcript.Inspect(broken(), transcript.Options{})
	assert.EqualError(t, err, "unplugged")
	assert.Equal(t, transcript.Inspection{Records: 1}, in)
	_, err = transcript.Inspect(stuck{}, transcript.Options{})
	assert.ErrorIs(t, err, io.ErrNoProgress)
	_, err = transcript.Inspect(strings.NewReader("{}"), transcript.Options{MaxLine: -1})
	var option *envelope.Error
	require.ErrorAs(t, err, &option)
	assert.Equal(
		t, envelope.Error{Err: envelope.ErrOption, Item: -1, Field: "options.MaxLine", Offset: -1},
		*option,
	)
	_, err = transcript.Repair(fullDisk{}, strings.NewReader("{}"), transcript.Options{})
	assert.ErrorIs(t, err, errFull)
	in, err = transcript.Repair(
		fullDisk{}, strings.NewReader(strings.Repeat("{}\n", 1<<20)), transcript.Options{},
	)
	assert.ErrorIs(t, err, errFull)
	assert.Less(t, in.Records, 1<<20, "it does not read on")
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

var errFull = errors.New("no space left")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// The caller decides whether to stop.
func TestStop(t *testing.T) {
	const log = "{}\n{\"role\":\"us\n{\"role\":\"a\",\"content\":\"b\"}\n"
	n := 0
	for range transcript.Records(strings.NewReader(log), transcript.Options{}) {
		if n++; n == 2 {
			break
		}
	}
	for range transcript.Messages(strings.NewReader(log), transcript.Options{}) {
		break
	}
	assert.Equal(t, 2, n)
}

// Records are the caller's: the next does not change them, where the reader's buffer takes both
// and where it does not.
func TestRecordsAreCopies(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	want := []string{
		`{"a":1}`, `{"b":2}`, `{"long":"` + long + `"}`, `{"c":"` + long + `"}`,
		`{"d":"` + long + `"}`,
	}
	var all []transcript.Record
	for r, err := range transcript.Records(
		iotest.HalfReader(strings.NewReader(strings.Join(want, "\n"))), transcript.Options{},
	) {
		require.NoError(t, err)
		all = append(all, r)
	}
	require.Len(t, all, len(want))
	for i := range want {
		require.Equal(t, want[i], string(all[i].JSON))
	}
	var v struct{ B int }
	require.NoError(t, all[1].Decode(&v))
	assert.Equal(t, 2, v.B)
}

// once gives some text, and notes when it is asked for more.
type once struct {
	text  string
	asked bool
}

func (o *once) Read(p []byte) (int, error) {
	if o.text == "" {
		o.asked = true
		return 0, io.EOF
	}
	n := copy(p, o.text)
	o.text = o.text[n:]
	return n, nil
}

// A record is yielded when its line is there: a reader of a pipe does not wait for what follows.
func TestRecordsDoNotWait(t *testing.T) {
	for _, log := range []string{"{}\n", "\ufeff{}\n"} {
		r := &once{text: log}
		for _, err := range transcript.Records(r, transcript.Options{}) {
			require.NoError(t, err)
			require.False(t, r.asked)
		}
	}
}

func parts(role, parts string, extra ...transcript.Member) transcript.Message {
	return transcript.Message{Role: role, Parts: json.RawMessage(parts), Extra: extra}
}

func TestMessages(t *testing.T) {
	tests := []struct {
		line string
		want transcript.Message
		at   int64 // of the fault, -1 for none
	}{
		{`{"role":"user","content":""}`, transcript.Message{Role: "user"}, -1},
		{
			`{"id": 9007199254740993 ,"content":"a\u2028b","x":{"role":[ ]},"role":""}`,
			transcript.Message{
				Content: "a\u2028b",
				Extra: []transcript.Member{
					{"id", json.RawMessage("9007199254740993")},
					{"x", json.RawMessage(`{"role":[ ]}`)},
				},
			},
			-1,
		},
		{
			`{"role":"user","content":[ {"type":"text","text":"hi"} ]}`,
			parts("user", `[ {"type":"text","text":"hi"} ]`), -1,
		},
		{`{"role":"assistant","content":null}`, parts("assistant", "null"), -1},
		{`{"role":"assistant","content":{"a":1}}`, parts("assistant", `{"a":1}`), -1},
		{`{"role":"assistant","content":[]}`, parts("assistant", "[]"), -1},
		{
			`{"role":"a","tool_calls":[1]}`,
			parts("a", "null", transcript.Member{"tool_calls", json.RawMessage("[1]")}), -1,
		},
		{`{"role":"a","tool_calls":null}`, transcript.Message{}, 0},
		{`{"role":["a"],"content":null}`, transcript.Message{}, 8},
		{`{"role":null,"content":"x"}`, transcript.Message{}, 8},
		{`  {"role":"user"}`, transcript.Message{}, 2},
		{`{"summary":"x"}`, transcript.Message{}, 0},
		{`{"Role":"user","content":"x"}`, transcript.Message{}, 0},
	}
	for _, tt := range tests {
		log := "\n" + tt.line + "\n" + `{"role":"a","content":"b"}`
		var got []transcript.Message
		var faults []error
		for m, err := range transcript.Messages(strings.NewReader(log), transcript.Options{}) {
			if err != nil {
				faults = append(faults, err)
				assert.Zero(t, m)
				continue
			}
			got = append(got, m)
		}
		next := transcript.Message{Role: "a", Content: "b"}
		for r, err := range transcript.Records(strings.NewReader(log), transcript.Options{}) {
			require.NoError(t, err, "to Records it is a record")
			if r.Line == 2 {
				var m transcript.Message
				err = r.Decode(&m)
				assert.Equal(t, tt.want, m)
				if tt.at >= 0 {
					assert.Equal(
						t,
						&transcript.Fault{Line: 2, Offset: tt.at + 1, Kind: transcript.NotMessage},
						err,
					)
				} else {
					assert.NoError(t, err)
				}
			}
		}
		if tt.at < 0 {
			assert.Empty(t, faults)
			assert.Equal(t, []transcript.Message{tt.want, next}, got, tt.line)
			continue
		}
		assert.Equal(t, []transcript.Message{next}, got)
		assert.Equal(
			t, []error{&transcript.Fault{Line: 2, Offset: tt.at + 1, Kind: transcript.NotMessage}},
			faults, tt.line,
		)
	}
	var m transcript.Message
	for _, text := range []string{
		"null", "[]", `"x"`, `{"role":"\ud83d","content":""}`,
		`{"role":"a","content":"b","content":"c"}`,
	} {
		assert.Error(t, json.Unmarshal([]byte(text), &m), text)
	}
	assert.Error(t, m.UnmarshalJSON(nil))
}

// An error of Decode says line and offset in the log, for every target.
func TestDecode(t *testing.T) {
	type target struct {
		M transcript.Message
		N int8
		T struct{ A []string }
	}
	tests := []struct {
		why, record string
		target      any
		at          int // of the value at fault
	}{
		{
			"a number that no float64 holds", `{"role":"user","content":"secret","n":1e999}`,
			new(any), 38,
		},
		{"one of many digits", `{"a":[1,{"b":-9` + strings.Repeat("9", 400) + ` }]}`, new(any), 13},
		{"a number that no int8 holds", `{"pad":[1,2,"n"],"N" : 300}`, new(target), 23},
		{"another type", `{"T":{"A":["x","y",7]}}`, new(target), 19},
		{"an object for a list", `{"T":{"A": {"secret":1}}}`, new(target), 11},
		{"a list for an object", `{"x":"\"[","T":[{"A":[]}]}`, new(target), 15},
		{"an error of the value's own", `{"x":1,"M":{"role":"u"}}`, new(target), 0},
		{"no pointer", `{"x":1}`, target{}, 0},
	}
	for _, tt := range tests {
		log := "{}\n\n  " + tt.record + "\n{\"n\":1}\n"
		n := 0
		for r, err := range transcript.Records(strings.NewReader(log), transcript.Options{}) {
			require.NoError(t, err, "the record stays")
			if n++; r.Line != 3 {
				continue
			}
			err = r.Decode(tt.target)
			var wrong *transcript.DecodeError
			require.ErrorAs(t, err, &wrong, tt.why)
			assert.Equal(t, []any{3, int64(6 + tt.at)}, []any{wrong.Line, wrong.Offset}, tt.why)
			want := fmt.Sprintf("transcript: line 3: does not decode (byte %d)", wrong.Offset)
			assert.EqualError(t, err, want)
			assert.Error(t, wrong.Err)
		}
		assert.Equal(t, 3, n)
	}
	// For a message it is the fault that Messages yields; one within another value keeps its
	// own.
	log := "{}\n" + `{"pad":"x","m":{"role":"u","content":5},"role":3}`
	for record, err := range transcript.Records(strings.NewReader(log), transcript.Options{}) {
		require.NoError(t, err)
		var m transcript.Message
		err = record.Decode(&m)
		assert.IsType(t, &transcript.Fault{}, err)
		if record.Line == 2 {
			want := &transcript.Fault{Line: 2, Offset: 3 + 47, Kind: transcript.NotMessage}
			assert.Equal(t, want, err)
		}
		assert.ErrorContains(t, record.Decode((*transcript.Message)(nil)), "does not decode")
	}
}
