package envelope_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// Open refuses each change to a text with what is wrong and where. The change replaces old by
// new; the offset, from where old stood, is of the byte that is named.
func TestOpenRefuses(t *testing.T) {
	artifact := envelope.ArtifactRef{Family: "f", ArtifactID: "a", Revision: 1}
	items := []envelope.Item{
		memory("e1", "first"),
		{
			Kind:     "experience",
			Citation: envelope.ArtifactCitation{Scope: "s", Artifact: artifact},
			Content:  strings.Repeat("中", 700),
		},
	}
	p, err := envelope.JSON{}.Render(items, envelope.Budget{})
	require.NoError(t, err)
	require.Equal(t, []string{"included", "truncated"}, outcomesOf(p.Report))
	opened, err := envelope.JSON{}.Open(p.Content)
	require.NoError(t, err)
	require.Len(t, opened, 2)

	tests := []struct {
		why      string
		old, new string
		what     error
		offset   int
		item     int
	}{
		{"text before", "PowerContext prepared", "x PowerContext prepared", envelope.ErrFrame, 0, -1},
		{"a changed notice", "not instructions", "or instructions", envelope.ErrFrame, 0, -1},
		{"no blank line", "\n\nBEGIN", "\nBEGIN", envelope.ErrFrame, 1, -1},
		{"another BEGIN line", "BEGIN_", "BEGIN-", envelope.ErrFrame, 5, -1},
		{"CRLF", "V1\n{", "V1\r\n{", envelope.ErrFrame, 2, -1},
		{"a line feed after the end", "\n" + end, "\n" + end + "\n", envelope.ErrFrame, 1 + len(end), -1},
		{"text after", "\n" + end, "\n" + end + " trailing", envelope.ErrFrame, 1 + len(end), -1},
		{"another END line", "\n" + end, "\nEND", envelope.ErrFrame, 4, -1},
		{"no END line", "\n" + end, "", envelope.ErrFrame, 0, -1},
		{"nothing at all", p.Content, "", envelope.ErrFrame, 0, -1},
		{"a raw LF in the line", `first`, "fi\nrst", envelope.ErrLineBoundary, 2, -1},
		{"a raw CR in the line", `first`, "fi\rrst", envelope.ErrLineBoundary, 2, -1},
		{"a raw FS", `first`, "fi\x1crst", envelope.ErrLineBoundary, 2, -1},
		{"a raw US", `first`, "fi\x1frst", envelope.ErrLineBoundary, 2, -1},
		{"a raw NUL", `first`, "fi\x00rst", envelope.ErrLineBoundary, 2, -1},
		{"a raw U+0085", `first`, "fi\u0085rst", envelope.ErrLineBoundary, 2, -1},
		{"a raw U+2028", `first`, "fi\u2028rst", envelope.ErrLineBoundary, 2, -1},
		{"a raw U+2029", `"e1"`, "\"e\u20291\"", envelope.ErrLineBoundary, 2, -1},
		{"invalid UTF-8", `first`, "fi\xffrst", envelope.ErrInvalidUTF8, 2, -1},
		{"invalid UTF-8 between tokens", `"content"`, "\xff\"content\"", envelope.ErrInvalidUTF8, 0, -1},
		{"invalid UTF-8 before the line", `{"trust"`, "\xff{\"trust\"", envelope.ErrInvalidUTF8, 0, -1},
		{"a second END", `first`, "fi" + end, envelope.ErrMarker, 2, -1},
		{"a second BEGIN", `first`, begin, envelope.ErrMarker, 0, -1},
		{"an envelope in the envelope", `first`, strings.ReplaceAll(p.Content, "\n", "|"), envelope.ErrMarker, strings.Index(p.Content, begin), -1},
		{"a trailing comma", `}]}`, `},]}`, envelope.ErrSyntax, 2, -1},
		{"a second value", `}]}` + "\n", `}]}{}` + "\n", envelope.ErrSyntax, 3, -1},
		{"cut short", `}]}`, `}]`, envelope.ErrSyntax, 2, -1},
		{"a lone surrogate escape", `first`, `\ud83d`, envelope.ErrLoneSurrogate, 0, -1},
		{"a repeated member", `"content":"first"`, `"content":"first","content":"first"`, envelope.ErrDuplicateName, 18, -1},
		{"a repeated member of a citation", `"family":"memory"`, `"family":"memory","family":"memory"`, envelope.ErrDuplicateName, 18, -1},
		{"an unknown member", `"truncated":false}`, `"truncated":false,"x":1}`, envelope.ErrMember, 18, 0},
		{"an unknown member on top", `{"trust"`, `{"x":1,"trust"`, envelope.ErrMember, 1, -1},
		{"another one behind", `}]}` + "\n", `}],"x":1}` + "\n", envelope.ErrMember, 3, -1},
		{"a missing member", `"truncated":false`, `"kind":"k"`, envelope.ErrMember, 0, 0},
		{"a missing last member", `,"truncated":false`, ``, envelope.ErrMember, -1 << 20, 0},
		{"no member for the items", p.Content[strings.Index(p.Content, `,"items"`) : strings.Index(p.Content, "\n"+end)-1], ``, envelope.ErrMember, -1 << 20, -1},
		{"another order", `"content":"first","truncated":false`, `"truncated":false,"content":"first"`, envelope.ErrMember, 0, 0},
		{"another spelling", `"content"`, `"Content"`, envelope.ErrMember, 0, 0},
		{"a member's name escaped", `"content":"first"`, `"c\u006fntent":"first"`, envelope.ErrNotCanonical, 2, -1},
		{"another type of truncated", `"truncated":false`, `"truncated":0`, envelope.ErrMember, 12, 0},
		{"another type of content", `"first"`, `["first"]`, envelope.ErrMember, 0, 0},
		{"another type of item", `{"citation":{"memory_ref"`, `7,{"citation":{"memory_ref"`, envelope.ErrMember, 0, 0},
		{"an array among the items", `{"citation":{"memory_ref"`, `["citation"],{"citation":{"memory_ref"`, envelope.ErrMember, 0, 0},
		{"another type of items", `"items":[`, `"items":{},"more":[`, envelope.ErrMember, 8, -1},
		{"white space", `"content":"first"`, `"content": "first"`, envelope.ErrNotCanonical, 10, -1},
		{"an escape that need not be", `first`, `\u0066irst`, envelope.ErrNotCanonical, 0, -1},
		{"an escaped slash", `first`, `fi\/rst`, envelope.ErrNotCanonical, 2, -1},
		{"upper-case hexadecimal", `first`, `fi\u001Brst`, envelope.ErrNotCanonical, 7, -1},
		{"the default kind spelt out", `"content":"first","truncated":false`, `"content":"first","truncated":false,"kind":"memory"`, envelope.ErrNotCanonical, 35, -1},
		{"another trust", "untrusted_history", "trusted_history", envelope.ErrNotCanonical, 0, -1},
		{"no items", p.Content[strings.Index(p.Content, `[{`):strings.Index(p.Content, "\n"+end)], `[]}`, envelope.ErrUndeliverable, 0, -1},
		{"a blank content", `"first"`, `" \u2028\t"`, envelope.ErrUndeliverable, -1 << 20, 0},
		{"a null citation", p.Content[strings.Index(p.Content, `{"memory_ref"`):strings.Index(p.Content, `,"content":"first"`)], `null`, envelope.ErrMember, 0, 0},
		{"a citation without an id", `"entry_id":"e1"`, `"entry_id":" "`, envelope.ErrUndeliverable, -1 << 20, 0},
		{"a citation with a stray space", `"revision":18`, `"revision": 18`, envelope.ErrNotCanonical, 11, -1},
		{"truncated without an ellipsis", `"first","truncated":false`, `"first","truncated":true`, envelope.ErrUndeliverable, 0, 0},
		{"an ellipsis alone", `"first","truncated":false`, `"…","truncated":true`, envelope.ErrUndeliverable, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			at := strings.Index(p.Content, tt.old)
			require.GreaterOrEqual(t, at, 0)
			text := p.Content[:at] + tt.new + p.Content[at+len(tt.old):]
			opened, err := envelope.JSON{}.Open(text)
			require.Error(t, err)
			assert.Nil(t, opened)
			var e *envelope.Error
			require.ErrorAs(t, err, &e)
			assert.ErrorIs(t, err, tt.what)
			assert.Equal(t, "text", e.Field)
			assert.Equal(t, tt.item, e.Item)
			if tt.offset > -1<<20 {
				assert.Equal(t, at+tt.offset, e.Offset)
			}
		})
	}
}

func TestOpenRefusesADuplicate(t *testing.T) {
	items := []envelope.Item{memory("e1", "x"), memory("e2", "y")}
	p, err := envelope.JSON{}.Render(items, envelope.Budget{})
	require.NoError(t, err)
	_, err = envelope.JSON{}.Open(strings.ReplaceAll(p.Content, "e2", "e1"))
	assert.ErrorIs(t, err, envelope.ErrUndeliverable)
}

// No item follows one that was cut for want of room. A cut item that is followed was therefore cut
// for the item bound, and no other content may exceed that bound.
func TestOpenRefusesImpossibleCuts(t *testing.T) {
	items := []envelope.Item{memory("e1", "abc…"), memory("e2", "0123456789")}
	p, err := envelope.JSON{}.Render(items, envelope.Budget{})
	require.NoError(t, err)
	change := func(old, new string) error {
		require.Contains(t, p.Content, old)
		_, err := envelope.JSON{}.Open(strings.Replace(p.Content, old, new, 1))
		return err
	}
	assert.NoError(t, change("9", "9")) // nothing
	var e *envelope.Error
	require.ErrorAs(t, change(`abc…","truncated":false`, `abc…","truncated":true`), &e)
	assert.Equal(t, envelope.Error{
		Err:    envelope.ErrUndeliverable,
		Item:   0,
		Field:  "text",
		Offset: strings.Index(p.Content, `{"citation"`),
	}, *e)
	assert.NoError(t, change(`abc…","truncated":false`, `abcd…","truncated":true`),
		"10 bytes follow 7 bytes, which a bound of 10 can have made")
	assert.NoError(t, change(`0123456789","truncated":false`, `0…","truncated":true`),
		"the last may be cut for room")

	items = []envelope.Item{memory("e1", "0123456789"), memory("e2", "abc…"), memory("e3", "x")}
	p, err = envelope.JSON{}.Render(items, envelope.Budget{})
	require.NoError(t, err)
	require.ErrorAs(t, change(`abc…","truncated":false`, `abc…","truncated":true`), &e)
	assert.Equal(t, 1, e.Item)
}

// A text opens with the renderer that wrote it, and not with one that would have written it
// differently.
func TestOpenIsForOneRenderer(t *testing.T) {
	artifact := envelope.ArtifactRef{Family: "f", ArtifactID: "a", Revision: 1}
	item := envelope.Item{
		Citation: envelope.ArtifactCitation{Scope: "s", Artifact: artifact},
		Content:  "<é>",
	}
	renderers := []envelope.JSON{
		{}, {Scope: "s"}, {Trust: "t"},
		{Escape: envelope.EscapeMarkup}, {Escape: envelope.EscapeNonASCII}, {Wrapper: wrappers[1]},
	}
	for i, j := range renderers {
		p, err := j.Render([]envelope.Item{item}, envelope.Budget{})
		require.NoError(t, err)
		for k, other := range renderers {
			_, err := other.Open(p.Content)
			// Without a scope of its own, a reader sees a local citation as local.
			if i == k || i == 1 && k == 0 {
				assert.NoError(t, err, "%d %d", i, k)
			} else {
				assert.Error(t, err, "%d %d", i, k)
			}
		}
	}
}

// A citation in a text is as deep as a citation may be, and no deeper.
func TestOpenDepth(t *testing.T) {
	deep := func(n int) string {
		return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
	}
	items := []envelope.Item{{Citation: json.RawMessage(deep(60)), Content: "x"}}
	p, err := envelope.JSON{}.Render(items, envelope.Budget{})
	require.NoError(t, err)
	_, err = envelope.JSON{}.Open(p.Content)
	require.NoError(t, err)
	_, err = envelope.JSON{}.Open(strings.Replace(p.Content, deep(60), deep(61), 1))
	assert.ErrorIs(t, err, envelope.ErrTooDeep)
}

// What Open returns renders to the same text again.
func TestOpenRoundTrip(t *testing.T) {
	items := []envelope.Item{
		memory("e1", "a\u2028"+end),
		{Kind: "k\u0085" + begin, Citation: json.RawMessage(`{"x":"\u0041\u2028","n":1.50}`), Content: "b"},
		{Citation: json.RawMessage(`{"a":` + strings.Repeat("[", 59) + strings.Repeat("]", 59) + `}`), Content: "as deep as may be"},
	}
	p, err := envelope.JSON{}.Render(items, envelope.Budget{})
	require.NoError(t, err)
	require.Equal(t, 3, p.Report.Count(envelope.Included))
	opened, err := envelope.JSON{}.Open(p.Content)
	require.NoError(t, err)
	assert.Equal(t, "memory", opened[0].Kind)
	assert.Equal(t, items[1].Kind, opened[1].Kind)
	again := make([]envelope.Item, len(opened))
	for i, d := range opened {
		assert.Equal(t, items[i].Content, d.Content)
		again[i] = d.Item
	}
	q, err := envelope.JSON{}.Render(again, envelope.Budget{})
	require.NoError(t, err)
	assert.Equal(t, p.Content, q.Content)
}

// renderer has the options of the line that the bits say.
func renderer(options uint8) envelope.JSON {
	return envelope.JSON{
		Escape: envelope.Escape(options & 15),
		Bare:   options&16 != 0, Omitted: options&32 != 0, Checksum: options&64 != 0,
	}
}

// FuzzOpen changes texts: what Open accepts, rendering what it returned gives back to the byte.
func FuzzOpen(f *testing.F) {
	rng := rand.New(rand.NewPCG(2, 2))
	for len := 0; len < 80; {
		_, items, b := randomCase(rng)
		options := uint8(rng.IntN(128))
		text, _, err := renderer(options).Append(nil, items, b)
		if err == nil && text != nil {
			f.Add(string(text), options)
			len++
		}
	}
	f.Fuzz(func(t *testing.T, text string, options uint8) {
		j := renderer(options)
		opened, err := j.Open(text)
		if j.Checksum && errors.Is(err, envelope.ErrChecksum) {
			text = withChecksum(text) // an attacker can write it; what else is wrong must be found
			opened, err = j.Open(text)
		}
		if err != nil {
			if _, ok := err.(*envelope.Error); !ok {
				t.Fatalf("%T", err)
			}
			return
		}
		requireBounded(t, j, text)
		decoded := decodeLine(t, text)
		if len(opened) != len(decoded.Items) || j.Omitted != (decoded.Omitted != nil) ||
			j.Checksum != (decoded.CRC32C != nil) {
			t.Fatalf("%q opens to %d items", text, len(opened))
		}
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
			if j.Omitted {
				if *decoded.Omitted > 1000 {
					return
				}
				whole = append(whole, make([]envelope.Item, *decoded.Omitted)...) // uncited
			}
			again, _, err := j.Append(nil, whole, unlimited)
			if err != nil || string(again) != text {
				t.Fatalf("%q renders to %q (%v)", text, again, err)
			}
		}
	})
}

// withChecksum replaces the checksum at the end of a line by the right one.
func withChecksum(text string) string {
	at := strings.LastIndex(text, `,"crc32c":"`)
	digits := at + len(`,"crc32c":"`)
	if at < 0 || len(text) < digits+8 {
		return text
	}
	line := text[:at]
	if i := strings.LastIndexByte(line, '\n'); i >= 0 {
		line = line[i+1:]
	}
	return text[:digits] + fmt.Sprintf("%08x", twinCRC32C(line)) + text[digits+8:]
}

// FuzzFilter keeps some of the items of a text: the result opens, its items are the kept ones, each
// in its own bytes, and with all of them kept it is the text.
func FuzzFilter(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 3))
	for n := 0; n < 80; {
		_, items, b := randomCase(rng)
		options := uint8(rng.IntN(128))
		text, _, err := renderer(options).Append(nil, items, b)
		if err == nil && text != nil {
			f.Add(string(text), options, rng.Uint64())
			n++
		}
	}
	f.Fuzz(func(t *testing.T, text string, options uint8, mask uint64) {
		j := renderer(options)
		opened, err := j.Open(text)
		called := 0
		whole, filterErr := j.Filter(text, func(int, envelope.Delivered) bool {
			called++
			return true
		})
		require.Equal(t, err, filterErr)
		require.Equal(t, len(opened), called)
		if err != nil || len(opened) == 0 {
			require.Empty(t, whole)
			return
		}
		require.Equal(t, text, whole, "all of them")
		var kept []envelope.Delivered
		part, err := j.Filter(text, func(i int, d envelope.Delivered) bool {
			require.Equal(t, opened[i], d)
			keep := mask>>(i%64)&1 == 1
			if keep {
				kept = append(kept, d)
			}
			return keep
		})
		require.NoError(t, err)
		if len(kept) == 0 {
			require.Empty(t, part, "none of them")
			return
		}
		again, err := j.Open(part)
		require.NoError(t, err, "%q", part)
		require.Equal(t, kept, again)
		requireBounded(t, j, part)
		for _, one := range rawItems(t, part) {
			require.Contains(t, rawItems(t, text), one, "its bytes are unchanged")
		}
		if was, is := decodeLine(t, text).Omitted, decodeLine(t, part).Omitted; j.Omitted {
			require.Equal(t, min(*was+len(opened)-len(kept), math.MaxInt32), *is)
		}
	})
}

// rawItems are the items of a text as they stand there.
func rawItems(t *testing.T, text string) (items []string) {
	_, line, _ := strings.Cut("\n"+text, "\n"+`{"trust":`)
	line, _, _ = strings.Cut(line, "\n")
	var decoded struct{ Items []json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(`{"trust":`+line), &decoded))
	for _, item := range decoded.Items {
		items = append(items, string(item))
	}
	return items
}

func TestFilter(t *testing.T) {
	items := []envelope.Item{
		memory("e1", "one"), memory("e2", strings.Repeat("two", 1000)), memory("e3", "three"),
		memory("e4", strings.Repeat("four", 100)),
	}
	j := envelope.JSON{}
	p, err := j.Render(items, envelope.Budget{MaxBytes: 3200})
	require.NoError(t, err)
	require.Equal(
		t, []string{"included", "truncated", "included", "truncated"}, outcomesOf(p.Report),
	)
	for why, tt := range map[string]struct{ keep, truncated string }{
		"all":                    {"0123", "0101"},
		"the first":              {"0", "0"},
		"one that was cut":       {"1", "1"},
		"the last":               {"3", "1"},
		"both that were cut":     {"13", "11"},
		"a cut one before whole": {"12", "10"},
		"the outer ones":         {"03", "01"},
	} {
		part, err := j.Filter(p.Content, func(i int, _ envelope.Delivered) bool {
			return strings.Contains(tt.keep, strconv.Itoa(i))
		})
		require.NoError(t, err, why)
		opened, err := j.Open(part)
		require.NoError(t, err, why)
		require.Len(t, opened, len(tt.keep), why)
		whole, err := j.Open(p.Content)
		require.NoError(t, err)
		for n, d := range opened {
			assert.Equal(t, whole[tt.keep[n]-'0'], d, why)
			assert.Equal(t, tt.truncated[n] == '1', d.Truncated, why)
		}
	}
	none, err := j.Filter(p.Content, func(int, envelope.Delivered) bool { return false })
	require.NoError(t, err)
	assert.Empty(t, none)

	counting := envelope.JSON{Bare: true, Omitted: true, Checksum: true}
	line, _, err := counting.Append(nil, items, envelope.Budget{MaxItems: 3})
	require.NoError(t, err)
	first := func(i int, _ envelope.Delivered) bool { return i == 0 }
	part, err := counting.Filter(string(line), first)
	require.NoError(t, err)
	assert.Contains(t, part, `"items":[{`)
	assert.Contains(t, part, `],"omitted":3,"crc32c":"`, "one that was, and two more")
	_, err = counting.Open(part)
	assert.NoError(t, err)

	_, err = j.Filter(p.Content+"\n", func(int, envelope.Delivered) bool {
		t.Error("called for a text that is not intact")
		return true
	})
	assert.ErrorIs(t, err, envelope.ErrFrame)
	_, err = envelope.JSON{Trust: "\xff"}.Filter(p.Content, nil)
	assert.ErrorIs(t, err, envelope.ErrOption)
}

func TestDecodeCitation(t *testing.T) {
	type page struct {
		URL  string `json:"url"`
		Line int    `json:"line"`
	}
	want := page{"https://example.org/<a>\u2028", 7}
	cited := envelope.MemoryCitation{
		"s", envelope.ArtifactRef{Family: "f", ArtifactID: "a", Revision: 1 << 60}, "e", "v",
	}
	text, _, err := envelope.JSON{Escape: 15}.Append(nil, []envelope.Item{
		{Citation: want, Content: "x"}, {Citation: cited, Content: "y"},
	}, envelope.Budget{})
	require.NoError(t, err)
	opened, err := envelope.JSON{Escape: 15}.Open(string(text))
	require.NoError(t, err)
	var got page
	require.NoError(t, opened[0].DecodeCitation(&got))
	assert.Equal(t, want, got)
	var own envelope.MemoryCitation
	require.NoError(t, opened[1].DecodeCitation(&own))
	assert.Equal(t, cited, own)

	err = opened[0].DecodeCitation(&own)
	assert.ErrorIs(t, err, envelope.ErrDecode)
	assert.ErrorIs(t, err, envelope.ErrNotCitation)
	assert.NotContains(t, err.Error(), "example")
	var wrong struct {
		URL int `json:"url"`
	}
	err = opened[0].DecodeCitation(&wrong)
	var typed *json.UnmarshalTypeError
	assert.ErrorAs(t, err, &typed, "the decoder's own error is below")
	assert.ErrorIs(t, envelope.Delivered{}.DecodeCitation(&got), envelope.ErrDecode)
}
