package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/transcript"
)

// What a log is read as: its records and faults, one a line, in their order.
func reading(t *testing.T, log string, o transcript.Options) string {
	var b strings.Builder
	for r, err := range transcript.Records(strings.NewReader(log), o) {
		if err != nil {
			fault, ok := err.(*transcript.Fault)
			require.True(t, ok, "%T: %v", err, err)
			fmt.Fprintf(&b, "%d@%d %s\n", fault.Line, fault.Offset, fault.Kind)
			continue
		}
		require.Equal(t, string(r.JSON), log[r.Offset:int(r.Offset)+len(r.JSON)])
		fmt.Fprintf(&b, "%d@%d %s\n", r.Line, r.Offset, r.JSON)
	}
	return b.String()
}

func TestReading(t *testing.T) {
	tests := []struct{ why, log, want string }{
		{"nothing", "", ""},
		{"records", "{\"a\":1}\n{}\n", "1@0 {\"a\":1}|2@8 {}"},
		{"the last without LF", "{\"a\":1}\n{\"b\":2}", "1@0 {\"a\":1}|2@8 {\"b\":2}"},
		{"blank lines are nothing", "\n \t\r\n{}\n\n", "3@5 {}"},
		{"white space around a record", " {} \t\n\t{ \"a\" : 1 }", "1@1 {}|2@7 { \"a\" : 1 }"},
		{"CRLF", "{}\r\n{\"a\":\r1}\r\n", "1@0 {}|2@4 {\"a\":\r1}"},
		{"equal records are two", "{}\n{}\n", "1@0 {}|2@3 {}"},
		{"raw characters of other programs stay", "{\"a\":\"\u2028\u0085\ufeff\ufffd\"}\n", "1@0 {\"a\":\"\u2028\u0085\ufeff\ufffd\"}"},

		{"torn at the end of the file", "{}\n{\"ts\":1,\"tok", "1@0 {}|2@15 torn"},
		{"torn before a newline", "{}\n{\"role\":\"us\n{}\n", "1@0 {}|2@14 torn|3@15 {}"},
		{"torn before CRLF", "{\"role\":\"us\r\n{}\r\n", "1@11 torn|2@13 {}"},
		{"torn in a character", "{\"a\":\"\xe4\xb8\n", "1@8 torn"},
		{"torn in an escape", "{\"a\":\"\\u20\n", "1@10 torn"},
		{"torn in a surrogate pair", "{\"a\":\"\\ud83d\\ud\n", "1@15 torn"},
		{"torn behind a nested object", "{\"a\":{\"b\":2}\n", "1@12 torn"},
		{"torn at once", "{\n", "1@1 torn"},

		{"two records", "{\"a\":1}{\"b\":2}\n{}\n", "1@7 spliced|2@15 {}"},
		{"two records and a blank", "{\"a\":1} {\"b\":2}\n", "1@8 spliced"},
		{"a record and a torn one", "{\"a\":1}{\"b\":\n", "1@7 spliced"},
		{"a record inside another's string", "{\"a\":\"x{\"b\":2}\n", "1@7 spliced"},
		{"inside a name", "{\"ro{\"role\":1}\n", "1@4 spliced"},
		{"inside a string, with white space", "{\"a\":\"x{ \"b\" : 2}\n", "1@7 spliced"},
		{"inside a string, and torn itself", "{\"a\":\"x{\"b\":\"y\n", "1@7 spliced"},
		{"inside a string, and torn in its name", "{\"a\":\"x{\"b\n", "1@7 spliced"},
		{"inside a string, and torn behind its name", "{\"a\":\"x{\"b\"\n", "1@7 spliced"},
		{"behind a number", "{\"a\":1{\"b\":2}\n", "1@6 spliced"},
		{"behind a comma", "{\"a\":1,{\"b\":2}\n", "1@7 spliced"},
		{"behind a brace", "{{\"b\":2}\n", "1@1 spliced"},
		{"inside a literal", "{\"a\":tr{\"b\":2}\n", "1@7 spliced"},
		{"inside a character", "{\"a\":\"\xe4\xb8{\"b\":2}\n", "1@8 spliced"},
		{"inside an escape", "{\"a\":\"\\{\"b\":2}\n", "1@7 spliced"},
		{"inside the digits of an escape", "{\"a\":\"\\u20{\"b\":2}\n", "1@10 spliced"},
		{"between two surrogates", "{\"a\":\"\\ud83d{\"b\":2}\n", "1@12 spliced"},
		{"inside the second surrogate", "{\"a\":\"\\ud83d\\ude4{\"b\":2}\n", "1@17 spliced"},
		{"an empty record in another", "{\"a\":1{}\n", "1@6 spliced"},

		{"NULs behind a record", "{\"a\":1}\x00\x00\n{}\n", "1@7 nul-padding|2@10 {}"},
		{"NULs before a record", "\x00\x00{\"a\":1}\n{}\n", "1@0 nul-padding|2@10 {}"},
		{"a line of NULs", "{}\n" + strings.Repeat("\x00", 300) + "\n{}\n", "1@0 {}|2@3 nul-padding|3@304 {}"},
		{"a tail of NULs", "{}\n\x00\x00", "1@0 {}|2@3 nul-padding"},
		{"NULs in a torn record", "{\"a\":\"x\x00\x00\n", "1@7 nul-padding"},
		{"NULs between records", "{\"a\":1}\x00{\"b\":2}\n", "1@7 nul-padding"},

		{"a BOM at the beginning", "\ufeff{\"role\":\"user\"}\n", "1@3 {\"role\":\"user\"}"},
		{"a BOM and nothing", "\ufeff", ""},
		{"a BOM before a blank line", "\ufeff\n{}", "2@4 {}"},
		{"two BOMs", "\ufeff\ufeff{}\n{}\n", "1@3 bom|2@9 {}"},
		{"a BOM on a later line", "{}\n\ufeff{}\n{}\n", "1@0 {}|2@3 bom|3@9 {}"},
		{"a BOM behind a blank", " \ufeff{}\n", "1@1 bom"},
		{"part of a BOM", "\xef\xbb", "1@0 invalid-utf8"},

		{"invalid UTF-8 in a string", "{\"a\":\"x\xffy\"}\n{}\n", "1@7 invalid-utf8|2@12 {}"},
		{"an overlong LF", "{\"a\":\"\xc0\x8a\"}\n", "1@6 invalid-utf8"},
		{"a surrogate in UTF-8", "{\"a\":\"\xed\xa0\x80\"}\n", "1@6 invalid-utf8"},
		{"invalid UTF-8 between tokens", "{\"a\":\xff1}\n", "1@5 invalid-utf8"},
		{"a replacement character between tokens is valid", "{\"a\":\ufffd1}\n", "1@5 not-object"},
		{"invalid UTF-8 before a brace that begins no record", "{\"a\":\"\xff{x\"}\n", "1@6 invalid-utf8"},
		{"a lone surrogate", "{\"a\":\"\\ud83d\"}\n{}\n", "1@6 lone-surrogate|2@15 {}"},
		{"a lone surrogate before a brace that begins no record", "{\"a\":\"\\ud83d{x\"}\n", "1@6 lone-surrogate"},
		{"a lone surrogate and a brace farther than a torn pair goes", "{\"a\":\"\\ud83dabcdef{\"b\":2}\n", "1@6 lone-surrogate"},
		{"a repeated name", "{\"a\":1,\"\\u0061\":2}\n{}\n", "1@7 duplicate-key|2@19 {}"},
		{"a repeated name inside", "{\"x\":{\"a\":1,\"a\":2}}\n", "1@12 duplicate-key"},

		{"an array", "[1]\n{}\n", "1@0 not-object|2@4 {}"},
		{"a string, a number, null", "\"x\"\n1\nnull\n", "1@0 not-object|2@4 not-object|3@6 not-object"},
		{"text", "<user>\n", "1@0 not-object"},
		{"the end of a record", "yy\"}\n", "1@0 not-object"},
		{"an object over lines", "{\n\"a\":1\n}\n", "1@1 torn|2@2 not-object|3@8 not-object"},
		{"a wrong byte", "{\"a\":1,\"b\"x2}\n", "1@10 not-object"},
		{"a quote too many", "{\"a\":\"x\"y\"}\n", "1@8 not-object"},
		{"a control character", "{\"a\":\"\x01\"}\n", "1@6 not-object"},
		{"VT and FF are no white space", "{}\x0b\n{\"a\":\x0c1}\n", "1@2 spliced|2@9 not-object"},
		{"a nested object is no second record", "{\"a\":{\"b\"x1}}\n", "1@9 not-object"},
		{"an empty nested object is none", "{\"a\":{}x}\n", "1@7 not-object"},
		{"nor is one whose name begins with a control character", "{\"a\":{\"\x01\":1}}\n", "1@7 not-object"},
		{"nor a brace before no name", "{\"a\":1{x\n", "1@6 not-object"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			want := ""
			if tt.want != "" {
				want = strings.ReplaceAll(tt.want, "|", "\n") + "\n"
			}
			assert.Equal(t, want, reading(t, tt.log, transcript.Options{}))
			in := requireAgreement(t, tt.log, transcript.Options{})
			for _, fault := range in.Faults {
				assert.Contains(t, fault.Error(), fault.Kind.String())
			}
		})
	}
}

// encoding/json reads 10,000 levels, and so does this.
func TestDepth(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1) }
	log := deep(10000) + "\n" + deep(10001) + "\n{}"
	in := requireAgreement(t, log, transcript.Options{})
	require.Len(t, in.Faults, 1)
	assert.Equal(t, transcript.Inspection{Records: 2, Faults: []*transcript.Fault{{Line: 2, Offset: int64(len(deep(10000)) + 1 + 50000), Kind: transcript.NotObject}}}, in)
	for r, err := range transcript.Records(strings.NewReader(log), transcript.Options{}) {
		var v any
		require.True(t, err != nil || r.Decode(&v) == nil)
	}
}

// requireAgreement holds Inspect and Repair, and readers that give little at a time, against Records.
func requireAgreement(tb testing.TB, log string, o transcript.Options) transcript.Inspection {
	var want transcript.Inspection
	var repaired strings.Builder
	for r, err := range transcript.Records(strings.NewReader(log), o) {
		if err == nil {
			want.Records++
			repaired.Write(append(r.JSON, '\n'))
		} else {
			want.Faults = append(want.Faults, err.(*transcript.Fault))
		}
	}
	for _, r := range []io.Reader{strings.NewReader(log), iotest.DataErrReader(strings.NewReader(log)), iotest.HalfReader(strings.NewReader(log))} {
		in, err := transcript.Inspect(r, o)
		require.NoError(tb, err)
		require.Equal(tb, want, in)
	}
	var out bytes.Buffer
	in, err := transcript.Repair(&out, iotest.OneByteReader(strings.NewReader(log)), o)
	require.NoError(tb, err)
	require.Equal(tb, want, in)
	require.Equal(tb, repaired.String(), out.String())
	again, err := transcript.Inspect(&out, o)
	require.NoError(tb, err)
	require.Equal(tb, transcript.Inspection{Records: want.Records}, again, "a repaired log has no fault")
	return want
}

// Around each bound: lines of one byte less than allowed, as many, and one more, with neighbours.
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
				require.Equal(t, want, reading(t, log, transcript.Options{MaxLine: int64(most)}), "%d%+d %q", most, more, end)
			}
		}
		requireAgreement(t, "\ufeff"+line(most)+"\n"+line(most+1)+"\n"+line(most+100)+"\n{}\n"+line(most+3), transcript.Options{MaxLine: int64(most)})
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
		assert.Equal(t, transcript.Inspection{Records: 2, Faults: []*transcript.Fault{{Line: 2, Offset: 82 + 1000, Kind: transcript.TooLong}}}, in)
	}
}

// Without an option a line has 64 MiB.
func TestDefaultMaxLine(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes the memory of such a line")
	}
	const most = 64 << 20
	line := func(n int) string { return `{"a":"` + strings.Repeat("x", n-len(`{"a":""}`)) + `"}` + "\n" }
	in, err := transcript.Inspect(strings.NewReader(line(most)+line(most+1)+"{}"), transcript.Options{})
	require.NoError(t, err)
	assert.Equal(t, transcript.Inspection{Records: 2, Faults: []*transcript.Fault{{Line: 2, Offset: most + 1 + most, Kind: transcript.TooLong}}}, in)
}

func TestReadErrors(t *testing.T) {
	broken := func() io.Reader {
		return io.MultiReader(strings.NewReader("{}\n{\"a\":"), iotest.ErrReader(errors.New("unplugged")))
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
	assert.Equal(t, envelope.Error{Err: envelope.ErrOption, Item: -1, Field: "options.MaxLine", Offset: -1}, *option)
	_, err = transcript.Repair(fullDisk{}, strings.NewReader("{}"), transcript.Options{})
	assert.ErrorIs(t, err, errFull)
	in, err = transcript.Repair(fullDisk{}, strings.NewReader(strings.Repeat("{}\n", 1<<20)), transcript.Options{})
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

// Records are the caller's: the next does not change them, where the reader's buffer takes both and where it does not.
func TestRecordsAreCopies(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	want := []string{`{"a":1}`, `{"b":2}`, `{"long":"` + long + `"}`, `{"c":"` + long + `"}`, `{"d":"` + long + `"}`}
	var all []transcript.Record
	for r, err := range transcript.Records(iotest.HalfReader(strings.NewReader(strings.Join(want, "\n"))), transcript.Options{}) {
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

func TestMessages(t *testing.T) {
	tests := []struct {
		line string
		want transcript.Message
		at   int64 // of the fault, -1 for none
	}{
		{`{"role":"user","content":""}`, transcript.Message{Role: "user"}, -1},
		{`{"id": 9007199254740993 ,"content":"a\u2028b","x":{"role":[ ]},"role":""}`, transcript.Message{Content: "a\u2028b", Extra: []transcript.Member{{"id", json.RawMessage("9007199254740993")}, {"x", json.RawMessage(`{"role":[ ]}`)}}}, -1},
		{`{"role":"user","content":[{"type":"text"}]}`, transcript.Message{}, 25},
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
					assert.Equal(t, &transcript.Fault{Line: 2, Offset: tt.at + 1, Kind: transcript.NotMessage}, err)
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
		assert.Equal(t, []error{&transcript.Fault{Line: 2, Offset: tt.at + 1, Kind: transcript.NotMessage}}, faults, tt.line)
	}
	var m transcript.Message
	for _, text := range []string{"null", "[]", `"x"`, `{"role":"\ud83d","content":""}`, `{"role":"a","content":"b","content":"c"}`} {
		assert.Error(t, json.Unmarshal([]byte(text), &m), text)
	}
	assert.Error(t, m.UnmarshalJSON(nil))
}

func TestFaultKindStrings(t *testing.T) {
	var names []string
	for k := transcript.Torn; k <= transcript.NotMessage; k++ {
		names = append(names, k.String())
	}
	assert.Equal(t, "torn spliced nul-padding invalid-utf8 lone-surrogate not-object duplicate-key too-long bom not-message", strings.Join(names, " "))
	assert.Equal(t, "unknown", transcript.FaultKind(0).String())
	assert.Equal(t, "unknown", (transcript.NotMessage + 1).String())
	assert.Equal(t, "unknown", transcript.FaultKind(200).String())
	assert.EqualError(t, &transcript.Fault{Line: 2, Offset: 14, Kind: transcript.Torn}, "transcript: line 2: torn (byte 14)")
}

func TestCompare(t *testing.T) {
	a, b, c := transcript.Message{Role: "user", Content: "a"}, transcript.Message{Role: "user", Content: "b"}, transcript.Message{Role: "tool", Content: "a"}
	list := func(m ...transcript.Message) []transcript.Message { return m }
	tests := []struct {
		why       string
		want, got []transcript.Message
		c         transcript.Comparison
	}{
		{"nothing", nil, nil, transcript.Comparison{0, 0, -1, -1}},
		{"equal", list(a, b), list(a, b), transcript.Comparison{2, 2, -1, -1}},
		{"a content", list(a, b), list(a, a), transcript.Comparison{2, 2, -1, 1}},
		{"a role", list(a, b), list(c, b), transcript.Comparison{2, 2, 0, -1}},
		{"both, apart", list(a, a, a), list(b, c, a), transcript.Comparison{3, 3, 1, 0}},
		{"one less", list(a, b), list(a), transcript.Comparison{2, 1, 1, 1}},
		{"one more", list(a), list(a, b), transcript.Comparison{1, 2, 1, 1}},
		{"extra members are not compared", list(a), list(transcript.Message{Role: "user", Content: "a", Extra: []transcript.Member{{}}}), transcript.Comparison{1, 1, -1, -1}},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.c, transcript.Compare(tt.want, tt.got), tt.why)
		assert.Equal(t, tt.c.Want == tt.c.Got && tt.c.Role == -1 && tt.c.Content == -1, tt.c.OK(), tt.why)
	}
	got, err := transcript.RoundTrip(demo)
	require.NoError(t, err)
	assert.Equal(t, transcript.Comparison{4, 4, -1, -1}, got)
	_, err = transcript.RoundTrip(list(transcript.Message{Role: "\xff"}))
	assert.ErrorIs(t, err, envelope.ErrInvalidUTF8)
	got, err = transcript.RoundTrip(nil)
	require.NoError(t, err)
	assert.True(t, got.OK())
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, filepath.Join(t.TempDir(), "no"))
	}
	_, err = transcript.RoundTrip(demo)
	assert.ErrorIs(t, err, os.ErrNotExist, "nowhere to write")
}
