package strictjson

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhole(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct {
		text   string
		reason Reason // 0 is accepted
		offset int
	}{
		{`{}`, 0, 0}, {` [ ] `, 0, 0}, {`"x"`, 0, 0}, {`-0.5e-7`, 0, 0}, {`true`, 0, 0}, {`false`, 0, 0}, {`null`, 0, 0},
		{`{"a":[1,{"b":"\ud83d\ude42\u00e9\"\\\/\b\f\n\r\t"}],"c":"é中🙂"}`, 0, 0},
		{`{"a":{"x":1},"b":{"x":1}}`, 0, 0},
		{deep(MaxDepth), 0, 0}, {deep(MaxDepth + 1), TooDeep, MaxDepth},
		{``, UnexpectedEnd, 0}, {`  `, UnexpectedEnd, 2}, {`{`, UnexpectedEnd, 1}, {`{"`, UnexpectedEnd, 2}, {`{"a"`, UnexpectedEnd, 4},
		{`{"a":`, UnexpectedEnd, 5}, {`{"a":1`, UnexpectedEnd, 6}, {`{"a":1,`, UnexpectedEnd, 7}, {`[`, UnexpectedEnd, 1}, {`[1`, UnexpectedEnd, 2},
		{`tru`, UnexpectedEnd, 3}, {`-`, UnexpectedEnd, 1}, {`1.`, UnexpectedEnd, 2}, {`1e`, UnexpectedEnd, 2}, {`1e+`, UnexpectedEnd, 3},
		{`"a\`, UnexpectedEnd, 3}, {`"a\u00`, UnexpectedEnd, 6}, {`"\ud83d`, UnexpectedEnd, 7}, {`"\ud83d\u`, UnexpectedEnd, 9}, {"\"\xe4\xb8", UnexpectedEnd, 1},
		{`{} x`, Syntax, 3}, {`{,}`, Syntax, 1}, {`{"a":1,}`, Syntax, 7}, {`[1,]`, Syntax, 3}, {`[1 2]`, Syntax, 3}, {`{"a" 1}`, Syntax, 5}, {`{a:1}`, Syntax, 1},
		{`{"a":1 "b":2}`, Syntax, 7}, {`]`, Syntax, 0}, {`01`, Syntax, 1}, {`+1`, Syntax, 0}, {`.5`, Syntax, 0}, {`1.e5`, Syntax, 2}, {`-x`, Syntax, 1}, {`1ex`, Syntax, 2},
		{`trux`, Syntax, 3}, {`nULL`, Syntax, 1}, {`NaN`, Syntax, 0}, {"\"a\nb\"", Syntax, 2}, {"\"\x00\"", Syntax, 1}, {`"\x"`, Syntax, 2}, {`"\u00g0"`, Syntax, 5},
		{"{}\x00", Syntax, 2}, {"\xef\xbb\xbf{}", Syntax, 0}, {"{\u00a0}", Syntax, 1}, {`'a'`, Syntax, 0}, {`//`, Syntax, 0},
		{"\"\xff\"", InvalidUTF8, 1}, {"\"\xc0\x80\"", InvalidUTF8, 1}, {"\"\xed\xa0\x80\"", InvalidUTF8, 1}, {"{\"\xe4\x22\":1}", InvalidUTF8, 2},
		{`"\ud83d"`, LoneSurrogate, 1}, {`"\ude42"`, LoneSurrogate, 1}, {`"\ud83dx"`, LoneSurrogate, 1}, {`"\ud83d\ud83d\ude42"`, LoneSurrogate, 1}, {`"\ud83d\n"`, LoneSurrogate, 1},
		{`{"a":1,"a":1}`, DuplicateName, 7}, {`{"é":1,"\u00e9":1}`, DuplicateName, 8}, {`[{"x":{"a":1,"\u0061":1}}]`, DuplicateName, 13},
	}
	for _, tt := range tests {
		s := Scanner{Data: []byte(tt.text)}
		_, _, err := s.Whole()
		if tt.reason == 0 {
			require.Nil(t, err, "%.40s", tt.text)
			require.True(t, json.Valid([]byte(tt.text)), "%.40s", tt.text)
			continue
		}
		require.NotNil(t, err, "%.40s", tt.text)
		assert.Equal(t, Error{tt.reason, tt.offset}, *err, "%.40q", tt.text)
		assert.NotEmpty(t, err.Error())
	}
}

func TestMembersAndElements(t *testing.T) {
	data := []byte(` { "a" : [ 1 , "\u0062" ] , "\u0063" : { } } `)
	s := Scanner{Data: data}
	start, end, err := s.Whole()
	require.Nil(t, err)
	assert.Equal(t, []int{1, len(data) - 1}, []int{start, end})
	members := s.Members(start)
	require.Len(t, members, 2)
	assert.Equal(t, "a", string(members[0].Name))
	assert.Equal(t, "c", string(members[1].Name))
	assert.Equal(t, "{ }", string(data[members[1].ValueStart:members[1].ValueEnd]))
	var elements []string
	s.Elements(members[0].ValueStart, func(start, end int) { elements = append(elements, string(data[start:end])) })
	assert.Equal(t, []string{"1", `"\u0062"`}, elements)
	assert.Equal(t, members[1].NameStart+len(`"\u0063"`), StringEnd(data, members[1].NameStart))
}

func TestLoose(t *testing.T) {
	for _, text := range []string{"\"a\xffb\"", `"\ud83d"`, `"\ude42\ud83d"`, "\"\xe4\""} {
		s := Scanner{Data: []byte(text), Loose: true}
		_, _, err := s.Whole()
		require.Nil(t, err)
		assert.False(t, utf8.Valid(Decode([]byte(text))), "what is not text must not decode to text")
	}
	s := Scanner{Data: []byte(`{"a":{"b":1,"b":2},"a":3}`), Loose: true}
	_, _, err := s.Whole()
	require.Nil(t, err)
	assert.Len(t, s.Members(0), 2)
	assert.Equal(t, "\xed\xa0\xbdx", string(Decode([]byte(`"\ud83dx"`))))
}

// FuzzWhole holds the scanner against encoding/json, which accepts more: what is strict here is valid there and decodes to the same.
func FuzzWhole(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		s := Scanner{Data: data}
		start, end, err := s.Whole()
		valid := json.Valid(data)
		if err != nil {
			if err.Offset < 0 || err.Offset > len(data) {
				t.Fatalf("%q: %v at %d", data, err, err.Offset)
			}
			if valid && (err.Reason == Syntax || err.Reason == UnexpectedEnd) || err.Reason == InvalidUTF8 && utf8.Valid(data) {
				t.Fatalf("%q: %v at %d", data, err, err.Offset)
			}
			return
		}
		if !valid || !utf8.Valid(data) {
			t.Fatalf("accepted %q", data)
		}
		if data[start] == '"' {
			var want string
			if json.Unmarshal(data, &want) != nil || want != string(Decode(data[start:end])) {
				t.Fatalf("%q decodes to %q", data, Decode(data[start:end]))
			}
		}
	})
}
