package encode

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// field is a field of a struct, or of one embedded in it, that is written.
type field struct {
	name                string // quoted, and with the colon
	index               []int
	omitEmpty, omitZero bool
	quoted              bool
	isZero              func(reflect.Value) bool
}

// of returns the field of v, unless it is one of an embedded nil pointer.
func (f *field) of(v reflect.Value) (member reflect.Value, ok bool) {
	for _, i := range f.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v, true
}

// fieldsOf returns the fields of a struct that are written, in the order of their declaration.
// Among fields of one name it is that of the shallowest struct, and of several there the one whose
// tag says its name. When that leaves none or several, no field of the name is written.
func fieldsOf(t reflect.Type) []field {
	type candidate struct {
		field
		tagged bool
		times  int
	}
	best := map[string]*candidate{}
	var names []string
	seen := map[reflect.Type]bool{}
	for level := []*embedded{{t: t, times: 1}}; len(level) > 0; {
		var next []*embedded
		for _, s := range level {
			if seen[s.t] {
				continue
			}
			seen[s.t] = true
			for i := range s.t.NumField() {
				declared := s.t.Field(i)
				tag := declared.Tag.Get("json")
				if !visible(declared) || tag == "-" {
					continue
				}
				name, options, _ := strings.Cut(tag, ",")
				if !validName(name) {
					name = ""
				}
				index := append(slices.Clip(s.index), i)
				target := declared.Type
				if target.Kind() == reflect.Pointer && target.Name() == "" {
					target = target.Elem()
				}
				if declared.Anonymous && name == "" && target.Kind() == reflect.Struct {
					next = embed(next, target, index)
					continue
				}
				c := &candidate{tagged: name != "", times: s.times}
				if name == "" {
					name = declared.Name
				}
				c.field = newField(name, declared.Type, target, strings.Split(options, ","))
				c.index = index
				switch have := best[name]; {
				case have == nil:
					names = append(names, name)
					best[name] = c
				case len(have.index) < len(index) || have.tagged && !c.tagged:
				case !have.tagged && c.tagged:
					best[name] = c
				default:
					have.times += c.times
				}
			}
		}
		level = next
	}
	var fields []field
	for _, name := range names {
		if c := best[name]; c.times == 1 {
			fields = append(fields, c.field)
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return fields
}

// embedded is a struct whose fields are those of the outermost one, and how often it is embedded
// on its level.
type embedded struct {
	t     reflect.Type
	index []int
	times int
}

func embed(level []*embedded, t reflect.Type, index []int) []*embedded {
	for _, have := range level {
		if have.t == t {
			have.times++
			return level
		}
	}
	return append(level, &embedded{t, index, 1})
}

// visible reports whether a field may be written: one that is exported, or embedded and a struct,
// which may have exported fields.
func visible(f reflect.StructField) bool {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return f.IsExported() || f.Anonymous && t.Kind() == reflect.Struct
}

// validName reports whether a tag's name counts: it has letters, digits and ASCII punctuation
// without quotes, comma and backslash, so that it stands in JSON as it is.
func validName(name string) bool {
	for _, r := range name {
		punctuation := ' ' <= r && r <= '~' && !strings.ContainsRune("\"'`,\\", r)
		if !punctuation && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return name != ""
}

// newField makes a field of type t, of which target is what it points to or t itself.
func newField(name string, t, target reflect.Type, options []string) field {
	f := field{
		name:      `"` + name + `":`,
		omitEmpty: slices.Contains(options, "omitempty"),
		omitZero:  slices.Contains(options, "omitzero"),
	}
	if f.omitZero {
		f.isZero = zeroTest(t)
	}
	switch target.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Uintptr:
		f.quoted = slices.Contains(options, "string")
	}
	return f
}

type zeroer interface{ IsZero() bool }

// zeroTest returns what omitzero asks of a field of type t: its IsZero method, unless it is nil,
// or else whether it is the zero value.
func zeroTest(t reflect.Type) func(reflect.Value) bool {
	zero := reflect.TypeFor[zeroer]()
	ask := func(v reflect.Value) bool { return v.Interface().(zeroer).IsZero() }
	switch {
	case t.Implements(zero) && t.Kind() == reflect.Interface:
		return func(v reflect.Value) bool {
			return v.IsNil() || isNilPointer(v.Elem()) || ask(v)
		}
	case t.Implements(zero):
		return func(v reflect.Value) bool { return isNilPointer(v) || ask(v) }
	case reflect.PointerTo(t).Implements(zero):
		return func(v reflect.Value) bool {
			if !v.CanAddr() {
				copied := reflect.New(t).Elem()
				copied.Set(v)
				v = copied
			}
			return ask(v.Addr())
		}
	}
	return reflect.Value.IsZero
}
