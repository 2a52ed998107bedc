package transcript_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		{
			"raw characters of other programs stay", "{\"a\":\"\u2028\u0085\ufeff\ufffd\"}\n",
			"1@0 {\"a\":\"\u2028\u0085\ufeff\ufffd\"}",
		},

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
		{
			"a line of NULs", "{}\n" + strings.Repeat("\x00", 300) + "\n{}\n",
			"1@0 {}|2@3 nul-padding|3@304 {}",
		},
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
		{
			"invalid UTF-8 before a brace that begins no record", "{\"a\":\"\xff{x\"}\n",
			"1@6 invalid-utf8",
		},
		{"a lone surrogate", "{\"a\":\"\\ud83d\"}\n{}\n", "1@6 lone-surrogate|2@15 {}"},
		{
			"a lone surrogate before a brace that begins no record", "{\"a\":\"\\ud83d{x\"}\n",
			"1@6 lone-surrogate",
		},
		{
			"a lone surrogate and a brace farther than a torn pair goes",
			"{\"a\":\"\\ud83dabcdef{\"b\":2}\n", "1@6 lone-surrogate",
		},
		{"a repeated name", "{\"a\":1,\"\\u0061\":2}\n{}\n", "1@7 duplicate-key|2@19 {}"},
		{"a repeated name inside", "{\"x\":{\"a\":1,\"a\":2}}\n", "1@12 duplicate-key"},

		{"an array", "[1]\n{}\n", "1@0 not-object|2@4 {}"},
		{
			"a string, a number, null", "\"x\"\n1\nnull\n",
			"1@0 not-object|2@4 not-object|3@6 not-object",
		},
		{"text", "<user>\n", "1@0 not-object"},
		{"the end of a record", "yy\"}\n", "1@0 not-object"},
		{"an object over lines", "{\n\"a\":1\n}\n", "1@1 torn|2@2 not-object|3@8 not-object"},
		{"a wrong byte", "{\"a\":1,\"b\"x2}\n", "1@10 not-object"},
		{"a quote too many", "{\"a\":\"x\"y\"}\n", "1@8 not-object"},
		{"a control character", "{\"a\":\"\x01\"}\n", "1@6 not-object"},
		{"VT and FF are no white space", "{}\x0b\n{\"a\":\x0c1}\n", "1@2 spliced|2@9 not-object"},
		{"a nested object is no second record", "{\"a\":{\"b\"x1}}\n", "1@9 not-object"},
		{"an empty nested object is none", "{\"a\":{}x}\n", "1@7 not-object"},
		{
			"nor is one whose name begins with a control character", "{\"a\":{\"\x01\":1}}\n",
			"1@7 not-object",
		},
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
		assert.Equal(
			t, transcript.Fault{Line: 1, Offset: tt.offset, Kind: tt.kind}, *found.Faults[0], "%q",
			tt.line,
		)
	}
}

// A file in another encoding or compressed is one fault, whatever follows; its beginning alone
// does not make a log one.
func TestEncoding(t *testing.T) {
	encode := func(order binary.AppendByteOrder, text string) string {
		var b []byte
		for _, unit := range utf16.Encode([]rune(text)) {
			b = order.AppendUint16(b, unit)
		}
		return string(b)
	}
	const log = "{\"role\":\"user\",\"content\":\"中\"}\r\n"
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	_, err := w.Write([]byte(log))
	require.NoError(t, errors.Join(err, w.Close()))
	for why, text := range map[string]string{
		"UTF-16LE as PowerShell's > writes it": encode(binary.LittleEndian, "\ufeff"+log),
		"UTF-16BE":                             encode(binary.BigEndian, "\ufeff"+log),
		"UTF-16LE without a mark":              encode(binary.LittleEndian, log),
		"UTF-16BE without a mark":              encode(binary.BigEndian, log),
		"no more than tells it":                encode(binary.LittleEndian, "null"),
		"UTF-32LE":                             "\xff\xfe\x00\x00{\x00\x00\x00",
		"UTF-32BE":                             "\x00\x00\xfe\xff\x00\x00\x00{",
		"gzip":                                 gz.String(),
		"zstd":                                 "\x28\xb5\x2f\xfd\x04\x00",
		"a mark alone":                         "\xff\xfe",
	} {
		fault := &transcript.Fault{Line: 1, Offset: 0, Kind: transcript.Encoding}
		want := transcript.Inspection{Faults: []*transcript.Fault{fault}}
		assert.Equal(t, want, requireAgreement(t, text, transcript.Options{}), why)
		assert.ErrorContains(t, fault, "line 1: encoding (byte 0): not UTF-8")

		path := filepath.Join(t.TempDir(), "log.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := transcript.Open(path, transcript.Options{})
		assert.Equal(t, fault, err, why)
		// Also when it came to be behind an open log.
		for _, before := range []string{"", "{}\n{}\n{}\n" + strings.Repeat("{\"a\":1}\n", 100)} {
			log, read := newLog(t, before, transcript.Options{})
			if before != "" {
				require.NoError(t, log.Append(demo[0]))
			}
			require.NoError(t, os.WriteFile(pathOf(t, log), []byte(text), 0o600))
			assert.Equal(t, fault, log.Append(demo[0]), why)
			assert.Equal(t, text, read())
		}
	}
	for _, text := range []string{
		"{\x00\x00\x00\x00\x00", "\x00{\x00\x00", "{\x00}\n", "\x00{\x00\xff", "\x00\n\x00k",
		"\n\xff\xfe", "PK {}", "\xff{}",
		"n\x00u\x00l\x00l", "n\x00u\x00l\x00lx", // a byte is missing, or none of UTF-16
		"{\x00}\x00\n\x00{\x00", "\n\x00{\x00}\x00\n\x00", // a line too short to tell
		"xa\x00b\x00c\x00d",                                  // begins with no NUL
		"\x80\x00a\x00b\x00c\x00", "\xe9\x00a\x00b\x00c\x00", // not ASCII
	} {
		in := requireAgreement(t, text, transcript.Options{})
		for _, fault := range in.Faults {
			assert.NotEqual(t, transcript.Encoding, fault.Kind, "%q", text)
		}
		log, _ := newLog(t, text, transcript.Options{})
		assert.NoError(t, log.Append(demo[0]))
	}
}

// encoding/json reads 10,000 levels, and so does this.
func TestDepth(t *testing.T) {
	deep := func(n int) string {
		return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1)
	}
	log := deep(10000) + "\n" + deep(10001) + "\n{}"
	in := requireAgreement(t, log, transcript.Options{})
	require.Len(t, in.Faults, 1)
	assert.Equal(
		t,
		transcript.Inspection{
			Records: 2,
			Faults: []*transcript.Fault{
				{Line: 2, Offset: int64(len(deep(10000)) + 1 + 50000), Kind: transcript.NotObject},
			},
		},
		in,
	)
	for r, err := range transcript.Records(strings.NewReader(log), transcript.Options{}) {
		var v any
		require.True(t, err != nil || r.Decode(&v) == nil)
	}
}

func TestFaultKindStrings(t *testing.T) {
	var names []string
	for k := transcript.Torn; k <= transcript.NotMessage; k++ {
		names = append(names, k.String())
	}
	assert.Equal(
		t,
		"torn spliced nul-padding invalid-utf8 lone-surrogate not-object duplicate-key "+
			"too-long bom encoding not-message",
		strings.Join(names, " "),
	)
	assert.Equal(t, "unknown", transcript.FaultKind(0).String())
	assert.Equal(t, "unknown", (transcript.NotMessage + 1).String())
	assert.Equal(t, "unknown", transcript.FaultKind(200).String())
	assert.EqualError(
		t, &transcript.Fault{Line: 2, Offset: 14, Kind: transcript.Torn},
		"transcript: line 2: torn (byte 14)",
	)
}
