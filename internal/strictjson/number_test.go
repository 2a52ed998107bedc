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

	"github.com/untrusted-context/envelope/internal/numbers"
)

func TestFirstInfinite(t *testing.T) {
	assert.Equal(t, numbers.FirstInfinite(), firstInfinite)
	assert.Len(t, firstInfinite, maxExponent+1)
}

func TestNumberRange(t *testing.T) {
	for _, tt := range numbers.Crooked {
		t.Run(tt.Why, func(t *testing.T) {
			require.True(t, json.Valid([]byte(tt.Text)))
			const before = `{"a":[`
			text := before + tt.Text + `]}`
			_, _, err := (&Scanner{Data: []byte(text)}).Whole()
			if tt.Infinite {
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
