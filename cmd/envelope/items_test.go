package main

import (
	"strings"
	"testing"
)

func TestItemsStatus(t *testing.T) {
	runStatus(t, []statusTest{
		{"an array", "render", "\n[" + one + "]\n", done, `"content":"hello"`, ""},
		{"blank lines and a BOM", "render", "\ufeff\n\n" + one + "\r\n\n", done,
			`"content":"hello"`, ""},
		{"not JSON", "render", "{]", failed, "", "item 0: syntax error (byte 1)"},
		{"not JSON, in the second line", "render", one + "\n{\"a\":", failed, "",
			"item 1: unexpected end"},
		{"two values on a line", "render", one + one, failed, "",
			"item 0: syntax error (byte 42)"},
		{"an item over two lines", "render", "{\n}", failed, "",
			"item 0: unexpected end (byte 1)"},
		{"an array with text behind", "render", "[] x", failed, "", "syntax error (byte 3)"},
		{"no object", "render", "7", failed, "", "item 0: not an object (byte 0)"},
		{"no object in an array", "render", `[` + one + `,"x"]`, failed, "",
			"item 1: not an object (byte 44)"},
		{"an unknown member", "render", `{"content":"x","secret":1}`, failed, "",
			"item 0: an unknown member: those of an item are kind, citation, content (byte 15)"},
		{"another spelling", "render", `{"Content":"x"}`, failed, "", "an unknown member"},
		{"a repeated member", "render", `{"content":"x","content":"y"}`, failed, "",
			"item 0: a member stands twice (byte 15)"},
		{"no content", "render", `{"citation":{}}`, failed, "", "no content"},
		{"another type of content", "render", `{"content":null}`, failed, "",
			"content is not a string"},
		{"another type of kind", "render", `{"content":"x","kind":1}`, failed, "",
			"kind is not a string"},
		{"a malformed item is named and the other delivered", "render",
			"{\"citation\":{\"u\":1},\"content\":\"secret\xff\"}\n" + one, done,
			`"content":"hello"`, "item 0: content: invalid UTF-8 (byte 6)"},
		{"a lone surrogate likewise", "render",
			`{"citation":{"u":1},"content":"a\ud83d"}` + "\n" + one, done, `"content":"hello"`,
			"item 0: content: invalid UTF-8 (byte 1)"},
		{"a citation that is no object likewise", "render",
			`{"citation":[1],"content":"a"}` + "\n" + one, done, `"content":"hello"`,
			"item 0: citation: does not encode to a JSON object (byte 0)"},
		{"a repeated member of a citation likewise", "render",
			`{"citation":{"a":1,"a":2},"content":"a"}` + "\n" + one, done, `"content":"hello"`,
			"item 0: citation: a member name stands twice (byte 7)"},
		{"a citation that is too deep likewise", "render",
			`{"citation":{"a":` + nested(60) + `},"content":"a"}` + "\n" + one,
			done, `"content":"hello"`, "nested too deeply (byte 64)"},
		{"one that is as deep as may be, in an array", "render",
			`[{"citation":{"a":` + nested(59) + `},"content":"a"}]`,
			done, `"content":"a"`, ""},
		{"deeper than anybody asks", "render", strings.Repeat("[", 20_000), failed, "",
			"nested too deeply"},
		{"a response", "render", preparedOne, failed, "",
			"standard input: a response of four members, not items: verify -prepared reads it"},
		{"a response over more lines", "render",
			"\n" + strings.ReplaceAll(preparedOne, `,"`, ",\n\""), failed, "",
			"a response of four members, not items"},
		{"an item with another member of a response is none", "render",
			`{"content":"x","schema":"y"}`, failed, "", "an unknown member"},
	})
}

func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

// preparedOne is the empty response.
const preparedOne = `{"schema":"powercontext.prepared-context.v1",` +
	`"status":"empty","content":null,"content_bytes":0}`
