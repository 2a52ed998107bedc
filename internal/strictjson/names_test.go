package strictjson

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// One name stands twice, at any place among few or many, in another spelling too.
func TestNameSpellings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	counts := []int{2, fewNames, fewNames + 1, 4 * fewNames, 1000, manyNames + manyNames/2}
	for _, count := range counts {
		names := make([]string, count)
		for i := range names {
			names[i] = fmt.Sprintf("%d-\u00e9\n%s", i, strings.Repeat("x", i%7))
		}
		var plain strings.Builder
		plain.WriteString("{")
		for i, name := range names {
			fmt.Fprintf(&plain, `%s:{"a":%d,"b":{}},`, spelt(rng, name), i)
		}
		object := plain.String()
		s := Scanner{Data: []byte(object + `"":1}`)}
		_, _, err := s.Whole()
		require.Nil(t, err, "%d different names", count)
		for range 3 {
			again := names[rng.IntN(count)]
			s := Scanner{Data: []byte(object + spelt(rng, again) + ":1}")}
			_, _, err := s.Whole()
			require.NotNil(t, err)
			assert.Equal(t, Error{DuplicateName, len(object)}, *err)
		}
	}
}

// spelt is a JSON string in one of its spellings.
func spelt(rng *rand.Rand, text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		if r < ' ' || rng.IntN(4) == 0 {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Data whose places have no room in the table is served too.
func TestNamesOfHugeData(t *testing.T) {
	var n nameSet
	for i := range 100 {
		require.True(t, n.addHuge([]byte{byte(i)}))
		require.False(t, n.addHuge([]byte{byte(i / 2)}))
	}
}

// Many objects of some names each take no more than their table again and again.
func TestNamesOfManyObjects(t *testing.T) {
	var one strings.Builder
	one.WriteString("{")
	for i := range 2 * fewNames {
		fmt.Fprintf(&one, `"%d":0,`, i)
	}
	object := strings.TrimSuffix(one.String(), ",") + "}"
	s := Scanner{Data: []byte("[" + strings.Repeat(object+",", 5000) + "0]")}
	perObject := testing.AllocsPerRun(2, func() {
		_, _, err := s.Whole()
		require.Nil(t, err)
	}) / 5000
	assert.Less(t, perObject, 6.)
}
