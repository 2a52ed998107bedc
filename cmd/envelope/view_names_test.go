package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope/internal/quote"
)

// Every character that does nothing but end lines, control, direct or leave blank has a badge.
func TestBadgeHasEveryCharacterThatNobodySees(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		hidden := unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) || quote.IsInvisible(r) ||
			unicode.Is(unicode.Zs, r) && r != ' '
		switch {
		case hidden:
			require.NotEmpty(t, badge(r), "%U", r)
		case r == 0x2800: // blank, and not marked as such
			require.Equal(t, "U+2800 BRAILLE PATTERN BLANK", badge(r))
		default:
			require.Empty(t, badge(r), "%U", r)
		}
	}
}

func TestBadge(t *testing.T) {
	for r, want := range map[rune]string{
		'a': "", ' ': "", '全': "", utf8Replacement: "",
		'\n': "U+000A LF", 0x1b: "U+001B ESCAPE", 0x2028: "U+2028 LINE SEPARATOR",
		0x202e: "U+202E RIGHT-TO-LEFT OVERRIDE", 0xfe0f: "U+FE0F VARIATION SELECTOR-16",
		0xe0041: "U+E0041 TAG A", 0xe0020: "U+E0020 TAG SPACE", 0xe007f: "U+E007F CANCEL TAG",
		0xe0100: "U+E0100 VARIATION SELECTOR-17", 0xe0fff: "U+E0FFF INVISIBLE CHARACTER",
	} {
		assert.Equal(t, want, badge(r))
	}
}

const utf8Replacement = '\ufffd'

// The names are those that Python's Unicode database has, where Python is here.
func TestNamesAgainstPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 here")
	}
	var asked []string
	for r := range characterNames {
		asked = append(asked, fmt.Sprintf("%d", r))
	}
	for _, r := range []rune{0xfe00, 0xfe0f, 0xe0020, 0xe007f, 0xe0100, 0xe01ef} {
		asked = append(asked, fmt.Sprintf("%d", r))
	}
	script := `import json, sys, unicodedata
print(json.dumps({c: unicodedata.name(chr(int(c)), "") for c in sys.argv[1].split(",")}))`
	out, err := exec.Command("python3", "-c", script, strings.Join(asked, ",")).Output()
	require.NoError(t, err)
	var names map[string]string
	require.NoError(t, json.Unmarshal(out, &names))
	compared := 0
	for number, want := range names {
		var r rune
		_, err := fmt.Sscan(number, &r)
		require.NoError(t, err)
		if want == "" {
			assert.True(t, unicode.IsControl(r), "%U has no name there", r)
			continue
		}
		compared++
		assert.Equal(t, fmt.Sprintf("U+%04X %s", r, want), badge(r))
	}
	require.Greater(t, compared, 90)
}
