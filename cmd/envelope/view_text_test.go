package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPieces(t *testing.T) {
	json := &spelling{jsonEscape, []string{`E\u004eD_PAGES`}}
	markdown := &spelling{visibleEscape, nil}
	for _, tt := range []struct {
		why  string
		sp   *spelling
		s    string
		want []piece
	}{
		{"nothing", json, "", nil},
		{"plain text", json, "a b全", []piece{{Text: "a b全"}}},
		{"an escape of a named character", json, `a\u2028b`, []piece{
			{Text: "a"}, {Escape: `\u2028`, Name: "U+2028 LINE SEPARATOR"}, {Text: "b"}}},
		{"short escapes", json, `\n\"\\u`, []piece{
			{Escape: `\n`, Name: "U+000A LF"}, {Escape: `\"`}, {Escape: `\\`}, {Text: "u"}}},
		{"both halves of a pair", json, `\udb40\udc41`, []piece{
			{Escape: `\udb40\udc41`, Name: "U+E0041 TAG A"}}},
		{"half of a pair", json, `\udb40x`, []piece{{Escape: `\udb40`}, {Text: "x"}}},
		{"no escape", json, `\u20`, []piece{{Text: `\u20`}}},
		{"a backslash at the end", json, `a\`, []piece{{Text: `a\`}}},
		{"a broken marker", json, `xE\u004eD_PAGESy`, []piece{
			{Text: "x"}, {Broken: `E\u004eD_PAGES`}, {Text: "y"}}},
		{"no broken marker", json, `E\u004eD_PAGE`, []piece{
			{Text: "E"}, {Escape: `\u004e`}, {Text: "D_PAGE"}}},
		{"a line end, and both of CR LF in one line", plainly, "a\r\n\u0085b", []piece{
			{Text: "a"}, {Badge: "U+000D CR"}, {Badge: "U+000A LF", Break: true},
			{Badge: "U+0085 NEXT LINE", Break: true}, {Text: "b"}}},
		{"not UTF-8", plainly, "a\xff\ufffd", []piece{
			{Text: "a"}, {Badge: "byte 0xff NOT UTF-8"}, {Text: "\ufffd"}}},
		{"no escapes where there are none", plainly, `\n`, []piece{{Text: `\n`}}},
		{"visible escapes", markdown, `\u200b\U000e0041\n\u20`, []piece{
			{Escape: `\u200b`, Name: "U+200B ZERO WIDTH SPACE"},
			{Escape: `\U000e0041`, Name: "U+E0041 TAG A"}, {Text: `\n\u20`}}},
		{"no character has this number", markdown, `\Uffffffff`, []piece{{Text: `\Uffffffff`}}},
	} {
		t.Run(tt.why, func(t *testing.T) { assert.Equal(t, tt.want, tt.sp.pieces(tt.s)) })
	}
}

// The pieces of any text have all of it in order, and show nothing that cannot be seen.
func FuzzPieces(f *testing.F) {
	for _, s := range hostilePieces() {
		f.Add(s + "\xff\r\n" + s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, sp := range []*spelling{
			plainly, {jsonEscape, []string{`E\u004eD_PAGES`}}, {visibleEscape, nil},
		} {
			rest := s
			for _, p := range sp.pieces(s) {
				shown := p.Text + p.Escape + p.Broken
				for _, r := range shown {
					require.Empty(t, badge(r))
				}
				require.True(t, utf8.ValidString(shown))
				if p.Badge != "" {
					require.Empty(t, shown)
					r, size := utf8.DecodeRuneInString(rest)
					want := badge(r)
					if r == utf8.RuneError {
						want = byteBadge(rest[0])
					}
					require.Equal(t, want, p.Badge)
					rest = rest[size:]
					continue
				}
				require.NotEmpty(t, shown)
				require.True(t, strings.HasPrefix(rest, shown))
				rest = rest[len(shown):]
			}
			require.Empty(t, rest)
		}
	})
}

func TestClipAndNumber(t *testing.T) {
	for n := range 8 {
		head, more := clip("全a", n)
		want := "全a"
		if n < len(want) {
			want = want[:n/3*3]
		}
		assert.Equal(t, want, head, n)
		assert.Equal(t, 4-len(want), more)
	}
	for n, want := range map[int]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -100: "-100",
	} {
		assert.Equal(t, want, number(n))
	}
	assert.Equal(t, "1 byte", counted(1, "byte"))
	assert.Equal(t, "0 bytes", counted(0, "byte"))
}
