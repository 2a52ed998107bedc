package envelope_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// Blank is what Unicode calls white space, and four controls that Python takes for it.
func TestBlankCharacters(t *testing.T) {
	for c := rune(0); c <= 0x3100; c++ {
		white := unicode.Is(unicode.White_Space, c) || 0x1c <= c && c <= 0x1f
		for _, content := range []string{string(c), " " + string(c)} {
			items := []envelope.Item{memory("e", content)}
			p, err := envelope.JSON{}.Render(items, envelope.Budget{})
			require.NoError(t, err)
			require.Equal(t, white, p.Report.Count(envelope.Blank) == 1, "%U", c)
		}
	}
}

func TestJSONMalformed(t *testing.T) {
	type cycle struct{ Next *cycle }
	loop := &cycle{}
	loop.Next = loop
	raw := func(s string) envelope.Item {
		return envelope.Item{Citation: json.RawMessage(s), Content: "x"}
	}
	other := func(v any) envelope.Item { return envelope.Item{Citation: v, Content: "x"} }
	long := strings.Repeat("x", 1996)
	tests := []struct {
		why    string
		item   envelope.Item
		what   error
		field  string
		offset int
	}{
		{"a stray byte", memory("e", "a\xffb"), envelope.ErrInvalidUTF8, "content", 1},
		{"a surrogate", memory("e", "\xed\xa0\x80"), envelope.ErrInvalidUTF8, "content", 0},
		{"an overlong NUL", memory("e", "\xc0\x80"), envelope.ErrInvalidUTF8, "content", 0},
		{"above U+10FFFF", memory("e", "é\xf4\x90\x80\x80"), envelope.ErrInvalidUTF8, "content", 2},
		{"a character cut short", memory("e", "x\xe4\xb8"), envelope.ErrInvalidUTF8, "content", 1},
		{"the last byte that could be delivered", memory("e", long+"\xffxxxx"), envelope.ErrInvalidUTF8, "content", 1996},
		{"behind a boundary", memory("e", "\u2028\xff"), envelope.ErrInvalidUTF8, "content", 3},
		{"the kind", envelope.Item{Kind: "k\xff", Citation: memory("e", "").Citation, Content: "x"}, envelope.ErrInvalidUTF8, "kind", 1},
		{"an entry id", memory("e\xff", "x"), envelope.ErrInvalidUTF8, "citation.entry_id", 1},
		{"an entry id behind a pointer", other(&envelope.MemoryCitation{Memory: envelope.ArtifactRef{ArtifactID: "a"}, EntryID: "e\xff", EntryVersionID: "v"}), envelope.ErrInvalidUTF8, "citation.entry_id", 1},
		{"an artifact id behind a pointer", other(&envelope.ArtifactCitation{Artifact: envelope.ArtifactRef{ArtifactID: "a\xff"}}), envelope.ErrInvalidUTF8, "citation.artifact_id", 1},
		{"a scope", other(envelope.ArtifactCitation{Scope: "\xff", Artifact: envelope.ArtifactRef{ArtifactID: "a"}}), envelope.ErrInvalidUTF8, "citation.scope_id", 0},
		{"a raw citation", raw("{\"t\":\"a\xffb\"}"), envelope.ErrInvalidUTF8, "citation", 7},
		{"a raw array", raw(`[1]`), envelope.ErrNotObject, "citation", 0},
		{"a raw string", raw(`"x"`), envelope.ErrNotObject, "citation", 0},
		{"not JSON", raw(`{"a":1,}`), envelope.ErrSyntax, "citation", 7},
		{"cut short", raw(`{"a":1`), envelope.ErrSyntax, "citation", 6},
		{"two values", raw(`{} {}`), envelope.ErrSyntax, "citation", 3},
		{"white space alone", raw(`  `), envelope.ErrSyntax, "citation", 2},
		{"a member twice", raw(`{"a":1,"a":2}`), envelope.ErrDuplicateName, "citation", 7},
		{"a member twice, spelt differently", raw(`{"a":1,"\u0061":2}`), envelope.ErrDuplicateName, "citation", 7},
		{"a member twice, deep", raw(`{"o":[{"b":1,"b":1}]}`), envelope.ErrDuplicateName, "citation", 13},
		{"a member twice among many", raw(`{` + numbered(40) + `"m7":0}`), envelope.ErrDuplicateName, "citation", len(numbered(40)) + 1},
		{"a lone surrogate", raw(`{"a":"\ud83d"}`), envelope.ErrLoneSurrogate, "citation", 6},
		{"surrogates in the wrong order", raw(`{"a":"\ude42\ud83d"}`), envelope.ErrLoneSurrogate, "citation", 6},
		{"a raw line boundary outside of strings", raw("{\u2028}"), envelope.ErrSyntax, "citation", 1},
		{"too deep", raw(`{"a":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}`), envelope.ErrTooDeep, "citation", 64},
		{"a number", other(7), envelope.ErrNotObject, "citation", 0},
		{"a Go string", other("x"), envelope.ErrNotObject, "citation", 0},
		{"a channel", other(make(chan int)), envelope.ErrNotObject, "citation", -1},
		{"a cycle", other(loop), envelope.ErrNotObject, "citation", -1},
		{"a NaN", other(map[string]any{"x": math.NaN()}), envelope.ErrNotObject, "citation", -1},
		{"a method that fails", other(failing{}), envelope.ErrNotObject, "citation", -1},
		{"a method that panics", other(panicking{}), envelope.ErrNotObject, "citation", -1},
		{"invalid UTF-8 that encoding/json would replace", other(map[string]any{"x": []string{"ok", "a\xff"}}), envelope.ErrInvalidUTF8, "citation", -1},
		{"the same in a name", other(map[string]int{"\xff": 1}), envelope.ErrInvalidUTF8, "citation", -1},
		{"the same in a struct, behind a pointer", other(&struct{ A *struct{ B string } }{&struct{ B string }{"\xff"}}), envelope.ErrInvalidUTF8, "citation", -1},
		{"the same from a text method", other(map[string]any{"x": badText{}}), envelope.ErrInvalidUTF8, "citation", -1},
		{"a raw message inside", other(map[string]any{"x": json.RawMessage("\"\xff\"")}), envelope.ErrInvalidUTF8, "citation", 6},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			items := []envelope.Item{memory("first", "1"), tt.item, memory("last", "2")}
			p, err := envelope.JSON{}.Render(items, envelope.Budget{})
			require.NoError(t, err)
			assert.Equal(t, []string{"included", "malformed", "included"}, outcomesOf(p.Report))
			var e *envelope.Error
			require.True(t, errors.As(p.Report.Err(), &e))
			assert.ErrorIs(t, e, tt.what)
			assert.Equal(t, 1, e.Item)
			assert.Equal(t, tt.field, e.Field)
			assert.Equal(t, tt.offset, e.Offset)
			assert.True(t, strings.HasPrefix(e.Error(), "envelope: item 1: "+tt.field+": "), e)
			assert.NotContains(t, e.Error(), "secret")
		})
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":%d,`, i, i)
	}
	return b.String()
}

type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("secret") }

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("secret") }

type badText struct{}

func (badText) MarshalText() ([]byte, error) { return []byte("\xff"), nil }

// Every byte of a text, replaced by every other: what is not UTF-8 any more is Malformed at its
// place, and what still is comes back. The texts are long enough for all that is done by words,
// and each is also shifted against them.
func TestEveryByteReplaced(t *testing.T) {
	texts := []string{
		strings.Repeat("客户端由接口描述", 4),
		strings.Repeat("中，“文”…", 6),
		strings.Repeat("한국어ไทย", 5),
		strings.Repeat("plain ASCII text ", 4),
		strings.Repeat("\t\"x\"\n", 12),
		strings.Repeat("é🙂\u2028\u0085\ufeff", 6),
		strings.Repeat("\ue000\ufffd\uffff\u0800\ud7ff", 5),
	}
	if testing.Short() {
		texts = texts[:2]
	}
	j, m, b := envelope.JSON{}, envelope.Markdown{}, envelope.Budget{}
	var dst []byte
	for _, text := range texts {
		for shift := range 4 {
			bytes := []byte("xyz"[:shift] + text)
			for at := range bytes {
				was := bytes[at]
				for c := range 256 {
					bytes[at] = byte(c)
					content := string(bytes)
					items := []envelope.Item{memory("e", content)}
					var report envelope.Report
					var err error
					for _, render := range []func() error{
						func() error {
							dst, report, err = j.Append(dst[:0], items, b)
							return err
						},
						func() error {
							dst, report, err = m.Append(dst[:0], items, b)
							return err
						},
					} {
						require.NoError(t, render())
						want, bad := envelope.Included, twinInvalid(content, 2000)
						if bad >= 0 {
							want = envelope.Malformed
						}
						r := report.Items[0]
						e, ok := r.Err.(*envelope.Error)
						if r.Outcome != want || ok && e.Offset != bad || !utf8.Valid(dst) {
							t.Fatalf("%q: %+v, want %s at %d", content, r, want, bad)
						}
					}
				}
				bytes[at] = was
			}
		}
	}
}

func TestJSONDuplicates(t *testing.T) {
	ref := envelope.ArtifactRef{Family: "f", ArtifactID: "a", Revision: 1}
	at := func(kind string, citation any, content string) envelope.Item {
		return envelope.Item{kind, citation, content}
	}
	tests := []struct {
		why    string
		items  []envelope.Item
		budget envelope.Budget
		want   []string
	}{
		{"typed and raw are the same", []envelope.Item{at("", envelope.ArtifactCitation{"", ref}, "1"), at("memory", json.RawMessage(`{"artifact_ref":{"artifact_id":"a","revision":1,"family":"f"}}`), "2")}, envelope.Budget{}, []string{"included", "duplicate"}},
		{"local and in the scope are the same", []envelope.Item{at("", envelope.ArtifactCitation{"", ref}, "1"), at("", envelope.ArtifactCitation{"s", ref}, "2")}, envelope.Budget{}, []string{"included", "duplicate"}},
		{"another scope is another", []envelope.Item{at("", envelope.ArtifactCitation{"t", ref}, "1"), at("", envelope.ArtifactCitation{"s", ref}, "2")}, envelope.Budget{}, []string{"included", "included"}},
		{"raw text spelt differently is the same", []envelope.Item{at("", json.RawMessage("{\"t\":\"a\u2028A\"}"), "1"), at("", json.RawMessage(`{"t": "a\u2028\u0041"}`), "2")}, envelope.Budget{}, []string{"included", "duplicate"}},
		{"members in another order are another", []envelope.Item{at("", json.RawMessage(`{"a":1,"b":2}`), "1"), at("", json.RawMessage(`{"b":2,"a":1}`), "2")}, envelope.Budget{}, []string{"included", "included"}},
		{"one that had no room claims", []envelope.Item{at("", envelope.ArtifactCitation{"", ref}, strings.Repeat("x", 1000)), at("", envelope.ArtifactCitation{"", ref}, "2")}, envelope.Budget{MaxBytes: 546, MinTruncatedBytes: 500}, []string{"too-short", "duplicate"}},
		{"one over the limit claims", []envelope.Item{memory("e", "1"), at("", envelope.ArtifactCitation{"", ref}, "2"), at("", envelope.ArtifactCitation{"", ref}, "3")}, envelope.Budget{MaxItems: 1}, []string{"included", "over-limit", "duplicate"}},
		{"a malformed one claims nothing", []envelope.Item{at("", envelope.ArtifactCitation{"", ref}, "\xff"), at("", envelope.ArtifactCitation{"", ref}, "2")}, envelope.Budget{}, []string{"malformed", "included"}},
		{"nor behind the limit", []envelope.Item{memory("e", "1"), at("", envelope.ArtifactCitation{"", ref}, "\xff"), at("", envelope.ArtifactCitation{"", ref}, "2")}, envelope.Budget{MaxItems: 1}, []string{"included", "malformed", "over-limit"}},
		{"a duplicate that is malformed is malformed", []envelope.Item{memory("e", "1"), memory("e", "\xff")}, envelope.Budget{}, []string{"included", "malformed"}},
		{"a duplicate that is blank is blank", []envelope.Item{memory("e", "1"), memory("e", " ")}, envelope.Budget{}, []string{"included", "blank"}},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			p, err := envelope.JSON{Scope: "s"}.Render(tt.items, tt.budget)
			require.NoError(t, err)
			assert.Equal(t, tt.want, outcomesOf(p.Report))
		})
	}
	t.Run("in linear time, whoever chose the revisions", func(t *testing.T) {
		// Multiples of the inverse of a public odd number, which an unkeyed multiplicative hash
		// sends to one place.
		inverse := uint64(1)
		for range 6 {
			inverse *= 2 - 0x9e3779b97f4a7c15*inverse
		}
		for power, m := 1, inverse; power <= 8; power, m = power+1, m*inverse {
			items := make([]envelope.Item, 4000)
			for i := range items {
				ref := envelope.ArtifactRef{"f", "a", int64(uint64(i) * m)}
				items[i] = at("", envelope.ArtifactCitation{"", ref}, "x")
			}
			start := time.Now()
			_, err := envelope.JSON{}.Render(items, envelope.Budget{})
			require.NoError(t, err)
			// A flooded table takes minutes, an even one a few milliseconds.
			require.Less(t, time.Since(start), time.Second, "power %d", power)
		}
	})
	t.Run("in linear time, whoever chose the kinds", func(t *testing.T) {
		items := make([]envelope.Item, 20_000)
		for i := range items {
			items[i] = at(fmt.Sprint("k", i), envelope.ArtifactCitation{"", ref}, "x")
		}
		start := time.Now()
		p, err := envelope.JSON{}.Render(items, envelope.Budget{})
		require.NoError(t, err)
		require.Zero(t, p.Report.Count(envelope.Duplicate))
		require.Less(t, time.Since(start), time.Second) // a few ms
	})
	t.Run("two that only hash alike are two", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it takes so many that some do")
		}
		items := make([]envelope.Item, 300_000)
		for _, item := range []func(i int) envelope.Item{
			func(i int) envelope.Item { return memory(fmt.Sprint(i), "x") },
			func(i int) envelope.Item {
				return at(fmt.Sprint(i), envelope.ArtifactCitation{"", ref}, "x")
			},
		} {
			for i := range items {
				items[i] = item(i)
			}
			p, err := envelope.JSON{}.Render(items, envelope.Budget{})
			require.NoError(t, err)
			require.Zero(t, p.Report.Count(envelope.Duplicate))
		}
	})
	t.Run("among thousands", func(t *testing.T) {
		var items []envelope.Item
		for i := range 6000 {
			items = append(items, memory(fmt.Sprint(i%2000), "x"))
		}
		p, err := envelope.JSON{}.Render(items, unlimited)
		require.NoError(t, err)
		assert.Equal(t, 2000, p.Report.Count(envelope.Included))
		assert.Equal(t, 4000, p.Report.Count(envelope.Duplicate))
	})
	t.Run("where the cheap hash tells none apart", func(t *testing.T) {
		var items []envelope.Item
		for i := range 3000 {
			items = append(items, memory(fmt.Sprintf("%04d the same end", i%1000), "x"))
		}
		start := time.Now()
		p, err := envelope.JSON{}.Render(items, envelope.Budget{
			MaxBytes: -1, MaxItems: -1, MaxItemBytes: -1, MinTruncatedBytes: -1,
		})
		require.NoError(t, err)
		assert.Less(t, time.Since(start), time.Second) // a few ms
		for i, item := range p.Report.Items {
			want := envelope.Included
			if i >= 1000 {
				want = envelope.Duplicate
			}
			require.Equal(t, want, item.Outcome, "%d", i)
		}
	})
}
