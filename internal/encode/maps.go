package encode

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// namedBy reports whether values of type t can be the names of an object's members.
func namedBy(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Uintptr:
		return true
	}
	return t.Implements(textMarshaler)
}

// mapping writes a map, sorted by the names of its members.
func (e *encoder) mapping(v reflect.Value, t *typeInfo) error {
	switch {
	case !t.keys:
		return &json.UnsupportedTypeError{Type: v.Type()}
	case v.IsNil():
		return e.null()
	}
	if err := e.follow(v, 0); err != nil {
		return err
	}
	if err := e.open('{'); err != nil {
		return err
	}
	type member struct {
		name  string
		value reflect.Value
	}
	members := make([]member, 0, v.Len())
	for entries := v.MapRange(); entries.Next(); {
		name, err := nameOf(entries.Key())
		if err != nil {
			return err
		}
		members = append(members, member{name, entries.Value()})
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	for _, m := range members {
		if err := e.text(m.name); err != nil {
			return err
		}
		e.out = append(e.out, ':')
		if err := e.value(m.value, false); err != nil {
			return err
		}
		e.out = append(e.out, ',')
	}
	return e.close('}')
}

// nameOf returns the name that a key is. A string is its own, whatever methods it has.
func nameOf(key reflect.Value) (string, error) {
	if key.Kind() == reflect.String {
		return key.String(), nil
	}
	if m, ok := key.Interface().(encoding.TextMarshaler); ok {
		if isNilPointer(key) {
			return "", nil
		}
		text, err := m.MarshalText()
		if err != nil {
			return "", &json.MarshalerError{Type: key.Type(), Err: err}
		}
		return string(text), nil
	}
	switch {
	case key.CanInt():
		return strconv.FormatInt(key.Int(), 10), nil
	case key.CanUint():
		return strconv.FormatUint(key.Uint(), 10), nil
	}
	return "", &json.UnsupportedTypeError{Type: key.Type()} // a nil interface
}
