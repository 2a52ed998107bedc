package envelope_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// lineReaders is what different readers take for the end of a line, besides LF; CRLF as two ends
// makes no difference to which lines there are but for empty ones. The last takes everything that
// any of them does, and what a terminal does.
var lineReaders = map[string]string{
	"Go, Rust, grep, awk":      "",
	"Java readLine, Tcl, Node": "\r",
	"JavaScript /^/m":          "\r\u2028\u2029",
	"Java Scanner, YAML 1.1":   "\r\u0085\u2028\u2029",
	".NET ReplaceLineEndings":  "\f\r\u0085\u2028\u2029",
	`\R, UAX #14`:              "\v\f\r\u0085\u2028\u2029",
	"Python str.splitlines":    "\v\f\r\x1c\x1d\x1e\u0085\u2028\u2029",
	"a terminal":               "\v\f\u0084\u0085",
	"all of them, and NUL":     "\x00\v\f\r\x1c\x1d\x1e\x1f\u0084\u0085\u2028\u2029",
}

// unlimited is the budget that leaves nothing out.
var unlimited = envelope.Budget{
	MaxBytes:          envelope.Unlimited,
	MaxItems:          envelope.Unlimited,
	MaxItemBytes:      envelope.Unlimited,
	MinTruncatedBytes: envelope.Unlimited,
}

// requireIntact demands the security property of a rendered text: for every kind of line reader
// one line equal to each marker, in order, and each marker once as text.
func requireIntact(t testing.TB, text string, w envelope.Wrapper) {
	if !utf8.ValidString(text) ||
		strings.Count(text, w.Begin) != 1 || strings.Count(text, w.End) != 1 ||
		strings.Index(text, w.Begin) > strings.Index(text, w.End) {
		t.Fatalf("markers: %q", text)
	}
	for reader, ends := range lineReaders {
		lines := strings.FieldsFunc(text, func(r rune) bool {
			return r == '\n' || strings.ContainsRune(ends, r)
		})
		requireMarkerLines(t, reader, lines, w)
	}
	// A reader of undecoded bytes finds an end of line in every character that has the byte 0x85.
	lines := strings.FieldsFunc(latin1(text), func(r rune) bool {
		return r == '\n' || r == '\r' || r == '\u0085'
	})
	requireMarkerLines(t, "ISO-8859-1", lines, w)
}

// requireBounded demands the security property of what j renders: that of requireIntact, or of a
// bare line that it is one line for every reader, with no marker in it.
func requireBounded(t testing.TB, j envelope.JSON, text string) {
	w := j.Wrapper
	if w == (envelope.Wrapper{}) {
		w = envelope.PowerContextV1
	}
	if !j.Bare {
		requireIntact(t, text, w)
		return
	}
	marked := strings.Contains(text, w.Begin) || strings.Contains(text, w.End)
	if marked || !json.Valid([]byte(text)) || !utf8.ValidString(text) {
		t.Fatalf("not a line: %q", text)
	}
	for reader, ends := range lineReaders {
		// U+0084 is a terminal's alone, U+001F nobody's.
		ends = strings.NewReplacer("\u0084", "", "\x1f", "").Replace(ends)
		if strings.ContainsAny(text, ends+"\n") {
			t.Fatalf("%s: more than one line: %q", reader, text)
		}
	}
}

func requireMarkerLines(t testing.TB, reader string, lines []string, w envelope.Wrapper) {
	begins, ends := 0, 0
	for _, line := range lines {
		if line == w.Begin {
			begins++
		}
		if line == w.End {
			ends++
		}
	}
	if begins != 1 || ends != 1 || lines[len(lines)-1] != w.End {
		t.Fatalf("%s: %d BEGIN and %d END lines in %q", reader, begins, ends, lines)
	}
}

func latin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

// decodedLine is the JSON line as encoding/json reads it.
type decodedLine struct {
	Trust string `json:"trust"`
	Items []struct {
		Citation  json.RawMessage `json:"citation"`
		Content   string          `json:"content"`
		Truncated bool            `json:"truncated"`
		Kind      *string         `json:"kind"`
	} `json:"items"`
	Omitted *int    `json:"omitted"`
	CRC32C  *string `json:"crc32c"`
}

func decodeLine(t testing.TB, text string) (d decodedLine) {
	require.NoError(t, json.Unmarshal([]byte(lineOf(text)), &d))
	return d
}

// lineOf is the line of an envelope, which is the whole of a bare one.
func lineOf(text string) string {
	lines := strings.Split(text, "\n")
	return lines[max(len(lines)-2, 0)]
}

// requireDelivered demands that encoding/json and Open both give back what the report says was
// delivered.
func requireDelivered(
	t testing.TB, j envelope.JSON, text string, items []envelope.Item, r envelope.Report,
) {
	decoded := decodeLine(t, text).Items
	opened, err := j.Open(text)
	if err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	n := 0
	for i, item := range items {
		if !r.Items[i].Outcome.Delivered() {
			continue
		}
		d, o := decoded[n], opened[n]
		n++
		prefix, cut := strings.CutSuffix(d.Content, "…")
		outcome := r.Items[i].Outcome
		whole := outcome == envelope.Included && !d.Truncated && d.Content == item.Content
		part := outcome == envelope.Truncated && d.Truncated && cut &&
			strings.HasPrefix(item.Content, prefix)
		kind := item.Kind
		if kind == "" {
			kind = "memory"
		}
		if !whole && !part ||
			(d.Kind == nil) != (kind == "memory") || d.Kind != nil && *d.Kind != kind ||
			r.Items[i].DeliveredBytes != len(d.Content) ||
			o.Kind != kind || o.Content != d.Content || o.Truncated != d.Truncated ||
			string(o.Citation.(json.RawMessage)) != string(d.Citation) {
			t.Fatalf("item %d: decoded %+v, opened %+v, want %+v %+v", i, d, o, item, r.Items[i])
		}
	}
	if n != len(decoded) || n != len(opened) {
		t.Fatalf("%d items reported, %d decoded, %d opened", n, len(decoded), len(opened))
	}
}
