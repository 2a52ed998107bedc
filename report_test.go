package envelope_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// A report that is passed in is filled anew, and once it has been large enough nothing is
// allocated.
func TestAppendReport(t *testing.T) {
	items := []envelope.Item{
		memory("1", "a"),
		memory("1", "b"),
		memory("2", "\xff"),
		{Content: "c"},
		memory("3", strings.Repeat("x", 9000)),
	}
	few := items[:1]
	dst := make([]byte, 0, 8000)
	type render func([]byte, []envelope.Item, envelope.Budget, *envelope.Report) ([]byte, error)
	for name, render := range map[string]render{
		"JSON": envelope.JSON{}.AppendReport, "Markdown": envelope.Markdown{}.AppendReport,
	} {
		var r envelope.Report
		_, err := render(dst, items, envelope.Budget{}, &r)
		require.NoError(t, err, name)
		outcomes := []string{"included", "duplicate", "malformed", "uncited", "truncated"}
		assert.Equal(t, outcomes, outcomesOf(r), name)
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
	sameText := cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
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
		require.Empty(t, cmp.Diff(fresh, r, sameText))
	}
	for _, n := range counted(16, 17, 200) {
		items := make([]envelope.Item, n)
		for i := range items {
			items[i] = memory(fmt.Sprint(i), "x")
		}
		r = envelope.Report{}
		dst := make([]byte, 0, 8000)
		assert.Zero(t, testing.AllocsPerRun(20, func() {
			_, _ = envelope.JSON{}.AppendReport(dst, items, envelope.Budget{}, &r)
		}), "%d items: the first call, which does not count, has made the room", n)
	}
}

// A table that is used again has nothing of an earlier call in it. Calls at once have their own.
func TestTablesAreUsedAgain(t *testing.T) {
	items := make([]envelope.Item, 300)
	for i := range items {
		items[i] = memory(fmt.Sprint(i), "x")
	}
	budget := envelope.Budget{MaxBytes: -1, MaxItems: -1}
	var group sync.WaitGroup
	for k := range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			rng := rand.New(rand.NewPCG(22, uint64(k)))
			for range 300 {
				n := 17 + rng.IntN(len(items)-17)
				twice := append(items[:n:n], items[:n]...)
				_, report, err := envelope.JSON{}.Append(nil, twice, budget)
				assert.NoError(t, err)
				assert.Equal(t, n, report.Count(envelope.Included))
				assert.Equal(t, n, report.Count(envelope.Duplicate))
			}
		}()
	}
	group.Wait()
}

func TestReport(t *testing.T) {
	r := envelope.Report{Items: []envelope.ItemReport{
		{Outcome: envelope.Blank}, {Outcome: envelope.Blank}, {Outcome: envelope.NoRoom},
	}}
	assert.Equal(t, 2, r.Count(envelope.Blank))
	assert.Equal(t, 0, r.Count(envelope.Included))
	assert.NoError(t, r.Err())
	var names []string
	for o := envelope.Included; o <= envelope.NoRoom+1; o++ {
		names = append(names, o.String())
	}
	assert.Equal(t, []string{
		"included", "truncated", "unselected", "uncited", "malformed", "blank", "duplicate",
		"over-limit", "too-short", "no-room", "unknown",
	}, names)
}

func TestOutcomeText(t *testing.T) {
	for o := envelope.Included; o <= envelope.NoRoom; o++ {
		text, err := o.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, o.String(), string(text))
		var back envelope.Outcome
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, o, back)
	}
	assert.Equal(t, "unknown", (envelope.NoRoom + 1).String())
	_, err := (envelope.NoRoom + 1).MarshalText()
	assert.ErrorIs(t, err, envelope.ErrOption)
	for _, text := range []string{"", "unknown", "Included", "included ", "0"} {
		o := envelope.TooShort
		assert.ErrorIs(t, o.UnmarshalText([]byte(text)), envelope.ErrOption, text)
		assert.Equal(t, envelope.TooShort, o, "what it was")
	}
}

func TestReportJSON(t *testing.T) {
	items := []envelope.Item{
		memory("1", "a"), memory("2", strings.Repeat("x", 3000)), memory("3", "secret\xff"),
		{Content: "secret"},
	}
	p, err := envelope.JSON{}.Render(items, envelope.Budget{})
	require.NoError(t, err)
	got, err := json.Marshal(p.Report)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf(`{"bytes":%d,"budget":{"max_bytes":8000,"max_items":8,`+
		`"max_item_bytes":2000,"min_truncated_bytes":64},"items":[`+
		`{"index":0,"outcome":"included","source_bytes":1,"delivered_bytes":1},`+
		`{"index":1,"outcome":"truncated","source_bytes":3000,"delivered_bytes":2000},`+
		`{"index":2,"outcome":"malformed","source_bytes":7,"delivered_bytes":0,`+
		`"error":"envelope: item 2: content: invalid UTF-8 (byte 6)"},`+
		`{"index":3,"outcome":"uncited","source_bytes":6,"delivered_bytes":0,`+
		`"error":"envelope: item 3: citation: missing or blank"}]}`, len(p.Content)), string(got))
	item, err := json.Marshal(p.Report.Items[1])
	require.NoError(t, err)
	assert.Equal(t, `{"outcome":"truncated","source_bytes":3000,"delivered_bytes":2000}`,
		string(item))

	got, err = json.Marshal(envelope.Report{})
	require.NoError(t, err)
	assert.Equal(t, `{"bytes":0,"budget":{"max_bytes":0,"max_items":0,"max_item_bytes":0,`+
		`"min_truncated_bytes":0},"items":[]}`, string(got))
	r := envelope.Report{Bytes: 9, Tokens: 3, Budget: envelope.Budget{MaxItemBytes: -1}}
	got, err = json.Marshal(r)
	require.NoError(t, err)
	assert.Equal(t, `{"bytes":9,"tokens":3,`+
		`"budget":{"max_bytes":0,"max_items":0,"max_item_bytes":-1,`+
		`"min_truncated_bytes":0},"items":[]}`, string(got))
	assert.Equal(t, "[bytes=9 tokens=3]", r.LogValue().String())
	_, err = json.Marshal(envelope.Report{Items: []envelope.ItemReport{{Outcome: 99}}})
	assert.ErrorIs(t, err, envelope.ErrOption)
}

func TestReportLogValue(t *testing.T) {
	items := []envelope.Item{
		memory("1", "a"), memory("2", "b"), memory("3", "secret\xff"), {Content: "secret"},
	}
	p, err := envelope.JSON{}.Render(items, envelope.Budget{})
	require.NoError(t, err)
	var out strings.Builder
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	logger.Info("rendered", "context", p.Report)
	assert.Equal(t, fmt.Sprintf("level=INFO msg=rendered context.bytes=%d "+
		"context.included=2 context.uncited=1 context.malformed=1\n", len(p.Content)), out.String())
}

// An Uncited item says which id it lacks.
func TestReportMissing(t *testing.T) {
	ref := envelope.ArtifactRef{Family: "f", ArtifactID: "a", Revision: 1}
	blankRef := envelope.ArtifactRef{Family: "f", ArtifactID: "\u2028", Revision: 1}
	tests := []struct {
		why      string
		citation any
		field    string
	}{
		{"no citation", nil, "citation"},
		{"a nil pointer", (*envelope.MemoryCitation)(nil), "citation"},
		{"a raw message of nothing", json.RawMessage{}, "citation"},
		{"null", json.RawMessage(" null "), "citation"},
		{"what encodes to null", map[string]any(nil), "citation"},
		{"a blank artifact", envelope.ArtifactCitation{Artifact: blankRef}, "citation.artifact_id"},
		{"of a memory", envelope.MemoryCitation{"", blankRef, "", ""}, "citation.artifact_id"},
		{"no entry", envelope.MemoryCitation{"", ref, "", "v"}, "citation.entry_id"},
		{"no version", envelope.MemoryCitation{"", ref, "e", " "}, "citation.entry_version_id"},
		{"a raw one of our shape", json.RawMessage(`{"artifact_ref":null}`), "citation.artifact_id"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			items := []envelope.Item{memory("e", "x"), {Citation: tt.citation, Content: "x"}}
			p, err := envelope.JSON{}.Render(items, envelope.Budget{})
			require.NoError(t, err)
			assert.Equal(t, envelope.Uncited, p.Report.Items[1].Outcome)
			want := &envelope.Error{
				Err: envelope.ErrMissing, Item: 1, Field: tt.field, Offset: -1,
			}
			assert.Equal(t, want, p.Report.Items[1].Err)
		})
	}
}
