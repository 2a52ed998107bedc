package envelope_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/untrusted-context/envelope"
)

// The seeds of all targets are in testdata/fuzz, each under a name that says what it is; f.Add has what is made at random.

// FuzzJSON gives an attacker the content, the kind, the identifiers and a raw citation, and anyone the options. The property is
// that of requireIntact and requireDelivered, and that the slow twin agrees.
func FuzzJSON(f *testing.F) {
	f.Fuzz(func(t *testing.T, content, kind, id, scope string, options uint8, maxBytes, maxItemBytes int16, least int8) {
		j := envelope.JSON{Escape: envelope.Escape(options & 15), Wrapper: wrappers[int(options>>4)%len(wrappers)], Scope: "s"}
		items := []envelope.Item{
			{Kind: kind, Citation: envelope.MemoryCitation{Scope: scope, Memory: envelope.ArtifactRef{Family: kind, ArtifactID: id, Revision: int64(maxBytes)}, EntryID: id, EntryVersionID: content}, Content: content},
			{Kind: kind, Citation: map[string]any{id: scope}, Content: id + content},
			{Citation: envelope.ArtifactCitation{Scope: scope, Artifact: envelope.ArtifactRef{ArtifactID: id}}, Content: content + kind},
		}
		b := envelope.Budget{MaxBytes: max(int(maxBytes), -1), MaxItemBytes: max(int(maxItemBytes), -1), MinTruncatedBytes: max(int(least), -1)}
		compareJSON(t, j, items, b, map[envelope.Outcome]int{})
	})
}

// FuzzJSONCitation gives an attacker a raw citation: it is refused, or stands in the text as the same value.
func FuzzJSONCitation(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw []byte, options uint8) {
		j := envelope.JSON{Escape: envelope.Escape(options & 15)}
		items := []envelope.Item{{Citation: json.RawMessage(raw), Content: "x"}}
		p, err := j.Render(items, envelope.Budget{MaxBytes: envelope.Unlimited})
		if err != nil {
			t.Fatal(err)
		}
		if !p.Ready() {
			if json.Valid(raw) && utf8.Valid(raw) && strings.HasPrefix(strings.TrimSpace(string(raw)), "{") && p.Report.Items[0].Outcome == envelope.NoRoom {
				t.Fatalf("%q: %+v", raw, p.Report)
			}
			return
		}
		requireIntact(t, p.Content, envelope.PowerContextV1)
		requireDelivered(t, j, p.Content, items, p.Report)
		// Of this package's own shapes, a citation with an empty scope is written as a local one.
		got := decodeLine(t, p.Content).Items[0].Citation
		own := strings.HasPrefix(string(got), `{"memory_ref":`) || strings.HasPrefix(string(got), `{"artifact_ref":`)
		if !own && !sameJSON(t, got, raw) {
			t.Fatalf("%q came out as %q", raw, got)
		}
	})
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

// FuzzOpen changes texts: what Open accepts, rendering what it returned gives back to the byte.
func FuzzOpen(f *testing.F) {
	rng := rand.New(rand.NewPCG(2, 2))
	for len := 0; len < 40; {
		j, items, b := randomCase(rng)
		j.Wrapper, j.Scope, j.Trust = envelope.Wrapper{}, "", ""
		text, _, err := j.Append(nil, items, b)
		if err == nil && text != nil {
			f.Add(string(text), uint8(j.Escape))
			len++
		}
	}
	f.Fuzz(func(t *testing.T, text string, options uint8) {
		j := envelope.JSON{Escape: envelope.Escape(options & 15)}
		opened, err := j.Open(text)
		if err != nil {
			if _, ok := err.(*envelope.Error); !ok {
				t.Fatalf("%T", err)
			}
			return
		}
		requireIntact(t, text, envelope.PowerContextV1)
		decoded := decodeLine(t, text)
		var whole []envelope.Item
		for i, d := range opened {
			if d.Content != decoded.Items[i].Content {
				t.Fatalf("%q is not %q", d.Content, decoded.Items[i].Content)
			}
			if !d.Truncated {
				whole = append(whole, d.Item)
			}
		}
		if len(whole) == len(opened) {
			again, _, err := j.Append(nil, whole, envelope.Budget{-1, -1, -1, -1})
			if err != nil || string(again) != text {
				t.Fatalf("%q renders to %q (%v)", text, again, err)
			}
		}
	})
}

// FuzzEscapeJSON escapes any bytes: JSON stays the same JSON without a raw character of the classes, and anything else loses nothing.
func FuzzEscapeJSON(f *testing.F) {
	f.Fuzz(func(t *testing.T, encoded []byte, options uint8) {
		e := envelope.Escape(options & 15)
		got := envelope.EscapeJSON([]byte("pre"), encoded, e)
		if string(got[:3]) != "pre" || strings.ContainsAny(string(got), "\u0085\u2028\u2029") {
			t.Fatalf("%q", got)
		}
		if utf8.Valid(encoded) {
			if want := (&twinJSON{escape: e}).escapeRunes(string(encoded), false); string(got[3:]) != want {
				t.Fatalf("%q, want %q", got[3:], want)
			}
		}
		if json.Valid(encoded) && utf8.Valid(encoded) && !sameJSON(t, encoded, got[3:]) {
			t.Fatalf("%q is not %q", got[3:], encoded)
		}
	})
}
