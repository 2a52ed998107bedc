package forms

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOf(t *testing.T) {
	for head, name := range map[string]string{
		"\xff\xfe\x00\x00": "UTF-32LE", "\x00\x00\xfe\xff": "UTF-32BE",
		"\xff\xfe{\x00": "UTF-16LE", "\xff\xfe": "UTF-16LE", "\xfe\xff\x00{": "UTF-16BE",
		"\x1f\x8b\x08": "gzip", "\x28\xb5\x2f\xfd\x04": "zstd", "\xfd7zXZ\x00": "xz",
		"\x04\x22\x4d\x18d": "lz4", "PK\x03\x04\x14": "zip",
		"BZh1": "bzip2", "BZh9": "bzip2",
		"": "", "{": "", "\xff": "", "\xef\xbb\xbf{": "", "\x00\x00\x00\x00": "",
		"BZh": "", "BZh0": "", "BZhx": "", "PK": "",
		"BZh:": "", "abc5": "", "BZi5": "",
	} {
		form, ok := Of([]byte(head))
		assert.Equal(t, name, form.Name, "%q", head)
		assert.Equal(t, name != "", ok, "%q", head)
		assert.LessOrEqual(t, len(head), MarkBytes, "no head here is longer than what tells")
	}
}

// Each mark counts from its last byte on, and not before.
func TestOfMarks(t *testing.T) {
	longest := 0
	for _, f := range marked {
		longest = max(longest, len(f.mark))
		form, ok := Of([]byte(f.mark))
		assert.True(t, ok)
		assert.Equal(t, f.Form, form)
		short, _ := Of([]byte(f.mark[:len(f.mark)-1]))
		assert.NotEqual(t, f.Form, short)
	}
	assert.Equal(t, MarkBytes, longest)
}
