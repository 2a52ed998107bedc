package encode

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"

	"github.com/untrusted-context/envelope/internal/quote"
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
	out, _, valid := quote.For(0).AppendString(append(e.out, '"'), s, math.MaxInt)
	if !valid {
		return &strictjson.Error{Reason: strictjson.InvalidUTF8, Offset: -1}
	}
	e.out = append(out, '"')
	return nil
}

// quotedText writes a string as the text of a string.
func (e *encoder) quotedText(s string) error {
	start := len(e.out)
	if err := e.text(s); err != nil {
		return err
	}
	literal := string(e.out[start:])
	e.out = e.out[:start]
	return e.text(literal)
}

func (e *encoder) base64(data []byte) {
	e.out = append(e.out, '"')
	e.out = base64.StdEncoding.AppendEncode(e.out, data)
	e.out = append(e.out, '"')
}
