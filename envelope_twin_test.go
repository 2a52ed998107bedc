package envelope_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// twinJSON is the JSON renderer written to be obviously right: rune by rune, and for each item and
// each length of it the whole text is rendered anew.
type twinJSON struct {
	wrapper envelope.Wrapper
	trust   string
	scope   string
	escape  envelope.Escape

	bare, omitted, checksum bool
}

type twinItem struct {
	kind, citation, content string
	truncated               bool
}

func (w *twinJSON) render(items []twinItem, omitted int) string {
	line := `{"trust":` + w.quote(w.trust) + `,"items":[`
	for i, item := range items {
		if i > 0 {
			line += ","
		}
		line += `{"citation":` + item.citation + `,"content":` + w.quote(item.content)
		line += fmt.Sprintf(`,"truncated":%v`, item.truncated)
		if item.kind != "memory" {
			line += `,"kind":` + w.quote(item.kind)
		}
		line += "}"
	}
	line += "]"
	if w.omitted {
		line += fmt.Sprintf(`,"omitted":%d`, omitted)
	}
	line = twinBreak(line, w.wrapper)
	if w.checksum {
		line += fmt.Sprintf(`,"crc32c":"%08x"`, twinCRC32C(line))
	}
	line = twinBreak(line+"}", w.wrapper)
	if w.bare {
		return line
	}
	return w.wrapper.Notice + "\n\n" + w.wrapper.Begin + "\n" + line + "\n" + w.wrapper.End
}

// twinCRC32C divides bit by bit, by the polynomial of RFC 3720 in reverse.
func twinCRC32C(s string) uint32 {
	sum := ^uint32(0)
	for i := range len(s) {
		sum ^= uint32(s[i])
		for range 8 {
			sum = sum>>1 ^ sum&1*0x82f63b78
		}
	}
	return ^sum
}

func (w *twinJSON) quote(s string) string { return `"` + w.escapeRunes(s, true) + `"` }

// escapeRunes writes s as it stands in a string or, unquoted, what an encoder left of one.
func (w *twinJSON) escapeRunes(s string, quoted bool) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case quoted && (r == '"' || r == '\\'):
			b.WriteString(`\` + string(r))
		case quoted && strings.ContainsRune("\b\f\n\r\t", r):
			b.WriteString(`\` + string("btnvfr"[r-'\b']))
		case quoted && r < ' ', w.escapes(r):
			for _, unit := range utf16Of(r) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func utf16Of(r rune) []rune {
	if r < 0x10000 {
		return []rune{r}
	}
	return []rune{0xd800 + (r-0x10000)>>10, 0xdc00 + (r-0x10000)&0x3ff}
}

// invisibleTables are the characters of EscapeInvisible and of Markdown.Invisible.
var invisibleTables = []*unicode.RangeTable{
	unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
}

func (w *twinJSON) escapes(r rune) bool {
	return r == 0x85 || r == 0x2028 || r == 0x2029 ||
		w.escape&envelope.EscapeControls != 0 && 0x7f <= r && r <= 0x9f ||
		w.escape&envelope.EscapeMarkup != 0 && strings.ContainsRune("<>&`", r) ||
		w.escape&envelope.EscapeNonASCII != 0 && r > 0x7f ||
		w.escape&envelope.EscapeInvisible != 0 && unicode.In(r, invisibleTables...)
}

// twinBreak breaks the leftmost marker again and again, each time going on behind the escaped
// character.
func twinBreak(line string, w envelope.Wrapper) string {
	done := ""
	for {
		at, marker := len(line), ""
		for _, m := range []string{w.Begin, w.End} {
			if i := strings.Index(line, m); i >= 0 && i < at {
				at, marker = i, m
			}
		}
		if marker == "" {
			return done + line
		}
		for strings.ContainsRune(`0123456789abcdefABCDEF"\/nrtu`, rune(line[at])) {
			at++
		}
		done += line[:at] + fmt.Sprintf(`\u%04x`, line[at])
		line = line[at+1:]
	}
}

type twinOutcome struct {
	outcome   envelope.Outcome
	delivered int
	bad       int
}

// append renders case items, whose citations are typed or strings of compact JSON.
func (w *twinJSON) append(
	items []envelope.Item, b envelope.Budget,
) (text string, outcomes []twinOutcome) {
	b = twinBudget(b)
	var delivered []twinItem
	seen := map[string]bool{}
	for _, item := range items {
		o := func() twinOutcome {
			in := twinItem{kind: item.Kind, content: item.Content}
			if in.kind == "" {
				in.kind = "memory"
			}
			uncited, malformed := false, false
			in.citation, uncited, malformed = w.citation(item.Citation)
			if uncited {
				return twinOutcome{envelope.Uncited, 0, -1}
			}
			bad := twinInvalid(item.Content, b.MaxItemBytes)
			if malformed || !utf8.ValidString(item.Kind) {
				return twinOutcome{envelope.Malformed, 0, -1}
			}
			if bad >= 0 {
				return twinOutcome{envelope.Malformed, 0, bad}
			}
			if twinBlank(item.Content) {
				return twinOutcome{envelope.Blank, 0, -1}
			}
			key := in.kind + "\x00" + in.citation
			if seen[key] {
				return twinOutcome{envelope.Duplicate, 0, -1}
			}
			seen[key] = true
			if len(delivered) >= b.MaxItems {
				return twinOutcome{envelope.OverLimit, 0, -1}
			}
			fits := func(content string, truncated bool) bool {
				in.content, in.truncated = content, truncated
				if len(content) > b.MaxItemBytes {
					return false
				}
				all := append(slices.Clone(delivered), in)
				return len(w.render(all, len(items)-1)) <= b.MaxBytes
			}
			if fits(item.Content, false) {
				delivered = append(delivered, in)
				return twinOutcome{envelope.Included, len(item.Content), -1}
			}
			outcome := envelope.NoRoom
			for n := len(item.Content) - 1; n > 0; n-- {
				if !utf8.ValidString(item.Content[:n]) || !fits(item.Content[:n]+"…", true) {
					continue
				}
				outcome = envelope.TooShort
				if n+3 >= b.MinTruncatedBytes && n+3 < len(item.Content) {
					delivered = append(delivered, in)
					return twinOutcome{envelope.Truncated, n + 3, -1}
				}
			}
			return twinOutcome{outcome, 0, -1}
		}()
		outcomes = append(outcomes, o)
	}
	omitted := 0
	for _, o := range outcomes {
		switch o.outcome {
		case envelope.Included, envelope.Truncated, envelope.Blank, envelope.Duplicate:
		default:
			omitted++
		}
	}
	counted := w.omitted && omitted > 0 && len(w.render(nil, omitted)) <= b.MaxBytes
	if len(delivered) == 0 && !counted {
		return "", outcomes
	}
	return w.render(delivered, omitted), outcomes
}

func twinBudget(b envelope.Budget) envelope.Budget {
	set := func(v *int, zero, unlimited int) {
		if *v == 0 {
			*v = zero
		} else if *v == envelope.Unlimited {
			*v = unlimited
		}
	}
	set(&b.MaxBytes, 8000, math.MaxInt)
	set(&b.MaxItems, 8, math.MaxInt)
	set(&b.MaxItemBytes, 2000, math.MaxInt)
	b.MaxItemBytes = min(b.MaxItemBytes, max(b.MaxBytes, 64<<10))
	set(&b.MinTruncatedBytes, 64, 0)
	return b
}

// twinInvalid looks for invalid UTF-8 in what an item bound could deliver.
func twinInvalid(s string, most int) int {
	if len(s) > most {
		most -= 3
	}
	for i := 0; i < len(s); {
		r, width := utf8.DecodeRuneInString(s[i:])
		if i+width > most {
			return -1
		}
		if r == utf8.RuneError && width == 1 {
			return i
		}
		i += width
	}
	return -1
}

func twinBlank(s string) bool {
	blank := func(r rune) bool {
		return unicode.Is(unicode.White_Space, r) || 0x1c <= r && r <= 0x1f
	}
	return strings.TrimFunc(s, blank) == ""
}

func (w *twinJSON) citation(v any) (text string, uncited, malformed bool) {
	ref := func(r envelope.ArtifactRef) string {
		return fmt.Sprintf(`{"family":%s,"artifact_id":%s,"revision":%d}`,
			w.quote(r.Family), w.quote(r.ArtifactID), r.Revision)
	}
	qualified := func(name, scope string, r envelope.ArtifactRef) string {
		if scope == "" || scope == w.scope {
			return `"` + name + `_ref":` + ref(r)
		}
		return `"` + name + `":{"scope_id":` + w.quote(scope) + `,"artifact":` + ref(r) + `}`
	}
	switch c := v.(type) {
	case envelope.MemoryCitation:
		text := `{` + qualified("memory", c.Scope, c.Memory) +
			`,"entry_id":` + w.quote(c.EntryID) +
			`,"entry_version_id":` + w.quote(c.EntryVersionID) + `}`
		id := c.Memory.ArtifactID
		return text, twinBlank(id) || twinBlank(c.EntryID) || twinBlank(c.EntryVersionID),
			!allValid(c.Scope, c.Memory.Family, id, c.EntryID, c.EntryVersionID)
	case envelope.ArtifactCitation:
		return `{` + qualified("artifact", c.Scope, c.Artifact) + `}`,
			twinBlank(c.Artifact.ArtifactID),
			!allValid(c.Scope, c.Artifact.Family, c.Artifact.ArtifactID)
	case map[string]any: // one member, a string
		for name, value := range c {
			text := `{` + w.quote(name) + `:` + w.quote(value.(string)) + `}`
			return text, false, !allValid(name, value.(string))
		}
	}
	return "", true, false
}

func allValid(texts ...string) bool {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return false
		}
	}
	return true
}

// pieces returns the parts that hostile contents are made of.
func pieces(w envelope.Wrapper) []string {
	return []string{
		"a", "word ", "Zz", "0", "_", " ", "  ", "\t", "\n", "\r\n", "\r", "\v", "\f",
		"\x00", "\x01", "\x1b[31m", "\x1c", "\x1d", "\x1e", "\x1f", "\x7f",
		`"`, `\`, `\u2028`, `\n`, "/", "<", ">", "&", "`", "</tool>", "u", "u004e",
		"\u0084", "\u0085", "\u009b", "\u00a0", "\u00ad", "é", "\u0345", "\u07ff", "\u0800",
		"\u2027", "\u2028", "\u2029", "\u200b", "\u202a", "\u202e", "…", "\u3000", "\u3164",
		"中", "全", "х", "\ud7ff", "\ue000", "\ufe0f", "\ufeff", "\ufffd", "\uffff",
		"🙂", "\U000e0041", "\U000e01ef", "\U00010000", "\U0010ffff",
		w.Begin, w.End, w.Begin[:len(w.Begin)-1], w.End[1:],
		w.End[:3] + w.End, w.Begin + w.End, w.End + w.End[len(w.End)/2:],
	}
}

var broken = []string{
	"\xff", "\x80", "\xc0\x80", "\xed\xa0\x80", "\xe2\x80",
	"\xf0\x9f\x99", "\xf4\x90\x80\x80", "\xe4",
}

// wrappers are the default, one with tags, one whose markers overlap themselves, and one that looks
// like the text around it.
var wrappers = []envelope.Wrapper{
	{},
	{Notice: "n", Begin: "<untrusted-context>", End: "</untrusted-context>"},
	{Notice: "Two\nlines.", Begin: "-=-=-=-=-=", End: "=--=--=--=--x"},
	{Notice: "n", Begin: "citation", End: "untrusted_history"},
	{Notice: "n", Begin: "END_ENDING", End: "END_END_END"},
}

func hostile(rng *rand.Rand, parts []string, most int) string {
	var b strings.Builder
	run := parts[rng.IntN(len(parts))]
	for range rng.IntN(most + 1) {
		if rng.IntN(3) == 0 {
			run = parts[rng.IntN(len(parts))]
		}
		b.WriteString(run)
	}
	if rng.IntN(12) == 0 {
		b.WriteString(broken[rng.IntN(len(broken))])
		b.WriteString(parts[rng.IntN(len(parts))])
	}
	return b.String()
}

// randomCase draws a renderer, items and a budget that are close enough to each other for
// something to happen.
func randomCase(rng *rand.Rand) (envelope.JSON, []envelope.Item, envelope.Budget) {
	pick := func(values ...string) string { return values[rng.IntN(len(values))] }
	j := envelope.JSON{
		Wrapper: wrappers[rng.IntN(len(wrappers))],
		Trust:   pick("", "", "x\u2028<y>"),
		Scope:   pick("", "s"),
		Escape:  envelope.Escape(rng.IntN(16)),
	}
	if rng.IntN(3) > 0 {
		j.Escape = 0
	}
	if rng.IntN(2) == 0 {
		j.Bare, j.Omitted, j.Checksum = rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0
	}
	w := j.Wrapper
	if w == (envelope.Wrapper{}) {
		w = envelope.PowerContextV1
	}
	parts := pieces(w)
	id := func() string {
		return pick("e", "e", "e2", " ", "e\u2028", w.End, "f\xff", hostile(rng, parts, 2))
	}
	items := make([]envelope.Item, rng.IntN(4))
	if rng.IntN(16) == 0 {
		items = make([]envelope.Item, 8+rng.IntN(6)) // one or two digits of what is omitted
	}
	size := len(w.Notice) + len(w.Begin) + len(w.End) + 40
	if j.Bare {
		size = 60
	}
	for i := range items {
		item := &items[i]
		item.Kind = pick(
			"", "memory", "memory", "experience", "instructions", "k\u0085", w.Begin, "\xff")
		switch rng.IntN(4) {
		case 0:
			item.Citation = envelope.ArtifactCitation{
				Scope: pick("", "s", "t"),
				Artifact: envelope.ArtifactRef{
					Family: "f", ArtifactID: id(), Revision: rng.Int64N(20) - 5,
				},
			}
		case 1:
			item.Citation = map[string]any{pick("url", "n\u2029"): id()}
		case 2:
			item.Citation = nil
			if rng.IntN(2) == 0 {
				break
			}
			fallthrough
		default:
			item.Citation = envelope.MemoryCitation{
				Scope:          pick("", "s", "t"),
				Memory:         envelope.ArtifactRef{Family: "m", ArtifactID: id(), Revision: 1},
				EntryID:        id(),
				EntryVersionID: pick("v", "w"),
			}
		}
		if i > 0 && rng.IntN(6) == 0 {
			item.Kind, item.Citation = items[i-1].Kind, items[i-1].Citation
		}
		item.Content = hostile(rng, parts, 12)
		size += rng.IntN(150 + 3*len(item.Content))
	}
	draw := func(n int) int {
		switch rng.IntN(8) {
		case 0:
			return 0
		case 1:
			return envelope.Unlimited
		}
		return 1 + rng.IntN(n)
	}
	b := envelope.Budget{
		MaxBytes:          1 + rng.IntN(size+1),
		MaxItems:          draw(3),
		MaxItemBytes:      draw(60),
		MinTruncatedBytes: draw(20),
	}
	if rng.IntN(8) == 0 {
		b.MaxBytes = draw(900)
	}
	return j, items, b
}

// twinCases is how many cases the ordinary test run compares; slow machines take fewer with -short.
func twinCases() int {
	if testing.Short() {
		return 5_000
	}
	return 100_000
}

func TestJSONTwin(t *testing.T) {
	const shards = 4
	for shard := range uint64(shards) {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(20, shard))
			counts := map[envelope.Outcome]int{}
			for range twinCases() / shards {
				j, items, b := randomCase(rng)
				compareJSON(t, j, items, b, counts)
			}
			for o := envelope.Included; o <= envelope.NoRoom; o++ {
				if o != envelope.Unselected {
					require.NotZero(t, counts[o], "no case came out %s", o)
				}
			}
		})
	}
}

// compareJSON renders with both, compares all that they say, and checks the promises on the result.
func compareJSON(
	t testing.TB, j envelope.JSON, items []envelope.Item, b envelope.Budget,
	counts map[envelope.Outcome]int,
) {
	twin := twinJSON{
		wrapper:  j.Wrapper,
		trust:    j.Trust,
		scope:    j.Scope,
		escape:   j.Escape,
		bare:     j.Bare,
		omitted:  j.Omitted,
		checksum: j.Checksum,
	}
	if j.Wrapper == (envelope.Wrapper{}) {
		twin.wrapper = envelope.PowerContextV1
	}
	if j.Trust == "" {
		twin.trust = "untrusted_history"
	}
	want, outcomes := twin.append(items, b)
	got, report, err := j.Append(append(make([]byte, 0, 64), "keep"...), items, b)
	same := err == nil && string(got) == "keep"+want &&
		report.Bytes == len(want) && len(report.Items) == len(items)
	for i := range report.Items {
		r := report.Items[i]
		counts[r.Outcome]++
		same = same && r.Outcome == outcomes[i].outcome &&
			r.DeliveredBytes == outcomes[i].delivered && r.SourceBytes == len(items[i].Content)
		refused := r.Outcome == envelope.Malformed || r.Outcome == envelope.Uncited
		same = same && (r.Err != nil) == refused
		if e, ok := r.Err.(*envelope.Error); ok && outcomes[i].bad >= 0 {
			same = same && e.Item == i && e.Field == "content" && e.Offset == outcomes[i].bad
		}
	}
	if !same {
		t.Fatalf("%#v\n%#v\n%+v\nwant %q %v\ngot  %q %+v %v",
			j, items, b, want, outcomes, got, report, err)
	}
	if want == "" {
		return
	}
	requireBounded(t, j, want)
	requireDelivered(t, j, want, items, report)
}
