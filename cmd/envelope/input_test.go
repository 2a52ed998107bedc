package main

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func utf16Text(text string, order binary.AppendByteOrder) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

func utf32Text(text string, order binary.AppendByteOrder) string {
	var b []byte
	for _, r := range text {
		b = order.AppendUint32(b, uint32(r))
	}
	return string(b)
}

// Input that is text in no sense of ours is called what it is, with what to do about it.
func TestInputForm(t *testing.T) {
	little, big := binary.LittleEndian, binary.BigEndian
	_, rendered, _ := call(one, "render")
	require.NotEmpty(t, rendered)
	tests := []struct {
		why  string
		form func(text string) string
		want string // "" has no name
	}{
		{"UTF-16 as PowerShell writes it",
			func(s string) string { return utf16Text("\ufeff"+s, little) }, "UTF-16LE"},
		{"UTF-16, the other order", func(s string) string { return utf16Text("\ufeff"+s, big) },
			"UTF-16BE"},
		{"UTF-16 without a mark", func(s string) string { return utf16Text(s, little) },
			"UTF-16LE"},
		{"UTF-16 without a mark, the other order",
			func(s string) string { return utf16Text(s, big) }, "UTF-16BE"},
		{"UTF-16 that begins with a line feed",
			func(s string) string { return utf16Text("\n"+s, big) }, "UTF-16BE"},
		{"UTF-32", func(s string) string { return utf32Text("\ufeff"+s, little) }, "UTF-32LE"},
		{"UTF-32, the other order", func(s string) string { return utf32Text("\ufeff"+s, big) },
			"UTF-32BE"},
		{"UTF-32 without a mark", func(s string) string { return utf32Text(s, little) },
			"UTF-32LE"},
		{"UTF-32 without a mark, the other order",
			func(s string) string { return utf32Text(s, big) }, "UTF-32BE"},
		{"a mark and nothing else", func(string) string { return "\xff\xfe" }, "UTF-16LE"},
		{"gzip", func(string) string { return "\x1f\x8b\x08\x00" }, "compressed with gzip"},
		{"zstd", func(string) string { return "\x28\xb5\x2f\xfd\x04" }, "compressed with zstd"},
		{"xz", func(string) string { return "\xfd7zXZ\x00\x00" }, "compressed with xz"},
		{"bzip2", func(string) string { return "BZh91AY&SY\x00" }, "compressed with bzip2"},
		{"bzip2 with small blocks", func(string) string { return "BZh11AY&SY\x00" },
			"compressed with bzip2"},
		{"lz4", func(string) string { return "\x04\x22\x4d\x18d" }, "compressed with lz4"},
		{"zip", func(string) string { return "PK\x03\x04\x14" }, "compressed with zip"},
		{"NUL bytes, as a crash leaves them",
			func(string) string { return "\x00\x00\x00\x00\x00" }, ""},
		{"one byte", func(string) string { return "x" }, ""},
		{"Latin-1", func(string) string { return "\xe9{}" }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			for _, command := range []struct {
				args   string
				input  string
				status int
			}{
				{"render", one, failed},
				{"verify", rendered, refused},
				{"verify -prepared", one, refused},
				{"verify -format markdown", rendered, refused},
			} {
				status, out, stderr := call(tt.form(command.input), strings.Fields(command.args)...)
				assert.Equal(t, command.status, status, command.args)
				said := out + stderr
				if tt.want == "" {
					assert.NotContains(t, said, "UTF-")
					assert.NotContains(t, said, "compressed")
					continue
				}
				assert.Contains(t, said, ": "+tt.want, command.args)
				assert.Equal(t, 1, strings.Count(said, "\n"))
			}
		})
	}
}

// No prefix of what the command writes itself has another form's first bytes.
func TestInputFormOfOurs(t *testing.T) {
	for _, args := range []string{"render", "render -prepared", "render -format markdown"} {
		_, out, _ := call(one, strings.Fields(args)...)
		require.NotEmpty(t, out)
		for n := range len(out) {
			assert.Empty(t, form([]byte(out[:n])))
		}
	}
	assert.Empty(t, form([]byte(one)))
}

func TestInputNames(t *testing.T) {
	var stderr strings.Builder
	assert.Equal(t, failed, run([]string{"verify"}, streams{failingReader{}, &stderr, &stderr}))
	assert.Equal(t, "envelope: verify: standard input: broken pipe\n", stderr.String())
	file := fileOf(t, "items.jsonl", one+"\n\n"+`{"content":7}`)
	_, _, message := call("", "render", file)
	assert.Equal(t,
		"envelope: render: "+file+": line 3: item 1: content is not a string (byte 55)\n", message)
	_, _, message = call("[\n"+one+",\n7]", "render")
	assert.Equal(t,
		"envelope: render: standard input: line 3: item 1: not an object (byte 46)\n", message)
}
