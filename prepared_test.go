package envelope_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// response is a response that is accepted. Its content is "secret é", of 9 bytes.
const response = `{"schema":"powercontext.prepared-context.v1","status":"ready",` +
	`"content":"secret é","content_bytes":9}`

// Each case replaces old by new once in response. The offset counts from where old stood; -1 is no
// offset.
func TestParsePreparedRefuses(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct {
		why      string
		old, new string
		reason   envelope.Reason
		field    string
		offset   int
	}{
		{"a member that Go's decoder folds into schema", `{`, `{"Schema":"evil",`, envelope.ReasonMisspeltMember, "", 1},
		{"the same behind it", `,"status"`, `,"SCHEMA":"evil","status"`, envelope.ReasonMisspeltMember, "", 1},
		{"instead of it", `"schema"`, `"Schema"`, envelope.ReasonMisspeltMember, "", 0},
		{"a long s in place of an s", `"status"`, `"ſtatus"`, envelope.ReasonMisspeltMember, "", 0},
		{"the same, as an escape", `"status"`, `"\u017ftatus"`, envelope.ReasonMisspeltMember, "", 0},
		{"the same, besides", `"status"`, `"ſtatus":"ready","status"`, envelope.ReasonMisspeltMember, "", 0},
		{"in content_bytes", `"content_bytes"`, `"content_byteſ"`, envelope.ReasonMisspeltMember, "", 0},
		{"a NUL behind a name", `"status"`, `"status\u0000"`, envelope.ReasonMisspeltMember, "", 0},
		{"and what a C string would not have", `"status"`, `"status\u0000x"`, envelope.ReasonMisspeltMember, "", 0},
		{"a blank behind a name", `"content"`, `"content "`, envelope.ReasonMisspeltMember, "", 0},
		{"a member twice", `"status":"ready"`, `"status":"ready","status":"ready"`, envelope.ReasonRepeatedMember, "", 17},
		{"a member twice, once with an escape", `"status":"ready"`, `"st\u0061tus":"empty","status":"ready"`, envelope.ReasonRepeatedMember, "", 22},
		{"the content twice", `,"content_bytes":9`, `,"content_bytes":9,"content":"x"`, envelope.ReasonRepeatedMember, "", 19},
		{"a foreign member with a member twice", `{`, `{"x":{"a":1,"a":2},`, envelope.ReasonRepeatedMember, "", 12},
		{"a fifth member", `{`, `{"x":1,`, envelope.ReasonExtraMember, "", 1},
		{"a fifth member with an array", `}`, `,"items":[{"a":[]}]}`, envelope.ReasonExtraMember, "", 1},
		{"one without a name", `{`, `{"":1,`, envelope.ReasonExtraMember, "", 1},
		{"a member of another name", `"content_bytes"`, `"content-bytes"`, envelope.ReasonExtraMember, "", 0},
		{"the first of two is named", `{`, `{"x":1,"Schema":2,`, envelope.ReasonExtraMember, "", 1},
		{"no schema", `"schema":"powercontext.prepared-context.v1",`, ``, envelope.ReasonMissingMember, ".schema", -1},
		{"no status", `"status":"ready",`, ``, envelope.ReasonMissingMember, ".status", -1},
		{"no content", `"content":"secret é",`, ``, envelope.ReasonMissingMember, ".content", -1},
		{"no content_bytes", `,"content_bytes":9`, ``, envelope.ReasonMissingMember, ".content_bytes", -1},
		{"nothing in it", response, `{}`, envelope.ReasonMissingMember, ".schema", -1},
		{"another version", `.v1"`, `.v2"`, envelope.ReasonWrongSchema, ".schema", -31},
		{"another case", `powercontext.`, `PowerContext.`, envelope.ReasonWrongSchema, ".schema", -1},
		{"a blank", `.v1"`, `.v1 "`, envelope.ReasonWrongSchema, ".schema", -31},
		{"no string", `"powercontext.prepared-context.v1"`, `1`, envelope.ReasonWrongSchema, ".schema", 0},
		{"a list with the string", `"powercontext.prepared-context.v1"`, `["powercontext.prepared-context.v1"]`, envelope.ReasonWrongSchema, ".schema", 0},
		{"READY", `"ready"`, `"READY"`, envelope.ReasonWrongStatus, ".status", 0},
		{"another status", `"ready"`, `"partial"`, envelope.ReasonWrongStatus, ".status", 0},
		{"no status text", `"ready"`, `""`, envelope.ReasonWrongStatus, ".status", 0},
		{"null", `"ready"`, `null`, envelope.ReasonWrongStatus, ".status", 0},
		{"true", `"ready"`, `true`, envelope.ReasonWrongStatus, ".status", 0},
		{"content of another type", `"secret é"`, `["secret é"]`, envelope.ReasonContentType, ".content", 0},
		{"an object", `"secret é"`, `{"text":"secret é"}`, envelope.ReasonContentType, ".content", 0},
		{"a number", `"secret é"`, `9`, envelope.ReasonContentType, ".content", 0},
		{"false", `"secret é"`, `false`, envelope.ReasonContentType, ".content", 0},
		{"a length true", `:9`, `:true`, envelope.ReasonContentBytesType, ".content_bytes", 1},
		{"a length null", `:9`, `:null`, envelope.ReasonContentBytesType, ".content_bytes", 1},
		{"a length in a string", `:9`, `:"9"`, envelope.ReasonContentBytesType, ".content_bytes", 1},
		{"a length in a list", `:9`, `:[9]`, envelope.ReasonContentBytesType, ".content_bytes", 1},
		{"a length with a fraction", `:9`, `:9.0`, envelope.ReasonContentBytesForm, ".content_bytes", 1},
		{"a length with an exponent", `:9`, `:9e0`, envelope.ReasonContentBytesForm, ".content_bytes", 1},
		{"a large E", `:9`, `:9E0`, envelope.ReasonContentBytesForm, ".content_bytes", 1},
		{"8e3", `:9`, `:8e3`, envelope.ReasonContentBytesForm, ".content_bytes", 1},
		{"8000.0", `:9`, `:8000.0`, envelope.ReasonContentBytesForm, ".content_bytes", 1},
		{"-1", `:9`, `:-1`, envelope.ReasonContentBytesForm, ".content_bytes", 1},
		{"-9", `:9`, `:-9`, envelope.ReasonContentBytesForm, ".content_bytes", 1},
		{"-0", `:9`, `:-0`, envelope.ReasonContentBytesForm, ".content_bytes", 1},
		{"a sign", `:9`, `:+9`, envelope.ReasonSyntax, "", 1},
		{"a leading zero", `:9`, `:09`, envelope.ReasonSyntax, "", 2},
		{"Arabic digits", `:9`, `:٩`, envelope.ReasonSyntax, "", 1},
		{"not a number to JSON", `:9`, `:NaN`, envelope.ReasonSyntax, "", 1},
		{"one too few", `:9`, `:8`, envelope.ReasonLengthMismatch, ".content_bytes", 1},
		{"characters, not bytes: 8 of them", `"secret é","content_bytes":9`, `"secret ü","content_bytes":8`, envelope.ReasonLengthMismatch, ".content_bytes", 28},
		{"one too many", `:9`, `:10`, envelope.ReasonLengthMismatch, ".content_bytes", 1},
		{"zero", `:9`, `:0`, envelope.ReasonLengthMismatch, ".content_bytes", 1},
		{"9 beyond 64 bits", `:9`, `:18446744073709551625`, envelope.ReasonLengthMismatch, ".content_bytes", 1},
		{"9 beyond 32 bits", `:9`, `:4294967305`, envelope.ReasonLengthMismatch, ".content_bytes", 1},
		{"ready with null", `"secret é","content_bytes":9`, `null,"content_bytes":0`, envelope.ReasonStatusContent, ".content", 0},
		{"ready with null and a length", `"secret é"`, `null`, envelope.ReasonStatusContent, ".content", 0},
		{"empty with a content", `"ready"`, `"empty"`, envelope.ReasonStatusContent, ".content", 18},
		{"empty with an empty content", `"ready","content":"secret é","content_bytes":9`, `"empty","content":"","content_bytes":0`, envelope.ReasonStatusContent, ".content", 18},
		{"empty with a length", `"ready","content":"secret é"`, `"empty","content":null`, envelope.ReasonLengthMismatch, ".content_bytes", 39},
		{"ready with nothing", `"secret é","content_bytes":9`, `"","content_bytes":0`, envelope.ReasonBlank, ".content", 0},
		{"only blanks", `"secret é"`, `"         "`, envelope.ReasonBlank, ".content", 0},
		{"only blanks of other alphabets", `"secret é"`, `"\u2028\u3000\u001c\t\r"`, envelope.ReasonBlank, ".content", 0},
		{"a lone surrogate", `"secret é"`, `"secret\ud83d"`, envelope.ReasonLoneSurrogate, "", 7},
		{"a lone low one", `"secret é"`, `"secret\uDE42"`, envelope.ReasonLoneSurrogate, "", 7},
		{"a pair the wrong way round", `"secret é"`, `"\ude42\ud83d"`, envelope.ReasonLoneSurrogate, "", 1},
		{"a lone surrogate in a name", `{`, `{"\ud83d":1,`, envelope.ReasonLoneSurrogate, "", 2},
		{"invalid UTF-8", `secret é`, "secret \xe9", envelope.ReasonInvalidUTF8, "", 7},
		{"an overlong LF", `secret é`, "secret \xc0\x8a", envelope.ReasonInvalidUTF8, "", 7},
		{"a surrogate in UTF-8", `secret é`, "secret \xed\xa0\xbd", envelope.ReasonInvalidUTF8, "", 7},
		{"invalid UTF-8 between the tokens", `,"status"`, ",\xff\"status\"", envelope.ReasonSyntax, "", 1},
		{"a raw line feed", `secret é`, "secret \né", envelope.ReasonSyntax, "", 7},
		{"a raw NUL", `secret é`, "secret \x00é", envelope.ReasonSyntax, "", 7},
		{"an escape that is none", `secret é`, `secret \x41`, envelope.ReasonSyntax, "", 8},
		{"a trailing comma", `:9}`, `:9,}`, envelope.ReasonSyntax, "", 3},
		{"a comment", `{`, `{/**/`, envelope.ReasonSyntax, "", 1},
		{"a no-break space between the tokens", `{`, "{\u00a0", envelope.ReasonSyntax, "", 1},
		{"text behind", `:9}`, `:9} secret`, envelope.ReasonTrailing, "", 4},
		{"a second object", `:9}`, `:9}{}`, envelope.ReasonTrailing, "", 3},
		{"a NUL behind", `:9}`, ":9}\x00", envelope.ReasonTrailing, "", 3},
		{"a NUL behind a line feed", `:9}`, ":9}\n\x00", envelope.ReasonTrailing, "", 4},
		{"a form feed behind", `:9}`, ":9}\f", envelope.ReasonTrailing, "", 3},
		{"a bad byte behind", `:9}`, ":9}\xff", envelope.ReasonTrailing, "", 3},
		{"text before", `{`, `secret {`, envelope.ReasonNotObject, "", 0},
		{"a byte order mark", `{`, "\ufeff{", envelope.ReasonNotObject, "", 0},
		{"a NUL before", `{`, "\x00{", envelope.ReasonNotObject, "", 0},
		{"a vertical tab before", `{`, "\v{", envelope.ReasonNotObject, "", 0},
		{"a guard against script inclusion", `{`, ")]}'\n{", envelope.ReasonNotObject, "", 0},
		{"an array around it", response, "[" + response + "]", envelope.ReasonNotObject, "", 0},
		{"a string with it", response, `"{}"`, envelope.ReasonNotObject, "", 0},
		{"null", response, "null", envelope.ReasonNotObject, "", 0},
		{"HTML", response, "\n<!DOCTYPE html>\n<html></html>", envelope.ReasonNotObject, "", 1},
		{"nothing", response, ``, envelope.ReasonCutShort, "", 0},
		{"white space", response, "\r\n ", envelope.ReasonCutShort, "", 3},
		{"no last brace", `:9}`, `:9`, envelope.ReasonCutShort, "", 2},
		{"cut inside a string", `ret é","content_bytes":9}`, `ret`, envelope.ReasonCutShort, "", 3},
		{"cut inside a character", ` é","content_bytes":9}`, " \xc3", envelope.ReasonCutShort, "", 1},
		{"cut inside an escape", ` é","content_bytes":9}`, ` \u00e`, envelope.ReasonCutShort, "", 6},
		{"as deep as looked at", `{`, `{"x":` + deep(15) + `,`, envelope.ReasonExtraMember, "", 1},
		{"deeper", `{`, `{"x":` + deep(16) + `,`, envelope.ReasonTooDeep, "", 20},
		{"very much deeper", `{`, `{"x":` + strings.Repeat("[", 40000), envelope.ReasonTooDeep, "", 20},
		{"longer than any such response", `{`, `{` + strings.Repeat(" ", 6*8000+4096), envelope.ReasonTooLarge, "", -1},
	}
	seen := map[envelope.Reason]bool{envelope.ReasonTooLong: true} // which has a test of its own
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			at := strings.Index(response, tt.old)
			require.GreaterOrEqual(t, at, 0)
			data := []byte(strings.Replace(response, tt.old, tt.new, 1))
			p, err := envelope.ParsePrepared(data, 0)
			assert.Zero(t, p)
			var e *envelope.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, tt.reason, e.Err)
			assert.Equal(t, "prepared"+tt.field, e.Field)
			assert.Equal(t, -1, e.Item)
			want := at + tt.offset
			switch {
			case tt.reason == envelope.ReasonTooLarge || tt.reason == envelope.ReasonMissingMember:
				want = -1
			case tt.reason == envelope.ReasonWrongSchema:
				want = strings.Index(response, `"powercontext`)
			}
			assert.Equal(t, want, e.Offset)
			assert.NotContains(t, err.Error(), "secret")
			form := `^envelope: prepared[a-z._]*: [a-z0-9-]+( \(byte \d+\))?$`
			assert.Regexp(t, form, err.Error())
			assert.False(t, twinParse(data, 8000).ok, "the twin accepts it")
			seen[tt.reason] = true
		})
	}
	assert.Len(t, seen, len(reasons), "each reason has a case")
}

// reasons has every Reason, in the order in which they come first.
var reasons = []envelope.Reason{
	"too-large", "not-object", "cut-short", "syntax", "invalid-utf8", "lone-surrogate",
	"repeated-member", "too-deep", "trailing",
	"misspelt-member", "extra-member", "missing-member",
	"wrong-schema", "wrong-status", "content-type", "content-bytes-type",
	"content-bytes-form", "status-content", "length-mismatch", "too-long", "blank",
}

func TestParsePreparedAccepts(t *testing.T) {
	const empty = `{"schema":"powercontext.prepared-context.v1","status":"empty",` +
		`"content":null,"content_bytes":0}`
	tests := []struct {
		why, data, content string
	}{
		{"a response", response, "secret é"},
		{"an empty one", empty, ""},
		{"in another order", `{"content_bytes":1,"content":"x","status":"ready","schema":"powercontext.prepared-context.v1"}`, "x"},
		{"with white space", " \n\t\r{ \"schema\"\n:\t\"powercontext.prepared-context.v1\" , \"status\" : \"ready\",\r\n\"content\" :\"x\",\"content_bytes\" : 1 } \n", "x"},
		{"with escapes everywhere", `{"\u0073chema":"powercontext\u002eprepared-context.v1","st\u0061tus":"\u0072eady","\u0063ontent":"\u00E9\/\ud83d\ude42\u0000\n","content_bytes":9}`, "é/🙂\x00\n"},
		{"with what breaks lines elsewhere", `{"schema":"powercontext.prepared-context.v1","status":"ready","content":"a` + "\u2028\u0085" + `b","content_bytes":7}`, "a\u2028\u0085b"},
		{"with the replacement character itself", `{"schema":"powercontext.prepared-context.v1","status":"ready","content":"` + "\ufffd" + `\ufffd","content_bytes":6}`, "\ufffd\ufffd"},
		{"with a byte order mark as content", `{"schema":"powercontext.prepared-context.v1","status":"ready","content":"` + "\ufeff" + `","content_bytes":3}`, "\ufeff"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			p, err := envelope.ParsePrepared([]byte(tt.data), 0)
			require.NoError(t, err)
			assert.Equal(t, envelope.Prepared{Content: tt.content}, p)
			assert.Equal(t, tt.content != "", p.Ready())
			assert.Equal(t, twinResponse{tt.content, true}, twinParse([]byte(tt.data), 8000))
			var through envelope.Prepared
			require.NoError(t, json.Unmarshal([]byte(tt.data), &through))
			assert.Equal(t, p, through)
		})
	}
}

func TestParsePreparedBounds(t *testing.T) {
	ready := func(content string) []byte {
		data, err := envelope.Prepared{Content: content}.MarshalJSON()
		require.NoError(t, err)
		return data
	}
	parse := func(data []byte, most int) error {
		_, err := envelope.ParsePrepared(data, most)
		return err
	}
	lengths := map[int]int{0: 8000, 1: 1, 2: 2, 700: 700, 8000: 8000, 9500: 9500}
	for most, effective := range lengths {
		for _, unit := range []string{"x", "\x01"} { // of one byte, and of six as JSON
			assert.NoError(t, parse(ready(strings.Repeat(unit, effective)), most), "%d", most)
			long := ready(strings.Repeat(unit, effective+1))
			assert.ErrorIs(t, parse(long, most), envelope.ReasonTooLong, "%d", most)
		}
	}
	// Bytes, not characters.
	assert.NoError(t, parse(ready("ééé"), 6))
	assert.ErrorIs(t, parse(ready("ééé"), 5), envelope.ReasonTooLong)

	huge := ready(strings.Repeat("\x01", 1<<20))
	assert.NoError(t, parse(huge, envelope.Unlimited))
	assert.NoError(t, parse(huge, math.MaxInt))
	assert.ErrorIs(t, parse(huge, 8000), envelope.ReasonTooLarge)
	for _, most := range []int{-2, math.MinInt} {
		want := &envelope.Error{Err: envelope.ErrBudget, Item: -1, Field: "maxBytes", Offset: -1}
		assert.Equal(t, want, parse([]byte(response), most))
	}
	const last = (math.MaxInt - 4096) / 6 // above which the bound on the data is no int any more
	for _, most := range []int{last - 1, last, last + 1, last + 2} {
		assert.NoError(t, parse([]byte(response), most))
	}

	// The longest spelling of a response fits beside its white space, and one byte of that more
	// does not.
	longest := []byte(`{`)
	spell := func(s string) {
		longest = append(longest, '"')
		for _, c := range []byte(s) {
			longest = fmt.Appendf(longest, `\u%04x`, c)
		}
		longest = append(longest, '"')
	}
	content := strings.Repeat("x", 100)
	for _, pair := range [][2]string{
		{"schema", "powercontext.prepared-context.v1"}, {"status", "ready"}, {"content", content},
	} {
		spell(pair[0])
		longest = append(longest, ':')
		spell(pair[1])
		longest = append(longest, ',')
	}
	spell("content_bytes")
	longest = append(longest, ":100}"...)
	require.Less(t, len(longest), 6*100+512, "what the documentation says")
	padded := append(longest, bytes.Repeat([]byte(" "), 6*100+4096-len(longest))...)
	assert.NoError(t, parse(padded, 100))
	assert.ErrorIs(t, parse(append(padded, ' '), 100), envelope.ReasonTooLarge)
}

// encoding/json reads a response as strictly, also inside of other values. A refusal leaves the old
// value as it was.
func TestPreparedUnmarshalJSON(t *testing.T) {
	for _, data := range []string{
		`null`, `{}`,
		strings.Replace(response, "status", "Status", 1),
		strings.Replace(response, ":9", ":9.0", 1),
		strings.Replace(response, "é", `\ud83d`, 1),
		strings.Replace(response, `{`, `{"x":1,`, 1),
		strings.Replace(response, `{`, `{"status":"empty",`, 1),
		strings.Replace(response, "é", "\xff", 1),
	} {
		p := envelope.Prepared{Content: "old"}
		err := json.Unmarshal([]byte(data), &p)
		var reason envelope.Reason
		require.ErrorAs(t, err, &reason, "%s", data)
		assert.Equal(t, envelope.Prepared{Content: "old"}, p)
		var list struct{ P []envelope.Prepared }
		assert.Error(t, json.Unmarshal([]byte(`{"P":[`+data+`]}`), &list))
	}
	var p envelope.Prepared
	require.NoError(t, json.Unmarshal([]byte(response), &p))
	assert.Equal(t, "secret é", p.Content)
}

func TestReasons(t *testing.T) {
	_, err := envelope.ParsePrepared([]byte(strings.Replace(response, "é", `\ud83d`, 1)), 0)
	assert.EqualError(t, err, "envelope: prepared: lone-surrogate (byte 80)")
	assert.ErrorIs(t, err, envelope.ReasonLoneSurrogate)
	assert.ErrorIs(t, err, envelope.ErrLoneSurrogate, "what the rest of the package calls it")
	var reason envelope.Reason
	require.ErrorAs(t, err, &reason)
	assert.Equal(t, "lone-surrogate", string(reason))
	_, err = envelope.ParsePrepared([]byte(response), 8)
	assert.EqualError(t, err, "envelope: prepared.content: too-long (byte 72)")
}

// The documentation lists each reason, in the order in which they come first.
func TestReasonsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("docs/hosts.md")
	require.NoError(t, err)
	var listed []envelope.Reason
	_, section, _ := strings.Cut(string(page), "## Reason codes")
	rows := regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\|")
	for _, row := range rows.FindAllStringSubmatch(section, -1) {
		listed = append(listed, envelope.Reason(row[1]))
	}
	assert.Equal(t, reasons, listed)
}

// twinResponse is what the slow reader makes of a response.
type twinResponse struct {
	content string
	ok      bool
}

// twinString is a JSON string, twinObject an object of four members with scalars: more than four,
// fewer, and values that nest are refused by their not matching.
const (
	twinSpace  = `[ \t\r\n]*`
	twinString = `"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"`
	twinValue  = twinString + `|null|0|[1-9][0-9]*`
	twinMember = twinSpace + `(` + twinString + `)` + twinSpace + `:` +
		twinSpace + `(` + twinValue + `)` + twinSpace
)

var twinObject = regexp.MustCompile(`\A` + twinSpace + `\{` +
	twinMember + `,` + twinMember + `,` + twinMember + `,` + twinMember +
	`\}` + twinSpace + `\z`)

// twinParse reads a response slowly: valid UTF-8, the shape by a regular expression, the strings
// by encoding/json once no surrogate in them is alone.
func twinParse(data []byte, most int) twinResponse {
	if len(data) > 6*most+4096 || !utf8.Valid(data) || !twinObject.Match(data) {
		return twinResponse{}
	}
	groups := twinObject.FindSubmatch(data)[1:]
	members := map[string]string{}
	for i := 0; i < len(groups); i += 2 {
		name, ok := twinDecode(groups[i])
		if !ok {
			return twinResponse{}
		}
		members[name] = string(groups[i+1])
	}
	schema, ok1 := twinDecode([]byte(members["schema"]))
	status, ok2 := twinDecode([]byte(members["status"]))
	content, ok3 := twinDecode([]byte(members["content"]))
	size := members["content_bytes"]
	switch {
	case len(members) != 4 || !ok1 || !ok2 || schema != "powercontext.prepared-context.v1":
	case status == "empty":
		return twinResponse{"", members["content"] == "null" && size == "0"}
	case status == "ready" && ok3 && !twinBlank(content) && len(content) <= most &&
		size == strconv.Itoa(len(content)):
		return twinResponse{content, true}
	}
	return twinResponse{}
}

func twinDecode(literal []byte) (s string, ok bool) {
	if !bytes.HasPrefix(literal, []byte(`"`)) || twinLone(string(literal)) {
		return "", false
	}
	return s, json.Unmarshal(literal, &s) == nil
}

// twinLone reports whether a string literal has half of a surrogate pair.
func twinLone(literal string) bool {
	unit := func() rune { // takes one \uXXXX
		if !strings.HasPrefix(literal, `\u`) {
			return -1
		}
		v, err := strconv.ParseUint(literal[2:6], 16, 16)
		if err != nil {
			return -1
		}
		return rune(v)
	}
	for literal != "" {
		high := unit()
		switch {
		case high < 0 && literal[0] == '\\':
			literal = literal[2:]
			continue
		case high < 0:
			literal = literal[1:]
			continue
		}
		literal = literal[6:]
		if utf16.IsSurrogate(high) {
			if utf16.DecodeRune(high, unit()) == utf8.RuneError {
				return true
			}
			literal = literal[6:]
		}
	}
	return false
}

func TestPreparedMarshalJSON(t *testing.T) {
	tests := []struct {
		why, content, want string
	}{
		{"empty", "", `{"schema":"powercontext.prepared-context.v1","status":"empty","content":null,"content_bytes":0}`},
		{"ready", "é<\n", `{"schema":"powercontext.prepared-context.v1","status":"ready","content":"é<\n","content_bytes":4}`},
		{"what other classes of the escaper escape", "中<\x7f\u200b", `{"schema":"powercontext.prepared-context.v1","status":"ready","content":"中<` + "\x7f\u200b" + `","content_bytes":8}`},
		{"one line to every reader", "a\u2028\u2029\u0085\r", `{"schema":"powercontext.prepared-context.v1","status":"ready","content":"a\u2028\u2029\u0085\r","content_bytes":10}`},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			p := envelope.Prepared{Content: tt.content}
			assert.Equal(t, tt.content != "", p.Ready())
			got, err := p.MarshalJSON()
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
			through, err := json.Marshal(p)
			require.NoError(t, err)
			assert.False(t, strings.ContainsAny(string(through), "\n\r\u0085\u2028\u2029"))
			var back struct {
				Content *string `json:"content"`
				Bytes   int     `json:"content_bytes"`
			}
			require.NoError(t, json.Unmarshal(through, &back))
			if tt.content == "" {
				assert.Nil(t, back.Content)
			} else {
				assert.Equal(t, tt.content, *back.Content)
			}
			assert.Equal(t, len(tt.content), back.Bytes)
		})
	}
}

func TestPreparedMarshalJSONRefuses(t *testing.T) {
	tests := []struct {
		why, content string
		what         error
		offset       int
	}{
		{"no text", "\xffa", envelope.ErrInvalidUTF8, 0},
		{"text, and then none", "a\xff", envelope.ErrInvalidUTF8, 1},
		{"blank", " \u2028", envelope.ErrBlank, -1},
	}
	for _, tt := range tests {
		_, err := envelope.Prepared{Content: tt.content}.MarshalJSON()
		want := &envelope.Error{Err: tt.what, Item: -1, Field: "content", Offset: tt.offset}
		assert.Equal(t, want, err, tt.why)
	}
}

// FuzzParsePrepared changes responses: what is accepted re-marshals to an equal value, the slow
// reader agrees on what that is, and a refusal is an *Error with one of the reasons.
func FuzzParsePrepared(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		most &= 0x3fff
		p, err := envelope.ParsePrepared(data, most)
		if most == 0 {
			most = 8000
		}
		if twin := twinParse(data, most); twin != (twinResponse{p.Content, err == nil}) {
			t.Fatalf("%q: %q (%v), the twin has %+v", data, p.Content, err, twin)
		}
		if err != nil {
			var e *envelope.Error
			if !errors.As(err, &e) || e.Offset < -1 || e.Offset > len(data) {
				t.Fatalf("%q: %v", data, err)
			}
			if _, ok := e.Err.(envelope.Reason); !ok {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		q, err := envelope.ParsePrepared(again, most)
		if err != nil || q.Content != p.Content {
			t.Fatalf("%q comes back as %q (%v)", data, q.Content, err)
		}
	})
}

// A Prepared that is logged by mistake tells no content.
func TestPreparedLogValue(t *testing.T) {
	p, err := envelope.JSON{}.Render([]envelope.Item{memory("e", "secret")}, envelope.Budget{})
	require.NoError(t, err)
	var out strings.Builder
	slog.New(slog.NewJSONHandler(&out, nil)).Info("context", "prepared", p)
	assert.NotContains(t, out.String(), "secret")
	assert.Contains(t, out.String(), `"prepared":{"bytes":`)
}
