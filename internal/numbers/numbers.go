// Package numbers has JSON numbers that readers stumble over, for the tests of this module.
package numbers

import (
	"math/big"
	"strings"
)

// Number is a JSON number.
type Number struct {
	Why, Text string
	Infinite  bool // as a binary64
}

// FirstInfinite returns the digits of the least number that is infinite as a binary64: the one half
// way between the largest that is finite and 2^1024, since half goes to even.
func FirstInfinite() string { return bound(0) }

func bound(below int64) string {
	power := func(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n) }
	n := power(1024)
	n.Sub(n, power(970))
	return n.Sub(n, big.NewInt(below)).String()
}

var firstInfinite, below = FirstInfinite(), bound(1) // both of 309 digits

func zeros(n int) string { return strings.Repeat("0", n) }
func nines(n int) string { return strings.Repeat("9", n) }

// Crooked are the numbers, small and large, short and long.
var Crooked = []Number{
	{"zero", "0", false},
	{"minus zero", "-0", false},
	{"zero with an exponent beyond any", "0e999", false},
	{"zero with a fraction and one", "-0.000E+" + nines(5000), false},
	{"the largest", "1.7976931348623157e308", false},
	{"rounds to the largest", "1.7976931348623158e308", false},
	{"rounds to infinity", "1.7976931348623159e308", true},
	{"the first that does", firstInfinite, true},
	{"the same, negative", "-" + firstInfinite, true},
	{"the same with a fraction of zeros", firstInfinite + "." + zeros(5000), true},
	{"one less", below, false},
	{"almost the bound", below + "." + nines(5000), false},
	{"its digits but the last", firstInfinite[:308] + "e1", false},
	{"its digits behind the point", "0." + firstInfinite + "e309", true},
	{"the same in the thousands", "0.000" + firstInfinite + "e312", true},
	{"one less behind the point", "0." + below + "e309", false},
	{"the point among its digits", firstInfinite[:100] + "." + firstInfinite[100:] + "e209", true},
	{"one less with the point among them", below[:100] + "." + below[100:] + "e209", false},
	{"308 digits", nines(308), false},
	{"309 digits that are few", "1" + zeros(308), false},
	{"309 digits that are many", "2" + zeros(308), true},
	{"310 digits", "1" + zeros(309), true},
	{"4,301 digits, which Python does not read", "1" + zeros(4300), true},
	{"an exponent of 308", "1e308", false},
	{"an exponent of 309", "1e309", true},
	{"the same with zeros", "1E+" + zeros(5000) + "309", true},
	{"an exponent of 999", "-1e999", true},
	{"an exponent beyond int64", "1e" + nines(40), true},
	{"a negative one", "1e-" + nines(40), false},
	{"the least subnormal", "5e-324", false},
	{"underflow", "1e-999", false},
	{"zeros behind the point that make up for it", "0." + zeros(398) + "1e707", false},
	{"that do not quite", "0." + zeros(398) + "1e708", true},
	{"zeros before the point that make up for it", "1" + zeros(5000) + "e-4692", false},
	{"that do more", "1" + zeros(5000) + "e-4691", true},
	{"5,000 digits behind the point", "1." + strings.Repeat("3", 5000), false},
	{"5,000 zeros behind the point", "0." + zeros(5000), false},
	{"and another digit", "0." + zeros(5000) + "1", false},
	{"an integer beyond int64", "9223372036854775808", false},
	{"one below it", "-9223372036854775809", false},
	{"one beyond uint64", "18446744073709551616", false},
	{"an integer that no binary64 is", "9007199254740993", false},
	{"an exponent of minus zero", "1e-0", false},
	{"an exponent with zeros", "1E+" + zeros(5000) + "1", false},
}
