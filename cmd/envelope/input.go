package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/untrusted-context/envelope/internal/forms"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// input reads the whole of file.
func input(file string, s streams) ([]byte, error) {
	if file == "-" {
		data, err := io.ReadAll(s.in)
		if err != nil {
			return nil, printable(fmt.Errorf("%s: %w", inputName(file), err))
		}
		return data, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, printable(err)
	}
	return data, nil
}

// inputName is what messages call file.
func inputName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// inputError says where the input is not what it should be.
type inputError struct {
	name   string // of the file
	line   int    // from 1; lines end in LF
	item   int    // -1 outside of an item
	offset int    // of the whole input, from 0
	what   string
}

// newInputError is an error at byte offset of data, which is the input of that name.
func newInputError(name string, data []byte, item, offset int, what string) *inputError {
	line := 1 + bytes.Count(data[:min(offset, len(data))], []byte("\n"))
	return &inputError{name, line, item, offset, what}
}

func (e *inputError) Error() string {
	item := ""
	if e.item >= 0 {
		item = fmt.Sprintf("item %d: ", e.item)
	}
	return fmt.Sprintf("%s: line %d: %s%s (byte %d)", e.name, e.line, item, e.what, e.offset)
}

// form says what data is, and what to do, when its first bytes are those of another encoding than
// UTF-8 or of a compressed file. It is "" for everything else. JSON and the texts that are
// rendered from it hold no NUL, so that one NUL among the first bytes tells UTF-16 and UTF-32
// without a byte order mark.
func form(data []byte) string {
	switch f, ok := forms.Of(data); {
	case ok && f.Unpack != "":
		return fmt.Sprintf("compressed with %s: unpack it first: %s", f.Name, f.Unpack)
	case ok:
		return unicodeForm(f.Name)
	}
	var b [4]byte
	copy(b[:], data)
	ascii := func(c byte) bool { return 0 < c && c < 0x80 }
	switch {
	case len(data) >= 4 && ascii(b[0]) && b[1] == 0 && b[2] == 0 && b[3] == 0:
		return unicodeForm("UTF-32LE")
	case len(data) >= 4 && b[0] == 0 && b[1] == 0 && b[2] == 0 && ascii(b[3]):
		return unicodeForm("UTF-32BE")
	case len(data) >= 2 && ascii(b[0]) && b[1] == 0:
		return unicodeForm("UTF-16LE")
	case len(data) >= 2 && b[0] == 0 && ascii(b[1]):
		return unicodeForm("UTF-16BE")
	}
	return ""
}

func unicodeForm(name string) string {
	return name + ", not UTF-8: convert it: iconv -f " + name + " -t UTF-8"
}

// isResponse reports whether data is one JSON object that was meant as the response of four
// members that carries a text to a host.
func isResponse(data []byte) bool {
	s := strictjson.Scanner{Data: data, Loose: true, MaxDepth: maxDepth}
	start, _, fault := s.Whole()
	if fault != nil || data[start] != '{' {
		return false
	}
	found := 0
	for _, m := range s.Members(start) {
		if name := string(m.Name); name == "schema" || name == "content_bytes" {
			found++
		}
	}
	return found >= 2
}
