package envelope_test

import (
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
		Format            string   `json:"format"`
		MaxBytes          int      `json:"max_bytes"`
		MaxItems          int      `json:"max_items"`
		MaxItemBytes      int      `json:"max_item_bytes"`
		MinTruncatedBytes int      `json:"min_truncated_bytes"`
		Scope             string   `json:"scope"`
		Escape            []string `json:"escape"`
		Bare              bool     `json:"bare"`
		Omitted           bool     `json:"omitted"`
		Checksum          bool     `json:"checksum"`
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

// loadVectors returns the scenarios whose file names begin with prefix, of which there must be at
// least one.
func loadVectors(t testing.TB, prefix string) []vector {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "vectors", prefix+"*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no vectors")
	vectors := make([]vector, len(files))
	for i, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(&vectors[i]), file)
		require.Equal(t, vectors[i].Name+".json", filepath.Base(file))
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
			j := envelope.JSON{
				Scope:    v.Case.Scope,
				Bare:     v.Case.Bare,
				Omitted:  v.Case.Omitted,
				Checksum: v.Case.Checksum,
			}
			for _, class := range v.Case.Escape {
				require.Contains(t, classes, class)
				j.Escape |= classes[class]
			}
			p, err := j.Render(v.items(), v.budget())
			if v.requireEqual(t, p, err) {
				_, err = j.Open(p.Content)
				assert.NoError(t, err)
			}
		})
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
