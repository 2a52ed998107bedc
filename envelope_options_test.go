package envelope_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// lineOptions is every combination of the options that change the line.
func lineOptions() (all []envelope.JSON) {
	for bits := range 8 {
		all = append(all, envelope.JSON{
			Bare: bits&1 != 0, Omitted: bits&2 != 0, Checksum: bits&4 != 0,
		})
	}
	return all
}

func optionsName(j envelope.JSON) string {
	return fmt.Sprintf("bare=%t,omitted=%t,checksum=%t", j.Bare, j.Omitted, j.Checksum)
}

// Each combination of the options writes these bytes.
func TestOptionsBytes(t *testing.T) {
	require.Equal(t, uint32(0xe3069283), twinCRC32C("123456789"), "the check value of CRC-32C")
	items := []envelope.Item{
		memory("e", "a\u2028"+end), {Content: "cited by nobody"}, memory("b", " "),
		memory("e", "the same again"),
	}
	const (
		line = `{"trust":"untrusted_history","items":[{"citation":{"memory_ref":{` +
			`"family":"memory","artifact_id":"memory","revision":18},` +
			`"entry_id":"e","entry_version_id":"e_v3"},` +
			`"content":"a\u2028E\u004eD_POWERCONTEXT_PREPARED_CONTEXT_V1","truncated":false}]`
		omitted = `,"omitted":1`
	)
	plain, err := envelope.JSON{}.Render(items, envelope.Budget{})
	require.NoError(t, err)
	before, _, _ := strings.Cut(plain.Content, "{")
	require.Equal(t, before+line+"}\n"+end, plain.Content)
	for _, j := range lineOptions() {
		want := line
		if j.Omitted {
			want += omitted
		}
		if j.Checksum {
			want += fmt.Sprintf(`,"crc32c":"%08x"`, twinCRC32C(want))
		}
		want += "}"
		if !j.Bare {
			want = before + want + "\n" + end
		}
		p, err := j.Render(items, envelope.Budget{})
		require.NoError(t, err)
		assert.Equal(t, want, p.Content, optionsName(j))
		assert.Equal(t, len(want), p.Report.Bytes)
		assert.Equal(t, plain.Report.Items, p.Report.Items)
	}
}

// Omitted counts the items that are not delivered, except the blank ones and the duplicates.
func TestOmittedCounts(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		outcome envelope.Outcome
		item    envelope.Item
		omitted int
	}{
		{envelope.Included, memory("e", "x"), 0},
		{envelope.Truncated, memory("e", x(500)), 0},
		{envelope.Uncited, envelope.Item{Content: "x"}, 1},
		{envelope.Malformed, memory("e", "\xff"), 1},
		{envelope.Malformed, memory("e\xff", "x"), 1},
		{envelope.Blank, memory("e", " \u2028"), 0},
		{envelope.Duplicate, memory("first", "y"), 0},
		{envelope.TooShort, memory("e", x(100)), 1},
		{envelope.NoRoom, memory(x(900), "x"), 1},
		{envelope.OverLimit, memory("e", "x"), 1},
	}
	for _, tt := range tests {
		t.Run(tt.outcome.String(), func(t *testing.T) {
			b := envelope.Budget{MaxBytes: 800, MinTruncatedBytes: 200, MaxItemBytes: 300}
			switch tt.outcome {
			case envelope.TooShort:
				b.MaxItemBytes = 90
			case envelope.OverLimit:
				b.MaxItems = 1
			}
			j := envelope.JSON{Bare: true, Omitted: true}
			p, err := j.Render([]envelope.Item{memory("first", "x"), tt.item}, b)
			require.NoError(t, err)
			require.Equal(t, tt.outcome, p.Report.Items[1].Outcome)
			assert.Equal(t, tt.omitted, *decodeLine(t, p.Content).Omitted)
			delivered, err := j.Open(p.Content)
			require.NoError(t, err)
			included, cut := p.Report.Count(envelope.Included), p.Report.Count(envelope.Truncated)
			assert.Len(t, delivered, included+cut)

			p, err = j.Render([]envelope.Item{tt.item}, b)
			require.NoError(t, err)
			switch o := p.Report.Items[0].Outcome; {
			case o.Delivered() || o == envelope.Blank:
				assert.Equal(t, o.Delivered(), p.Ready())
			default:
				assert.Equal(t, `{"trust":"untrusted_history","items":[],"omitted":1}`, p.Content)
			}
		})
	}
}

// Without an item a text is as long as it is: it fits to the byte, or there is none, and dst
// stays as it was. Where more digits have to be kept for the number while there are items, the
// number itself decides.
func TestOmittedWithoutItems(t *testing.T) {
	for _, j := range lineOptions() {
		for _, n := range []int{1, 2, 9, 10, 11, 99, 100, 101} {
			for _, blanks := range []int{0, 1, 20, 200} {
				items := append(make([]envelope.Item, n), make([]envelope.Item, blanks)...)
				for i := range items[n:] {
					items[n+i] = memory("b", " ")
				}
				whole, report, err := j.Append(nil, items, envelope.Budget{})
				require.NoError(t, err)
				if !j.Omitted {
					require.Nil(t, whole)
					continue
				}
				require.Equal(t, n, *decodeLine(t, string(whole)).Omitted)
				require.Equal(t, len(whole), report.Bytes)
				opened, err := j.Open(string(whole))
				require.NoError(t, err)
				require.NotNil(t, opened)
				require.Empty(t, opened)
				for most := len(whole) - 30; most <= len(whole)+2; most++ {
					dst := append(make([]byte, 0, 1024), "keep"...)
					got, report, err := j.Append(dst, items, envelope.Budget{MaxBytes: most})
					require.NoError(t, err)
					if most < len(whole) {
						require.Equal(t, "keep", string(got), "%d of %d", most, len(whole))
						require.Zero(t, report.Bytes)
						continue
					}
					require.Equal(t, "keep"+string(whole), string(got), "%d bytes", most)
				}
			}
		}
	}
	for _, items := range [][]envelope.Item{
		nil, {}, {memory("b", "")}, {memory("b", " "), memory("c", "\n")},
	} {
		j := envelope.JSON{Omitted: true, Checksum: true, Bare: true}
		p, err := j.Render(items, envelope.Budget{})
		require.NoError(t, err)
		assert.False(t, p.Ready(), "nothing was left out")
	}
}

// Each combination of the options agrees with the slow twin, over every budget.
func TestOptionsBudgetSweep(t *testing.T) {
	contents := []string{
		strings.Repeat("abcdefghij", 20),
		strings.Repeat("记忆与上下文", 12),
		strings.Repeat("\x01\"", 40),
		strings.Repeat("中"+end, 5),
		"hello",
	}
	for _, j := range lineOptions()[1:] {
		t.Run(optionsName(j), func(t *testing.T) {
			t.Parallel()
			step := 1
			if testing.Short() {
				step = 7
			}
			counts := map[envelope.Outcome]int{}
			for i, content := range contents {
				items := []envelope.Item{
					memory("e", content), {Content: "cited by nobody"}, memory("e2", "two"),
					memory("e3", " "),
				}
				if i%2 == 0 {
					items = append(items, make([]envelope.Item, 7)...) // 11: two digits
				}
				for most := 1; most <= 800; most += step {
					b := envelope.Budget{MaxBytes: most, MaxItemBytes: 1 + most*7%300}
					compareJSON(t, j, items, b, counts)
				}
			}
			for _, o := range []envelope.Outcome{
				envelope.Included, envelope.Truncated, envelope.TooShort, envelope.NoRoom,
			} {
				assert.NotZero(t, counts[o], "no case came out %s", o)
			}
		})
	}
}

// All code points, one by one, around a marker: one line without the marker, and the exact
// content comes back.
func TestBareEveryCodePoint(t *testing.T) {
	t.Parallel()
	j := envelope.JSON{Bare: true, Omitted: true, Checksum: true}
	step := rune(1)
	if testing.Short() {
		step = 61
	}
	var dst []byte
	items := []envelope.Item{memory("e", "")}
	for c := rune(0); c <= utf8.MaxRune; c += step {
		if !utf8.ValidRune(c) {
			continue
		}
		content := "a" + string(c) + end + string(c) + "b"
		items[0].Content = content
		var err error
		dst, _, err = j.Append(dst[:0], items, envelope.Budget{})
		require.NoError(t, err)
		text := string(dst)
		const boundaries = "\n\v\f\r\x1c\x1d\x1e\u0085\u2028\u2029"
		if strings.Contains(text, end) || strings.ContainsAny(text, boundaries) {
			t.Fatalf("U+%04X: %q", c, text)
		}
		opened, err := j.Open(text)
		if err != nil || len(opened) != 1 || opened[0].Content != content {
			t.Fatalf("U+%04X: %q opens to %v (%v)", c, text, opened, err)
		}
	}
}

// No wrapper can have a marker that the end of a line holds: every text of eight bytes or more
// out of it is refused as one.
func TestClosingHoldsNoMarker(t *testing.T) {
	marker := func(text string) bool {
		w := envelope.Wrapper{Notice: "n", Begin: text, End: "_another one_"}
		_, err := envelope.JSON{Wrapper: w}.Render(nil, envelope.Budget{})
		return err == nil
	}
	require.True(t, marker("crc32c: e306"), "with a character that is not there")
	for _, closing := range []string{
		`:{"x":[1e5]},"content":"x","truncated":false}],"omitted":2147483647,"crc32c":"e3069283"}`,
		`"truncated":true,"kind":"k"}],"omitted":0,"crc32c":"0123abcd"}`,
		`"items":[],"omitted":1,"crc32c":"ffffffff"}`,
	} {
		for from := range closing {
			for to := from + 8; to <= len(closing); to++ {
				text := closing[from:to]
				if name := strings.Contains(`"truncated"`, text); !name { // broken with the item
					require.False(t, marker(text), "%q", text)
				}
			}
		}
	}
}

// Open refuses each change to a line with options with what is wrong and where. The checksum is
// made anew where the fault is another.
func TestOpenRefusesOptions(t *testing.T) {
	items := []envelope.Item{memory("e", "hello")}
	p, err := envelope.JSON{Checksum: true}.Render(items, envelope.Budget{})
	require.NoError(t, err)
	digits := p.Content[len(p.Content)-len(`"01234567"}`+"\n"+end):]
	var (
		plain   = envelope.JSON{}
		bare    = envelope.JSON{Bare: true}
		sum     = envelope.JSON{Checksum: true}
		number  = envelope.JSON{Omitted: true}
		both    = envelope.JSON{Omitted: true, Bare: true}
		nothing = `{"trust":"untrusted_history","items":[],"omitted":0}`
		zero    = `"omitted":0`
	)
	tests := []struct {
		why      string
		j        envelope.JSON
		old, new string // where old stands last in the text
		what     error
		offset   int // from there
	}{
		{"a byte of the content", sum, `hello`, `hellp`, envelope.ErrChecksum,
			len(`hello","truncated":false}],"crc32c":`)},
		{"a digit of the checksum", sum, `"}`, `0"}`, envelope.ErrChecksum, -9},
		{"a digit more before", sum, `"crc32c":"`, `"crc32c":"0`, envelope.ErrChecksum, 9},
		{"a checksum as a number", sum, digits, `12345678}` + "\n" + end, envelope.ErrMember, 0},
		{"a space before it", sum, `,"crc32c":`, `, "crc32c":`, envelope.ErrChecksum, 11},
		{"a space in it", sum, `"crc32c":`, `"crc32c": `, envelope.ErrNotCanonical, 9},
		{"another name for it", sum, `crc32c`, `crc32d`, envelope.ErrMember, -1},
		{"no checksum", bare, `}]}`, `}]}`, envelope.ErrMember, -1 << 20},
		{"one not asked for", plain, `}]}`, `}],"crc32c":"00000000"}`, envelope.ErrMember, 3},
		{"a number not asked for", plain, `}]}`, `}],"omitted":0}`, envelope.ErrMember, 3},
		{"the number as a string", number, zero, `"omitted":"0"`, envelope.ErrMember, 10},
		{"the number as an object", number, zero, `"omitted":{}`, envelope.ErrMember, 10},
		{"null", number, zero, `"omitted":null`, envelope.ErrMember, 10},
		{"a negative number", number, zero, `"omitted":-1`, envelope.ErrMember, 10},
		{"minus nothing", number, zero, `"omitted":-0`, envelope.ErrMember, 10},
		{"a fraction", number, zero, `"omitted":1.0`, envelope.ErrMember, 10},
		{"an exponent", number, zero, `"omitted":1e1`, envelope.ErrMember, 10},
		{"a zero before", number, zero, `"omitted":01`, envelope.ErrSyntax, 11},
		{"more than there can be", number, zero, `"omitted":2147483648`, envelope.ErrMember, 10},
		{"far more", number, zero, `"omitted":` + strings.Repeat("9", 300), envelope.ErrMember, 10},
		{"no number", number, zero, `"omitted":` + strings.Repeat("9", 310), envelope.ErrNumber, 10},
		{"white space", number, zero, `"omitted": 0`, envelope.ErrNotCanonical, 10},
		{"the name escaped", number, zero, `"\u006fmitted":0`, envelope.ErrNotCanonical, 1},
		{"the number twice", number, zero, zero + "," + zero, envelope.ErrDuplicateName, 12},
		{"the number first", number, `"items"`, zero + `,"items"`, envelope.ErrDuplicateName, -1 << 20},
		{"nothing, and nothing omitted", both, "", nothing, envelope.ErrUndeliverable, 37},
		{"a line feed behind", bare, "}", "}\n", envelope.ErrLineBoundary, 1},
		{"a space behind", bare, "}]}", "}]} ", envelope.ErrSyntax, 3},
		{"a marker in it", bare, "hello", end, envelope.ErrMarker, 0},
		{"an object behind", bare, "}]}", "}]}{}", envelope.ErrSyntax, 3},
		{"cut short", bare, "}]}", "}]", envelope.ErrSyntax, 2},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			p, err := tt.j.Render(items, envelope.Budget{})
			require.NoError(t, err)
			at := strings.LastIndex(p.Content, tt.old)
			require.GreaterOrEqual(t, at, 0)
			text := p.Content[:at] + tt.new + p.Content[at+len(tt.old):]
			if tt.old == "" {
				at, text = 0, tt.new
			}
			opener := tt.j
			if tt.why == "no checksum" {
				opener.Checksum = true
			}
			opened, err := opener.Open(text)
			assert.Nil(t, opened)
			var e *envelope.Error
			require.ErrorAs(t, err, &e)
			assert.ErrorIs(t, err, tt.what)
			assert.Equal(t, -1, e.Item)
			if tt.offset > -1<<20 {
				assert.Equal(t, at+tt.offset, e.Offset)
			}
		})
	}
	for _, bad := range []struct{ text, rule string }{
		{"", "there is no text"}, {"\n", "there is no text"},
		{p.Content, "a notice and markers stand around it"},
	} {
		_, err := bare.Open(bad.text)
		assert.ErrorIs(t, err, envelope.ErrFrame)
		assert.ErrorContains(t, err, bad.rule)
	}
	_, err = plain.Open(nothing)
	assert.ErrorIs(t, err, envelope.ErrFrame)
	assert.ErrorContains(t, err, "it is a bare line")
	for _, ok := range []string{"0", "1", "10", "2147483647"} {
		const item = `{"citation":{"u":1},"content":"x","truncated":false}`
		_, err := both.Open(
			`{"trust":"untrusted_history","items":[` + item + `],"omitted":` + ok + `}`)
		assert.NoError(t, err)
	}
}

// A text opens with the options that it was rendered with, and with no others.
func TestOpenIsForOneSetOfOptions(t *testing.T) {
	for _, items := range [][]envelope.Item{{memory("e", "x")}, {memory("e", "x"), {}}} {
		for i, j := range lineOptions() {
			p, err := j.Render(items, envelope.Budget{})
			require.NoError(t, err)
			for k, other := range lineOptions() {
				_, err := other.Open(p.Content)
				assert.Equal(t, i == k, err == nil, "%d %d: %v", i, k, err)
			}
		}
	}
}

// With a checksum, Open refuses each cut that a host makes in a long text, and other accidents.
func TestChecksumRefusesCuts(t *testing.T) {
	t.Parallel()
	small := []envelope.Item{memory("e1", "abc"), memory("e2", `"},"x`), {}}
	other := []envelope.Item{memory("e1", "abd"), memory("e3", "cba"), memory("e4", "x")}
	type texts = map[string]bool
	step := 1
	if testing.Short() {
		step = 7
	}
	refused := func(t *testing.T, j envelope.JSON, intact texts, text string) (checksum bool) {
		_, err := j.Open(text)
		if (err == nil) != intact[text] {
			t.Fatalf("%v: %q", err, text)
		}
		return errors.Is(err, envelope.ErrChecksum)
	}
	for _, bare := range []bool{true, false} {
		j := envelope.JSON{Bare: bare, Omitted: true, Checksum: true}
		a, err := j.Render(small, envelope.Budget{})
		require.NoError(t, err)
		b, err := j.Render(other, envelope.Budget{})
		require.NoError(t, err)
		intact := texts{a.Content: true, b.Content: true}
		naive := envelope.JSON{Bare: bare, Omitted: true}
		caught := 0
		member := regexp.MustCompile(`,"crc32c":"[0-9a-f]{8}"`)
		plain := func(text string) string { return member.ReplaceAllString(text, "") }
		t.Run(fmt.Sprintf("every pair of cut points, bare=%t", bare), func(t *testing.T) {
			for i := range len(a.Content) + 1 {
				for k := i; k <= len(a.Content); k += step {
					text := a.Content[:i] + a.Content[k:]
					if refused(t, j, intact, text) {
						if _, err := naive.Open(plain(text)); err == nil {
							caught++
						}
					}
				}
				for k := i % step; k <= len(b.Content); k += step { // halves of different texts
					if text := a.Content[:i] + b.Content[k:]; refused(t, j, intact, text) {
						if _, err := naive.Open(plain(text)); err == nil {
							caught++
						}
					}
				}
			}
			require.NotZero(t, caught, "the checksum is never all that is wrong")
		})
		t.Run(fmt.Sprintf("every byte, bare=%t", bare), func(t *testing.T) {
			for i := range len(a.Content) {
				changed := []byte(a.Content)
				for c := i % step; c < 256; c += step {
					changed[i] = byte(c)
					refused(t, j, intact, string(changed))
				}
			}
		})
	}
	t.Run("at random in long texts", func(t *testing.T) {
		rounds := 1_000_000
		if testing.Short() {
			rounds = 5_000
		}
		rng := rand.New(rand.NewPCG(31, 1))
		j := envelope.JSON{Bare: true, Omitted: true, Checksum: true}
		var long []string
		for n := range 4 {
			var items []envelope.Item
			for k := range 3 + n {
				words := fmt.Sprint("the same words, ", k/2, ". ")
				items = append(items, memory(fmt.Sprint("e", k), strings.Repeat(words, 20)))
			}
			p, err := j.Render(items, envelope.Budget{MaxBytes: 1200 + 700*n})
			require.NoError(t, err)
			long = append(long, p.Content)
		}
		between := []string{
			"", "", "…", "...", "\n[... 1234 characters truncated ...]\n",
			"…1234 tokens truncated…",
		}
		checksums := 0
		for range rounds {
			a, b := long[rng.IntN(len(long))], long[rng.IntN(len(long))]
			mark := between[rng.IntN(len(between))]
			text := a[:rng.IntN(len(a)+1)] + mark + b[rng.IntN(len(b)+1):]
			if refused(t, j, texts{a: true, b: true}, text) {
				checksums++
			}
		}
		require.Greater(t, checksums, rounds/4)
	})
}

// A bare line costs fewer tokens than a framed one; what it costs is counted in the module of the
// benchmarks. Here are the bytes.
func TestOptionsSizes(t *testing.T) {
	items := []envelope.Item{memory("e", "x")}
	size := func(j envelope.JSON) int {
		p, err := j.Render(items, envelope.Budget{})
		require.NoError(t, err)
		return len(p.Content)
	}
	w := envelope.PowerContextV1
	frame := len(w.Notice) + len(w.Begin) + len(w.End) + 4
	plain := size(envelope.JSON{})
	assert.Equal(t, frame, plain-size(envelope.JSON{Bare: true}))
	assert.Equal(t, len(`,"omitted":0`), size(envelope.JSON{Omitted: true})-plain)
	assert.Equal(t, len(`,"crc32c":"e3069283"`), size(envelope.JSON{Checksum: true})-plain)
}

// The options allocate nothing that the line does not.
func TestOptionsAllocations(t *testing.T) {
	items := []envelope.Item{memory("e1", strings.Repeat("x", 500)), memory("e2", "y"), {}}
	dst := make([]byte, 0, 4096)
	var r envelope.Report
	for _, j := range lineOptions() {
		allocations := func(j envelope.JSON) float64 {
			return testing.AllocsPerRun(100, func() {
				if _, err := j.AppendReport(dst, items, envelope.Budget{}, &r); err != nil {
					t.Fatal(err)
				}
			})
		}
		assert.Equal(t, allocations(envelope.JSON{}), allocations(j), optionsName(j))
	}
}
