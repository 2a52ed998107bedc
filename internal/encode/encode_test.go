package encode

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope/internal/strictjson"
)

const deep = 10000

// requireFault requires the fault of a strict reader, and which.
func requireFault(t *testing.T, err error, want strictjson.Error) {
	t.Helper()
	fault, ok := err.(*strictjson.Error)
	require.True(t, ok, "%T: %v", err, err)
	assert.Equal(t, want, *fault)
}

// likeEncodingJSON requires that v encodes as encoding/json does it: the same bytes, or an error in
// both, and the same calls of its methods. What encoding/json has replaced is an error here. No
// text of v may hold U+FFFD. It reports whether there was an encoding to compare.
func likeEncodingJSON(t *testing.T, v any) bool {
	t.Helper()
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	calls = nil
	wantErr := func() (err error) {
		defer func() {
			if recover() != nil {
				err = errors.New("panic")
			}
		}()
		return e.Encode(v)
	}()
	wantCalls := calls
	calls = nil
	got, err := JSON(v, deep)
	gotCalls := calls
	switch {
	case wantErr != nil:
		require.Error(t, err, "%T: %v", v, wantErr)
		return false
	case strings.Contains(want.String(), `\ufffd`) || strings.Contains(want.String(), "\ufffd"):
		requireFault(t, err, strictjson.Error{Reason: strictjson.InvalidUTF8, Offset: -1})
		return false
	default:
		require.NoError(t, err, "%T", v)
		require.Equal(t, strings.TrimSuffix(want.String(), "\n"), string(got), "%T", v)
		if experiment {
			return true // which asks in another order, and more
		}
		slices.Sort(wantCalls) // the order of a map's keys is not fixed
		slices.Sort(gotCalls)
		require.Equal(t, wantCalls, gotCalls, "%T", v)
		return true
	}
}

// Random values of random types encode as encoding/json encodes them.
func TestJSONLikeEncodingJSON(t *testing.T) {
	n := 20000
	if testing.Short() {
		n = 3000
	}
	keys, tags := len(keyTypes), len(fieldTags)
	if experiment {
		keys, tags = commonKeys, commonTags
	}
	compared := 0
	for i := range n {
		r := random{rand.New(rand.NewPCG(uint64(i), 2)), i%4 == 0, keys, tags}
		v := reflect.New(r.typ(4))
		r.fill(v.Elem(), 2)
		// Its parts have addresses, and have none.
		for _, value := range []any{v.Interface(), v.Elem().Interface()} {
			if likeEncodingJSON(t, value) {
				compared++
			}
		}
	}
	assert.Greater(t, compared, n, "of %d", 2*n)
}

// What is written does not depend on the Go release or on its experiments.
func TestJSONIsTheSameEverywhere(t *testing.T) {
	digest := sha256.New()
	for i := range 2000 {
		r := random{rand.New(rand.NewPCG(uint64(i), 3)), i%4 == 0, len(keyTypes), len(fieldTags)}
		v := reflect.New(r.typ(4))
		r.fill(v.Elem(), 2)
		for _, value := range []any{v.Interface(), v.Elem().Interface()} {
			data, err := JSON(value, deep)
			fmt.Fprintln(digest, string(data), err == nil)
		}
	}
	sameEverywhere(t, "f61aa8e95337ea5d", digest)
}

// sameEverywhere compares a digest with the one that was made when each of its values was also held
// against encoding/json without the experiment. It changes with the values.
func sameEverywhere(t *testing.T, want string, digest hash.Hash) {
	t.Helper()
	assert.Equal(t, want, hex.EncodeToString(digest.Sum(nil)[:8]))
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("secret") }

type panicsNil struct{}

func (panicsNil) MarshalText() ([]byte, error) { panic(nil) }

type panicsZero struct{}

func (panicsZero) IsZero() bool { var p *int; return *p == 0 }

type fails struct{}

var errFails = errors.New("no")

func (fails) MarshalText() ([]byte, error) { return nil, errFails }

type promoted struct{ *panicsValue }

type panicsValue struct{ n int }

func (p panicsValue) MarshalJSON() ([]byte, error) { return []byte(strconv.Itoa(p.n)), nil }

func TestJSON(t *testing.T) {
	const loose = `{"a":"\ud800","a":"` + "\xff" + `"}`
	tests := []struct {
		why  string
		v    any
		want string // "" is an error that is none of a strict reader
	}{
		{"markup stays, and no line feed follows", map[string]string{"a": "<&>"}, `{"a":"<&>"}`},
		{"a line feed of its own is kept", "a\n", `"a\n"`},
		{"a raw message is spelt as it was", json.RawMessage(`"\u2028\u0041"`), `"\u2028\u0041"`},
		{"without its white space", spells(" { \"a\" : [ 1 ,\n\"a b\" ] } "), `{"a":[1,"a b"]}`},
		{"a raw message that spells U+FFFD", json.RawMessage(`"\ufffd"`), `"\ufffd"`},
		{"six characters that look like an escape", `\ufffd`, `"\\ufffd"`},
		{"a real U+FFFD", "\ufffd", "\"\ufffd\""},
		{"every line boundary is escaped", "\u0085\u2028\u2029\r", `"\u0085\u2028\u2029\r"`},
		{"a raw message's are not", json.RawMessage("\"\u0085\u2028\""), "\"\u0085\u2028\""},
		{"what a strict reader refuses is for the caller to look for", spells(loose), loose},
		{"a number beyond a binary64", json.Number("1e999"), `1e999`},
		{"the least digit", json.Number("0"), `0`},
		{"the greatest", json.Number("9"), `9`},
		{"bytes with a method of their own", []jsonByte{1}, `[true]`},
		{"no value", nil, `null`},
		{"a nil function behind a pointer", (*func())(nil), `null`},
		{"a value that JSON does not have", math.NaN(), ""},
		{"a type that JSON does not have", make(chan int), ""},
		{"the same, nil", (func())(nil), ""},
		{"a map that has names of no kind", map[bool]int(nil), ""},
		{"an encoding method that fails", fails{}, ""},
		{"one that fails as a name", map[fails]int{{}: 1}, ""},
		{"one that panics", []any{panics{}}, ""},
		{"one that panics with nil", []any{panicsNil{}}, ""},
		{"one of omitzero that panics", struct {
			A panicsZero `json:",omitzero"`
		}{}, ""},
		{"one of a nil pointer, which is embedded", promoted{}, ""},
		{"a nil key that is an interface", map[encoding.TextMarshaler]int{nil: 1}, ""},
		{"a raw message that is none", json.RawMessage(`{`), ""},
		{"a raw message of nothing", json.RawMessage{}, ""},
		{"one that goes on behind its value", spells(`1,"a":2`), ""},
		{"a number that is none", json.Number("1x"), ""},
		{"a literal that is no number", json.Number("true"), ""},
		{"white space before a number", json.Number(" 1"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			got, err := JSON(tt.v, deep)
			if tt.want == "" {
				require.Error(t, err)
				assert.NotContains(t, err.Error(), "secret")
				_, strict := err.(*strictjson.Error)
				assert.False(t, strict)
				assert.Nil(t, got)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
		})
	}
	_, err := JSON([]any{fails{}}, deep)
	assert.ErrorIs(t, err, errFails)
}

type failsJSON struct{}

func (failsJSON) MarshalJSON() ([]byte, error) { return []byte("1"), errFails }

type jsonByte byte

func (jsonByte) MarshalJSON() ([]byte, error) { return []byte("true"), nil }

// An error that encoding/json has is the same error here, and no panic that was caught.
func TestJSONErrors(t *testing.T) {
	for _, tt := range []struct {
		why, want string
		v         any
	}{
		{"a method's own", "error calling MarshalJSON for type encode.failsJSON: no", failsJSON{}},
		{"of text, which only encoding/json names so", "error calling MarshalJSON for type encode.fails: no", fails{}},
		{"no JSON", "error calling MarshalJSON for type encode.spells: ", spells("{")},
		{"a type", "unsupported type: chan int", make(chan int)},
		{"a type of names", "unsupported type: map[bool]int", map[bool]int{}},
		{"a name that is nil", "unsupported type: encoding.TextMarshaler",
			map[encoding.TextMarshaler]int{nil: 1}},
		{"a value", "unsupported value: NaN", math.NaN()},
		{"another", "unsupported value: -Inf", math.Inf(-1)},
		{"of 32 bits", "unsupported value: +Inf", float32(math.Inf(1))},
		{"a number of one letter", "invalid number literal", json.Number("x")},
		{"a number that is a string", "invalid number literal", json.Number(`"1"`)},
		{"a sign alone", "invalid number literal", json.Number("-")},
		{"an exponent that ends early", "invalid number literal", json.Number("1e")},
		{"a slash, which comes before 0", "invalid number literal", json.Number("/")},
		{"a colon, which comes behind 9", "invalid number literal", json.Number(":")},
	} {
		data, err := JSON(tt.v, deep)
		assert.Nil(t, data, tt.why)
		if assert.Error(t, err, tt.why) {
			assert.Contains(t, err.Error(), "json: "+tt.want, tt.why)
		}
	}
}

type spells string // encodes itself as that text

func (m spells) MarshalJSON() ([]byte, error) { return []byte(m), nil }

type (
	byValue   struct{ text string } // encodes itself as that text
	byPointer struct{ text string } // only where it has an address
	spellsAt  struct{ Literal string }
	cleanKey  string // has a method that is not asked for a map's key of kind string
	intKey    int
	inner     struct{ S string }
)

func (m byValue) MarshalText() ([]byte, error)    { return []byte(m.text), nil }
func (m *byPointer) MarshalText() ([]byte, error) { return []byte(m.text), nil }
func (m *spellsAt) MarshalJSON() ([]byte, error)  { return []byte(`"\ufffd"`), nil }
func (cleanKey) MarshalText() ([]byte, error)     { return []byte("clean"), nil }
func (intKey) MarshalText() ([]byte, error)       { return []byte("\xff"), nil }

// Invalid UTF-8 is found wherever it would be written, and nowhere else.
func TestJSONInvalidUTF8(t *testing.T) {
	text, six := "\xff", `\ufffd`
	below := func(levels int, bottom any) any {
		for range levels {
			bottom = map[string]any{"a": bottom}
		}
		return bottom
	}
	tests := []struct {
		why  string
		v    any
		want bool
	}{
		{"a string", "a\xffb", true},
		{"half a character", "\xe4\xb8", true},
		{"a surrogate", "\xed\xa0\x80", true},
		{"an overlong NUL", "\xc0\x80", true},
		{"a real U+FFFD", "\ufffd", false},
		{"a map's value", map[string]any{"a": []any{1, "\xff"}}, true},
		{"a map's key", map[string]int{"\xff": 1}, true},
		{"a map's key that is no string", map[intKey]int{1: 1}, true},
		{"a map's key with a method that is not asked", map[cleanKey]int{"\xff": 1}, true},
		{"a map without one", map[string]string{six: "\ufffd"}, false},
		{"an array", [2]string{"a", "\xff"}, true},
		{"behind pointers and interfaces", []any{&text}, true},
		{"beside nil ones", []any{nil, (*string)(nil), six}, false},
		{"below 31 maps", below(31, "x\xff"), true},
		{"below 9,000 maps", below(9000, "x\xff"), true},
		{"good text below as many", below(9000, six+"\ufffd"), false},
		{"bytes are not text", struct {
			B []byte
			S string
		}{[]byte("\xff"), six}, false},
		{"a field", struct{ A, B string }{"a", "\xff"}, true},
		{"a field that is a string in a string", struct {
			A string `json:",string"`
		}{"\xff"}, true},
		{"a field whose name is a dash", struct {
			//lint:ignore SA5008 that is what is tested
			A string `json:"-,"`
		}{"\xff"}, true},
		{"a field that is left out", struct {
			A string `json:"-"`
			B string
		}{"\xff", six}, false},
		{"one that is not exported", struct{ a, B string }{"\xff", six}, false},
		{"one of an embedded struct that is not exported", struct{ inner }{inner{"\xff"}}, true},
		{"one that another hides", struct {
			inner
			S string
		}{inner{"\xff"}, six}, false},
		{"a method that encodes it as text", byValue{"\xff"}, true},
		{"one that encodes good text", []any{byValue{"good"}, six}, false},
		{"a pointer's method, on a pointer", &byPointer{"\xff"}, true},
		{"on an element of a slice", []byPointer{{"\xff"}}, true},
		{"on a field behind a pointer", &struct{ P byPointer }{byPointer{"\xff"}}, true},
		{"not on a field that has no address", struct{ P byPointer }{byPointer{"\xff"}}, false},
		{"a pointer's that spells it, whatever the field", []spellsAt{{"\xff"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			_, err := JSON(tt.v, deep)
			if !tt.want {
				require.NoError(t, err)
				return
			}
			requireFault(t, err, strictjson.Error{Reason: strictjson.InvalidUTF8, Offset: -1})
		})
	}
}

type oneCall struct{ calls *int }

func (o oneCall) MarshalJSON() ([]byte, error) {
	if *o.calls++; *o.calls > 1 {
		panic("called again")
	}
	return []byte(`"\ufffd"`), nil
}

func TestJSONCallsOnce(t *testing.T) {
	calls := 0
	data, err := JSON(map[string]any{"a": oneCall{&calls}, "b": `\ufffd`, "c": "\ufffd"}, deep)
	require.NoError(t, err)
	assert.Equal(t, `{"a":"\ufffd","b":"\\ufffd","c":"`+"\ufffd"+`"}`, string(data))
	assert.Equal(t, 1, calls)
}

func TestJSONDepth(t *testing.T) {
	nested := func(n int, bottom any) any {
		for range n {
			bottom = []any{bottom}
		}
		return bottom
	}
	brackets := func(n int) json.RawMessage {
		return json.RawMessage(strings.Repeat(" [ ", n) + strings.Repeat(" ] ", n))
	}
	tests := []struct {
		why  string
		v    any
		most int
		at   int // -1 is not too deep
	}{
		{"no level", "x", 0, -1},
		{"one where there is none", []int{}, 0, 0},
		{"as many as may be", nested(60, 1), 60, -1},
		{"one more", nested(61, 1), 60, 60},
		{"an object", nested(60, map[string]int{}), 60, 60},
		{"a struct", nested(60, &struct{}{}), 60, 60},
		{"an array", nested(60, [1]int{}), 60, 60},
		{"a method's, as deep as may be", nested(58, brackets(2)), 60, -1},
		{"one more", nested(58, brackets(3)), 60, 60},
		{"a method's where there is none", nested(60, brackets(1)), 60, 60},
		{"a scalar of a method there", nested(60, json.RawMessage("1")), 60, -1},
		{"bytes are no level", nested(60, []byte("x")), 60, -1},
		{"a method's that begins at once", nested(58, json.RawMessage("[[[]]]")), 60, 60},
		{"beside each other", []any{[]any{}, []any{}, []any{}}, 2, -1},
		{"10,000", nested(deep, 1), deep, -1},
		{"and one more", nested(deep+1, 1), deep, deep},
		{"a million", nested(1_000_000, 1), deep, deep},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			data, err := JSON(tt.v, tt.most)
			if tt.at < 0 {
				require.NoError(t, err)
				require.True(t, json.Valid(data))
				return
			}
			requireFault(t, err, strictjson.Error{Reason: strictjson.TooDeep, Offset: tt.at})
		})
	}
	var v any = 1
	for range 1_000_000 {
		next := v
		v = &next
	}
	data, err := JSON(v, 0)
	require.NoError(t, err, "pointers are no levels, and take no stack")
	assert.Equal(t, "1", string(data))
}

// A value that holds itself is an error, before much of it was written.
func TestJSONCycles(t *testing.T) {
	type list struct {
		Big  string
		Next *list `json:",omitzero"`
	}
	big := strings.Repeat("x", 1000)
	ring := func(before, around int) *list {
		first := &list{Big: big}
		last := first
		for range before {
			last.Next = &list{Big: big}
			last = last.Next
		}
		entry := last
		for range around - 1 {
			last.Next = &list{Big: big}
			last = last.Next
		}
		last.Next = entry
		return first
	}
	type fork struct {
		A, B *fork `json:",omitzero"`
		C    any   `json:",omitempty"`
	}
	forked := &fork{}
	forked.A, forked.B, forked.C = forked, forked, forked
	type pointer *pointer
	var itself pointer
	itself = &itself
	var anything any
	anything = &anything
	slice := make([]any, 3)
	slice[2] = slice[:2]
	slice[1] = slice[1:]
	mapped := map[string]any{"a": big}
	mapped["b"] = []any{1, mapped}
	alone := map[string]any{}
	alone["a"] = alone
	for why, v := range map[string]any{
		"itself": ring(0, 1), "a long way around": ring(0, 500), "and there": ring(500, 700),
		"in every field": forked, "a pointer": itself, "an interface": anything,
		"a slice of itself": slice, "a map": mapped, "a map alone": alone,
	} {
		t.Run(why, func(t *testing.T) {
			start := time.Now()
			e := encoder{maxDepth: deep}
			err := e.value(reflect.ValueOf(v), false)
			var unsupported *json.UnsupportedValueError
			require.ErrorAs(t, err, &unsupported)
			assert.Less(t, len(e.out), 1100*3600)
			assert.Less(t, time.Since(start), 5*time.Second)
			_, err = JSON(v, deep)
			assert.Error(t, err)
		})
	}
	shared := &list{Big: "x"}
	data, err := JSON([]any{shared, shared, []any{shared}}, deep)
	require.NoError(t, err, "what stands twice is no cycle")
	assert.Equal(t, 3, bytes.Count(data, []byte(`"x"`)))
	zeroSized := []*struct{}{{}, {}}
	_, err = JSON([]any{zeroSized, &zeroSized, &[]*[0]int{{}}}, deep)
	require.NoError(t, err, "nor is what has no size and so one address")
}

// The way to a value costs nothing at the value: a look at each of the 9,000 levels above, for each
// of half a million, would take minutes.
func TestJSONIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes time")
	}
	leaf := 1
	wide := make([]any, 500_000)
	for i := range wide {
		wide[i] = []any{&leaf}
	}
	var v any = wide
	for range 9000 {
		v = []any{v}
	}
	start := time.Now()
	data, err := JSON(v, deep)
	require.NoError(t, err)
	assert.Len(t, data, 2*9000+4*len(wide)+1)
	assert.Less(t, time.Since(start), 5*time.Second)
}
