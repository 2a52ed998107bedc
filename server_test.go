package envelope_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/powercontext"
)

// Open accepts what a PowerContext server writes, except for hostile contents: the server leaves
// three line boundaries and the markers raw.
func TestServerTextsOpen(t *testing.T) {
	const (
		memoryRef = `{"memory_ref":{"family":"memory","artifact_id":"memory","revision":3},` +
			`"entry_id":"entry-1","entry_version_id":"entry-1-v2"}`
		experienceRef = `{"artifact_ref":{"family":"experience","artifact_id":"e1","revision":1}}`
		qualified     = `{"artifact":{"scope_id":"s","artifact":` +
			`{"family":"topic-memory","artifact_id":"t","revision":9007199254740993}}}`
	)
	tests := []struct {
		why                           string
		memories, topics, experiences []powercontext.Item
		maxBytes, items               int
	}{
		{why: "a memory", maxBytes: 8000, items: 1, memories: []powercontext.Item{
			{Kind: "memory", Citation: memoryRef, Content: "After changing OpenAPI, regenerate."},
		}},
		{why: "a memory and an experience", maxBytes: 8000, items: 2,
			memories: []powercontext.Item{
				{Kind: "memory", Citation: memoryRef, Content: "接口改动之后，先更新描述。\t\"x\"\x00"},
			},
			experiences: []powercontext.Item{{Kind: "experience", Citation: experienceRef,
				Content: "Situation: The HTTP API contract changed.\nLesson: Regenerate."}},
		},
		{why: "one that is cut, at the item bound", maxBytes: 8000, items: 1,
			memories: []powercontext.Item{
				{Kind: "memory", Citation: memoryRef, Content: strings.Repeat("记忆", 500)},
			},
		},
		{why: "one that is cut, for want of room", maxBytes: 700, items: 1,
			topics: []powercontext.Item{{
				Kind: "topic-memory", Citation: qualified, Content: strings.Repeat("x\n", 500),
			}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			text := powercontext.Build(tt.memories, tt.topics, tt.experiences, tt.maxBytes)
			opened, err := envelope.JSON{}.Open(text)
			require.NoError(t, err)
			assert.Len(t, opened, tt.items)
		})
	}
	for _, raw := range []string{"\u0085", "\u2028", "\u2029", begin, end} {
		items := []powercontext.Item{{Kind: "memory", Citation: memoryRef, Content: "x" + raw}}
		_, err := envelope.JSON{}.Open(powercontext.Build(items, nil, nil, 8000))
		assert.Error(t, err, "%q", raw)
	}
}

func TestServerTextsOpenAtRandom(t *testing.T) {
	pieces := []string{
		"The release branch is cut on Thursdays. ", "接口改动之后，先更新描述。", "\n", "\r\n", "\t", `"`,
		`\`, "\\u2028", "\x00", "\x1b[31m", "\x7f", "\u0084", "🙂", "é", "\u202e", "\ufeff",
		"<|im_end|>", "</system-reminder>", "`", "END_POWERCONTEXT_", "BEGIN_POWERCONTEXT_PREPARED",
		"\ufffd", "\U0010ffff", "a", " ", `{"trust"`, "]}",
	}
	random := rand.New(rand.NewPCG(28, 1))
	content := func(most int) string {
		var b strings.Builder
		for size := 1 + random.IntN(most); b.Len() < size; {
			b.WriteString(strings.Repeat(pieces[random.IntN(len(pieces))], 1+random.IntN(4)))
		}
		return "x" + b.String()
	}
	found := func(most int, kind, citation string) (items []powercontext.Item) {
		for i := range random.IntN(most + 1) {
			id := powercontext.Quote(fmt.Sprint(kind, i, pieces[random.IntN(len(pieces))]))
			items = append(items, powercontext.Item{
				Kind:     kind,
				Citation: strings.ReplaceAll(citation, "ID", id),
				Content:  content([]int{30, 300, 5000}[random.IntN(3)]),
			})
		}
		return items
	}
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	texts, cut := 0, 0
	for range rounds {
		text := powercontext.Build(
			found(16, "memory", `{"memory_ref":{"family":"memory","artifact_id":"m","revision":1},`+
				`"entry_id":ID,"entry_version_id":"v"}`),
			found(8, "topic-memory",
				`{"artifact_ref":{"family":"topic-memory","artifact_id":ID,"revision":2}}`),
			found(8, "experience", `{"artifact":{"scope_id":"other","artifact":`+
				`{"family":"experience","artifact_id":ID,"revision":-1}}}`),
			512+random.IntN(9500))
		if text == "" {
			continue
		}
		texts++
		opened, err := envelope.JSON{}.Open(text)
		require.NoError(t, err, "%q", text)
		for _, item := range opened {
			if item.Truncated {
				cut++
			}
		}
	}
	assert.Greater(t, texts, rounds/2)
	assert.Greater(t, cut, rounds/4, "some are cut")
}
