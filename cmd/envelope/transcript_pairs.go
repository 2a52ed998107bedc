package main

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/untrusted-context/envelope/internal/strictjson"
	"github.com/untrusted-context/envelope/transcript"
)

// conversation checks whether the records of a log are messages, and whether each call of a tool
// has its result and each result its call, since the vendors' APIs refuse a history where that
// is not so. It knows three forms.
//
//   - OpenAI chat: the tool_calls of a message, and messages of the role tool with a tool_call_id.
//     The results come right behind the message.
//   - Anthropic: blocks of a content whose type ends in tool_use, with an id, and blocks whose
//     type ends in tool_result, with a tool_use_id. The results come before the next turn of the
//     assistant; messages of one role in a row are one turn.
//   - OpenAI responses: records of their own without a role, with a call_id. The results come
//     anywhere behind their call.
type conversation struct {
	report   *faultReport
	messages int
	role     string              // of the last message
	open     map[pairKey]pending // the calls that wait for their result
}

// pairKey is a form and an id. It is a hash, since ids are of any length.
type pairKey [sha256.Size]byte

type vendorForm byte

const (
	chat vendorForm = iota
	blocks
	items
)

// pending is a call without a result so far.
type pending struct {
	form   vendorForm
	line   int
	offset int64
}

func newConversation(report *faultReport) *conversation {
	return &conversation{report: report, open: map[pairKey]pending{}}
}

const (
	callWithoutResult = "call-without-result"
	resultWithoutCall = "result-without-call"
)

// add looks at the next record. Its error is one of the report's output.
func (c *conversation) add(r transcript.Record) error {
	s := newScanner(r.JSON)
	members := map[string]value{}
	s.EachMember(0, func(m strictjson.Member) {
		switch name := string(m.Name); name {
		case "role", "content", "type", "tool_calls", "tool_call_id", "call_id":
			members[name] = value{s, m.ValueStart, m.ValueEnd}
		}
	})
	turn := turn{c, r, members}
	typ, _ := members["type"].text()
	if _, hasRole := members["role"]; !hasRole && isItem(typ) {
		return turn.item(typ)
	}
	var m transcript.Message
	if fault, isFault := r.Decode(&m).(*transcript.Fault); isFault {
		return c.report.fault(fault)
	}
	c.messages++
	return turn.message(m.Role)
}

// end reports the calls that still wait. Its error is one of the report's output, which stays.
func (c *conversation) end() { _ = c.expire(chat, blocks, items) }

// expire reports the calls of some forms for which it is too late now.
func (c *conversation) expire(forms ...vendorForm) error {
	var late []pending
	for key, call := range c.open {
		if slices.Contains(forms, call.form) {
			late = append(late, call)
			delete(c.open, key)
		}
	}
	slices.SortFunc(late, func(a, b pending) int { return cmp.Compare(a.offset, b.offset) })
	for _, call := range late {
		if err := c.report.other(call.line, call.offset, callWithoutResult); err != nil {
			return err
		}
	}
	return nil
}

// turn is one record of a conversation.
type turn struct {
	*conversation
	record  transcript.Record
	members map[string]value
}

// message takes the calls and results of a message.
func (t turn) message(role string) error {
	last := t.role
	t.role = role
	if role != "tool" {
		if err := t.expire(chat); err != nil {
			return err
		}
	}
	if role == "assistant" && last != "assistant" {
		if err := t.expire(blocks); err != nil {
			return err
		}
	}
	if role == "tool" {
		if id := t.members["tool_call_id"]; id.isText() {
			if err := t.result(chat, id, 0); err != nil {
				return err
			}
		}
	}
	var failure error
	t.members["tool_calls"].elements(func(call value) {
		if id := call.member("id"); failure == nil && id.isText() {
			failure = t.call(chat, id, call.start)
		}
	})
	t.members["content"].elements(func(block value) {
		typ, _ := block.member("type").text()
		if failure != nil {
			return
		}
		if id := block.member("id"); strings.HasSuffix(typ, "tool_use") && id.isText() {
			failure = t.call(blocks, id, block.start)
		}
		if id := block.member("tool_use_id"); strings.HasSuffix(typ, "tool_result") && id.isText() {
			failure = t.result(blocks, id, block.start)
		}
	})
	return failure
}

// item takes a record of the responses form, which has no role.
func (t turn) item(typ string) error {
	id := t.members["call_id"]
	switch {
	case !id.isText() || strings.HasPrefix(typ, "local_shell_call"):
		return nil // a tool that the vendor runs, or one whose results name their call otherwise
	case strings.HasSuffix(typ, "_output"):
		return t.result(items, id, 0)
	case strings.HasSuffix(typ, "_call"), typ == "program":
		return t.call(items, id, 0)
	}
	return nil
}

// isItem reports whether a record without a role is a part of a conversation in the responses
// form.
func isItem(typ string) bool {
	switch typ {
	case "reasoning", "item_reference", "compaction", "program", "mcp_list_tools",
		"mcp_approval_request", "mcp_approval_response":
		return true
	}
	return strings.HasSuffix(typ, "_call") || strings.HasSuffix(typ, "_output")
}

func (t turn) call(f vendorForm, id value, at int) error {
	key := id.key(f)
	// Of two calls with one id, the results cannot be told apart.
	earlier, twice := t.open[key]
	t.open[key] = pending{f, t.record.Line, t.record.Offset + int64(at)}
	if twice {
		return t.report.other(earlier.line, earlier.offset, callWithoutResult)
	}
	return nil
}

func (t turn) result(f vendorForm, id value, at int) error {
	key := id.key(f)
	if _, waits := t.open[key]; waits {
		delete(t.open, key)
		return nil
	}
	return t.report.other(t.record.Line, t.record.Offset+int64(at), resultWithoutCall)
}

// value is a value in a record; its zero value is none.
type value struct {
	s          *strictjson.Scanner
	start, end int
}

func newScanner(data []byte) *strictjson.Scanner {
	// As deep as a record of a log, and with any number.
	return &strictjson.Scanner{Data: data, MaxDepth: 10_000, AnyNumber: true}
}

func (v value) isText() bool { return v.s != nil && v.s.Data[v.start] == '"' }

// text is a string's value.
func (v value) text() (text string, ok bool) {
	if !v.isText() {
		return "", false
	}
	return string(strictjson.Decode(v.s.Data[v.start:v.end])), true
}

func (v value) key(f vendorForm) pairKey {
	id := strictjson.Decode(v.s.Data[v.start:v.end])
	return sha256.Sum256(append([]byte{byte(f)}, id...))
}

// elements calls yield with each element of an array.
func (v value) elements(yield func(value)) {
	if v.s != nil && v.s.Data[v.start] == '[' {
		v.s.Elements(v.start, func(start, end int) { yield(value{v.s, start, end}) })
	}
}

// member is the member of an object.
func (v value) member(name string) (found value) {
	if v.s.Data[v.start] == '{' {
		v.s.EachMember(v.start, func(m strictjson.Member) {
			if string(m.Name) == name {
				found = value{v.s, m.ValueStart, m.ValueEnd}
			}
		})
	}
	return found
}
