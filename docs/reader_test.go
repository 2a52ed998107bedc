// Package docs_test holds the documents of this folder against the program.
package docs_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/numbers"
)

// question is a text and the parameters to read it with. The members are those of reader.py's
// Reader but for the text.
type question struct {
	Text    []byte   `json:"text"`
	Notice  string   `json:"notice"`
	Begin   string   `json:"begin"`
	End     string   `json:"end"`
	Trust   string   `json:"trust"`
	Scope   string   `json:"scope"`
	Classes []string `json:"classes"`

	Bare     bool `json:"bare"`
	Omitted  bool `json:"omitted"`
	Checksum bool `json:"checksum"`
}

// renderer is that of the parameters.
func (q *question) renderer() envelope.JSON {
	j := envelope.JSON{
		Wrapper: envelope.Wrapper{Notice: q.Notice, Begin: q.Begin, End: q.End},
		Trust:   q.Trust, Scope: q.Scope,
		Bare: q.Bare, Omitted: q.Omitted, Checksum: q.Checksum,
	}
	for _, class := range q.Classes {
		j.Escape |= classes[class]
	}
	return j
}

// answer is what a reader says of a text.
type answer struct {
	Fault  string `json:"fault"` // "" is none
	Offset int    `json:"offset"`
	Item   int    `json:"item"`
	Items  []item `json:"items"`
}

type item struct {
	Kind      string `json:"kind"`
	Citation  string `json:"citation"`
	Content   string `json:"content"`
	Truncated bool   `json:"truncated"`
}

// driver answers questions, one a line, with reader.py.
const driver = `
import base64, json, sys
sys.path.insert(0, ".")
sys.dont_write_bytecode = True
from reader import Reader, Refused
for line in sys.stdin:
    q = json.loads(line)
    text = base64.b64decode(q.pop("text"))
    a = {"fault": "", "offset": 0, "item": -1, "items": []}
    try:
        a["items"] = Reader(**q).read(text)
    except Refused as r:
        a.update(fault=r.fault, offset=r.offset, item=r.item)
    print(json.dumps(a))
`

// The reader that was written from format.md says of every text what Open says: the items, or the
// same fault at the same byte of the same item.
func TestReader(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3, so that reader.py is not tried")
	}
	_, err = os.ReadFile("reader.py") // so that go test knows that the result depends on it
	require.NoError(t, err)
	questions := slices.Concat(vectors(t), refusals(t), mutations(t), lines())
	var in bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, q := range questions {
		require.NoError(t, encoder.Encode(q))
	}
	command := exec.Command(python, "-c", driver)
	command.Stdin, command.Stderr = &in, os.Stderr
	out, err := command.Output()
	require.NoError(t, err)
	decoder := json.NewDecoder(bytes.NewReader(out))
	faults := map[string]int{}
	for _, q := range questions {
		var got answer
		require.NoError(t, decoder.Decode(&got))
		want := open(t, q)
		faults[want.Fault]++
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Open (-) and reader.py (+) differ: %s\n%q", diff, q.Text)
		}
	}
	t.Logf("%d texts: %v", len(questions), faults)
	for fault := range faultNames {
		assert.NotZero(t, faults[fault], "no text has the fault %q", fault)
	}
	assert.NotZero(t, faults[""], "no text is intact")
}

// faultNames are those of format.md.
var faultNames = map[string]error{
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

var classes = map[string]envelope.Escape{
	"controls":  envelope.EscapeControls,
	"invisible": envelope.EscapeInvisible,
	"markup":    envelope.EscapeMarkup,
	"nonascii":  envelope.EscapeNonASCII,
}

// open is what JSON.Open says.
func open(t *testing.T, q question) answer {
	delivered, err := q.renderer().Open(string(q.Text))
	a := answer{Item: -1, Items: []item{}}
	if err != nil {
		var e *envelope.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "text", e.Field, "%v", err)
		a.Offset, a.Item = e.Offset, e.Item
		for name, fault := range faultNames {
			if errors.Is(err, fault) {
				a.Fault = name
			}
		}
		require.NotEmpty(t, a.Fault, "%v", err)
		return a
	}
	for _, d := range delivered {
		a.Items = append(a.Items, item{
			d.Kind, string(d.Citation.(json.RawMessage)), d.Content, d.Truncated,
		})
	}
	return a
}

func plainQuestion() question {
	w := envelope.PowerContextV1
	return question{
		Notice: w.Notice, Begin: w.Begin, End: w.End,
		Trust: "untrusted_history", Classes: []string{},
	}
}

// parameters are those of a vector.
type parameters struct {
	Scope                   string
	Escape                  []string
	Bare, Omitted, Checksum bool
}

// question is that of a text with the parameters.
func (p *parameters) question(text []byte) question {
	q := plainQuestion()
	q.Text, q.Scope = text, p.Scope
	q.Classes = append(q.Classes, p.Escape...)
	q.Bare, q.Omitted, q.Checksum = p.Bare, p.Omitted, p.Checksum
	return q
}

// vectors are the texts of the conformance suite that a reader accepts.
func vectors(t *testing.T) (questions []question) {
	for _, data := range vectorFiles(t, "json-*.json", "options/*.json") {
		var v struct {
			Case parameters
			Text *string
		}
		require.NoError(t, json.Unmarshal(data, &v))
		if v.Text != nil {
			questions = append(questions, v.Case.question([]byte(*v.Text)))
		}
	}
	require.NotEmpty(t, questions, "no vectors")
	return questions
}

// refusals are the texts of the conformance suite that a reader refuses.
func refusals(t *testing.T) (questions []question) {
	for _, data := range vectorFiles(t, "refused/*.json") {
		var v struct {
			Case    parameters
			Text    string
			TextHex string `json:"text_hex"`
		}
		require.NoError(t, json.Unmarshal(data, &v))
		text, err := hex.DecodeString(v.TextHex)
		require.NoError(t, err)
		questions = append(questions, v.Case.question(append(text, v.Text...)))
	}
	return questions
}

// vectorFiles returns what stands in the files of each pattern, of which there must be some.
func vectorFiles(t *testing.T, patterns ...string) (files [][]byte) {
	for _, pattern := range patterns {
		names, err := filepath.Glob(filepath.Join("..", "testdata", "vectors", pattern))
		require.NoError(t, err)
		require.NotEmpty(t, names, pattern)
		for _, name := range names {
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			files = append(files, data)
		}
	}
	return files
}

// mutations are texts with one change each, or a few.
func mutations(t *testing.T) (questions []question) {
	rng := rand.New(rand.NewPCG(7, 7))
	n := 3000
	if testing.Short() {
		n = 1000
	}
	for _, q := range rendered(t, rng) {
		questions = append(questions, q)
		for _, change := range changes {
			changed := q
			changed.Text = bytes.Replace(q.Text, []byte(change[0]), []byte(change[1]), 1)
			if bytes.Equal(changed.Text, q.Text) {
				continue
			}
			questions = append(questions, changed)
			if q.Checksum {
				questions = append(questions, checked(changed))
			}
		}
	}
	sources := append(vectors(t), questions...)
	for range n {
		q := sources[rng.IntN(len(sources))]
		q.Text = bytes.Clone(q.Text)
		for range 1 + rng.IntN(2) {
			q.Text = mutate(rng, q.Text, sources[rng.IntN(len(sources))].Text)
		}
		questions = append(questions, q)
		if q.Checksum {
			questions = append(questions, checked(q))
		}
	}
	return questions
}

// checked is q with the checksum of its text, so that what else is wrong shows.
func checked(q question) question {
	start, end := 0, bytes.LastIndex(q.Text, []byte(`,"crc32c":"`))
	if !q.Bare {
		start = bytes.IndexByte(q.Text, '{')
	}
	if end < 0 || start < 0 || start > end || len(q.Text) < end+19 {
		return q
	}
	sum := crc32.Checksum(q.Text[start:end], crc32.MakeTable(crc32.Castagnoli))
	q.Text = bytes.Clone(q.Text)
	copy(q.Text[end+11:], fmt.Sprintf("%08x", sum))
	return q
}

// rendered are texts of several renderers.
func rendered(t *testing.T, rng *rand.Rand) (questions []question) {
	own := question{Notice: "a\nb", Begin: "_citation", End: "END-citation<x>", Classes: []string{}}
	// Markers that stand in what is constant.
	names := question{Notice: "c", Begin: "citation", End: "untrusted_history", Classes: []string{}}
	all := []question{
		plainQuestion(), plainQuestion(), plainQuestion(), own, names,
		plainQuestion(), plainQuestion(), names,
	}
	all[1].Scope, all[1].Trust = "project:demo", "data"
	all[2].Classes = []string{"controls", "invisible", "markup", "nonascii"}
	all[3].Classes = []string{"controls", "markup"}
	all[5].Bare, all[6].Omitted, all[6].Checksum = true, true, true
	all[7].Bare, all[7].Omitted, all[7].Checksum = true, true, true
	for i := range all {
		q := &all[i]
		if q.Trust == "" {
			q.Trust = "untrusted_history"
		}
		ref := envelope.ArtifactRef{Family: "memory", ArtifactID: "m<1>", Revision: -18}
		items := []envelope.Item{
			{Citation: envelope.MemoryCitation{Memory: ref, EntryID: "e1", EntryVersionID: "v1"},
				Content: "a\"\\\b\t\n\f\r\x00\x1f\x7f\u0085\u2028\u2029é\u00ad\u115f\U0001f600" +
					"\U000e0001<&`/"},
			{Citation: envelope.MemoryCitation{Scope: "project:demo", Memory: ref, EntryID: "e2",
				EntryVersionID: "v2"}, Content: q.Begin + "\u2028" + q.End + q.End},
			{Kind: "experience", Citation: envelope.ArtifactCitation{Artifact: ref}, Content: "x"},
			{Kind: "experience", Citation: envelope.ArtifactCitation{Scope: "other", Artifact: ref},
				Content: strings.Repeat("中文<>", 90)},
			{Kind: "k\u2029" + q.End, Content: "1 … 2…", Citation: json.RawMessage(
				`{"url":"\u0041\/b` + "\u2028" + q.Begin + `é<",` +
					`"n":[1.50,-0,1e-999,9007199254740993],"o":{"a":[{}]}}`)},
			{Kind: "like one", Content: "y", Citation: json.RawMessage(
				`{"artifact_ref":{"family":"f","artifact_id":"a","revision":1.0}}`)},
			{Kind: "deep", Content: "z", Citation: json.RawMessage(
				`{"a":` + strings.Repeat("[", 59) + strings.Repeat("]", 59) + `}`)},
		}
		rng.Shuffle(len(items), func(a, b int) { items[a], items[b] = items[b], items[a] })
		j := q.renderer()
		text, report, err := j.Append(nil, items, envelope.Budget{MaxItemBytes: 700})
		require.NoError(t, err)
		require.Equal(t, len(items)-1, report.Count(envelope.Included))
		require.Equal(t, 1, report.Count(envelope.Truncated))
		q.Text = text
		short := *q
		text, _, err = j.Append(nil, items[:2], envelope.Budget{})
		require.NoError(t, err)
		short.Text = text
		questions = append(questions, *q, short)
	}
	return questions
}

// changes replace one text by another.
var changes = [][2]string{
	{`{"trust"`, ` {"trust"`}, {`{"trust"`, `{"x":1,"trust"`}, {`{"trust"`, "\ufeff{\"trust\""},
	{`"trust":"`, `"trust":"x`}, {`"trust":"`, `"trust":1,"`}, {`"items":[`, `"items":{},"m":[`},
	{`"items":[`, `"items":[7,`}, {`"items":[`, `"items":["citation",`},
	{`"items":[`, `"items":[{},`}, {`"items":[`, `"items": [`}, {`}]}`, `}] }`}, {`}]}`, `},]}`},
	{`}]}`, `}]}{}`}, {`}]}`, `}]`}, {`}]}`, `}],"omitted":1}`}, {`}]}`, `}]} `},
	{`"content":"`, `"content": "`}, {`"content":"`, `"Content":"`},
	{`"content":"`, `"c\u006fntent":"`}, {`"content":"`, `"content":7,"x":"`},
	{`"content":"`, `"content":"","content":"`}, {`"content":"`, `"content":"\u0041`},
	{`"content":"`, `"content":"\/`}, {`"content":"`, `"content":"\u000A`},
	{`"content":"`, `"content":"\u00e9`}, {`"content":"`, `"content":"\ud83d`},
	{`"content":"`, `"content":"\ude00`}, {`"content":"`, `"content":"\ud83d\u0041`},
	{`"content":"`, `"content":"\x`}, {`"content":"`, `"content":"\u00g0`},
	{`"content":"`, "\"content\":\"\xff"}, {`"content":"`, "\"content\":\"\xed\xa0\x80"},
	{`"content":"`, "\"content\":\"\xc0\x8a"}, {`"content":"`, "\"content\":\"\u0085"},
	{`"content":"`, "\"content\":\"\t"}, {`"content":"`, "\"content\":\"\x7f"},
	{`"content":"`, `"content":" \u2028\u3000","truncated":false},{"citation":{},"content":"`},
	{`"content":"`, `"content":"…","truncated":true},{"citation":{},"content":"`},
	{`"content":"`, `"content":"ab…","truncated":true},{"citation":{},"content":"`},
	{`"truncated":false`, `"truncated":true`}, {`"truncated":true`, `"truncated":false`},
	{`"truncated":false`, `"truncated":0`}, {`"truncated":false`, `"truncated":null`},
	{`"truncated":false`, `"truncated":falsy`}, {`"truncated":false`, `"truncated":false,"x":1`},
	{`"truncated":false`, `"kind":"k"`}, {`,"truncated":false`, ``},
	{`"truncated":false}`, `"truncated":false,"kind":"memory"}`},
	{`"truncated":false}`, `"truncated":false,"kind":""}`},
	{`"truncated":false}`, `"truncated":false,"kind":" "}`},
	{`"truncated":false}`, `"truncated":false,"kind":null}`}, {`"kind":"`, `"kind":"\u0061`},
	{`"experience"`, `"k"`}, {`"memory_ref"`, `"memory"`}, {`"artifact_ref"`, `"artifact"`},
	{`"memory_ref":{`, `"memory_ref":null,"x":{`},
	{`"artifact_ref":{`, `"artifact_ref":{"scope_id":"s",`}, {`"scope_id":"`, `"scope_id":"x`},
	{`"scope_id":"project:demo"`, `"scope_id":""`},
	{`"scope_id":"other"`, `"scope_id":"project:demo"`}, {`"scope_id":"other"`, `"scope_id":""`},
	{`"scope_id":"`, `"scope_id":null,"x":"`}, {`"scope_id":"other",`, ``},
	{`"family":"memory",`, ``}, {`"family":"memory"`, `"family":null`},
	{`"family":"memory"`, `"family":""`}, {`"family":"memory"`, `"family":7`},
	{`"artifact_id":"`, `"artifact_id":null,"x":"`},
	{`"artifact_id":"`, `"artifact_id":"\u0020`}, {`,"revision":-18`, ``},
	{`"revision":-18`, `"revision":"-18"`}, {`"revision":-18`, `"revision":-0`},
	{`"revision":-18`, `"revision":0`}, {`"revision":-18`, `"revision":18.0`},
	{`"revision":-18`, `"revision":9223372036854775807`},
	{`"revision":-18`, `"revision":9223372036854775808`},
	{`"revision":-18`, `"revision":-9223372036854775808`}, {`"revision":-18`, `"revision":null`},
	{`"revision":-18`, `"revision":-`}, {`"revision":-18`, `"revision":018`},
	{`"revision":-18`, `"revision":1.`}, {`"revision":-18`, `"revision":1e+`},
	{`"revision":-18`, `"revision": -18`}, {`"entry_id":"e1"`, `"entry_id":"e2"`},
	{`"entry_id":"e1"`, `"entry_id":" "`}, {`"entry_id":"e1",`, ``},
	{`"entry_id":"e1"`, `"entry_id":null`}, {`"entry_id":"e1"`, `"entry_id":1`},
	{`"entry_id":"e1","entry_version_id":"v1"`, `"entry_version_id":"v1","entry_id":"e1"`},
	{`"entry_version_id":"v1"`, `"entry_version_id":"v1","x":[]`},
	{`"entry_id"`, `"entry_i\u0064"`}, {`{"artifact_ref":`, `{"entry_id":"e","artifact_ref":`},
	{`{"artifact_ref":`, `{"memory_ref":null,"artifact_ref":`}, {`{"a":[`, `{"a":[[`},
	{`]}`, `]]}`}, {`[[`, `[[[]],`}, {`[[`, `[[[[]],`}, {`{"a":[`, `{"a":1,"\u0061":[`},
	{`1.50`, `1.5`}, {`1.50`, `tru`}, {`1.50`, `nul`}, {`1.50`, `[1,]`}, {`1.50`, `{"a":1,}`},
	{`1.50`, `{"a"1}`}, {`1.50`, `{1}`}, {`1.50`, `"\ud83d`}, {`\u0041`, `A`}, {`\/`, `/`},
	{`]}`, `],"omitted":1}`}, {`]}`, `],"crc32c":"00000000"}`}, {`"omitted":`, `"omitted":1`},
	{`"omitted":0`, `"omitted":-0`}, {`"omitted":0`, `"omitted":0.0`},
	{`"omitted":0`, `"omitted":1e1`}, {`"omitted":0`, `"omitted":2147483647`},
	{`"omitted":0`, `"omitted":2147483648`}, {`"omitted":0`, `"omitted":"0"`},
	{`"omitted":0`, `"omitted": 0`}, {`"omitted":0`, `"omitted":1e999`}, {`,"omitted":0`, ``},
	{`,"omitted":0`, `,"omitted":0,"x":1`}, {`"crc32c":"`, `"crc32c":"0`},
	{`"crc32c":"`, `"crc32c": "`}, {`,"crc32c":"`, `, "crc32c":"`},
	{`"crc32c":"`, `"crc32c":0,"x":"`}, {`"crc32c"`, `"crc32C"`}, {`"crc32c"`, `"crc32\u0063"`},
	{`,"crc32c":`, `,"omitted":0,"crc32c":`}, {"PowerContext", "x"},
	{"not instructions", "or instructions"}, {"\n\n", "\n"}, {"BEGIN_", "BEGIN-"},
	{"\n{", "\r\n{"}, {"\nEND", "\nEND\nEND"}, {"\nEND", "\nEnd"}, {"\nEND", "END"},
	{"\n{", "\n{\n"}, {"untrusted_history", "trusted_history"},
}

// lines are texts with a line of their own each, which no change of another one gives.
func lines() (questions []question) {
	items := func(items ...string) string {
		return `{"trust":"untrusted_history","items":[` + strings.Join(items, ",") + `]}`
	}
	cited := func(id int, content string, cut bool) string {
		return fmt.Sprintf(`{"citation":{"n":%d},"content":"%s","truncated":%v}`, id, content, cut)
	}
	texts := []string{
		``, `{}`, `7`, `[]`, `{`, `{"`, `{"trust"`, `{"trust":"`, `{"trust":"x"}`, items(),
	}
	for _, end := range []string{
		`\ud83d`, `\ud83d\`, `\ud83d\u`, `\ud83d\u0`, `\ud83d\u0g`, `\ud83d\u123`, `\ud83d\u123g`,
		`\ud83d\ude0`, `\ud83dx`, `\ud83d"`, `\ude00`, `\ude00\u`, `\`, `\u`, `\u00`,
	} {
		texts = append(texts, `{"trust":"`+end)
	}
	for size := range 8 { // a cut of 4 bytes, and another content
		other := strings.Repeat("x", 1+size)
		texts = append(texts,
			items(cited(1, "a…", true), cited(2, other, false)),
			items(cited(1, other, false), cited(2, "a…", true)),
			items(cited(1, other, false), cited(2, "a…", true), cited(3, "y", false)),
			items(cited(1, "y", false), cited(2, "a…", true), cited(3, other+"…", true)))
	}
	// Whether an object has a shape shows where its members are in another order.
	for _, revision := range []string{
		"9223372036854775807", "9223372036854775808", "-9223372036854775808",
		"-9223372036854775809", "10000000000000000000", "0", "-0", "1.0", "1e0",
	} {
		texts = append(texts, items(`{"citation":{"artifact_ref":{"revision":`+revision+
			`,"family":"f","artifact_id":"a"}},"content":"x","truncated":false}`))
	}
	for _, number := range numbers.Crooked {
		texts = append(texts, items(`{"citation":{"n":[-1,`+number.Text+
			`]},"content":"x","truncated":false}`))
	}
	for _, line := range texts {
		q := plainQuestion()
		bare := q
		q.Text = []byte(q.Notice + "\n\n" + q.Begin + "\n" + line + "\n" + q.End)
		bare.Bare, bare.Text = true, []byte(line)
		questions = append(questions, q, bare)
	}
	for _, line := range []string{ // with the number of what was left out, and without a frame
		`{"trust":"untrusted_history","items":[],"omitted":0}`,
		`{"trust":"untrusted_history","items":[],"omitted":1}`,
		`{"trust":"untrusted_history","items":[],"omitted":2147483648}`,
		`{"trust":"untrusted_history","items":[],"omitted":01}`,
		" \u2028\n", "x\nBEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1",
		"BEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1\r\n",
	} {
		q := plainQuestion()
		q.Bare, q.Omitted, q.Text = true, true, []byte(line)
		questions = append(questions, q)
	}
	return questions
}

// snippets are what a text is changed with.
var snippets = []string{
	`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, ` `, "\n", "\r", `\u`, `\u00`, `\ud83d\ude00`,
	`\uD83D`, "\u2028", "\u0085", "é", "\xff", "\xe2\x80", "…", `null`, `true`, `0`, `-`, `.`,
	`e`, `1e5`, `,"a":1`, `"a":`, `[]`, `{}`, `"x"`, `,{}`,
	`{"citation":{},"content":"x","truncated":false}`,
	`,{"citation":{},"content":"y","truncated":false}`,
	`,{"citation":{"a":1},"content":"0123456789012345678901234567890123456789","truncated":false}`,
	`"truncated":true`, `"kind":"memory"`, "END_POWERCONTEXT_PREPARED_CONTEXT_V1",
	"BEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1", "_citation", "<", "&", "\u200b", "\U000e0001",
	"\x7f",
}

// mutate changes text in one place.
func mutate(rng *rand.Rand, text, other []byte) []byte {
	if len(text) == 0 {
		return text
	}
	// Most of a text is the frame, and most changes there say the same.
	place := func() int {
		from := 0
		if line := bytes.IndexByte(text, '{'); line > 0 && rng.IntN(10) > 0 {
			from = line
		}
		return from + rng.IntN(len(text)-from)
	}
	at := place()
	end := min(len(text), at+1+rng.IntN(8))
	var middle []byte
	switch rng.IntN(8) {
	case 0: // a byte is another one
		middle, end = []byte{byte(rng.IntN(256))}, at+1
	case 1: // some are gone
	case 2: // some stand twice
		middle = append(bytes.Clone(text[at:end]), text[at:end]...)
	case 3: // the end is gone
		end = len(text)
	case 4: // the middle is gone
		end = max(at, place())
	case 5: // the rest is that of another
		end = len(text)
		middle = other[min(at, len(other)):]
	case 6:
		middle, end = []byte(snippets[rng.IntN(len(snippets))]), at
	default:
		middle = []byte(snippets[rng.IntN(len(snippets))])
	}
	return bytes.Join([][]byte{text[:at], middle, text[end:]}, nil)
}
