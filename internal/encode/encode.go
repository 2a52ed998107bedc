// Package encode turns Go values into JSON with encoding/json, and notices what encoding/json does not tell: that it replaced
// invalid UTF-8.
package encode

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"unicode/utf8"

	"github.com/untrusted-context/envelope/internal/strictjson"
)

// JSON encodes v, and takes a panic of the caller's own code for the error that it is.
func JSON(v any) (data []byte, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("panic in an encoding method")
		}
	}()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// HidesInvalid reports whether encoding/json wrote data with a replacement for invalid UTF-8 in v. It spells the replacement \ufffd
// and leaves a real U+FFFD raw; with GOEXPERIMENT=jsonv2 both are raw. A text may also have these six characters, and a
// raw message that spelling, so in the end only v itself tells.
func HidesInvalid(data []byte, v any) bool {
	suspect := bytes.Contains(data, []byte(`\ufffd`)) || !replacementSpelt && bytes.Contains(data, []byte("\ufffd"))
	return suspect && invalidText(reflect.ValueOf(v), 0)
}

var replacementSpelt = func() bool {
	data, err := JSON("\xff")
	return err == nil && string(data) == `"\ufffd"`
}()

// invalidText looks for a string of invalid UTF-8 in what encoding/json reads of v, which it has encoded.
func invalidText(v reflect.Value, depth int) bool {
	if depth > strictjson.MaxDepth || !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return false
	}
	depth++
	methods := v
	if v.CanAddr() && v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface {
		methods = v.Addr() // encoding/json asks a pointer's methods too where it can have one
	}
	if methods.CanInterface() {
		switch m := methods.Interface().(type) {
		case json.Marshaler:
			data, err := m.MarshalJSON()
			return err == nil && !utf8.Valid(data) // what it spells itself is its own affair
		case encoding.TextMarshaler:
			text, err := m.MarshalText()
			return err == nil && !utf8.Valid(text)
		}
	}
	switch v.Kind() {
	case reflect.String:
		return !utf8.ValidString(v.String())
	case reflect.Interface, reflect.Pointer:
		return invalidText(v.Elem(), depth)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if invalidText(v.Index(i), depth) {
				return true
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			// Of a key that is a string, encoding/json writes the string or, with GOEXPERIMENT=jsonv2, what its method says.
			key := entries.Key()
			if key.Kind() == reflect.String && !utf8.ValidString(key.String()) || invalidText(key, depth) || invalidText(entries.Value(), depth) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" && invalidText(v.Field(i), depth) {
				return true
			}
		}
	}
	return false
}
