// Package transcript stores a conversation as one JSON object a line, and never reads a
// rendering back.
//
// What messages say is taken for written by an attacker who knows how they are stored. What
// holds is that
//
//   - what [Log.Append] wrote comes back from [Records] and [Messages] as it was, in the same
//     order: the number of messages, each role, each content, each other member;
//   - a line is one line to every line reader that decodes UTF-8, whatever is in it;
//   - a writer that is killed, a full disk or a competing writer damages no record that was there,
//     and none that comes after: what a dead writer left of its record is a line of its own, which
//     every reader reports as a [Fault] with line and offset;
//   - reading takes the memory of the longest line that is allowed, and of the faults it finds.
//
// What is not promised: order among competing writers, records that outlive a crash of the
// machine without [Log.Sync], and protection from programs that write to the file without its
// lock. Nothing is hidden or encrypted.
//
// Start with [Open] and [Log.Append], and read with [Messages]. [Follow] reads a log while it is
// written, and [Repair] takes the whole records out of a damaged one. A test of one's own
// storage ends in [Compare].
//
// # Why objects
//
// A rendered conversation cannot be parsed back. Here a tool read a file whose lines are <user>,
// </end> and --- tool ---, and four messages are written and read back in five forms (the
// functions are in this package's tests, and only there):
//
//	form              messages  roles                           roles         contents
//	<role> … </end>   5 of 4    user assistant tool user user   differ at 4   differ at 2
//	--- role ---      4 of 4    assistant tool tool user        differ at 0   differ at 0
//	### role          4 of 4    user assistant tool user        all equal     all equal
//	===== role =====  4 of 4    user assistant tool user        all equal     all equal
//	JSON Lines        4 of 4    user assistant tool user        all equal     all equal
//
//	Three messages, the content of the second with a line that is:
//	form              <user>        </end>        --- tool ---  ###           ===== 结果 =====
//	<role> … </end>   4 of 3, wrong 3 of 3, wrong the same      the same      the same
//	--- role ---      2 of 3, wrong 2 of 3, wrong 3 of 3, wrong 2 of 3, wrong 2 of 3, wrong
//	### role          the same      the same      the same      4 of 3, wrong the same
//	===== role =====  the same      the same      the same      the same      4 of 3, wrong
//	JSON Lines        the same      the same      the same      the same      the same
//
// "differ at" counts messages from 0; "the same" is that all came back. The first form makes a
// user turn of what stood in the file. The second has the right number of messages, and loses
// one of the user's. The next two fail as soon as a content holds their own delimiter. So
// nothing in this module parses rendered text.
package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// Message is one message of a conversation. On a line of a log it is an object: the members role
// and content, and then those of Extra. Its strings are written as the encoder of package
// envelope writes them. An empty role or content is data like any other.
type Message struct {
	Role, Content string
	// Parts is a content that is no string, such as an array of blocks or null, as JSON. It is
	// kept as the Value of a [Member] is. Where it is not empty Content is "", and it is no JSON
	// string; anything else is an error.
	Parts json.RawMessage
	// Extra is what else the object holds, in its order. The names are neither "role" nor
	// "content", and none stands twice.
	Extra []Member
}

// Member is one member of an object.
type Member struct {
	Name string
	// Value is JSON in strict form: valid UTF-8, no lone surrogate, no name twice. It is kept
	// byte for byte, but for two things. Where a line break stands between its tokens, all white
	// space between them goes; and characters that some reader takes for a line break are
	// escaped. nil is an error.
	Value json.RawMessage
}

// MarshalJSON encodes the message as [Log.Append] does. json.Marshal then takes the white space
// out and escapes < > &. Its error is a *[RecordError].
func (m Message) MarshalJSON() ([]byte, error) {
	data, err := appendMessage(nil, &m)
	if err != nil {
		return nil, err
	}
	return data, nil
}

// UnmarshalJSON decodes an object in strict form that has a role, which is a string, and a
// content. Beside tool_calls a content may be missing, as OpenAI's SDKs write such a message; it
// is then read as null. The error is a *[Fault] on line 1, and leaves m as it was.
func (m *Message) UnmarshalJSON(data []byte) error {
	c := newChecker()
	start, end, kind, at := c.check(data)
	if kind == 0 && start == end {
		kind, at = NotObject, start
	}
	var read Message
	if kind == 0 {
		read, kind, at = c.message(start, end)
	}
	if kind != 0 {
		return &Fault{Line: 1, Offset: int64(at), Kind: kind}
	}
	*m = read
	return nil
}

// message reads the object at bytes start to end of the data that was checked. What it returns
// has memory of its own.
func (c *checker) message(start, end int) (m Message, kind FaultKind, at int) {
	role, content, calls := false, false, false
	own := bytes.Clone(c.Data[start:end])
	c.EachMember(start, func(member strictjson.Member) {
		from, to := member.ValueStart-start, member.ValueEnd-start
		value := json.RawMessage(own[from:to:to])
		switch text := value[0] == '"'; string(member.Name) {
		case "role":
			if role = true; text {
				m.Role = string(strictjson.Decode(value))
			} else {
				kind, at = NotMessage, member.ValueStart
			}
		case "content":
			if content = true; text {
				m.Content = string(strictjson.Decode(value))
			} else {
				m.Parts = value
			}
		default:
			m.Extra = append(m.Extra, Member{string(member.Name), value})
			calls = calls || string(member.Name) == "tool_calls" && value[0] == '['
		}
	})
	if calls && !content {
		m.Parts, content = json.RawMessage("null"), true
	}
	if kind == 0 && (!role || !content) {
		kind, at = NotMessage, start
	}
	if kind != 0 {
		return Message{}, kind, at
	}
	return m, 0, 0
}

// appendMessage appends the one line that m is, without its end.
func appendMessage(dst []byte, m *Message) ([]byte, error) {
	dst, err := appendString(append(dst, `{"role":`...), m.Role, "role")
	if err != nil {
		return nil, err
	}
	dst, err = appendContent(append(dst, `,"content":`...), m)
	if err != nil {
		return nil, err
	}
	if len(m.Extra) == 0 {
		return append(dst, '}'), nil
	}
	names := map[string]bool{"role": true, "content": true}
	for i, member := range m.Extra {
		field := "extra[" + strconv.Itoa(i) + "]"
		if names[member.Name] {
			return nil, &RecordError{
				Err: envelope.ErrDuplicateName, Field: field + ".name", Offset: -1,
			}
		}
		names[member.Name] = true
		if dst, err = appendString(append(dst, ','), member.Name, field+".name"); err != nil {
			return nil, err
		}
		if dst, err = appendRaw(append(dst, ':'), member.Value, field+".value"); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendContent appends the content, or the parts that stand in its place.
func appendContent(dst []byte, m *Message) ([]byte, error) {
	if len(m.Parts) == 0 {
		return appendString(dst, m.Content, "content")
	}
	start := len(dst)
	dst, err := appendRaw(dst, m.Parts, "parts")
	if err == nil && (m.Content != "" || dst[start] == '"') {
		err = &RecordError{Err: envelope.ErrOption, Field: "parts", Offset: -1}
	}
	return dst, err
}

// Comparison is what became of a conversation on a way there and back.
type Comparison struct {
	Want, Got     int // how many messages there were and are
	Role, Content int // the first message whose role, whose content, differs, from 0; -1: none
}

// OK reports whether all three are the same: the number of messages, each role and each content.
func (c Comparison) OK() bool { return c.Want == c.Got && c.Role < 0 && c.Content < 0 }

// Compare answers the three questions of a round trip: how many messages, in which roles, with
// which contents. One answer alone is not enough: a parser that loses the first message and
// takes a line of another for a new one gets the number right. Where one conversation ends and
// the other goes on, both role and content differ.
//
// Parts are part of the content. They are the same when they are the same JSON: white space and
// the spelling of strings do not count, the order of members and the text of numbers do. Extra
// is not compared.
func Compare(want, got []Message) Comparison {
	c := Comparison{Want: len(want), Got: len(got), Role: -1, Content: -1}
	for i := range max(len(want), len(got)) {
		missing := i >= len(want) || i >= len(got)
		if c.Role < 0 && (missing || want[i].Role != got[i].Role) {
			c.Role = i
		}
		if c.Content < 0 && (missing || !sameContent(&want[i], &got[i])) {
			c.Content = i
		}
	}
	return c
}

func sameContent(a, b *Message) bool {
	return a.Content == b.Content && (len(a.Parts) == 0) == (len(b.Parts) == 0) &&
		(bytes.Equal(a.Parts, b.Parts) || sameJSON(a.Parts, b.Parts))
}

// sameJSON reports whether two texts are the same tokens of JSON in strict form.
func sameJSON(a, b []byte) bool {
	var decoders [2]*json.Decoder
	for i, data := range [][]byte{a, b} {
		c := newChecker()
		c.Data = data
		if _, _, err := c.Whole(); err != nil {
			return false
		}
		decoders[i] = json.NewDecoder(bytes.NewReader(data))
		decoders[i].UseNumber()
	}
	for {
		tokenA, errA := decoders[0].Token()
		tokenB, errB := decoders[1].Token()
		if errA != nil || errB != nil {
			return errA != nil && errB != nil
		}
		if tokenA != tokenB {
			return false
		}
	}
}

// RoundTrip writes messages to a log in a temporary directory, reads them back and compares
// them. It is the acceptance check, for a test of one's own.
func RoundTrip(messages []Message) (c Comparison, err error) {
	dir, err := os.MkdirTemp("", "transcript-")
	if err != nil {
		return Comparison{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "log.jsonl")
	log, err := Open(path, Options{})
	if err != nil {
		return Comparison{}, err
	}
	records := make([]any, len(messages))
	for i := range messages {
		records[i] = &messages[i]
	}
	if err := errors.Join(log.Append(records...), log.Close()); err != nil {
		return Comparison{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return Comparison{}, err
	}
	defer file.Close()
	var got []Message
	for m, err := range Messages(file, Options{}) {
		if err != nil {
			return Comparison{}, err
		}
		got = append(got, m)
	}
	return Compare(messages, got), nil
}
