package envelope

import "github.com/untrusted-context/envelope/internal/quote"

// Escape is a set of classes of characters that are written as \uXXXX, with surrogate pairs above
// U+FFFF, although JSON lets them stand for themselves. Every class is lossless: what a JSON reader
// decodes does not change.
//
// The zero value escapes what breaks lines: with JSON's own escapes for the controls below U+0020,
// the three characters U+0085, U+2028 and U+2029 complete the line boundaries of every reader that
// decodes UTF-8 (Unicode UAX #14 and UTS #18 RL1.6, Python's str.splitlines). They are escaped
// whatever the classes.
type Escape uint8

// The classes, to be combined with |. Any other bit is an error to a renderer.
const (
	// EscapeControls is U+007F to U+009F, for terminals and logs: U+0084 moves down a line, U+009B
	// starts a control sequence.
	EscapeControls Escape = Escape(quote.Controls)
	// EscapeInvisible is general category Cf and the property Default_Ignorable_Code_Point of
	// Unicode 15.0: zero-width and bidirectional controls, tags, variation selectors, fillers. It
	// is for people who read the text.
	EscapeInvisible Escape = Escape(quote.Invisible)
	// EscapeMarkup is < > & and the backtick, for readers of tags, chat-template tokens and fences.
	// A model may still take an escaped tag for a tag; this breaks the text, not the idea.
	EscapeMarkup Escape = Escape(quote.Markup)
	// EscapeNonASCII is everything above U+007F, for readers that split undecoded bytes or decode
	// them as ISO-8859-1, to which the byte 0x85 inside a longer character is a line boundary.
	EscapeNonASCII Escape = Escape(quote.NonASCII)

	allEscapes = Escape(quote.All)
)

// EscapeJSON appends encoded to dst with the characters that break lines, and those of the classes
// in e, written as JSON escapes. Encoded is any JSON text in UTF-8, as encoding/json or another
// encoder left it; escapes that it holds already stay as they are, and so do bytes that are not
// valid UTF-8, which no JSON text has. Bits of e that name no class are ignored. Encoded must not
// overlap the spare capacity of dst.
func EscapeJSON(dst, encoded []byte, e Escape) []byte {
	return e.quoter().AppendEncoded(dst, encoded)
}

// lineQuoter writes strings with the line boundaries escaped and no class.
var lineQuoter = quote.For(0)

// quoter returns what writes strings with these classes escaped.
func (e Escape) quoter() *quote.Escaper { return quote.For(quote.Classes(e)) }
