package encode

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("secret") }

type fails struct{}

func (fails) MarshalText() ([]byte, error) { return nil, errors.New("no") }

func TestJSON(t *testing.T) {
	tests := []struct {
		why  string
		v    any
		want string // "" is an error
	}{
		{"markup stays, and no line feed follows", map[string]string{"a": "<&>"}, `{"a":"<&>"}`},
		{"a line feed of its own is kept", "a\n", `"a\n"`},
		{"a raw message's spelling is handed through", json.RawMessage(`"\u2028\u0041"`), `"\u2028\u0041"`},
		{"no value", nil, `null`},
		{"a value that JSON does not have", math.NaN(), ""},
		{"a type that JSON does not have", make(chan int), ""},
		{"an encoding method that fails", fails{}, ""},
		{"one that panics", []any{panics{}}, ""},
		{"a raw message that is none", json.RawMessage(`{`), ""},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			got, err := JSON(tt.v)
			if tt.want == "" {
				require.Error(t, err)
				assert.NotContains(t, err.Error(), "secret")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
		})
	}
}

type (
	byValue   struct{ text string } // encodes itself as that text
	byPointer struct{ text string } // only where encoding/json can take its address
	spells    struct{ literal string }
	spellsAt  struct{ Literal string }
	cleanKey  string // has a method that encoding/json does not ask for a map's key of kind string
	intKey    int
	inner     struct{ S string }
	fickle    struct{ calls *int } // fails when it is asked again
)

func (m byValue) MarshalText() ([]byte, error)    { return []byte(m.text), nil }
func (m *byPointer) MarshalText() ([]byte, error) { return []byte(m.text), nil }
func (m spells) MarshalJSON() ([]byte, error)     { return []byte(m.literal), nil }
func (m *spellsAt) MarshalJSON() ([]byte, error)  { return []byte(`"\ufffd"`), nil }
func (cleanKey) MarshalText() ([]byte, error)     { return []byte("clean"), nil }
func (intKey) MarshalText() ([]byte, error)       { return []byte("\xff"), nil }

func (f fickle) MarshalJSON() ([]byte, error) {
	if *f.calls++; *f.calls > 1 {
		return nil, errors.New("again")
	}
	return []byte(`"\ufffd"`), nil
}

// Each value is encoded with a replacement character or what looks like one; only some had something replaced.
func TestHidesInvalid(t *testing.T) {
	text, six := "\xff", `\ufffd`
	deep := any("\xff")
	for range 1001 {
		deep = []any{deep}
	}
	tests := []struct {
		why  string
		v    any
		want bool
	}{
		{"a string", "a\xffb", true},
		{"half a character", "\xe4\xb8", true},
		{"a surrogate", "\xed\xa0\x80", true},
		{"a real U+FFFD", "\ufffd", false},
		{"the six characters", six, false},
		{"nothing of the kind", "a", false},
		{"no value", nil, false},
		{"a map's value", map[string]any{"a": []any{1, "\xff"}}, true},
		{"a map's key", map[string]int{"\xff": 1}, true},
		{"a map's key that is no string", map[intKey]int{1: 1}, true},
		{"a map's key with a method that is not asked, or with GOEXPERIMENT=jsonv2 is", map[cleanKey]int{"\xff": 1}, replacementSpelt},
		{"a map without one", map[string]string{six: "\ufffd"}, false},
		{"an array", [2]string{"a", "\xff"}, true},
		{"behind pointers and interfaces", []any{&text}, true},
		{"beside nil ones", []any{nil, (*string)(nil), six}, false},
		{"bytes are not text", struct {
			B []byte
			S string
		}{[]byte("\xff"), six}, false},
		{"a field", struct{ A, B string }{"a", "\xff"}, true},
		{"a field under another name", struct {
			A string `json:"b,omitempty"`
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
		{"a method that encodes it as text", byValue{"\xff"}, true},
		{"one that encodes good text", []any{byValue{"good"}, six}, false},
		{"a pointer's method, on a pointer", &byPointer{"\xff"}, true},
		{"on an element of a slice", []byPointer{{"\xff"}}, true},
		{"on a field behind a pointer", &struct{ P byPointer }{byPointer{"\xff"}}, true},
		{"not on a field that has no address", struct {
			P byPointer
			S string
		}{byPointer{"\xff"}, six}, false},
		{"a method that spells U+FFFD itself", spells{`"\ufffd"`}, false},
		{"a pointer's that spells it, whatever the field", []spellsAt{{"\xff"}}, false},
		{"a raw message that spells it", json.RawMessage(`"\ufffd"`), false},
		{"a raw message with a bad byte beside one", []any{six, spells{"\"\xff\""}}, true},
		{"a method that fails when asked again", fickle{new(int)}, false},
		{"deeper than a reader goes, which is refused for that", deep, false},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			data, err := JSON(tt.v)
			if err != nil && strings.Contains(tt.why, "a bad byte") {
				t.Skip("with GOEXPERIMENT=jsonv2 encoding/json refuses it")
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, HidesInvalid(data, tt.v), "%s", data)
		})
	}
}
