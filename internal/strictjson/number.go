package strictjson

import "strings"

// number reads -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *Scanner) number(start int) (int, *Error) {
	data := s.Data
	i := start
	if data[i] == '-' {
		i++
	}
	whole := i
	var err *Error
	if i < len(data) && data[i] == '0' {
		i++
	} else if i, err = s.digits(i); err != nil {
		return 0, err
	}
	point := i
	if i < len(data) && data[i] == '.' {
		if i, err = s.digits(i + 1); err != nil {
			return 0, err
		}
	}
	significandEnd := i
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if i, err = s.digits(i); err != nil {
			return 0, err
		}
	}
	// Without an exponent, 308 digits before the point cannot reach 1e308.
	if s.Loose || s.AnyNumber || i == significandEnd && point-whole <= maxExponent {
		return i, nil
	}
	var exponent []byte
	if i > significandEnd {
		exponent = data[significandEnd+1 : i]
	}
	if infinite(data[whole:point], data[point:significandEnd], exponent) {
		return 0, &Error{Infinite, start}
	}
	return i, nil
}

// digits reads one digit or more.
func (s *Scanner) digits(i int) (int, *Error) {
	start := i
	for i < len(s.Data) && '0' <= s.Data[i] && s.Data[i] <= '9' {
		i++
	}
	switch {
	case i > start:
		return i, nil
	case i >= len(s.Data):
		return 0, &Error{UnexpectedEnd, i}
	}
	return 0, &Error{Syntax, i}
}

// infinite reports whether a number rounds to an infinity as a binary64. Its parts are the digits
// before the point, the point and the digits behind it if there are any, and the exponent with its
// sign. The answer is exact for any length, in one pass: strconv.ParseFloat is not (it takes 1 and
// 999 zeros, e-999, for less than 1), and it would have to be given a copy.
func infinite(whole, fraction, exponent []byte) bool {
	first := significant(whole)
	power := int64(len(whole) - 1 - first) // of ten, that the first significant digit stands for
	if first == len(whole) {
		first += significant(fraction)
		power = int64(len(whole) - first)
		if first == len(whole)+len(fraction) {
			return false // zero, whatever its exponent
		}
	}
	if power += exponentOf(exponent); power != maxExponent {
		return power > maxExponent
	}
	// 1.7e308 is finite, 1.8e308 is not: the digits decide, compared with those of the bound.
	limit := firstInfinite
	for _, part := range [...][]byte{whole, fraction} {
		from := min(first, len(part))
		first -= from
		for _, c := range part[from:] {
			switch {
			case c == '.':
				continue
			case limit == "":
				return true
			case c != limit[0]:
				return c > limit[0]
			}
			limit = limit[1:]
		}
	}
	return strings.Trim(limit, "0") == "" // the digits that are not there are zeros
}

// maxExponent is the power of ten that the first digit of the largest binary64 stands for.
const maxExponent = 308

// firstInfinite has the digits of 2^1024 - 2^970, the least number that rounds to infinity: it lies
// half way between the largest binary64 and the power of two behind it, and half goes to even.
const firstInfinite = "" +
	"17976931348623158079372897140530341507993413271003782693617377898044496829276475" +
	"09466490179775872070963302864166928879109465555478519404026306574886715058206819" +
	"08902000708383676273854845817711531764475730270069855571366959622842914819860834" +
	"936475292719074168444365510704342711559699508093042880177904174497792"

// significant returns the index of the first digit that is not 0, or the length.
func significant(digits []byte) int {
	for i, c := range digits {
		if c != '0' && c != '.' {
			return i
		}
	}
	return len(digits)
}

// exponentOf reads the digits of an exponent and their sign, no further than to a value that no
// text is long enough to make up for.
func exponentOf(text []byte) int64 {
	const enough = 1 << 50
	negative := false
	var n int64
	for _, c := range text {
		switch {
		case c == '-':
			negative = true
		case c != '+' && n < enough:
			n = n*10 + int64(c-'0')
		}
	}
	if negative {
		return -n
	}
	return n
}
