package encode

//lint:file-ignore SA5008 odd tags are what is tested

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type (
	leaf   struct{ A, B int }
	Leaf   struct{ B, C int }
	tagged struct {
		X int `json:"A"`
	}
	TagA struct {
		X int `json:"A"`
	}
	TagB struct {
		Y int `json:"A"`
	}
	Plain struct{ A, B int }
	left  struct{ Leaf }
	right struct{ Leaf }
	Text  string
	text  string
	loop  struct {
		*loop
		N int
	}
	ping struct {
		*pong
		P int
	}
	pong struct {
		*ping
		Q int
	}
	first struct {
		*first
		Leaf
	}
	Partly  struct{ B, D int }
	partial struct{ Partly }
	pointer *int
	once    struct{ deeper }
	deeper  struct{ N int }
	again   struct{ deeper }
	asked   struct{ N int }
	Asked   struct{ N int }
	Number  = json.Number
	Any     interface{ Foo() }
)

// askedZero has what omitzero asks.
type askedZero struct {
	A zeroValue                  `json:",omitzero"`
	B zeroPointer                `json:",omitzero"`
	C *zeroValue                 `json:",omitzero"`
	D *zeroPointer               `json:",omitzero"`
	E interface{ IsZero() bool } `json:",omitzero"`
	F interface{ IsZero() bool } `json:",omitzero"`
	G zeroSlice                  `json:",omitzero"`
}

func (asked) MarshalJSON() ([]byte, error)  { return []byte(`"asked"`), nil }
func (*Asked) MarshalText() ([]byte, error) { return []byte("Asked"), nil }

// structOf returns a value of a struct type that vet would not let pass.
func structOf(fields ...reflect.StructField) any {
	return reflect.Zero(reflect.StructOf(fields)).Interface()
}

func intField(name string, tag reflect.StructTag) reflect.StructField {
	return reflect.StructField{Name: name, Type: reflect.TypeFor[int](), Tag: tag}
}

func embeddedField[T any]() reflect.StructField {
	t := reflect.TypeFor[T]()
	return reflect.StructField{Name: t.Name(), Type: t, Anonymous: true}
}

var (
	embeddedA     = embeddedField[TagA]()
	embeddedB     = embeddedField[TagB]()
	embeddedPlain = embeddedField[Plain]()
)

// Which fields a struct has, under which names and in which order, is as encoding/json has it.
func TestFieldsOf(t *testing.T) {
	p := 7
	tests := []struct {
		why string
		v   any
	}{
		{"no fields", struct{}{}},
		{"one of an embedded struct", struct{ Leaf }{}},
		{"of one that is not exported", struct{ leaf }{}},
		{"behind a pointer", struct{ *Leaf }{&Leaf{1, 2}}},
		{"behind a nil one", struct {
			*Leaf
			X int
		}{}},
		{"behind a pointer to one that is not exported", struct{ *leaf }{&leaf{1, 2}}},
		{"behind a nil pointer to it", struct{ *leaf }{}},
		{"a shallower field of the same name", struct {
			Leaf
			B string
		}{}},
		{"two of one name in one depth", struct {
			leaf
			Leaf
		}{}},
		{"of them the tagged one", struct {
			leaf
			tagged
		}{}},
		{"the other way round", struct {
			tagged
			leaf
		}{}},
		{"two that are tagged", structOf(embeddedA, embeddedB)},
		{"two tagged and a plain one", structOf(embeddedA, embeddedB, embeddedPlain)},
		{"a shallower one above two tagged", structOf(embeddedA, embeddedB, intField("A", ""))},
		{"a tagged one below a plain one", struct {
			A string
			tagged
		}{}},
		{"the same struct twice in one depth", struct {
			left
			right
		}{}},
		{"the same struct on two levels", struct {
			left
			Leaf
		}{}},
		{"a struct twice, below it another", struct {
			once
			again
		}{}},
		{"a level twice and a field above it", struct {
			left
			right
			B int
		}{}},
		{"a level twice and another beside it that has a field of its own", struct {
			left
			partial
			right
		}{}},
		{"a struct in itself, and behind it another", first{&first{nil, Leaf{3, 4}}, Leaf{1, 2}}},
		{"a struct that is not exported and not embedded", struct {
			a Leaf
			B int
		}{Leaf{1, 2}, 3}},
		{"an embedded struct with a name", struct {
			Leaf `json:"leaf"`
		}{}},
		{"with a name that does not count", struct {
			Leaf "json:\"a\\\"b\""
		}{}},
		{"one that is not exported with a name", struct {
			leaf `json:"leaf"`
		}{}},
		{"a pointer to it with a name", struct {
			*leaf `json:"leaf"`
		}{&leaf{}}},
		{"left out", struct {
			Leaf `json:"-"`
			A    int
		}{}},
		{"an embedded string", struct{ Text }{"x"}},
		{"an embedded string that is not exported", struct{ text }{"x"}},
		{"a pointer to a string", struct{ *Text }{}},
		{"a pointer to a string that is not exported", struct{ *text }{}},
		{"an interface", struct{ Any }{}},
		{"a struct in itself", loop{N: 1}},
		{"the same, filled", loop{&loop{nil, 2}, 1}},
		{"two structs in each other", ping{&pong{&ping{nil, 3}, 2}, 1}},
		{"a method of an embedded struct is the outer one's", struct{ Asked }{}},
		{"and where it has an address", &struct{ Asked }{}},
		{"of one that is not exported", struct{ asked }{}},
		{"of one with a name", struct {
			Asked `json:"n"`
			M     int
		}{}},
		{"of two", struct {
			Asked
			time.Time
		}{}},
		{"of one that is not exported, with a name and a field that hides the method", &struct {
			asked       `json:"n"`
			MarshalJSON int
		}{}},
		{"names", struct {
			A int `json:"a"`
			B int `json:"_-/.:;<=>?@[]^{|}~!#$%&()*+ "`
			C int `json:"日本é٣"`
			D int `json:"d,b"`
			E int `json:"'e'"`
			F int "json:\"`\""
			G int `json:"\\"`
			H int "json:\"\x7f\""
			I int "json:\"\u2028\""
			J int "json:\"\ufffd\""
			K int `json:"é̈"`
			É int
			L int `json:","`
			N int `json:"-,"`
			o int
		}{}},
		{"two of one name", structOf(
			intField("A", `json:"x"`), intField("B", `json:"x"`), intField("C", ""))},
		{"a tag that is none", structOf(intField("A", `json`))},
		{"names that differ in case", struct {
			A int
			B int `json:"a"`
		}{}},
		{"omitempty of every kind, empty", struct {
			A bool           `json:",omitempty"`
			B int            `json:",omitempty"`
			C uint8          `json:",omitempty"`
			D float64        `json:",omitempty"`
			E string         `json:",omitempty"`
			F []int          `json:",omitempty"`
			G map[string]int `json:",omitempty"`
			H [0]int         `json:",omitempty"`
			I [1]int         `json:",omitempty"`
			J struct{}       `json:",omitempty"`
			K *int           `json:",omitempty"`
			L any            `json:",omitempty"`
			M time.Time      `json:",omitempty"`
		}{F: []int{}, G: map[string]int{}}},
		{"omitzero of them", struct {
			A bool            `json:",omitzero"`
			F []int           `json:",omitzero"`
			G map[string]int  `json:",omitzero"`
			H [0]int          `json:",omitzero"`
			I [1]int          `json:",omitzero"`
			J struct{ X int } `json:",omitzero"`
			K *int            `json:",omitzero"`
			L any             `json:",omitzero"`
			M time.Time       `json:",omitzero"`
			N []int           `json:",omitzero"`
		}{F: []int{}, G: map[string]int{}}},
		{"omitzero with methods, zero", askedZero{F: (*zeroPointer)(nil)}},
		{"omitzero with methods that say so", askedZero{
			zeroValue{1}, zeroPointer{1}, &zeroValue{1}, &zeroPointer{1},
			zeroValue{1}, &zeroPointer{1}, zeroSlice{"x"},
		}},
		{"what omitempty leaves out, omitzero does not ask", struct {
			A zeroSlice `json:",omitempty,omitzero"`
			B zeroSlice `json:",omitzero,omitempty"`
		}{B: zeroSlice{"x", "y"}}},
		{"string of every kind", struct {
			A bool           `json:",string"`
			B int            `json:",string"`
			C float32        `json:",string"`
			D string         `json:",string"`
			E Number         `json:",string"`
			F *int           `json:",string"`
			G *int           `json:",string"`
			H **int          `json:",string"`
			I []int          `json:",string"`
			J any            `json:",string"`
			K bothValue      `json:",string"`
			L uintptr        `json:",string"`
			M Leaf           `json:",string"`
			N map[string]int `json:",string"`
			O pointer        `json:",string"` // not quoted, as it has a name
		}{D: "a\"\n\u2028é<", E: "1.50", F: &p, J: 1, O: &p}},
	}
	digest := sha256.New()
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			pointer := reflect.New(reflect.TypeOf(tt.v))
			pointer.Elem().Set(reflect.ValueOf(tt.v))
			for _, v := range []any{tt.v, pointer.Interface()} {
				if !experiment {
					likeEncodingJSON(t, v)
				}
				data, err := JSON(v, deep)
				fmt.Fprintln(digest, string(data), err == nil)
			}
		})
	}
	sameEverywhere(t, "4e30451083837b8d", digest)
}

type asksItself struct{ Times int }

func (a *asksItself) IsZero() bool {
	a.Times++
	return false
}

// What has an address is asked there, and otherwise a copy of it.
func TestOmitZeroInPlace(t *testing.T) {
	type holder struct {
		A asksItself `json:",omitzero"`
	}
	for _, tt := range []struct {
		why  string
		v    any
		want string
	}{
		{"has an address", &holder{}, `{"A":{"Times":1}}`},
		{"has none", holder{}, `{"A":{"Times":0}}`},
	} {
		got, err := JSON(tt.v, deep)
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, string(got), tt.why)
	}
}

func TestValidName(t *testing.T) {
	for _, name := range []string{"a", " ", "~", "é", "<&>"} {
		assert.True(t, validName(name), "%q", name)
	}
	for _, name := range []string{
		"", "\x1f", `"`, `\`, "'", "`", ",", "\x7f", "\u0301", "\xff", "a\n",
	} {
		assert.False(t, validName(name), "%q", name)
	}
	data, err := JSON(struct {
		A int `json:"<&>"`
	}{1}, deep)
	require.NoError(t, err)
	assert.Equal(t, `{"<&>":1}`, string(data))
}
