// Package forms tells by its first bytes that a file is no text in UTF-8.
package forms

import "bytes"

// Form is an encoding other than UTF-8, or a compressed form.
type Form struct {
	Name   string // as iconv and people call it
	Unpack string // the command that unpacks it, or "" for an encoding
}

// MarkBytes is how many bytes at the beginning of a file tell its form.
const MarkBytes = 6

// Of returns the form whose mark data begins with, and false when it begins with none of them.
func Of(data []byte) (Form, bool) {
	for _, f := range marked {
		if bytes.HasPrefix(data, []byte(f.mark)) {
			return f.Form, true
		}
	}
	if len(data) > 3 && string(data[:3]) == "BZh" && '1' <= data[3] && data[3] <= '9' {
		return Form{"bzip2", "bzip2 -dc"}, true // the digit is the size of its blocks
	}
	return Form{}, false
}

// marked is each form beside its mark. UTF-32LE comes before UTF-16LE, whose mark it begins with.
var marked = []struct {
	mark string
	Form
}{
	{"\xff\xfe\x00\x00", Form{Name: "UTF-32LE"}},
	{"\x00\x00\xfe\xff", Form{Name: "UTF-32BE"}},
	{"\xff\xfe", Form{Name: "UTF-16LE"}},
	{"\xfe\xff", Form{Name: "UTF-16BE"}},
	{"\x1f\x8b", Form{"gzip", "gzip -dc"}},
	{"\x28\xb5\x2f\xfd", Form{"zstd", "zstd -dc"}},
	{"\xfd7zXZ\x00", Form{"xz", "xz -dc"}},
	{"\x04\x22\x4d\x18", Form{"lz4", "lz4 -dc"}},
	{"PK\x03\x04", Form{"zip", "unzip -p"}},
}
