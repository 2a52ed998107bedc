package envelope

import "strconv"

// Prepared is a rendered text and the report on it, and as JSON the response that carries the text to a host.
type Prepared struct {
	Content string // "" is the empty result: nothing could be delivered
	Report  Report // does not travel
}

// Ready reports whether there is a text.
func (p Prepared) Ready() bool { return p.Content != "" }

// schema names the response's form.
const schema = "powercontext.prepared-context.v1"

// MarshalJSON writes the four members schema ("powercontext.prepared-context.v1"), status ("ready" or "empty"), content (null when the
// status is "empty") and content_bytes, the length of content in bytes of UTF-8. It is one line for every reader that decodes UTF-8. A content that is blank or not valid UTF-8 is an error.
func (p Prepared) MarshalJSON() ([]byte, error) {
	if !p.Ready() {
		return []byte(`{"schema":"` + schema + `","status":"empty","content":null,"content_bytes":0}`), nil
	}
	if bad := firstInvalid(p.Content); bad >= 0 {
		return nil, &Error{Err: ErrInvalidUTF8, Item: -1, Field: "content", Offset: bad}
	}
	if blank(p.Content, len(p.Content)) {
		return nil, optionError(ErrBlank, "content", -1, "")
	}
	b := make([]byte, 0, len(p.Content)+len(p.Content)/8+128)
	b = append(b, `{"schema":"`+schema+`","status":"ready","content":`...)
	b = escapers[0].appendLiteral(b, p.Content)
	b = append(b, `,"content_bytes":`...)
	b = strconv.AppendInt(b, int64(len(p.Content)), 10)
	return append(b, '}'), nil
}
