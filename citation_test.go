package envelope_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// A citation by itself is the JSON that it is in a rendering without a scope, and says which part of it is no text.
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
			assert.Equal(t, &envelope.Error{Err: envelope.ErrInvalidUTF8, Item: -1, Field: tt.field, Offset: tt.offset}, err)
			_, err = json.Marshal(map[string]any{"at": tt.citation})
			assert.ErrorIs(t, err, envelope.ErrInvalidUTF8)
		})
	}
}

// What is not quite one of this package's shapes is somebody else's object, and is written as it is.
func TestCitationsOfNearlyTheShape(t *testing.T) {
	for _, raw := range []string{
		`{"artifact_ref":{"family":"f","artifact_id":"a","revision":1,"x":1}}`,
		`{"artifact":{"scope_id":"s","artifact":{"family":"f","artifact_id":"a","revision":1},"x":1}}`,
		`{"artifact":{"scope_id":"s","Artifact":{"family":"f","artifact_id":"a","revision":1}}}`,
		`{"artifact_ref":{"family":1,"artifact_id":"a","revision":1}}`,
		`{"artifact_ref":{"family":"f","artifact_id":["a"],"revision":1}}`,
		`{"artifact_ref":{"family":"f","artifact_id":"a","revision":"1"}}`,
		`{"artifact_ref":{"family":"f","artifact_id":"a","revision":true}}`,
		`{"artifact":{"scope_id":7,"artifact":{"family":"f","artifact_id":"a","revision":1}}}`,
		`{"artifact_ref":["a"]}`,
		`{"memory_ref":{"family":"f","artifact_id":"a","revision":1},"entry_id":7,"entry_version_id":"v"}`,
	} {
		p, err := envelope.JSON{}.Render([]envelope.Item{{Citation: json.RawMessage(raw), Content: "x"}}, envelope.Budget{})
		require.NoError(t, err)
		require.NoError(t, p.Report.Err(), raw)
		assert.Contains(t, p.Content, `{"citation":`+raw+`,"content":"x"`)
	}
}
