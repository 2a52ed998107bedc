package envelope_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// appender is either renderer.
type appender interface {
	Append([]byte, []envelope.Item, envelope.Budget) ([]byte, envelope.Report, error)
}

var bothRenderers = map[string]appender{
	"JSON":     envelope.JSON{},
	"Markdown": envelope.Markdown{Sections: []envelope.Section{{Limit: -1}}},
}

// randomSearch draws a renderer, and items and a budget with which something is left out, as a
// rule.
func randomSearch(rng *rand.Rand) (appender, []envelope.Item, envelope.Budget) {
	var a appender
	var items []envelope.Item
	var b envelope.Budget
	if rng.IntN(2) == 0 {
		a, items, b = randomCase(rng)
	} else {
		a, items, b = randomMarkdown(rng)
	}
	for range rng.IntN(3) {
		_, more, _ := randomCase(rng)
		items = append(items, more...)
	}
	for i := range items {
		if c, ok := items[i].Citation.(envelope.MemoryCitation); ok && rng.IntN(2) == 0 {
			c.EntryVersionID = fmt.Sprint("v", i) // else it is a duplicate as often as not
			items[i].Citation = c
		}
		if rng.IntN(4) == 0 {
			items[i].Content += strings.Repeat(items[i].Content, rng.IntN(4))
		}
	}
	all := envelope.Budget{MaxBytes: -1, MaxItemBytes: -1, MaxItems: b.MaxItems}
	whole, _, err := a.Append(nil, items, all)
	if err != nil {
		panic(err)
	}
	if n := len(whole); n > 0 && rng.IntN(4) > 0 {
		b.MaxBytes = n/3 + rng.IntN(n)
	}
	return a, items, b
}

func searchCases() int {
	if testing.Short() {
		return 300
	}
	return 2_000
}

// leavesOut reports whether a candidate that the limits allow is not delivered.
func leavesOut(r envelope.Report) bool {
	return r.Count(envelope.TooShort)+r.Count(envelope.NoRoom) > 0
}

// TestEven holds the item bound that Even chooses against every item bound there is.
func TestEven(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	shared, impossible, behind := 0, 0, 0
	for n := range searchCases() {
		a, items, b := randomSearch(rng)
		about := fmt.Sprintf("case %d: %+v, %q, %+v", n, a, items, b)
		even := b
		even.Even = true
		text, got, err := a.Append([]byte("keep"), items, even)
		require.NoError(t, err, about)
		require.True(t, strings.HasPrefix(string(text), "keep"), about)
		again, same, err := a.Append([]byte("keep"), items, got.Budget)
		require.NoError(t, err, about)
		require.Equal(t, string(again), string(text), about)
		require.Empty(t, cmp.Diff(same, got, cmp.Comparer(sameError)), about)

		limits := twinBudget(b)
		least := min(max(limits.MinTruncatedBytes, 1), limits.MaxItemBytes)
		all := envelope.Budget{MaxBytes: -1, MaxItems: -1, MaxItemBytes: -1}
		_, whole, err := a.Append(nil, items, all)
		require.NoError(t, err)
		longest := least
		for i, item := range items {
			longest = max(longest, whole.Items[i].DeliveredBytes+4)
			if whole.Items[i].Outcome == envelope.Malformed {
				longest = max(longest, 10*len(item.Content)+4)
			}
		}
		top := min(limits.MaxItemBytes, longest) // a larger bound bounds nothing
		best := 0
		for size := least; size <= top; size++ {
			plain := b
			plain.MaxItemBytes = size
			if size == top {
				plain.MaxItemBytes = b.MaxItemBytes
			}
			_, r, err := a.Append(nil, items, plain)
			require.NoError(t, err)
			if !leavesOut(r) {
				best = size
			}
		}
		chosen := got.Budget.MaxItemBytes
		if chosen == envelope.Unlimited {
			chosen = limits.MaxItemBytes
		}
		require.Equal(t, best > 0, !leavesOut(got),
			"%s: %d is best of %d to %d, %d chosen", about, best, least, top, chosen)
		switch {
		case best > 0:
			require.LessOrEqual(t, best-8, chosen, about)
			if best > chosen {
				behind++
			}
			shared++
		case chosen < limits.MaxItemBytes:
			// The smallest with which nothing is too short because of it.
			smallest := least
			for size := least; size <= min(least+13, top); size++ {
				free := envelope.Budget{
					MaxBytes: envelope.Unlimited, MaxItems: b.MaxItems, MaxItemBytes: size,
					MinTruncatedBytes: b.MinTruncatedBytes,
				}
				_, r, err := a.Append(nil, items, free)
				require.NoError(t, err)
				if !leavesOut(r) {
					smallest = size
					break
				}
			}
			if got.Count(envelope.Included)+got.Count(envelope.Truncated) > 0 {
				require.Equal(t, smallest, chosen, about)
			}
			impossible++
		}
	}
	t.Log(shared, "shared,", impossible, "impossible,", behind, "a few bytes behind")
	require.NotZero(t, shared)
	require.NotZero(t, impossible)
}

func sameError(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// Where characters are wide, the smallest bound is one that they have no use for: the next one that
// does delivers both, if the last is cut a little further.
func TestEvenCutsTheLast(t *testing.T) {
	items := []envelope.Item{
		memory("1", strings.Repeat("记", 100)), memory("2", strings.Repeat("x", 100)),
	}
	_, r, err := envelope.JSON{}.Append(nil, items, envelope.Budget{MaxItemBytes: 66})
	require.NoError(t, err)
	for short, want := range []string{"66 66", "66 65", "66 64", "66 0"} {
		text, even, err := envelope.JSON{}.Append(nil, items,
			envelope.Budget{MaxBytes: r.Bytes - short, Even: true})
		require.NoError(t, err)
		got := fmt.Sprint(even.Items[0].DeliveredBytes, even.Items[1].DeliveredBytes)
		assert.Equal(t, want, got, "%s", text)
	}
}

// The case that Even is for: a long page before short facts.
func TestEvenPageBeforeFacts(t *testing.T) {
	items := []envelope.Item{memory("page", strings.Repeat("A page of the handbook. ", 125))}
	for i := range 7 {
		items = append(items, memory(fmt.Sprint("fact", i), fmt.Sprintf("Fact %d is short.", i)))
	}
	b := envelope.Budget{MaxBytes: 2000}
	_, r, err := envelope.JSON{}.Append(nil, items, b)
	require.NoError(t, err)
	assert.Equal(t, 7, r.Count(envelope.NoRoom))
	b.Even = true
	text, r, err := envelope.JSON{}.Append(nil, items, b)
	require.NoError(t, err)
	assert.Equal(t, 7, r.Count(envelope.Included), "%d bytes, %+v", len(text), r)
	assert.Equal(t, 1, r.Count(envelope.Truncated))
}

// bytesPerToken counts a token for so many bytes begun.
type bytesPerToken int

func (n bytesPerToken) Count(text string) (int, error) {
	return (len(text) + int(n) - 1) / int(n), nil
}

// counterFunc makes a Counter of a function.
type counterFunc func(text string) (int, error)

func (f counterFunc) Count(text string) (int, error) { return f(text) }

// wordCounter counts words, and single characters outside of them.
var wordCounter = counterFunc(func(text string) (int, error) {
	n, word := 0, false
	for _, r := range text {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter || !word {
			n++
		}
		word = letter
	}
	return n, nil
})

// hashCounter returns a count that has nothing to do with the length of the text.
var hashCounter = counterFunc(func(text string) (int, error) {
	h := fnv.New32a()
	h.Write([]byte(text))
	return int(h.Sum32() % 500), nil
})

var counters = map[string]envelope.Counter{
	"bytes":   bytesPerToken(1),
	"four":    bytesPerToken(4),
	"words":   wordCounter,
	"hash":    hashCounter,
	"falling": counterFunc(func(text string) (int, error) { return max(2000-len(text), 0), nil }),
	"nothing": counterFunc(func(string) (int, error) { return 0, nil }),
	"huge":    counterFunc(func(string) (int, error) { return math.MaxInt, nil }),
	"steps":   counterFunc(func(text string) (int, error) { return len(text) / 300 * 100, nil }),
	"waves": counterFunc(func(text string) (int, error) {
		return int(float64(len(text)) * (1 + math.Sin(float64(len(text))/10)/2)), nil
	}),
}

// TestMaxTokens asks counters of every kind: the text has no more tokens than it may, is what the
// reported budget gives without a counter, and few counts are asked for.
func TestMaxTokens(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 2))
	names := slices.Sorted(maps.Keys(counters))
	delivered := map[string]int{}
	for n := range searchCases() {
		a, items, b := randomSearch(rng)
		b.Even = rng.IntN(3) == 0
		if rng.IntN(3) == 0 {
			b.MaxBytes = rng.IntN(3)*4000 - 4000
			if b.MaxBytes < 0 {
				b.MaxBytes = envelope.Unlimited
			}
		}
		name := names[n%len(names)]
		tokens := 1 + rng.IntN(1200)
		about := fmt.Sprintf("case %d: %+v, %q, %+v, %d tokens of %s", n, a, items, b, tokens, name)
		counts := 0
		counted := b
		counted.MaxTokens = tokens
		counted.Counter = counterFunc(func(text string) (int, error) {
			counts++
			return counters[name].Count(text)
		})
		text, got, err := a.Append([]byte("keep"), items, counted)
		require.NoError(t, err, about)
		require.LessOrEqual(t, counts, 24, about)
		rest, kept := strings.CutPrefix(string(text), "keep")
		require.True(t, kept, about)
		require.Len(t, rest, got.Bytes, about)
		if limit := twinBudget(b).MaxBytes; len(rest) > limit {
			require.LessOrEqual(t, len(rest), limit, about)
		}
		if rest != "" {
			is, _ := counters[name].Count(rest)
			require.Equal(t, is, got.Tokens, about)
			require.LessOrEqual(t, is, tokens, about)
			delivered[name]++
		} else {
			require.Zero(t, got.Tokens, about)
		}
		plain := got
		plain.Tokens = 0
		again, same, err := a.Append(nil, items, got.Budget)
		require.NoError(t, err, about)
		require.Equal(t, string(again), rest, about)
		require.Empty(t, cmp.Diff(same, plain, cmp.Comparer(sameError)), about)

		if name == "bytes" || name == "four" { // then a byte budget tells what fits
			bytes := b
			bytes.Even = b.Even
			per := int(counters[name].(bytesPerToken))
			if limit := twinBudget(b).MaxBytes; tokens*per < limit {
				bytes.MaxBytes = tokens * per
			}
			best, _, err := a.Append(nil, items, bytes)
			require.NoError(t, err, about)
			require.GreaterOrEqual(t, len(rest)+per+tokens*per*24/400, len(best), about)
		}
	}
	t.Log(delivered)
	for _, name := range names {
		// A huge count never fits. A count that falls may fit only at sizes that the search does
		// not try.
		require.Equal(t, name != "huge" && name != "falling", delivered[name] > 0, name)
	}
}

// A counter that fails, at whichever call, is the error of the call: it holds no content, and dst
// is as it was given.
func TestCounterFails(t *testing.T) {
	items := []envelope.Item{memory("1", strings.Repeat("secret ", 200)), memory("2", "secret")}
	broken := errors.New("secret tokenizer")
	failures := map[string]envelope.Counter{
		"error":    counterFunc(func(string) (int, error) { return 3, broken }),
		"negative": counterFunc(func(string) (int, error) { return -1, nil }),
		"panic":    counterFunc(func(text string) (int, error) { panic(text) }),
		"nil":      counterFunc(nil),
	}
	for name, failing := range failures {
		for nth := range 24 {
			for renderer, a := range bothRenderers {
				calls := 0
				counter := counterFunc(func(text string) (int, error) {
					if calls++; calls > nth {
						return failing.Count(text)
					}
					return hashCounter.Count(fmt.Sprint(calls, text))
				})
				given := make([]byte, 4, 4000)
				copy(given, "keep")
				b := envelope.Budget{MaxTokens: 250, Counter: counter}
				dst, r, err := a.Append(given, items, b)
				if calls <= nth {
					assert.NoError(t, err) // the search was over
					continue
				}
				assert.Equal(t, "keep", string(dst))
				require.ErrorIs(t, err, envelope.ErrCounter, "%s, %d, %s", name, nth, renderer)
				var e *envelope.Error
				require.ErrorAs(t, err, &e)
				assert.NotContains(t, err.Error(), "secret")
				assert.Equal(t, "budget.Counter", e.Field)
				assert.Equal(t, name == "error", errors.Is(err, broken))
				assert.Empty(t, cmp.Diff(envelope.Report{Items: []envelope.ItemReport{}}, r))
			}
		}
	}
}

func TestTokenBudgets(t *testing.T) {
	items := []envelope.Item{memory("1", strings.Repeat("word ", 2000))}
	four := bytesPerToken(4)
	for _, c := range []struct {
		reason string
		budget envelope.Budget
		field  string // of the error
		bytes  int
		tokens int
	}{
		{"nothing to count", envelope.Budget{MaxTokens: 0}, "", 2520, 0},
		{"no bound, no counter", envelope.Budget{MaxTokens: -1}, "", 2520, 0},
		{"no bound, counted", envelope.Budget{MaxTokens: -1, Counter: four}, "", 2520, 630},
		{"a bound that fits", envelope.Budget{MaxTokens: 630, Counter: four}, "", 2520, 630},
		{"one token less", envelope.Budget{MaxTokens: 629, Counter: four}, "", 2516, 629},
		{
			"MaxBytes holds too", envelope.Budget{MaxBytes: 1000, MaxTokens: 629, Counter: four},
			"", 1000, 250,
		},
		{"the frame alone is longer", envelope.Budget{MaxTokens: 100, Counter: four}, "", 0, 0},
		{"a bound without a counter", envelope.Budget{MaxTokens: 1}, "budget.Counter", 0, 0},
		{"a counter without a bound", envelope.Budget{Counter: four}, "budget.MaxTokens", 0, 0},
		{"below no bound", envelope.Budget{MaxTokens: -2, Counter: four}, "budget.MaxTokens", 0, 0},
	} {
		text, r, err := envelope.JSON{}.Append(nil, items, c.budget)
		if c.field != "" {
			var e *envelope.Error
			require.ErrorAs(t, err, &e, c.reason)
			assert.ErrorIs(t, err, envelope.ErrBudget, c.reason)
			assert.Equal(t, c.field, e.Field, c.reason)
			continue
		}
		require.NoError(t, err, c.reason)
		assert.Equal(t, c.bytes, len(text), c.reason)
		assert.Equal(t, c.tokens, r.Tokens, c.reason)
		assert.Nil(t, r.Budget.Counter, c.reason)
	}
}

// countedCitation counts how often it is encoded, and does not encode twice.
type countedCitation struct{ times *int }

func (c countedCitation) MarshalJSON() ([]byte, error) {
	if *c.times++; *c.times > 1 {
		panic("encoded again")
	}
	return []byte(`{"n":1}`), nil
}

// However many passes a search takes, a citation is encoded once.
func TestSearchEncodesCitationsOnce(t *testing.T) {
	content := strings.Repeat("word ", 300)
	for renderer, a := range bothRenderers {
		times := make([]int, 3)
		items := []envelope.Item{
			{Citation: countedCitation{&times[0]}, Content: content},
			{Citation: countedCitation{&times[1]}, Content: content}, // a duplicate
			{Citation: struct{ N json.Marshaler }{countedCitation{&times[2]}}, Content: content},
			{Citation: json.RawMessage(`{"a":`), Content: content},
			memory("m", content),
		}
		counts := 0
		counter := counterFunc(func(text string) (int, error) {
			counts++
			return wordCounter(text)
		})
		text, r, err := a.Append(nil, items, envelope.Budget{
			MaxBytes: 3000, MaxTokens: 450, Counter: counter, Even: true,
		})
		require.NoError(t, err)
		assert.NotEmpty(t, text)
		assert.Greater(t, counts, 1, renderer)
		assert.Equal(t, []int{1, 1, 1}, times, renderer)
		assert.Equal(t, []string{"truncated", "duplicate", "truncated", "malformed", "truncated"},
			outcomesOf(r), renderer)
	}
}

// Even allocates no more often than the plain call does, whoever makes room.
func TestEvenAllocations(t *testing.T) {
	for name, c := range evenCases() {
		if len(counted(len(c.items))) == 0 {
			continue
		}
		for renderer, a := range bothRenderers {
			for _, room := range []int{0, 1000, twinBudget(c.budget).MaxBytes} {
				dst := make([]byte, 0, room)
				allocations := func(even bool) float64 {
					c.budget.Even = even
					return testing.AllocsPerRun(10, func() {
						if _, _, err := a.Append(dst, c.items, c.budget); err != nil {
							t.Fatal(err)
						}
					})
				}
				assert.LessOrEqual(t, allocations(true), allocations(false),
					"%s, %s, room for %d", name, renderer, room)
			}
		}
	}
}

// evenCases are lists that have no room, for what Even costs.
func evenCases() map[string]struct {
	items  []envelope.Item
	budget envelope.Budget
} {
	type c = struct {
		items  []envelope.Item
		budget envelope.Budget
	}
	cases := map[string]c{}
	eachCorpus(func(corpus string, items []envelope.Item) {
		cases["8/"+corpus] = c{items, envelope.Budget{}}
		many := make([]envelope.Item, 200)
		for i := range many {
			many[i] = memory(fmt.Sprint(i), items[0].Content[:len(items[0].Content)/(1+i%4)/8*8])
			many[i].Content = strings.ToValidUTF8(many[i].Content, "")
		}
		cases["200/"+corpus] = c{many, envelope.Budget{MaxBytes: 100_000, MaxItems: -1}}
		cases["200 in 8000 bytes/"+corpus] = c{many, envelope.Budget{MaxItems: -1}}
	})
	page := []envelope.Item{memory("page", strings.Repeat("A page of the handbook. ", 125))}
	for i := range 7 {
		page = append(page, memory(fmt.Sprint("fact", i), fmt.Sprintf("Fact %d is short.", i)))
	}
	cases["8/page and facts"] = c{page, envelope.Budget{MaxBytes: 2000}}
	return cases
}

// TestEvenCost compares the shortest times of many, taken in turn. What is measured is below 3 for
// 8 items and below 4 for 200; the rest is for machines that do something else beside it.
func TestEvenCost(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	for name, c := range evenCases() {
		for renderer, a := range bothRenderers {
			dst := make([]byte, 0, c.budget.MaxBytes+8000)
			shortest := [2]time.Duration{time.Hour, time.Hour}
			for range 40 {
				for k := range shortest {
					c.budget.Even = k == 1
					const calls = 8
					began := time.Now()
					for range calls {
						if _, _, err := a.Append(dst, c.items, c.budget); err != nil {
							t.Fatal(err)
						}
					}
					shortest[k] = min(shortest[k], time.Since(began)/calls)
				}
			}
			most := 12.0
			if len(c.items) == 8 {
				most = 4
			}
			times := shortest[1].Seconds() / shortest[0].Seconds()
			t.Logf("%s, %s: %.2f times %v", name, renderer, times, shortest[0])
			assert.LessOrEqual(t, times, most, "%s, %s", name, renderer)
		}
	}
}

// FuzzReportBudget gives an attacker contents and identifiers, whatever the options and the budget:
// the text is no longer than it may be in bytes and tokens, and what the reported budget gives.
func FuzzReportBudget(f *testing.F) {
	rng := rand.New(rand.NewPCG(13, 4))
	parts := append(pieces(envelope.PowerContextV1), pieces(envelope.PowerContextTextV1)...)
	for range 40 {
		f.Add(hostile(rng, parts, 20), hostile(rng, parts, 20), hostile(rng, parts, 3),
			uint16(rng.IntN(1<<16)), int16(rng.IntN(3000)), int16(rng.IntN(300)),
			int16(rng.IntN(80)), int16(rng.IntN(1200)))
	}
	f.Fuzz(func(
		t *testing.T, long, short, id string, options uint16,
		maxBytes, maxItem, least, tokens int16,
	) {
		items := []envelope.Item{
			memory("e"+id, strings.Repeat(long, 1+int(options>>14))), memory("f"+id, short),
			{Kind: "experience", Citation: map[string]string{"id": id}, Content: short + long},
			{Kind: id, Citation: map[string]string{"u": "1"}, Content: long},
		}
		var a appender = envelope.JSON{
			Escape: envelope.Escape(options & 15), Bare: options&16 != 0,
			Omitted: options&32 != 0, Checksum: options&64 != 0,
		}
		if options&128 != 0 {
			a = envelope.Markdown{Show: envelope.Show(options & 3), Invisible: options&4 != 0}
		}
		names := slices.Sorted(maps.Keys(counters))
		counter := counters[names[int(options>>9)%len(names)]]
		b := envelope.Budget{
			MaxBytes: max(int(maxBytes), -1), MaxItemBytes: max(int(maxItem), -1),
			MinTruncatedBytes: max(int(least), -1), Even: options&256 != 0,
		}
		if tokens > 0 {
			b.MaxTokens, b.Counter = int(tokens), counter
		}
		text, r, err := a.Append(nil, items, b)
		require.NoError(t, err)
		require.LessOrEqual(t, len(text), twinBudget(b).MaxBytes)
		if len(text) > 0 && tokens > 0 {
			n, _ := counter.Count(string(text))
			require.Equal(t, n, r.Tokens)
			require.LessOrEqual(t, n, int(tokens))
		}
		again, same, err := a.Append(nil, items, r.Budget)
		require.NoError(t, err)
		require.Equal(t, string(again), string(text))
		same.Tokens = r.Tokens
		require.Empty(t, cmp.Diff(same, r, cmp.Comparer(sameError)))
	})
}

func BenchmarkEven(b *testing.B) {
	for name, c := range evenCases() {
		for renderer, a := range bothRenderers {
			for _, even := range []bool{false, true} {
				c.budget.Even = even
				b.Run(fmt.Sprintf("%s/%s/even=%v", name, renderer, even), func(b *testing.B) {
					dst := make([]byte, 0, c.budget.MaxBytes+8000)
					b.ReportAllocs()
					for b.Loop() {
						if _, _, err := a.Append(dst, c.items, c.budget); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
