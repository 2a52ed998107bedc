package envelope_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

func TestEscapeJSON(t *testing.T) {
	const all = envelope.EscapeControls | envelope.EscapeInvisible |
		envelope.EscapeMarkup | envelope.EscapeNonASCII
	tests := []struct {
		why     string
		encoded string
		escape  envelope.Escape
		want    string
	}{
		{"the three, always", "\"a\u0085\u2028\u2029b\"", 0, `"a\u0085\u2028\u2029b"`},
		{"spelt ones stay, and stay different", "\"\\u2028\u2028\\\\u2028\"", 0, `"\u2028\u2028\\u2028"`},
		{"an escaped backslash before one", "\"\\\\\u2028\"", 0, `"\\\u2028"`},
		{"neighbours in the encoding", "\"\u0084\u0086\u2027\u202a\u2030\u00e2\"", 0, "\"\u0084\u0086\u2027\u202a\u2030\u00e2\""},
		{"white space between tokens is not a string's", "{\n\t\"a\" : 1\r\n}", all, "{\n\t\"a\" : 1\r\n}"},
		{"controls", "\"\x7f\u0080\u009f\u00a0\"", envelope.EscapeControls, "\"\\u007f\\u0080\\u009f\u00a0\""},
		{"markup", "\"<a>&`'\"", envelope.EscapeMarkup, "\"\\u003ca\\u003e\\u0026\\u0060'\""},
		{"invisible, a tag above U+FFFF", "\"\u200b\U000e0041é\"", envelope.EscapeInvisible, "\"\\u200b\\udb40\\udc41é\""},
		{"nothing but ASCII", "\"é\U0010ffff\"", envelope.EscapeNonASCII, `"\u00e9\udbff\udfff"`},
		{"bits that name no class", "\"é<\"", 0xf0, "\"é<\""},
		{"bytes that no JSON has", "\"\xff\xe2\x80\xc2\"", all, "\"\xff\xe2\x80\xc2\""},
		{"a real U+FFFD", "\"\ufffd\"", envelope.EscapeNonASCII, `"\ufffd"`},
		{"behind a run of others", "\"中\u2028жж\u2029🎉\u0085é\u2028\"", 0, `"中\u2028жж\u2029🎉\u0085é\u2028"`},
		{"nothing", "", all, ""},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			for _, spare := range []int{0, 1, 7, 4096} {
				dst := append(make([]byte, 0, 8+spare), "pre\u2028<"...)
				got := envelope.EscapeJSON(dst, []byte(tt.encoded), tt.escape)
				assert.Equal(t, "pre\u2028<"+tt.want, string(got), "spare %d", spare)
			}
		})
	}
}

func TestEscapeJSONAllocatesNothing(t *testing.T) {
	encoded := []byte(strings.Repeat("\"a\u2028<é\"", 50))
	dst := make([]byte, 0, 10*len(encoded))
	assert.Zero(t, testing.AllocsPerRun(10, func() { envelope.EscapeJSON(dst, encoded, 15) }))
}

// The escaper on an encoder's output writes what the slow one writes, and does not change what it
// decodes to.
func TestEscapeJSONTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	parts := pieces(envelope.PowerContextV1)
	for range twinCases() / 5 {
		content := strings.ToValidUTF8(hostile(rng, parts, 20), "")
		twin := twinJSON{escape: envelope.Escape(rng.IntN(16))}
		encoded, err := json.Marshal(map[string]string{"k\u2028": content})
		require.NoError(t, err)
		got := string(envelope.EscapeJSON(nil, encoded, twin.escape))
		require.Equal(t, twin.escapeRunes(string(encoded), false), got)
		var back map[string]string
		require.NoError(t, json.Unmarshal([]byte(got), &back))
		require.Equal(t, content, back["k\u2028"])
	}
}

// Every code point alone, in every set of classes, is escaped exactly when a class has it.
func TestEscapeClasses(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 61
	}
	for c := rune(' '); c <= utf8.MaxRune; c += rune(step) {
		if !utf8.ValidRune(c) {
			continue
		}
		for e := range envelope.Escape(16) {
			got := envelope.EscapeJSON(nil, []byte(string(c)), e)
			twin := twinJSON{escape: e}
			if escaped := got[0] == '\\' && c != '\\'; escaped != twin.escapes(c) {
				t.Fatalf("U+%04X, classes %04b: escaped %v", c, e, escaped)
			}
		}
	}
}

// The ranges that are written down must cover what the Go release at hand knows. A newer Unicode
// may have more format characters: then the ranges are to be extended, in one place, and the
// changelog to say so.
func TestInvisibleCoversThisUnicode(t *testing.T) {
	for c := range rune(unicode.MaxRune + 1) {
		if !utf8.ValidRune(c) || !unicode.In(c, invisibleTables...) {
			continue
		}
		got := envelope.EscapeJSON(nil, []byte(string(c)), envelope.EscapeInvisible)
		if got[0] != '\\' {
			t.Errorf("U+%04X of Unicode %s is left raw", c, unicode.Version)
		}
	}
}

// FuzzEscapeJSON escapes any bytes: JSON stays the same JSON without a raw character of the
// classes, and anything else loses nothing.
func FuzzEscapeJSON(f *testing.F) {
	f.Fuzz(func(t *testing.T, encoded []byte, options uint8) {
		e := envelope.Escape(options & 15)
		got := envelope.EscapeJSON([]byte("pre"), encoded, e)
		if string(got[:3]) != "pre" || strings.ContainsAny(string(got), "\u0085\u2028\u2029") {
			t.Fatalf("%q", got)
		}
		if utf8.Valid(encoded) {
			want := (&twinJSON{escape: e}).escapeRunes(string(encoded), false)
			if string(got[3:]) != want {
				t.Fatalf("%q, want %q", got[3:], want)
			}
		}
		if json.Valid(encoded) && utf8.Valid(encoded) && !sameJSON(t, encoded, got[3:]) {
			t.Fatalf("%q is not %q", got[3:], encoded)
		}
	})
}
