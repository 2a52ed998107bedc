// Package encode turns Go values into JSON by the rules of encoding/json (Go 1.26, without
// GOEXPERIMENT=jsonv2, whatever the Go release that it is built with): the same fields, names,
// order and methods. Strings are written as everywhere in this module: without escapes for HTML,
// and with one for U+0085 too.
//
// In three things it is stricter, which is why it is not encoding/json. Invalid UTF-8 is an error
// and not replaced. A panic in a method of the value is an error. And a value that holds itself, or
// nests more deeply than the caller allows, is an error before it was written many times over.
//
// A value is visited once, in the order in which it is written, and no method is called twice.
package encode

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/untrusted-context/envelope/internal/strictjson"
)

// JSON encodes v, in which arrays and objects nest at most maxDepth levels, those that methods
// write included.
//
// An error is a *[strictjson.Error] about text of v that is invalid UTF-8 (without an offset) or
// about too many levels (at a byte of what was to be written); otherwise it is one of those that
// encoding/json has. What a MarshalJSON method returns is JSON, but it may hold what a strict
// reader refuses, such as a repeated name: that is for the caller to look for.
func JSON(v any, maxDepth int) (data []byte, err error) {
	defer func() {
		if recover() != nil { // what it was may hold content
			data, err = nil, errors.New("panic in a method of the value")
		}
	}()
	e := encoder{maxDepth: maxDepth}
	if err := e.value(reflect.ValueOf(v), false); err != nil {
		return nil, err
	}
	return e.out, nil
}

// encoder is a value being written.
type encoder struct {
	out      []byte
	maxDepth int
	depth    int // of open arrays and objects
	cycleSearch
}

// value writes v. A number, a boolean or a string is quoted where the field's "string" option says
// so. Pointers are followed in a loop, so that only arrays and objects, which maxDepth bounds, take
// stack.
func (e *encoder) value(v reflect.Value, quoted bool) error {
	search := e.cycleSearch
	defer func() { e.cycleSearch = search }()
	for {
		if !v.IsValid() {
			return e.null()
		}
		t := typeOf(v.Type())
		if call := t.method(v); call != nil {
			return call(e, v)
		}
		switch v.Kind() {
		case reflect.Interface:
			v = v.Elem()
		case reflect.Pointer:
			if v.IsNil() {
				return e.null()
			}
			if err := e.follow(v, 0); err != nil {
				return err
			}
			v = v.Elem()
		case reflect.Struct:
			return e.object(v, t.fields)
		case reflect.Map:
			return e.mapping(v, t)
		case reflect.Slice:
			return e.slice(v, t)
		case reflect.Array:
			return e.array(v)
		default:
			return e.scalar(v, quoted)
		}
	}
}

func (e *encoder) null() error {
	e.out = append(e.out, "null"...)
	return nil
}

// open begins an array or an object.
func (e *encoder) open(bracket byte) error {
	if e.depth++; e.depth > e.maxDepth {
		return &strictjson.Error{Reason: strictjson.TooDeep, Offset: len(e.out)}
	}
	e.out = append(e.out, bracket)
	return nil
}

// close ends it. A comma before the bracket is that of a next element.
func (e *encoder) close(bracket byte) error {
	e.depth--
	if last := len(e.out) - 1; e.out[last] == ',' {
		e.out[last] = bracket
	} else {
		e.out = append(e.out, bracket)
	}
	return nil
}

func (e *encoder) slice(v reflect.Value, t *typeInfo) error {
	switch {
	case v.IsNil():
		return e.null()
	case t.bytes:
		e.base64(v.Bytes())
		return nil
	}
	if err := e.follow(v, v.Len()); err != nil {
		return err
	}
	return e.array(v)
}

func (e *encoder) array(v reflect.Value) error {
	if err := e.open('['); err != nil {
		return err
	}
	for i := range v.Len() {
		if err := e.value(v.Index(i), false); err != nil {
			return err
		}
		e.out = append(e.out, ',')
	}
	return e.close(']')
}

func (e *encoder) object(v reflect.Value, fields []field) error {
	if err := e.open('{'); err != nil {
		return err
	}
	for i := range fields {
		f := &fields[i]
		member, ok := f.of(v)
		if !ok || f.omitEmpty && empty(member) || f.omitZero && f.isZero(member) {
			continue
		}
		e.out = append(e.out, f.name...)
		if err := e.value(member, f.quoted); err != nil {
			return err
		}
		e.out = append(e.out, ',')
	}
	return e.close('}')
}

// empty is what omitempty leaves out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Bool, reflect.Interface, reflect.Pointer:
		return v.IsZero()
	}
	return (v.CanInt() || v.CanUint() || v.CanFloat()) && v.IsZero()
}

// cycleSearch finds out that a value holds itself. It keeps one pointer, map or slice of those that
// lead to the value being written, and is given each that follows. When their number is a power of
// two it keeps the newest instead, so that in a cycle the one that it keeps comes by again, after
// at most three times the way to the cycle and around it. (This is Brent's algorithm. It takes no
// memory, and no comparison with all that came before.)
type cycleSearch struct {
	kept  reference
	count uint64
}

type reference struct {
	t      reflect.Type
	at     uintptr
	length int // of a slice
}

func (c *cycleSearch) follow(v reflect.Value, length int) error {
	r := reference{v.Type(), v.Pointer(), length}
	if r == c.kept {
		return &json.UnsupportedValueError{Value: v, Str: "encountered a cycle via " + r.t.String()}
	}
	if c.count++; c.count&(c.count-1) == 0 {
		c.kept = r
	}
	return nil
}
