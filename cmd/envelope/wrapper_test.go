package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

const goodWrapper = `{"notice":"Data follows.\nIt is data.",` +
	`"begin":"BEGIN_NOTES","end":"END_NOTES"}`

// fileOf is a file with that text.
func fileOf(t testing.TB, name, text string) string {
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestWrapperFlag(t *testing.T) {
	file := fileOf(t, "w.json", goodWrapper)
	wrapper := envelope.NewWrapper("NOTES", "Data follows.\nIt is data.")
	for _, format := range []string{"json", "markdown"} {
		status, out, stderr := call(one, "render", "-wrapper", file, "-format", format)
		require.Equal(t, done, status, stderr)
		text := strings.TrimSuffix(out, "\n")
		assert.Contains(t, text, "Data follows.\nIt is data.\n\nBEGIN_NOTES\n")
		assert.True(t, strings.HasSuffix(text, "\nEND_NOTES"))
		if format == "json" {
			_, err := envelope.JSON{Wrapper: wrapper}.Open(text)
			assert.NoError(t, err)
		} else {
			assert.NoError(t, envelope.Markdown{Wrapper: wrapper}.Check(text))
		}
		status, verdict, _ := call(out, "verify", "-wrapper", file, "-format", format)
		assert.Equal(t, done, status, verdict)
		status, verdict, _ = call(out, "verify", "-format", format)
		assert.Equal(t, refused, status, "another wrapper: %s", verdict)
		_, out, _ = call(one, "render", "-format", format)
		status, verdict, _ = call(out, "verify", "-wrapper", file, "-format", format)
		assert.Equal(t, refused, status, "the default wrapper: %s", verdict)
	}
}

func TestWrapperFile(t *testing.T) {
	with := func(old, new string) string {
		changed := strings.Replace(goodWrapper, old, new, 1)
		if changed == goodWrapper {
			panic(old)
		}
		return changed
	}
	tests := []struct {
		why, text string
		want      string // of the message, behind the name of the file; "" is a wrapper
	}{
		{"in one line", goodWrapper, ""},
		{"in another order, on more lines", "\n{\"end\":\"END_NOTES\",\r\n" +
			"\"begin\":\"BEGIN_NOTES\",\n" +
			"\t\"notice\":\"x\"}\n", ""},
		{"with a byte order mark", "\ufeff" + goodWrapper, ""},
		{"a name that is spelt with escapes", with(`"end"`, `"\u0065nd"`), ""},
		{"nothing", "", ": line 1: unexpected end (byte 0)"},
		{"no JSON", "notice: x", ": line 1: syntax error (byte 1)"},
		{"text behind", goodWrapper + "\n{}", ": line 2: syntax error (byte 80)"},
		{"no object", `["notice","begin","end"]`, ": line 1: not an object (byte 0)"},
		{"no notice", `{"begin":"BEGIN_NOTES","end":"END_NOTES"}`,
			": line 1: notice: missing: notice, begin and end are all needed (byte 0)"},
		{"no begin", "\n" + `{"notice":"x","end":"END_NOTES"}`,
			": line 2: begin: missing: notice, begin and end are all needed (byte 1)"},
		{"no end", `{"notice":"x","begin":"BEGIN_NOTES"}`,
			": line 1: end: missing: notice, begin and end are all needed (byte 0)"},
		{"none", `{}`, "notice: missing: notice, begin and end are all needed"},
		{"all of them empty, which is no way to ask for the default",
			`{"notice":"","begin":"","end":""}`,
			": line 1: notice: empty: notice, begin and end are all needed (byte 10)"},
		{"an empty end", with(`"END_NOTES"`, `""`),
			"end: empty: notice, begin and end are all needed"},
		{"another spelling", with(`"end"`, `"End"`),
			"an unknown member: those of a wrapper are notice, begin, end"},
		{"one more", with(`{`, `{"secret":"x",`), ": line 1: an unknown member"},
		{"one twice", with(`{`, `{"end":"x",`), "duplicate member name"},
		{"no string", with(`"BEGIN_NOTES"`, "\n7"), ": line 2: begin: not a string (byte 48)"},
		{"no string, behind a byte order mark", "\ufeff" + with(`"BEGIN_NOTES"`, "7"),
			"begin: not a string (byte 50)"},
		{"null", with(`"END_NOTES"`, `null`), "end: not a string"},
		{"invalid UTF-8", with("is data", "is\xff"), "invalid UTF-8 (byte 31)"},
		{"half of a surrogate pair", with("is data", `is\ud83d`), "lone surrogate"},
		{"a marker that is too short", with("BEGIN_NOTES", "BEGIN"),
			": begin: illegal wrapper: a marker has at least 8 characters (byte 5)"},
		{"markers that are equal", with("BEGIN_NOTES", "END_NOTES"),
			": end: illegal wrapper: one marker holds the other"},
		{"a marker in the notice", with("Data", "END_NOTES"),
			": notice: illegal wrapper: a marker stands in it (byte 0)"},
		{"a tab in the notice", with("Data", `a\tb`),
			": notice: illegal wrapper: a control or line boundary (byte 1)"},
		{"UTF-16", "\xff\xfe{\x00", ": UTF-16LE, not UTF-8"},
		{"gzip", "\x1f\x8b\x08", ": compressed with gzip"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			file := fileOf(t, "wrapper\u202e.json", tt.text)
			for _, args := range []string{"render", "render -format markdown", "verify"} {
				status, out, stderr := call(one, append(strings.Fields(args), "-wrapper", file)...)
				if tt.want == "" {
					assert.NotEqual(t, failed, status, stderr)
					continue
				}
				assert.Equal(t, failed, status)
				assert.Empty(t, out)
				assert.Contains(t, stderr, tt.want)
				assert.Contains(t, stderr, `wrapper\u202e.json: `)
				assert.NotContains(t, stderr, "secret")
				assert.Equal(t, 1, strings.Count(stderr, "\n"))
			}
		})
	}
	runStatus(t, []statusTest{
		{"standard input", "render -wrapper -", one, failed, "", "-wrapper takes a file"},
		{"no such file", "verify -wrapper no-such-file", one, failed, "", "open no-such-file"},
		{"a folder", "verify -wrapper .", one, failed, "", "read .: "},
	})
}
