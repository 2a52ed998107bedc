package encode

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/untrusted-context/envelope/internal/strictjson"
)

var number = reflect.TypeFor[json.Number]()

// scalar writes a boolean, a number or a string.
func (e *encoder) scalar(v reflect.Value, quoted bool) error {
	if v.Kind() == reflect.String && v.Type() != number {
		if quoted {
			return e.quotedText(v.String())
		}
		return e.text(v.String())
	}
	if quoted {
		e.out = append(e.out, '"')
		defer func() { e.out = append(e.out, '"') }()
	}
	switch {
	case v.Kind() == reflect.String:
		return e.number(v.String())
	case v.Kind() == reflect.Bool:
		e.out = strconv.AppendBool(e.out, v.Bool())
	case v.CanInt():
		e.out = strconv.AppendInt(e.out, v.Int(), 10)
	case v.CanUint():
		e.out = strconv.AppendUint(e.out, v.Uint(), 10)
	case v.CanFloat():
		return e.float(v)
	default:
		return &json.UnsupportedTypeError{Type: v.Type()}
	}
	return nil
}

// number writes a json.Number, which holds a literal and is 0 when it holds none.
func (e *encoder) number(literal string) error {
	if literal == "" {
		literal = "0"
	}
	s := strictjson.Scanner{Data: []byte(literal), AnyNumber: true}
	end, fault := 0, (*strictjson.Error)(nil)
	if c := literal[0]; c == '-' || '0' <= c && c <= '9' {
		end, fault = s.Value(0)
	}
	if fault != nil || end < len(literal) {
		return errors.New("json: invalid number literal")
	}
	e.out = append(e.out, literal...)
	return nil
}

// float writes a number as ECMAScript does: with an exponent below 1e-6 and from 1e21 on.
func (e *encoder) float(v reflect.Value) error {
	f, bits := v.Float(), v.Type().Bits()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return &json.UnsupportedValueError{Value: v, Str: strconv.FormatFloat(f, 'g', -1, bits)}
	}
	small, large := 1e-6, 1e21
	if bits == 32 {
		small, large = float64(float32(small)), float64(float32(large))
	}
	if abs := math.Abs(f); abs == 0 || small <= abs && abs < large {
		e.out = strconv.AppendFloat(e.out, f, 'f', -1, bits)
		return nil
	}
	e.out = strconv.AppendFloat(e.out, f, 'e', -1, bits)
	if n := len(e.out); string(e.out[n-4:n-1]) == "e-0" { // e-07 is written e-7
		e.out[n-2] = e.out[n-1]
		e.out = e.out[:n-1]
	}
	return nil
}

// text writes a string, which has to be valid UTF-8.
func (e *encoder) text(s string) error {
	if !utf8.ValidString(s) {
		return &strictjson.Error{Reason: strictjson.InvalidUTF8, Offset: -1}
	}
	e.out = appendString(e.out, s)
	return nil
}

// quotedText writes a string as the text of a string.
func (e *encoder) quotedText(s string) error {
	start := len(e.out)
	if err := e.text(s); err != nil {
		return err
	}
	inner := string(e.out[start:])
	e.out = appendString(e.out[:start], inner)
	return nil
}

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); i++ {
		escape := ""
		switch c := s[i]; {
		case c == '"':
			escape = `\"`
		case c == '\\':
			escape = `\\`
		case c < ' ':
			escape = controls[c]
		case c == lineSeparator[0] && s[i:i+2] == lineSeparator[:2] && s[i+2]&^1 == lineSeparator[2]:
			escape = `\u2028`
			if s[i+2] != lineSeparator[2] {
				escape = `\u2029`
			}
		default:
			continue
		}
		dst = append(append(dst, s[done:i]...), escape...)
		if s[i] >= utf8.RuneSelf {
			i += len(lineSeparator) - 1
		}
		done = i + 1
	}
	return append(append(dst, s[done:]...), '"')
}

// lineSeparator is U+2028; U+2029 differs from it in the last bit.
const lineSeparator = "\u2028"

// controls has how the characters below U+0020 are written.
var controls = func() (all [' ']string) {
	for c := range all {
		all[c] = `\u00` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15])
	}
	all['\b'], all['\f'], all['\n'], all['\r'], all['\t'] = `\b`, `\f`, `\n`, `\r`, `\t`
	return all
}()

func (e *encoder) base64(data []byte) {
	e.out = append(e.out, '"')
	e.out = base64.StdEncoding.AppendEncode(e.out, data)
	e.out = append(e.out, '"')
}
