// Package transcript stores a conversation as one JSON object a line, and never reads a rendering back.
//
// What messages say is taken for written by an attacker who knows how they are stored. What holds is that
//
//   - what [Log.Append] wrote comes back from [Records] and [Messages] as it was, in the same order: the number of messages, each role, each
//     content, each other member;
//   - a line is one line to every line reader that decodes UTF-8, whatever is in it;
//   - a writer that is killed, a full disk or a competing writer damages no record that was there, and none that comes after: what a dead
//     writer left of its record is a line of its own, which every reader reports as a [Fault] with line and offset;
//   - reading takes the memory of the longest line that is allowed, and of the faults it finds.
//
// What is not promised: order among competing writers, records that outlive a crash of the machine without [Log.Sync], and protection
// from programs that write to the file without its lock. Nothing is hidden or encrypted.
//
// Start with [Open] and [Log.Append], and read with [Messages]. A test of one's own storage ends in [Compare].
//
// # Why objects
//
// A rendered conversation cannot be parsed back. Here a tool read a file whose lines are <user>, </end> and --- tool ---, and four
// messages are written and read back in five forms (the functions are in this package's tests, and only there):
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
// "differ at" counts messages from 0; "the same" is that all came back. The first form makes a user turn of what stood in the file. The second has the right number of messages, and loses one of the user's. The
// next two lie in wait for their own delimiter. So nothing in this module parses rendered text.
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

// Message is one message of a conversation. On a line of a log it is {"role":…,"content":…} and then the members of Extra, its
// strings written as envelope's encoder writes them. An empty role or content is data like any other.
type Message struct {
	Role, Content string
	// Extra is what else the object holds, in its order: what another program wrote comes back as it was. The names are
	// neither "role" nor "content", and none stands twice.
	Extra []Member
}

// Member is one member of an object.
type Member struct {
	Name string
	// Value is JSON in strict form: valid UTF-8, no lone surrogate, no name twice. It is kept byte for byte, but for line
	// breaks between its tokens (then all white space between them goes) and the characters that some reader takes for a
	// line break, which are escaped. nil is an error.
	Value json.RawMessage
}

// MarshalJSON encodes the message as [Log.Append] does, of which json.Marshal then takes the white space out and escapes < > &. Its error
// is a *[RecordError].
func (m Message) MarshalJSON() ([]byte, error) {
	data, err := appendMessage(nil, &m)
	if err != nil {
		return nil, err
	}
	return data, nil
}

// UnmarshalJSON decodes an object in strict form whose role and content are strings. The error is a *[Fault] on line 1, and leaves m as
// it was.
func (m *Message) UnmarshalJSON(data []byte) error {
	c := newChecker()
	start, end, kind, at := c.check(data)
	if kind == 0 && start == end {
		kind, at = NotObject, start
	}
	var read Message
	if kind == 0 {
		read, kind, at = c.message(start)
	}
	if kind != 0 {
		return &Fault{Line: 1, Offset: int64(at), Kind: kind}
	}
	*m = read
	return nil
}

// message reads the object at byte start of the data that was checked.
func (c *checker) message(start int) (m Message, kind FaultKind, at int) {
	role, content := false, false
	for _, member := range c.Members(start) {
		value := c.Data[member.ValueStart:member.ValueEnd]
		switch name := string(member.Name); name {
		case "role", "content":
			if value[0] != '"' {
				return Message{}, NotMessage, member.ValueStart
			}
			if text := string(strictjson.Decode(value)); name == "role" {
				m.Role, role = text, true
			} else {
				m.Content, content = text, true
			}
		default:
			m.Extra = append(m.Extra, Member{name, bytes.Clone(value)})
		}
	}
	if !role || !content {
		return Message{}, NotMessage, start
	}
	return m, 0, 0
}

// appendMessage appends the one line that m is, without its end.
func appendMessage(dst []byte, m *Message) ([]byte, error) {
	dst, err := appendString(append(dst, `{"role":`...), m.Role, "role")
	if err != nil {
		return nil, err
	}
	dst, err = appendString(append(dst, `,"content":`...), m.Content, "content")
	if err != nil {
		return nil, err
	}
	names := map[string]bool{"role": true, "content": true}
	for i, member := range m.Extra {
		field := "extra[" + strconv.Itoa(i) + "]"
		if names[member.Name] {
			return nil, &RecordError{Err: envelope.ErrDuplicateName, Field: field + ".name", Offset: -1}
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

// Comparison is what became of a conversation on a way there and back.
type Comparison struct {
	Want, Got     int // how many messages there were and are
	Role, Content int // the index of the first message whose role, whose content, differs; -1 for none
}

// OK reports whether all three are the same: the number of messages, each role and each content.
func (c Comparison) OK() bool { return c.Want == c.Got && c.Role < 0 && c.Content < 0 }

// Compare answers the three questions of a round trip: how many messages, in which roles, with which contents. One alone lies: a parser
// that loses the first message and takes a line of another for a new one gets the number right. Where one conversation
// ends and the other goes on, both role and content differ. Extra is not compared.
func Compare(want, got []Message) Comparison {
	c := Comparison{Want: len(want), Got: len(got), Role: -1, Content: -1}
	for i := range max(len(want), len(got)) {
		missing := i >= len(want) || i >= len(got)
		if c.Role < 0 && (missing || want[i].Role != got[i].Role) {
			c.Role = i
		}
		if c.Content < 0 && (missing || want[i].Content != got[i].Content) {
			c.Content = i
		}
	}
	return c
}

// RoundTrip writes messages to a log in a temporary directory, reads them back and compares: the acceptance check, for a test of
// one's own.
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
