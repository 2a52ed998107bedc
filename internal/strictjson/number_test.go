package strictjson

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func zeros(n int) string { return strings.Repeat("0", n) }

func TestFirstInfinite(t *testing.T) {
	one := big.NewInt(1)
	bound := new(big.Int).Sub(new(big.Int).Lsh(one, 1024), new(big.Int).Lsh(one, 970))
	assert.Equal(t, bound.String(), firstInfinite)
	assert.Len(t, firstInfinite, maxExponent+1)
}

func TestNumberRange(t *testing.T) {
	under := firstInfinite[:308] // of 309 digits
	last, err := strconv.Atoi(firstInfinite[306:])
	require.NoError(t, err)
	below := firstInfinite[:306] + strconv.Itoa(last-1)
	tests := []struct {
		why, number string
		infinite    bool
	}{
		{"zero", "0", false},
		{"minus zero", "-0", false},
		{"zero with an exponent beyond any", "0e999", false},
		{"zero with a fraction and one", "-0.000E+" + strings.Repeat("9", 5000), false},
		{"the largest", "1.7976931348623157e308", false},
		{"rounds to the largest", "1.7976931348623158e308", false},
		{"rounds to infinity", "1.7976931348623159e308", true},
		{"the first that does", firstInfinite, true},
		{"the same, negative", "-" + firstInfinite, true},
		{"the same with a fraction of zeros", firstInfinite + "." + zeros(5000), true},
		{"one less", below, false},
		{"almost the bound", below + "." + strings.Repeat("9", 5000), false},
		{"its digits but the last", under + "e1", false},
		{"its digits behind the point", "0." + firstInfinite + "e309", true},
		{"the same in the thousands", "0.000" + firstInfinite + "e312", true},
		{"one less behind the point", "0." + below + "e309", false},
		{"the point among its digits", firstInfinite[:100] + "." + firstInfinite[100:] + "e209", true},
		{"one less with the point among them", below[:100] + "." + below[100:] + "e209", false},
		{"308 digits", strings.Repeat("9", 308), false},
		{"309 digits that are few", "1" + zeros(308), false},
		{"309 digits that are many", "2" + zeros(308), true},
		{"310 digits", "1" + zeros(309), true},
		{"4,301 digits, which Python does not read", "1" + zeros(4300), true},
		{"an exponent of 308", "1e308", false},
		{"an exponent of 309", "1e309", true},
		{"the same with zeros", "1E+" + zeros(5000) + "309", true},
		{"an exponent of 999", "-1e999", true},
		{"an exponent beyond int64", "1e" + strings.Repeat("9", 40), true},
		{"a negative one", "1e-" + strings.Repeat("9", 40), false},
		{"the least subnormal", "5e-324", false},
		{"underflow", "1e-999", false},
		{"zeros behind the point that make up for it", "0." + zeros(398) + "1e707", false},
		{"that do not quite", "0." + zeros(398) + "1e708", true},
		{"zeros before the point that make up for it", "1" + zeros(5000) + "e-4692", false},
		{"that do more", "1" + zeros(5000) + "e-4691", true},
		{"5,000 digits behind the point", "1." + strings.Repeat("3", 5000), false},
		{"5,000 zeros behind the point", "0." + zeros(5000), false},
		{"and another digit", "0." + zeros(5000) + "1", false},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			require.True(t, json.Valid([]byte(tt.number)))
			const before = `{"a":[`
			text := before + tt.number + `]}`
			_, _, err := (&Scanner{Data: []byte(text)}).Whole()
			if tt.infinite {
				require.NotNil(t, err)
				assert.Equal(t, Error{Infinite, len(before)}, *err)
			} else {
				require.Nil(t, err)
			}
			for _, s := range []Scanner{{AnyNumber: true}, {Loose: true}} {
				s.Data = []byte(text)
				_, _, err := s.Whole()
				assert.Nil(t, err)
			}
		})
	}
}

// Exact arithmetic says the same of random numbers near the bound, however they are spelt.
func TestNumberRangeExactly(t *testing.T) {
	bound, ok := new(big.Rat).SetString(firstInfinite)
	require.True(t, ok)
	rng := rand.New(rand.NewPCG(1, 1))
	beyond := 0
	for range 20000 {
		digits := []byte(firstInfinite[:1+rng.IntN(len(firstInfinite))])
		for range rng.IntN(3) {
			digits[len(digits)-1-rng.IntN(min(3, len(digits)))] = byte('0' + rng.IntN(10))
		}
		for range rng.IntN(3) {
			digits = append(digits, firstInfinite[rng.IntN(len(firstInfinite))])
		}
		point := rng.IntN(len(digits) + 1)
		number := strings.TrimLeft(string(digits[:point]), "0")
		if number == "" {
			number = "0"
		}
		if point < len(digits) {
			number += "." + string(digits[point:])
		}
		number += "e" + strconv.Itoa(309-point-rng.IntN(2))
		value, ok := new(big.Rat).SetString(number)
		require.True(t, ok, number)
		want := value.Cmp(bound) >= 0
		if want {
			beyond++
		}
		_, _, err := (&Scanner{Data: []byte(number)}).Whole()
		if want != (err != nil && err.Reason == Infinite) {
			t.Fatalf("%s: %v", number, err)
		}
	}
	assert.Greater(t, beyond, 2000)
	assert.Less(t, beyond, 18000)
}
