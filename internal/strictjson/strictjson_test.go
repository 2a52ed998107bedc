package strictjson

import (
	"encoding/json"
	"fmt"
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
		{`{}`, 0, 0}, {` [ ] `, 0, 0}, {`"x"`, 0, 0}, {`-0.5e-7`, 0, 0}, {`true`, 0, 0},
		{`false`, 0, 0}, {`null`, 0, 0},
		{`{"a":[1,{"b":"\ud83d\ude42\u00e9\"\\\/\b\f\n\r\t"}],"c":"é中🙂"}`, 0, 0},
		{`{"a":{"x":1},"b":{"x":1}}`, 0, 0},
		{deep(MaxDepth), 0, 0}, {deep(MaxDepth + 1), TooDeep, MaxDepth},
		{``, UnexpectedEnd, 0}, {`  `, UnexpectedEnd, 2}, {`{`, UnexpectedEnd, 1},
		{`{"`, UnexpectedEnd, 2}, {`{"a"`, UnexpectedEnd, 4},
		{`{"a":`, UnexpectedEnd, 5}, {`{"a":1`, UnexpectedEnd, 6}, {`{"a":1,`, UnexpectedEnd, 7},
		{`[`, UnexpectedEnd, 1}, {`[1`, UnexpectedEnd, 2},
		{`tru`, UnexpectedEnd, 3}, {`-`, UnexpectedEnd, 1}, {`1.`, UnexpectedEnd, 2},
		{`1e`, UnexpectedEnd, 2}, {`1e+`, UnexpectedEnd, 3},
		{`"a\`, UnexpectedEnd, 3}, {`"a\u00`, UnexpectedEnd, 6}, {`"\ud83d`, UnexpectedEnd, 7},
		{`"\ud83d\u`, UnexpectedEnd, 9}, {"\"\xe4\xb8", UnexpectedEnd, 1},
		{`{} x`, Syntax, 3}, {`{,}`, Syntax, 1}, {`{"a":1,}`, Syntax, 7}, {`[1,]`, Syntax, 3},
		{`[1 2]`, Syntax, 3}, {`{"a" 1}`, Syntax, 5}, {`{a:1}`, Syntax, 1},
		{`{"a":1 "b":2}`, Syntax, 7}, {`]`, Syntax, 0}, {`01`, Syntax, 1}, {`+1`, Syntax, 0},
		{`.5`, Syntax, 0}, {`1.e5`, Syntax, 2}, {`-x`, Syntax, 1}, {`1ex`, Syntax, 2},
		{`trux`, Syntax, 3}, {`nULL`, Syntax, 1}, {`NaN`, Syntax, 0}, {"\"a\nb\"", Syntax, 2},
		{"\"\x00\"", Syntax, 1}, {`"\x"`, Syntax, 2}, {`"\u00g0"`, Syntax, 5},
		{"{}\x00", Syntax, 2}, {"\xef\xbb\xbf{}", Syntax, 0}, {"{\u00a0}", Syntax, 1},
		{`'a'`, Syntax, 0}, {`//`, Syntax, 0},
		{"\"\xff\"", InvalidUTF8, 1}, {"\"\xc0\x80\"", InvalidUTF8, 1},
		{"\"\xed\xa0\x80\"", InvalidUTF8, 1}, {"{\"\xe4\x22\":1}", InvalidUTF8, 2},
		{`"\ud83d"`, LoneSurrogate, 1}, {`"\ude42"`, LoneSurrogate, 1},
		{`"\ud83dx"`, LoneSurrogate, 1}, {`"\ud83d\ud83d\ude42"`, LoneSurrogate, 1},
		{`"\ud83d\n"`, LoneSurrogate, 1},
		{`"\ud83d\u12g4"`, LoneSurrogate, 1}, {`"\ud83d\u12`, UnexpectedEnd, 11},
		{`"\ud83d\u00e9"`, LoneSurrogate, 1},
		{strings.Repeat(`{"a":`, MaxDepth+1), TooDeep, MaxDepth * len(`{"a":`)},
		{`{"a":1,"a":1}`, DuplicateName, 7}, {`{"é":1,"\u00e9":1}`, DuplicateName, 8},
		{`[{"x":{"a":1,"\u0061":1}}]`, DuplicateName, 13},
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
	s.Elements(members[0].ValueStart, func(start, end int) {
		elements = append(elements, string(data[start:end]))
	})
	assert.Equal(t, []string{"1", `"\u0062"`}, elements)
	assert.Equal(t, members[1].NameStart+len(`"\u0063"`), StringEnd(data, members[1].NameStart))
}

func TestLoose(t *testing.T) {
	for _, text := range []string{"\"a\xffb\"", `"\ud83d"`, `"\ude42\ud83d"`, "\"\xe4\""} {
		s := Scanner{Data: []byte(text), Loose: true}
		_, _, err := s.Whole()
		require.Nil(t, err)
		assert.False(t, utf8.Valid(Decode([]byte(text))), "no text must decode to no text")
	}
	s := Scanner{Data: []byte(`{"a":{"b":1,"b":2},"a":3}`), Loose: true}
	_, _, err := s.Whole()
	require.Nil(t, err)
	assert.Len(t, s.Members(0), 2)
	assert.Equal(t, "\xed\xa0\xbdx", string(Decode([]byte(`"\ud83dx"`))))
}

// The names of an object are its own, few or many: of 17 and more they are in a map.
func TestNames(t *testing.T) {
	object := func(n int, more string) string {
		var b strings.Builder
		b.WriteString("{")
		for i := range n {
			fmt.Fprintf(&b, `"n%d":%d,`, i, i)
		}
		return b.String() + more + "}"
	}
	tests := []struct {
		why, text string
		duplicate string // the name at which it is noticed, with what follows
	}{
		{"16 and another", object(16, `"x":0`), ""},
		{"16 and the first once more", object(16, `"n0":-1`), `"n0":-1}`},
		{"16 and the last once more", object(16, `"n15":-1`), `"n15":-1}`},
		{"17 and another", object(17, `"x":0`), ""},
		{"17 and the first once more", object(17, `"n0":-1`), `"n0":-1}`},
		{"17 and the last once more", object(17, `"n16":-1`), `"n16":-1}`},
		{"200 and one of the middle, spelt anew", object(200, `"\u006e100":-1`), `"\u006e100":-1}`},
		{"an inner object has the names of the outer", object(5, `"in":`+object(5, `"x":0`)), ""},
		{"many in many", object(20, `"in":`+object(20, `"x":0`)), ""},
		{"the outer's name once more behind the inner object",
			object(5, `"in":`+object(20, `"x":0`)+`,"n4":-1`), `"n4":-1}`},
		{"and many of them", object(20, `"in":`+object(20, `"x":0`)+`,"n4":-1`), `"n4":-1}`},
		{"a name of the inner object alone", object(5, `"in":{"only":0},"only":1`), ""},
		{"and behind many", object(20, `"in":{"only":0},"only":1`), ""},
		{"two objects side by side", `[` + object(3, `"x":0`) + `,` + object(3, `"x":0`) + `]`, ""},
		{"no name at all, twice", `{"":1,"":2}`, `"":2}`},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			s := Scanner{Data: []byte(tt.text)}
			_, _, err := s.Whole()
			if tt.duplicate == "" {
				require.Nil(t, err)
				return
			}
			require.NotNil(t, err)
			assert.Equal(t, Error{DuplicateName, strings.LastIndex(tt.text, tt.duplicate)}, *err)
		})
	}
}

func TestMaxDepth(t *testing.T) {
	depths := map[string]int{`1`: 0, `[]`: 1, `{}`: 1, `[[],{}]`: 2, `{"a":{"b":[]}}`: 3}
	for text, depth := range depths {
		for most := 1; most < 5; most++ {
			s := Scanner{Data: []byte(text), MaxDepth: most}
			_, _, err := s.Whole()
			assert.Equal(t, depth <= most, err == nil, "%s within %d", text, most)
			if err != nil {
				assert.Equal(t, TooDeep, err.Reason)
			}
		}
	}
}

func TestDecode(t *testing.T) {
	tests := []struct{ literal, want string }{
		{`""`, ""}, {`"plain é"`, "plain é"},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t"},
		{`"\u0000\u00e9\u4e2d\uABCD\uabcd"`, "\x00é中\uabcd\uabcd"},
		{`"a\ud83d\ude42b"`, "a🙂b"}, {`"\uD800\uDC00\udbff\udfff"`, "\U00010000\U0010ffff"},
		{`"\\u0041"`, `\u0041`}, {`"\\\u0041"`, `\A`},
		{`"\ud83d"`, "\xed\xa0\xbd"}, {`"\ude42\ud83d"`, "\xed\xb9\x82\xed\xa0\xbd"},
		{`"\ud83d\ud83d\ude42"`, "\xed\xa0\xbd🙂"}, // for a loose scanner
	}
	for _, tt := range tests {
		literal := []byte(tt.literal)
		assert.Equal(t, tt.want, string(Decode(literal)), tt.literal)
		appended := AppendDecoded([]byte("before"), literal)
		assert.Equal(t, "before"+tt.want, string(appended), tt.literal)
		value := []byte("[ " + tt.literal + `,"behind"]`)
		assert.Equal(t, 2+len(literal), StringEnd(value, 2), tt.literal)
		assert.Equal(t, tt.literal, string(literal), "it is not written to")
	}
	assert.Empty(t, (&Error{}).Error(), "no reason")
}

func TestSpace(t *testing.T) {
	s := Scanner{Data: []byte(" \t\r\n\u00a0\v")}
	assert.Equal(t, 4, s.Space(0), "and neither U+00A0 nor VT")
	assert.Equal(t, 4, s.Space(4))
	assert.Equal(t, len(s.Data), s.Space(len(s.Data)))
}

// FuzzWhole holds the scanner against encoding/json, which accepts more: what is strict here is
// valid there and decodes to the same.
func FuzzWhole(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		s := Scanner{Data: data}
		start, end, err := s.Whole()
		valid := json.Valid(data)
		if err != nil {
			if err.Offset < 0 || err.Offset > len(data) {
				t.Fatalf("%q: %v at %d", data, err, err.Offset)
			}
			grammar := err.Reason == Syntax || err.Reason == UnexpectedEnd
			if valid && grammar || err.Reason == InvalidUTF8 && utf8.Valid(data) {
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
