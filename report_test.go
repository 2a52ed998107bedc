package envelope_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// A report that is passed in is filled anew, and once it has been large enough nothing is allocated.
func TestAppendReport(t *testing.T) {
	items := []envelope.Item{memory("1", "a"), memory("1", "b"), memory("2", "\xff"), {Content: "c"}, memory("3", strings.Repeat("x", 9000))}
	few := items[:1]
	dst := make([]byte, 0, 8000)
	for name, render := range map[string]func([]byte, []envelope.Item, envelope.Budget, *envelope.Report) ([]byte, error){
		"JSON": envelope.JSON{}.AppendReport, "Markdown": envelope.Markdown{}.AppendReport,
	} {
		var r envelope.Report
		_, err := render(dst, items, envelope.Budget{}, &r)
		require.NoError(t, err, name)
		assert.Equal(t, []string{"included", "duplicate", "malformed", "uncited", "truncated"}, outcomesOf(r), name)
		text, err := render(dst, few, envelope.Budget{}, &r)
		require.NoError(t, err, name)
		assert.Equal(t, []envelope.ItemReport{{SourceBytes: 1, DeliveredBytes: 1}}, r.Items, name)
		assert.Equal(t, len(text), r.Bytes, name)
		_, err = render(dst, few, envelope.Budget{MaxBytes: -2}, &r)
		require.Error(t, err, name)
		assert.Empty(t, r.Items, name)
		assert.Zero(t, r.Bytes, name)
		assert.Zero(t, testing.AllocsPerRun(20, func() {
			if _, err := render(dst, few, envelope.Budget{}, &r); err != nil {
				t.Fatal(err)
			}
		}), name)
	}
}

// Nothing of what a report held before shows in what it holds next.
func TestAppendReportAfterAny(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 1))
	var r envelope.Report
	for range 3000 {
		j, items, b := randomCase(rng)
		for range rng.IntN(4) {
			_, more, _ := randomCase(rng)
			items = append(items, more...)
		}
		want, fresh, err := j.Append(nil, items, b)
		require.NoError(t, err)
		got, err := j.AppendReport(nil, items, b, &r)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		require.Empty(t, cmp.Diff(fresh, r, cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })))
	}
	items := make([]envelope.Item, 16)
	for i := range items {
		items[i] = memory(fmt.Sprint(i), "x")
	}
	r = envelope.Report{}
	dst := make([]byte, 0, 8000)
	assert.Zero(t, testing.AllocsPerRun(20, func() { _, _ = envelope.JSON{}.AppendReport(dst, items, envelope.Budget{}, &r) }), "the first, which does not count, has made the room")
}

func TestReport(t *testing.T) {
	r := envelope.Report{Items: []envelope.ItemReport{{Outcome: envelope.Blank}, {Outcome: envelope.Blank}, {Outcome: envelope.NoRoom}}}
	assert.Equal(t, 2, r.Count(envelope.Blank))
	assert.Equal(t, 0, r.Count(envelope.Included))
	assert.NoError(t, r.Err())
	var names []string
	for o := envelope.Included; o <= envelope.NoRoom+1; o++ {
		names = append(names, o.String())
	}
	assert.Equal(t, []string{"included", "truncated", "unselected", "uncited", "malformed", "blank", "duplicate", "over-limit", "too-short", "no-room", "unknown"}, names)
}
