package envelope_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// vector is one scenario of testdata/vectors: a case and what must come of it.
type vector struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	Case struct {
		parameters
		MaxBytes          int      `json:"max_bytes"`
		MaxItems          int      `json:"max_items"`
		MaxItemBytes      int      `json:"max_item_bytes"`
		MinTruncatedBytes int      `json:"min_truncated_bytes"`
		Show              []string `json:"show"`
		Sections          []struct {
			Kind  string `json:"kind"`
			Title string `json:"title"`
			Limit int    `json:"limit"`
		} `json:"sections"`
		Items []struct {
			Kind     string          `json:"kind"`
			Citation json.RawMessage `json:"citation"`
			Content  string          `json:"content"`
		} `json:"items"`
	} `json:"case"`
	Outcomes []string `json:"outcomes"`
	Bytes    int      `json:"bytes"`
	Text     *string  `json:"text"`
}

// refusal is one scenario of testdata/vectors/refused: a text that a reader refuses, and where.
type refusal struct {
	Name    string     `json:"name"`
	Why     string     `json:"why"`
	Case    parameters `json:"case"`
	Fault   string     `json:"fault"`
	Byte    int        `json:"byte"`
	Item    *int       `json:"item"` // nil: the fault is not about one item
	Text    string     `json:"text"`
	TextHex string     `json:"text_hex"` // instead, of one that is not UTF-8
}

// parameters are those of a renderer and a reader.
type parameters struct {
	Format   string   `json:"format"`
	Scope    string   `json:"scope"`
	Escape   []string `json:"escape"`
	Bare     bool     `json:"bare"`
	Omitted  bool     `json:"omitted"`
	Checksum bool     `json:"checksum"`
}

// json is the renderer with the parameters.
func (p *parameters) json(t *testing.T) envelope.JSON {
	j := envelope.JSON{Scope: p.Scope, Bare: p.Bare, Omitted: p.Omitted, Checksum: p.Checksum}
	for _, class := range p.Escape {
		require.Contains(t, classes, class)
		j.Escape |= classes[class]
	}
	return j
}

// loadVectors returns the scenarios whose file names begin with prefix, of which there must be at
// least one.
func loadVectors(t testing.TB, prefix string) []vector {
	return loadScenarios(t, prefix, func(v *vector) string { return v.Name })
}

// loadScenarios is loadVectors for scenarios of any type that have a name.
func loadScenarios[V any](t testing.TB, prefix string, name func(*V) string) []V {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "vectors", prefix+"*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no vectors")
	vectors := make([]V, len(files))
	for i, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(&vectors[i]), file)
		require.Equal(t, name(&vectors[i])+".json", filepath.Base(file))
	}
	return vectors
}

func (v *vector) items() []envelope.Item {
	items := make([]envelope.Item, len(v.Case.Items))
	for i, item := range v.Case.Items {
		items[i] = envelope.Item{Kind: item.Kind, Citation: item.Citation, Content: item.Content}
	}
	return items
}

func (v *vector) budget() envelope.Budget {
	c := v.Case
	return envelope.Budget{
		MaxBytes:          c.MaxBytes,
		MaxItems:          c.MaxItems,
		MaxItemBytes:      c.MaxItemBytes,
		MinTruncatedBytes: c.MinTruncatedBytes,
	}
}

// requireEqual demands the text and the outcomes of the scenario, and reports whether there is a
// text.
func (v *vector) requireEqual(t *testing.T, p envelope.Prepared, err error) bool {
	require.NoError(t, err)
	assert.Equal(t, v.Outcomes, outcomesOf(p.Report), v.Why)
	assert.Equal(t, v.Bytes, p.Report.Bytes)
	if v.Text == nil {
		assert.Empty(t, p.Content)
		return false
	}
	assert.Equal(t, *v.Text, p.Content, v.Why)
	return true
}

func outcomesOf(r envelope.Report) []string {
	names := make([]string, len(r.Items))
	for i, item := range r.Items {
		names[i] = item.Outcome.String()
	}
	return names
}

var classes = map[string]envelope.Escape{
	"controls":  envelope.EscapeControls,
	"invisible": envelope.EscapeInvisible,
	"markup":    envelope.EscapeMarkup,
	"nonascii":  envelope.EscapeNonASCII,
}

// The vectors of the options that change the line are in a folder of their own.
func TestJSONVectors(t *testing.T) {
	for _, v := range append(loadVectors(t, "json-"), loadVectors(t, "options/")...) {
		t.Run(v.Name, func(t *testing.T) {
			j := v.Case.json(t)
			p, err := j.Render(v.items(), v.budget())
			if v.requireEqual(t, p, err) {
				_, err = j.Open(p.Content)
				assert.NoError(t, err)
			}
		})
	}
}

// faults are those of docs/format.md, by the names that they have there.
var faults = map[string]error{
	"frame":          envelope.ErrFrame,
	"invalid-utf8":   envelope.ErrInvalidUTF8,
	"line-boundary":  envelope.ErrLineBoundary,
	"marker":         envelope.ErrMarker,
	"syntax":         envelope.ErrSyntax,
	"lone-surrogate": envelope.ErrLoneSurrogate,
	"duplicate-name": envelope.ErrDuplicateName,
	"too-deep":       envelope.ErrTooDeep,
	"number":         envelope.ErrNumber,
	"member":         envelope.ErrMember,
	"checksum":       envelope.ErrChecksum,
	"undeliverable":  envelope.ErrUndeliverable,
	"not-canonical":  envelope.ErrNotCanonical,
}

// Each text is refused for its fault, at its byte, and Filter refuses it alike.
func TestRefusedVectors(t *testing.T) {
	seen := map[string]int{}
	refusals := loadScenarios(t, "refused/", func(r *refusal) string { return r.Name })
	for _, r := range refusals {
		seen[r.Fault]++
		t.Run(r.Name, func(t *testing.T) {
			require.Contains(t, faults, r.Fault)
			require.True(t, strings.HasPrefix(r.Name, r.Fault+"-"))
			require.NotEmpty(t, r.Why)
			text := r.Text
			if r.TextHex != "" {
				require.Empty(t, r.Text)
				data, err := hex.DecodeString(r.TextHex)
				require.NoError(t, err)
				text = string(data)
			}
			j := r.Case.json(t)
			_, err := j.Open(text)
			var e *envelope.Error
			require.ErrorAs(t, err, &e, "%s: %q", r.Why, text)
			assert.ErrorIs(t, err, faults[r.Fault], r.Why)
			assert.Equal(t, r.Byte, e.Offset, r.Why)
			item := -1
			if r.Item != nil {
				item = *r.Item
			}
			assert.Equal(t, item, e.Item, r.Why)
			_, filterErr := j.Filter(text, func(int, envelope.Delivered) bool { return true })
			assert.Equal(t, err, filterErr)
		})
	}
	for fault := range faults {
		assert.GreaterOrEqual(t, seen[fault], 2, fault)
	}
}

func TestMarkdownVectors(t *testing.T) {
	shows := map[string]envelope.Show{
		"confidence":  envelope.ShowConfidence,
		"recall_rank": envelope.ShowRank,
	}
	for _, v := range loadVectors(t, "md-") {
		t.Run(v.Name, func(t *testing.T) {
			m := envelope.Markdown{Scope: v.Case.Scope, Sections: []envelope.Section{}}
			for _, s := range v.Case.Sections {
				section := envelope.Section{Kind: s.Kind, Title: s.Title, Limit: s.Limit}
				m.Sections = append(m.Sections, section)
			}
			for _, show := range v.Case.Show {
				require.Contains(t, shows, show)
				m.Show |= shows[show]
			}
			p, err := m.Render(v.items(), v.budget())
			if v.requireEqual(t, p, err) {
				assert.NoError(t, m.Check(p.Content))
			}
		})
	}
}
