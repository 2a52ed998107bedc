package envelope_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/numbers"
)

// MarshalJSON of a citation writes what a renderer without a scope writes. Its error names the part
// that is not UTF-8.
func TestCitationMarshalJSON(t *testing.T) {
	ref := envelope.ArtifactRef{Family: "f", ArtifactID: "a\u2028<", Revision: -1}
	bad := envelope.ArtifactRef{Family: "f", ArtifactID: "中\xff", Revision: 1}
	tests := []struct {
		why      string
		citation json.Marshaler
		want     string
		field    string // where it is invalid
		offset   int
	}{
		{"memory", envelope.MemoryCitation{"", ref, "e", "v"}, `{"memory_ref":{"family":"f","artifact_id":"a\u2028<","revision":-1},"entry_id":"e","entry_version_id":"v"}`, "", 0},
		{"memory of a scope", envelope.MemoryCitation{"s", ref, "e", "v"}, `{"memory":{"scope_id":"s","artifact":{"family":"f","artifact_id":"a\u2028<","revision":-1}},"entry_id":"e","entry_version_id":"v"}`, "", 0},
		{"artifact", envelope.ArtifactCitation{"", ref}, `{"artifact_ref":{"family":"f","artifact_id":"a\u2028<","revision":-1}}`, "", 0},
		{"artifact of a scope", &envelope.ArtifactCitation{"s", ref}, `{"artifact":{"scope_id":"s","artifact":{"family":"f","artifact_id":"a\u2028<","revision":-1}}}`, "", 0},
		{"what other classes of the escaper escape", envelope.ArtifactCitation{"", envelope.ArtifactRef{"f", "中\x7f\u200b", 0}}, `{"artifact_ref":{"family":"f","artifact_id":"中` + "\x7f\u200b" + `","revision":0}}`, "", 0},
		{"markers are the renderer's affair", envelope.ArtifactCitation{end, envelope.ArtifactRef{}}, `{"artifact":{"scope_id":"` + end + `","artifact":{"family":"","artifact_id":"","revision":0}}}`, "", 0},
		{"a scope that is no text", envelope.MemoryCitation{"s\xff", ref, "e", "v"}, "", "citation.scope_id", 1},
		{"a family", envelope.ArtifactCitation{"s", envelope.ArtifactRef{Family: "\xed\xa0\x80"}}, "", "citation.family", 0},
		{"an artifact's id", envelope.ArtifactCitation{"s", bad}, "", "citation.artifact_id", 3},
		{"an entry's id", envelope.MemoryCitation{"s", ref, "e\xe4", "v"}, "", "citation.entry_id", 1},
		{"a version's id", envelope.MemoryCitation{"s", ref, "e", "\xc0\x80"}, "", "citation.entry_version_id", 0},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			got, err := tt.citation.MarshalJSON()
			if tt.field == "" {
				require.NoError(t, err)
				assert.Equal(t, tt.want, string(got))
				return
			}
			want := &envelope.Error{
				Err: envelope.ErrInvalidUTF8, Item: -1, Field: tt.field, Offset: tt.offset,
			}
			assert.Equal(t, want, err)
			_, err = json.Marshal(map[string]any{"at": tt.citation})
			assert.ErrorIs(t, err, envelope.ErrInvalidUTF8)
		})
	}
}

// An object that is nearly one of this package's shapes is another citation, written as it came.
func TestCitationsOfNearlyTheShape(t *testing.T) {
	for _, raw := range []string{
		`{"artifact_ref":{"family":"f","artifact_id":"a","revision":1,"x":1}}`,
		`{"artifact":{"scope_id":"s",` +
			`"artifact":{"family":"f","artifact_id":"a","revision":1},"x":1}}`,
		`{"artifact":{"scope_id":"s","Artifact":{"family":"f","artifact_id":"a","revision":1}}}`,
		`{"artifact_ref":{"family":1,"artifact_id":"a","revision":1}}`,
		`{"artifact_ref":{"family":"f","artifact_id":["a"],"revision":1}}`,
		`{"artifact_ref":{"family":"f","artifact_id":"a","revision":"1"}}`,
		`{"artifact_ref":{"family":"f","artifact_id":"a","revision":true}}`,
		`{"artifact":{"scope_id":7,"artifact":{"family":"f","artifact_id":"a","revision":1}}}`,
		`{"artifact_ref":["a"]}`,
		`{"memory_ref":{"family":"f","artifact_id":"a","revision":1},` +
			`"entry_id":7,"entry_version_id":"v"}`,
	} {
		items := []envelope.Item{{Citation: json.RawMessage(raw), Content: "x"}}
		p, err := envelope.JSON{}.Render(items, envelope.Budget{})
		require.NoError(t, err)
		require.NoError(t, p.Report.Err(), raw)
		assert.Contains(t, p.Content, `{"citation":`+raw+`,"content":"x"`)
	}
}

func TestJSONCitations(t *testing.T) {
	ref := envelope.ArtifactRef{Family: "f", ArtifactID: "a", Revision: 9007199254740993}
	const local = `{"memory_ref":{"family":"f","artifact_id":"a","revision":9007199254740993},` +
		`"entry_id":"e","entry_version_id":"v"}`
	const qualified = `{"memory":{"scope_id":"s",` +
		`"artifact":{"family":"f","artifact_id":"a","revision":9007199254740993}},` +
		`"entry_id":"e","entry_version_id":"v"}`
	type own struct {
		Z string  `json:"z"`
		A float64 `json:"a"`
	}
	tests := []struct {
		why      string
		citation any
		scope    string
		want     string // "" is uncited
	}{
		{"typed, local", envelope.MemoryCitation{"", ref, "e", "v"}, "", local},
		{"typed, in the scope", envelope.MemoryCitation{"s", ref, "e", "v"}, "s", local},
		{"typed, elsewhere", envelope.MemoryCitation{"s", ref, "e", "v"}, "t", qualified},
		{"typed, elsewhere, no scope of its own", envelope.MemoryCitation{"s", ref, "e", "v"}, "", qualified},
		{"a pointer", &envelope.MemoryCitation{"s", ref, "e", "v"}, "", qualified},
		{"artifact, local", envelope.ArtifactCitation{"", ref}, "t", `{"artifact_ref":{"family":"f","artifact_id":"a","revision":9007199254740993}}`},
		{"artifact, elsewhere", &envelope.ArtifactCitation{"s", ref}, "t", `{"artifact":{"scope_id":"s","artifact":{"family":"f","artifact_id":"a","revision":9007199254740993}}}`},
		{"raw, qualified, in the scope", json.RawMessage(qualified), "s", local},
		{"raw, local", json.RawMessage(local), "s", local},
		{"raw, any order, spacing and spelling", json.RawMessage(`{"entry_version_id":"v", "entry_id":"\u0065",` + "\n" + `"memory_ref":{"revision":9007199254740993,"artifact_id":"a","family":"f"}}`), "", local},
		{"a map of the shape", map[string]any{"entry_id": "e", "entry_version_id": "v", "memory_ref": ref}, "", local},
		{"typed values nested in one's own", map[string]any{"at": envelope.ArtifactCitation{"s", ref}}, "", `{"at":{"artifact":{"scope_id":"s","artifact":{"family":"f","artifact_id":"a","revision":9007199254740993}}}}`},
		{"one's own struct", own{"é<\u2028\x7f\b", 1}, "", `{"z":"é<\u2028` + "\x7f" + `\b","a":1}`},
		{"a map, sorted", map[string]int{"b": 1, "a": 2}, "", `{"a":2,"b":1}`},
		{"raw text stays as it is spelt", json.RawMessage(` { "n" : 1.0e+2 , "s" : "\u0041\/" , "a" : [ 1 , { } ] } `), "", `{"n":1.0e+2,"s":"\u0041\/","a":[1,{}]}`},
		{"a raw line boundary is escaped", json.RawMessage("{\"t\":\"a\u2028b\u0085\"}"), "", `{"t":"a\u2028b\u0085"}`},
		{"a marker is broken", json.RawMessage(`{"` + end + `":"` + begin + `"}`), "", `{"E\u004eD_POWERCONTEXT_PREPARED_CONTEXT_V1":"BE\u0047IN_POWERCONTEXT_PREPARED_CONTEXT_V1"}`},
		{"an object of nothing is one", json.RawMessage(`{}`), "", `{}`},
		{"a revision that is no int64 is somebody else's", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":"a","revision":1.0}}`), "", `{"artifact_ref":{"family":"f","artifact_id":"a","revision":1.0}}`},
		{"so is one with a member more", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":"a","revision":1},"x":1}`), "", `{"artifact_ref":{"family":"f","artifact_id":"a","revision":1},"x":1}`},
		{"a memory with a member more", json.RawMessage(`{"memory_ref":{"family":"f","artifact_id":"a","revision":1},"entry_id":"e","entry_version_id":"v","x":1}`), "", `{"memory_ref":{"family":"f","artifact_id":"a","revision":1},"entry_id":"e","entry_version_id":"v","x":1}`},
		{"an artifact with a member of a memory", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":"a","revision":1},"entry_id":"e"}`), "", `{"artifact_ref":{"family":"f","artifact_id":"a","revision":1},"entry_id":"e"}`},
		{"the same with the other", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":"a","revision":1},"entry_version_id":"v"}`), "", `{"artifact_ref":{"family":"f","artifact_id":"a","revision":1},"entry_version_id":"v"}`},
		{"an artifact elsewhere without a scope", json.RawMessage(`{"artifact":{"artifact":{"family":"f","artifact_id":"a","revision":1}}}`), "", `{"artifact":{"artifact":{"family":"f","artifact_id":"a","revision":1}}}`},
		{"an artifact in the scope null", json.RawMessage(`{"artifact":{"scope_id":null,"artifact":{"family":"f","artifact_id":"a","revision":1}}}`), "", `{"artifact":{"scope_id":null,"artifact":{"family":"f","artifact_id":"a","revision":1}}}`},
		{"an artifact without a family", json.RawMessage(`{"artifact_ref":{"artifact_id":"a","revision":1}}`), "", `{"artifact_ref":{"artifact_id":"a","revision":1}}`},
		{"an artifact without a revision", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":"a"}}`), "", `{"artifact_ref":{"family":"f","artifact_id":"a"}}`},
		{"an artifact elsewhere with a member more", json.RawMessage(`{"artifact":{"scope_id":"s","artifact":{"family":"f","artifact_id":"a","revision":1},"x":1}}`), "", `{"artifact":{"scope_id":"s","artifact":{"family":"f","artifact_id":"a","revision":1},"x":1}}`},
		{"a reference with a member more", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":"a","revision":1,"x":1}}`), "", `{"artifact_ref":{"family":"f","artifact_id":"a","revision":1,"x":1}}`},
		{"a revision of minus nothing", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":"a","revision":-0}}`), "", `{"artifact_ref":{"family":"f","artifact_id":"a","revision":-0}}`},
		{"one beyond int64", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":"a","revision":9223372036854775808}}`), "", `{"artifact_ref":{"family":"f","artifact_id":"a","revision":9223372036854775808}}`},
		{"a negative revision", json.RawMessage(`{"artifact_ref":{"revision":-7,"artifact_id":"a","family":"f"}}`), "", `{"artifact_ref":{"family":"f","artifact_id":"a","revision":-7}}`},
		{"the largest", json.RawMessage(`{"artifact_ref":{"revision":9223372036854775807,"artifact_id":"a","family":"f"}}`), "", `{"artifact_ref":{"family":"f","artifact_id":"a","revision":9223372036854775807}}`},
		{"the smallest", json.RawMessage(`{"artifact_ref":{"revision":-9223372036854775808,"artifact_id":"a","family":"f"}}`), "", `{"artifact_ref":{"family":"f","artifact_id":"a","revision":-9223372036854775808}}`},
		{"a revision that is no number", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":"a","revision":"1"}}`), "", `{"artifact_ref":{"family":"f","artifact_id":"a","revision":"1"}}`},
		{"and one of other types", json.RawMessage(`{"artifact":"a"}`), "", `{"artifact":"a"}`},
		{"both refs", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":"a","revision":1},"artifact":{}}`), "", `{"artifact_ref":{"family":"f","artifact_id":"a","revision":1},"artifact":{}}`},
		{"the six characters of an escape", map[string]any{"path": `docs\ufffd.md`}, "", `{"path":"docs\\ufffd.md"}`},
		{"a raw message inside that spells U+FFFD", map[string]any{"x": json.RawMessage(`"\ufffd"`)}, "", "{\"x\":\"\ufffd\"}"},
		{"a real U+FFFD beside a nil pointer with methods", struct {
			T string
			W *time.Time
		}{"a\ufffd", nil}, "", "{\"T\":\"a\ufffd\",\"W\":null}"},
		{"a pointer to a raw message", func() any { raw := json.RawMessage(`{"s":"\u0041"}`); return &raw }(), "", `{"s":"\u0041"}`},
		{"a real U+FFFD", map[string]any{"x": "\ufffd"}, "", "{\"x\":\"\ufffd\"}"},
		{"a deep one", json.RawMessage(`{"a":` + strings.Repeat("[", 59) + strings.Repeat("]", 59) + `}`), "", `{"a":` + strings.Repeat("[", 59) + strings.Repeat("]", 59) + `}`},
		{"nil", nil, "", ""},
		{"a nil pointer", (*envelope.MemoryCitation)(nil), "", ""},
		{"a nil pointer to an artifact", (*envelope.ArtifactCitation)(nil), "", ""},
		{"a nil pointer to a raw message", (*json.RawMessage)(nil), "", ""},
		{"a nil pointer of another type", (*own)(nil), "", ""},
		{"a nil map", map[string]any(nil), "", ""},
		{"no raw bytes", json.RawMessage(nil), "", ""},
		{"null", json.RawMessage(" null "), "", ""},
		{"no artifact id of a memory", envelope.MemoryCitation{"", envelope.ArtifactRef{"f", "", 1}, "e", "v"}, "", ""},
		{"no entry id", envelope.MemoryCitation{"", ref, "", "v"}, "", ""},
		{"a blank version id", envelope.MemoryCitation{"", ref, "e", "\u3000\x1c"}, "", ""},
		{"no artifact id", envelope.ArtifactCitation{"s", envelope.ArtifactRef{"f", "", 1}}, "", ""},
		{"a raw blank id", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":"\u0085","revision":1}}`), "", ""},
		{"a raw absent id", json.RawMessage(`{"memory_ref":{"family":"f","artifact_id":"a","revision":1},"entry_id":"e"}`), "", ""},
		{"a raw blank id and a revision that is no int64", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":" ","revision":1.5}}`), "", ""},
		{"a raw blank id and a revision of another type: 1", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":" ","revision":"1"}}`), "", `{"artifact_ref":{"family":"f","artifact_id":" ","revision":"1"}}`},
		{"a raw blank id and a revision of another type: true", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":" ","revision":true}}`), "", `{"artifact_ref":{"family":"f","artifact_id":" ","revision":true}}`},
		{"a raw blank id and a revision of another type: []", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":" ","revision":[]}}`), "", `{"artifact_ref":{"family":"f","artifact_id":" ","revision":[]}}`},
		{"a raw blank id and a revision of another type: null", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":" ","revision":null}}`), "", `{"artifact_ref":{"family":"f","artifact_id":" ","revision":null}}`},
		{"a raw blank id and a revision of 0.5", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":" ","revision":0.5}}`), "", ""},
		{"a raw blank id and a revision of 9.5", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":" ","revision":9.5}}`), "", ""},
		{"a raw blank id and a revision of -1.5", json.RawMessage(`{"artifact_ref":{"family":"f","artifact_id":" ","revision":-1.5}}`), "", ""},
		{"no bytes behind a pointer", new(json.RawMessage), "", ""},
		{"a raw null id", json.RawMessage(`{"artifact":{"scope_id":"s","artifact":{"family":"f","artifact_id":null,"revision":1}}}`), "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			j := envelope.JSON{Scope: tt.scope}
			items := []envelope.Item{{Citation: tt.citation, Content: "x"}}
			p, err := j.Render(items, envelope.Budget{})
			require.NoError(t, err)
			if tt.want == "" {
				assert.Equal(t, []string{"uncited"}, outcomesOf(p.Report))
				return
			}
			require.NoError(t, p.Report.Err())
			assert.Contains(t, p.Content, `{"citation":`+tt.want+`,"content":"x"`)
			requireIntact(t, p.Content, envelope.PowerContextV1)
			requireDelivered(t, j, p.Content, items, p.Report)
		})
	}
}

// Two citations that differ in one part are two, whatever their hashes are.
func TestSameCitation(t *testing.T) {
	ref := envelope.ArtifactRef{Family: "f", ArtifactID: "a", Revision: 1}
	all := []any{
		envelope.MemoryCitation{"", ref, "e", "v"},
		envelope.MemoryCitation{"s", ref, "e", "v"},
		envelope.MemoryCitation{"", envelope.ArtifactRef{"g", "a", 1}, "e", "v"},
		envelope.MemoryCitation{"", envelope.ArtifactRef{"f", "b", 1}, "e", "v"},
		envelope.MemoryCitation{"", envelope.ArtifactRef{"f", "a", 2}, "e", "v"},
		envelope.MemoryCitation{"", ref, "e2", "v"},
		envelope.MemoryCitation{"", ref, "e", "v2"},
		envelope.ArtifactCitation{"", ref},
		envelope.ArtifactCitation{"s", ref},
		json.RawMessage(`{"a":1}`),
		json.RawMessage(`{"a":2}`),
	}
	for i := range all {
		for k := range all {
			assert.Equal(t, i == k, envelope.SameCitation(all[i], all[k]), "%d %d", i, k)
		}
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	normal := func(data []byte) string {
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	return normal(a) == normal(b)
}

// FuzzJSONCitation gives an attacker a raw citation: it is refused, or stands in the text as the
// same value.
func FuzzJSONCitation(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw []byte, options uint8) {
		j := envelope.JSON{Escape: envelope.Escape(options & 15)}
		items := []envelope.Item{{Citation: json.RawMessage(raw), Content: "x"}}
		p, err := j.Render(items, envelope.Budget{MaxBytes: envelope.Unlimited})
		if err != nil {
			t.Fatal(err)
		}
		if !p.Ready() {
			object := json.Valid(raw) && strings.HasPrefix(strings.TrimSpace(string(raw)), "{")
			if object && utf8.Valid(raw) && p.Report.Items[0].Outcome == envelope.NoRoom {
				t.Fatalf("%q: %+v", raw, p.Report)
			}
			return
		}
		requireIntact(t, p.Content, envelope.PowerContextV1)
		requireDelivered(t, j, p.Content, items, p.Report)
		// Of this package's own shapes, a citation with an empty scope is written as a local one.
		got := decodeLine(t, p.Content).Items[0].Citation
		own := strings.HasPrefix(string(got), `{"memory_ref":`) ||
			strings.HasPrefix(string(got), `{"artifact_ref":`)
		if !own && !sameJSON(t, got, raw) {
			t.Fatalf("%q came out as %q", raw, got)
		}
	})
}

// UnmarshalJSON reads what MarshalJSON writes. It refuses other shapes with a message that holds
// none of their content.
func TestCitationUnmarshalJSON(t *testing.T) {
	ref := envelope.ArtifactRef{Family: "f\u2028", ArtifactID: "a", Revision: math.MinInt64}
	for _, want := range []envelope.MemoryCitation{{}, {"", ref, "e", "v"}, {"s", ref, "e", "v"}} {
		data, err := json.Marshal(want)
		require.NoError(t, err)
		got := envelope.MemoryCitation{Scope: "before"}
		require.NoError(t, json.Unmarshal(data, &got))
		assert.Equal(t, want, got)
	}
	for _, want := range []envelope.ArtifactCitation{{}, {"", ref}, {"s", ref}} {
		data, err := json.Marshal(want)
		require.NoError(t, err)
		got := envelope.ArtifactCitation{Scope: "before"}
		require.NoError(t, json.Unmarshal(data, &got))
		assert.Equal(t, want, got)
	}
	memories := `{"entry_id":"e","entry_version_id":"v","memory_ref":{"revision":1,` +
		`"artifact_id":"a","family":"f"}}`
	var memory envelope.MemoryCitation
	require.NoError(t, json.Unmarshal([]byte(memories), &memory))
	assert.Equal(t, "e", memory.EntryID)

	for _, tt := range []struct {
		why, data string
		want      error
	}{
		{"the other type", `{"artifact_ref":{"family":"f","artifact_id":"a","revision":1}}`,
			envelope.ErrNotCitation},
		{"another member", `{"memory_ref":{"family":"f","artifact_id":"secret","revision":1},` +
			`"entry_id":"e","entry_version_id":"v","x":1}`, envelope.ErrNotCitation},
		{"no object", `["secret"]`, envelope.ErrNotObject},
		{"a member twice", `{"secret":1,"secret":2}`, envelope.ErrDuplicateName},
	} {
		err := memory.UnmarshalJSON([]byte(tt.data))
		assert.ErrorIs(t, err, tt.want, tt.why)
		assert.NotContains(t, err.Error(), "secret", tt.why)
		assert.Equal(t, "e", memory.EntryID, "what it was")
	}
}

// A citation with a number that some decoder refuses the line for is Malformed at that number,
// however it was given, and costs no other item. Open refuses a line that has one.
func TestCitationNumbers(t *testing.T) {
	for _, n := range numbers.Crooked {
		t.Run(n.Why, func(t *testing.T) {
			const before = `{"a":{"x":"1e999"},"n":[0,`
			const revision = `{"artifact_ref":{"family":"f","artifact_id":"a","revision":`
			items := []envelope.Item{
				{Citation: json.RawMessage(before + n.Text + `,1]}`), Content: "raw"},
				{Citation: map[string]any{"n": json.Number(n.Text)}, Content: "encoded"},
				{Citation: map[string]any{"m": json.RawMessage(n.Text)}, Content: "raw in another"},
				{Citation: json.RawMessage(revision + n.Text + `}}`), Content: "a revision"},
				memory("e", "beside"),
			}
			p, err := envelope.JSON{}.Render(items, envelope.Budget{MaxBytes: -1})
			require.NoError(t, err)
			shown, err := envelope.Markdown{}.Render(items, envelope.Budget{MaxBytes: -1})
			require.NoError(t, err)
			want := []string{"malformed", "malformed", "malformed", "malformed", "included"}
			if !n.Infinite {
				want = []string{"included", "included", "included", "included", "included"}
				assert.Contains(t, p.Content, before+n.Text+`,1]}`)
			}
			assert.Equal(t, want, outcomesOf(p.Report))
			assert.Equal(t, want, outcomesOf(shown.Report))
			assert.NoError(t, envelope.Markdown{}.Check(shown.Content))
			_, err = envelope.JSON{}.Open(p.Content)
			assert.NoError(t, err)
			if n.Infinite {
				fault := func(i, offset int) {
					want := &envelope.Error{
						Err: envelope.ErrNumber, Item: i, Field: "citation", Offset: offset,
					}
					assert.Equal(t, want, p.Report.Items[i].Err)
				}
				fault(0, len(before))
				fault(1, len(`{"n":`))
				fault(2, len(`{"m":`))
				fault(3, len(revision))
			}
			text := strings.Replace(p.Content, `"revision":18`, `"revision":`+n.Text, 1)
			require.NotEqual(t, p.Content, text)
			_, err = envelope.JSON{}.Open(text)
			if !n.Infinite {
				assert.NoError(t, err)
				return
			}
			var e *envelope.Error
			require.ErrorAs(t, err, &e)
			assert.ErrorIs(t, err, envelope.ErrNumber)
			assert.Equal(t, strings.Index(text, `"revision":`+n.Text)+len(`"revision":`), e.Offset)
		})
	}
}

type worksOnce struct{ calls *int }

func (w worksOnce) MarshalJSON() ([]byte, error) {
	if *w.calls++; *w.calls > 1 {
		panic("called again")
	}
	return []byte(`"once"`), nil
}

type neverZero struct{}

func (neverZero) IsZero() bool { panic("no") }

// hidden is a type whose values omitzero leaves out.
type hidden struct {
	A, B, C, D *hidden
}

func (hidden) IsZero() bool                 { return true }
func (hidden) MarshalText() ([]byte, error) { panic("no") }

type cyclic struct {
	A, B, C *cyclic `json:",omitzero"`
	IsHere  bool
}

func (c *cyclic) IsZero() bool { return !c.IsHere }

// A citation of any type is encoded once. A failure to encode it is a fault of its item alone.
func TestCitationIsEncodedOnce(t *testing.T) {
	calls := 0
	below := func(levels int, bottom string) any {
		var v any = bottom
		for range levels {
			v = map[string]any{"a": v}
		}
		return v
	}
	loop := func(here bool) *cyclic {
		c := &cyclic{IsHere: here}
		c.A, c.B, c.C = c, c, c
		return c
	}
	tests := []struct {
		why      string
		citation any
		what     error // nil is delivered
		offset   int
	}{
		{"a method that works once, beside what looks like a replacement",
			map[string]any{"m": worksOnce{&calls}, "s": `\ufffd`}, nil, 0},
		{"invalid UTF-8 below 31 maps", below(31, "x\xff"), envelope.ErrInvalidUTF8, -1},
		{"below 60", below(60, "x\xff"), envelope.ErrInvalidUTF8, -1},
		{"good text below 60", below(60, "x\ufffd"), nil, 0},
		{"below 61", below(61, "x"), envelope.ErrTooDeep, 60 * len(`{"a":`)},
		{"invalid UTF-8 in a name", map[string]any{"b": map[string]any{"x\xff": 1}},
			envelope.ErrInvalidUTF8, -1},
		{"a method of omitzero that panics", struct {
			A neverZero `json:",omitzero"`
		}{}, envelope.ErrNotObject, -1},
		{"one of what omitzero leaves out", struct {
			A hidden `json:",omitzero"`
			B string
		}{B: `\ufffd`}, nil, 0},
		{"a cycle in every field that omitzero leaves out",
			map[string]any{"a": loop(false), "b": `\ufffd`}, nil, 0},
		{"a cycle in every field", loop(true), envelope.ErrNotObject, -1},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			start := time.Now()
			items := []envelope.Item{{Citation: tt.citation, Content: "x"}, memory("e", "beside")}
			p, err := envelope.JSON{}.Render(items, envelope.Budget{})
			require.NoError(t, err)
			assert.Less(t, time.Since(start), 5*time.Second)
			if tt.what == nil {
				assert.Equal(t, []string{"included", "included"}, outcomesOf(p.Report))
				return
			}
			assert.Equal(t, []string{"malformed", "included"}, outcomesOf(p.Report))
			var e *envelope.Error
			require.ErrorAs(t, p.Report.Items[0].Err, &e)
			assert.Equal(t, []any{tt.what, "citation", tt.offset}, []any{e.Err, e.Field, e.Offset})
		})
	}
	assert.Equal(t, 1, calls)
}
