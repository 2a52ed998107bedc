package encode

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// calls has the calls of the methods below, which are noted.
var calls []string

func called(what string) { calls = append(calls, what) }

type (
	jsonValue   struct{ S string }
	jsonPointer struct{ S string }
	textValue   string
	textPointer struct{ N int }
	bothValue   int
	mixed       struct{ N int } // MarshalJSON of the pointer, MarshalText of the value
	mixedText   [1]int          // MarshalText of the pointer, MarshalJSON of the value
	mapMethod   map[string]int
	sliceMethod []int
	zeroValue   struct{ N int }
	zeroPointer struct{ N int }
	zeroSlice   []string
	byteMethod  byte
	namedBytes  []byte
	namedByte   byte
	keyInt      int
	keyStruct   struct{ A, B int }
	keyPointer  struct{ A int }
)

func (v jsonValue) MarshalJSON() ([]byte, error) {
	called("jsonValue " + v.S)
	text := strings.Trim(strings.ToValidUTF8(v.S, ""), "\u2028\u2029\u202a")
	return []byte(` [ 1 , "<` + text + `" ] `), nil
}
func (v *jsonPointer) MarshalJSON() ([]byte, error) {
	called("jsonPointer")
	if v == nil {
		return []byte("0"), nil
	}
	return []byte(`{"p":true}`), nil
}
func (v textValue) MarshalText() ([]byte, error) {
	called("textValue " + string(v))
	return []byte("<" + v + ">"), nil
}
func (v *textPointer) MarshalText() ([]byte, error) {
	called("textPointer")
	return []byte(strconv.Itoa(v.N)), nil
}
func (v bothValue) MarshalJSON() ([]byte, error) {
	called("bothValue JSON")
	return []byte(strconv.Itoa(int(v))), nil
}
func (v bothValue) MarshalText() ([]byte, error) {
	called("bothValue text")
	return []byte("t"), nil
}
func (v *mixed) MarshalJSON() ([]byte, error) {
	called("mixed JSON")
	return []byte(`"json"`), nil
}
func (v mixed) MarshalText() ([]byte, error) {
	called("mixed text")
	return []byte("text"), nil
}
func (v mixedText) MarshalJSON() ([]byte, error) {
	called("mixedText JSON")
	return []byte(`1`), nil
}
func (v *mixedText) MarshalText() ([]byte, error) {
	called("mixedText text")
	return []byte("t"), nil
}
func (v mapMethod) MarshalJSON() ([]byte, error) {
	called("mapMethod")
	return []byte(`{}`), nil
}
func (v sliceMethod) MarshalText() ([]byte, error) {
	called("sliceMethod")
	return []byte("s"), nil
}
func (v zeroValue) IsZero() bool    { called("zeroValue"); return v.N == 1 }
func (v *zeroPointer) IsZero() bool { called("zeroPointer"); return v.N == 1 }
func (v zeroSlice) IsZero() bool    { called("zeroSlice"); return len(v) == 1 }
func (v byteMethod) MarshalText() ([]byte, error) {
	called("byteMethod")
	return []byte{'a' + byte(v)%26}, nil
}
func (v keyInt) MarshalText() ([]byte, error) {
	called("keyInt")
	return []byte("k" + strconv.Itoa(int(v))), nil
}
func (v keyStruct) MarshalText() ([]byte, error) {
	called("keyStruct")
	return []byte(strconv.Itoa(v.A) + "," + strconv.Itoa(v.B)), nil
}
func (v *keyPointer) MarshalText() ([]byte, error) {
	called("keyPointer")
	return []byte(strconv.Itoa(v.A)), nil
}

// typesOf returns what pointers point to.
func typesOf(pointers ...any) (types []reflect.Type) {
	for _, p := range pointers {
		types = append(types, reflect.TypeOf(p).Elem())
	}
	return types
}

// leaves are the types that random ones are built of.
var leaves = typesOf(
	new(bool), new(int), new(int8), new(int64), new(uint), new(uint8), new(uintptr),
	new(float32), new(float64), new(string), new(string), new(any), new(any), new([]byte),
	new(json.Number), new(json.RawMessage), new(time.Time), new(big.Int), new(netip.Addr),
	new(struct{}), new(json.Marshaler), new(interface{ IsZero() bool }), new(jsonValue),
	new(jsonPointer), new(textValue), new(textPointer), new(bothValue), new(mixed),
	new(mixedText), new(mapMethod), new(sliceMethod), new(zeroValue), new(zeroPointer),
	new(zeroSlice), new(byteMethod), new([]byteMethod), new(namedBytes), new([]namedByte),
	new(inner), new(chan int), new(complex64),
)

var keyTypes = typesOf(
	new(string), new(string), new(int), new(uint8), new(keyInt), new(keyStruct),
	new(*keyPointer), new(bool), new(textValue), new(cleanKey),
)

var fieldTags = []string{
	"", "", "", `json:"a"`, `json:"b,omitempty"`, `json:",omitempty"`, `json:",omitzero"`,
	`json:"c,omitzero"`, `json:",omitempty,omitzero"`,
	`json:",string"`, `json:"d,string,omitempty"`, `json:"-"`, `json:"-,"`, `json:"a b<&>/"`,
	`json:"é.中"`, `json:"f.1"`, `json:"e"`,
	`json:",strings"`, `xml:"x"`,
	`json:"no\\t"`, `json:",omitempty ,string "`,
}

// experiment is GOEXPERIMENT=jsonv2, in which encoding/json differs from what it is otherwise.
var experiment = func() bool {
	data, err := json.Marshal("\xff")
	return err != nil || string(data) != `"\ufffd"`
}()

// What stands behind these, encoding/json takes differently in the experiment: it reads the tags
// in another way, asks a key that is a string for its text, and lets an empty map have keys of any
// type.
var commonKeys, commonTags = len(keyTypes) - 3, len(fieldTags) - 2

// random makes types and values.
type random struct {
	*rand.Rand
	invalid    bool // some text may be invalid UTF-8
	keys, tags int  // how many of them it takes
}

func (r random) typ(depth int) reflect.Type {
	if depth == 0 || r.IntN(3) == 0 {
		return leaves[r.IntN(len(leaves))]
	}
	switch r.IntN(6) {
	case 0:
		return reflect.PointerTo(r.typ(depth - 1))
	case 1:
		return reflect.SliceOf(r.typ(depth - 1))
	case 2:
		return reflect.ArrayOf(r.IntN(3), r.typ(depth-1))
	case 3:
		return reflect.MapOf(keyTypes[r.IntN(r.keys)], r.typ(depth-1))
	}
	fields := make([]reflect.StructField, r.IntN(6))
	for i := range fields {
		t := r.typ(depth - 1)
		tag := reflect.StructTag(fieldTags[r.IntN(r.tags)])
		fields[i] = reflect.StructField{Name: "F" + strconv.Itoa(i), Type: t, Tag: tag}
		embeddable := t.Kind() == reflect.Struct && t.NumMethod() == 0 && t.Name() == ""
		fields[i].Anonymous = embeddable && r.IntN(2) == 0
	}
	return reflect.StructOf(fields)
}

func (r random) text() string {
	pieces := []string{
		"", "a", "b", "<&>", "\"", "\n", "\x00\x1f\x7f", "é", "中", "🙂",
		"\u2028", "\u2029\u202a", strings.Repeat("x", 20),
	}
	if r.invalid {
		pieces = append(pieces, "\xff", "\xe2\x80", "\xed\xa0\x80")
	}
	s := ""
	for range r.IntN(3) {
		s += pieces[r.IntN(len(pieces))]
	}
	return s
}

func (r random) fill(v reflect.Value, depth int) {
	if r.IntN(6) == 0 {
		return // zero
	}
	switch v.Type() {
	case reflect.TypeFor[json.Number]():
		v.SetString([]string{"1", "-0", "1.50e+2", "1e999", "", "1x", "-"}[r.IntN(7)])
		return
	case reflect.TypeFor[json.RawMessage]():
		raw := []string{`1`, ` {"a" : [ ] } `, `"\u0041<"`, `null`, `[`, ``, `1 2`}
		v.SetBytes([]byte(raw[r.IntN(len(raw))]))
		return
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(r.Int64N(1<<40), 0).UTC()))
		return
	case reflect.TypeFor[big.Int](), reflect.TypeFor[netip.Addr]():
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.String:
		v.SetString(r.text())
	case reflect.Float32, reflect.Float64:
		f := math.Float64frombits(r.Uint64())
		switch r.IntN(4) {
		case 0:
			f = float64(r.IntN(100)) / 8
		case 1:
			f = math.Pow(10, float64(r.IntN(60)-30))
		case 2:
			f = []float64{
				math.Copysign(0, -1), 1e21, 1e-6, 9.99e20, 9.99e-7, math.MaxFloat32, 1e-9,
				1e-10, 123456789e15,
			}[r.IntN(9)]
		}
		v.SetFloat(f)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.fill(v.Elem(), depth)
	case reflect.Interface:
		t := r.typ(depth)
		if v.NumMethod() > 0 {
			options := typesOf(
				new(jsonValue), new(*jsonPointer), new(bothValue),
				new(zeroValue), new(*zeroPointer), new(zeroSlice), new(*big.Int),
			)
			t = options[r.IntN(len(options))]
			if !t.Implements(v.Type()) {
				return
			}
		}
		value := reflect.New(t).Elem()
		r.fill(value, max(depth-1, 0))
		v.Set(value)
	case reflect.Slice:
		n := r.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			r.fill(v.Index(i), depth)
		}
	case reflect.Array:
		for i := range v.Len() {
			r.fill(v.Index(i), depth)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(4) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			r.fill(key, depth)
			r.fill(value, depth)
			if p, ok := key.Interface().(*keyPointer); ok && p != nil {
				p.A = v.Len() // two keys of one name have no order
			}
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				r.fill(v.Field(i), depth)
			}
		}
	case reflect.Chan, reflect.Complex64:
	default:
		shift := r.IntN(64)
		switch v.Kind() {
		case reflect.Int, reflect.Uint, reflect.Uintptr:
			shift |= 33 // what every machine has
		}
		if v.CanInt() {
			v.SetInt(r.Int64() >> shift)
		} else {
			v.SetUint(r.Uint64() >> shift)
		}
	}
}
