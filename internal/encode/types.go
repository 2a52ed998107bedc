package encode

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
)

// typeInfo is what the rules need to know of a type.
type typeInfo struct {
	json, pointerJSON bool    // it, or a pointer to it, has MarshalJSON
	text, pointerText bool    // likewise MarshalText
	bytes             bool    // a slice that is written in base64
	keys              bool    // a map whose keys can be names
	fields            []field // of a struct
}

var types sync.Map // of reflect.Type to *typeInfo

func typeOf(t reflect.Type) *typeInfo {
	if known, ok := types.Load(t); ok {
		return known.(*typeInfo)
	}
	known, _ := types.LoadOrStore(t, newTypeInfo(t))
	return known.(*typeInfo)
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func newTypeInfo(t reflect.Type) *typeInfo {
	pointer := reflect.PointerTo(t)
	info := typeInfo{
		json:        t.Implements(marshaler),
		pointerJSON: pointer.Implements(marshaler),
		text:        t.Implements(textMarshaler),
		pointerText: pointer.Implements(textMarshaler),
	}
	switch t.Kind() {
	case reflect.Struct:
		info.fields = fieldsOf(t)
	case reflect.Map:
		info.keys = namedBy(t.Key())
	case reflect.Slice:
		element := reflect.PointerTo(t.Elem())
		info.bytes = t.Elem().Kind() == reflect.Uint8 &&
			!element.Implements(marshaler) && !element.Implements(textMarshaler)
	}
	return &info
}

// method returns how v is written by a method of its own, or nil. A method of a pointer counts
// where v has an address, before one of the value; MarshalJSON counts before MarshalText.
func (t *typeInfo) method(v reflect.Value) func(*encoder, reflect.Value) error {
	switch {
	case t.pointerJSON && v.CanAddr():
		return (*encoder).addressedJSON
	case t.json:
		return (*encoder).marshalJSON
	case t.pointerText && v.CanAddr():
		return (*encoder).addressedText
	case t.text:
		return (*encoder).marshalText
	}
	return nil
}
