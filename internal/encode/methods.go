package encode

import (
	"encoding"
	"encoding/json"
	"reflect"

	"github.com/untrusted-context/envelope/internal/strictjson"
)

func (e *encoder) addressedJSON(v reflect.Value) error { return e.marshalJSON(v.Addr()) }
func (e *encoder) addressedText(v reflect.Value) error { return e.marshalText(v.Addr()) }

// marshalJSON writes what v says of itself, which has to be one value.
func (e *encoder) marshalJSON(v reflect.Value) error {
	m, ok := as[json.Marshaler](v)
	if !ok {
		return e.null()
	}
	data, err := m.MarshalJSON()
	if err != nil {
		return &json.MarshalerError{Type: v.Type(), Err: err}
	}
	levels := e.maxDepth - e.depth
	if levels == 0 {
		levels = -1 // also none, where 0 would be the default
	}
	s := strictjson.Scanner{Data: data, Loose: true, MaxDepth: levels}
	start, end, fault := s.Whole()
	switch {
	case fault == nil:
		e.out = strictjson.AppendCompact(e.out, data[start:end])
		return nil
	case fault.Reason == strictjson.TooDeep:
		at := len(strictjson.AppendCompact(e.out, data[s.Space(0):fault.Offset]))
		return &strictjson.Error{Reason: strictjson.TooDeep, Offset: at}
	}
	return &json.MarshalerError{Type: v.Type(), Err: fault}
}

// marshalText writes what v says of itself, as a string.
func (e *encoder) marshalText(v reflect.Value) error {
	m, ok := as[encoding.TextMarshaler](v)
	if !ok {
		return e.null()
	}
	text, err := m.MarshalText()
	if err != nil {
		return &json.MarshalerError{Type: v.Type(), Err: err}
	}
	return e.text(string(text))
}

// as returns v, whose type has the methods of M, as an M, unless it is a nil pointer or interface.
func as[M any](v reflect.Value) (m M, ok bool) {
	if isNilPointer(v) {
		return m, false
	}
	m, ok = v.Interface().(M)
	return m, ok
}

func isNilPointer(v reflect.Value) bool { return v.Kind() == reflect.Pointer && v.IsNil() }
