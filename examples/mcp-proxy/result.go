package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/untrusted-context/envelope"
)

// renderer makes the texts of results envelopes.
type renderer struct {
	line   envelope.JSON
	budget envelope.Budget // of the text of one result; its other bounds are set here
	server string
	teach  bool
}

func (r *renderer) validate() error {
	_, err := r.line.Render(nil, r.bounds(0))
	return err
}

// bounds is the budget of what is left of a result's text when so much is used.
func (r *renderer) bounds(used int) envelope.Budget {
	b := r.budget
	if b.MaxBytes > 0 {
		b.MaxBytes = max(b.MaxBytes-used, 1)
	}
	b.MaxItems, b.MaxItemBytes = envelope.Unlimited, envelope.Unlimited
	return b
}

// citation says where a text is from. Server, Tool and Call are the host's words, the rest is the
// server's.
type citation struct {
	Server string `json:"server"`
	Tool   string `json:"tool,omitempty"`
	Task   string `json:"task,omitempty"`
	Call   string `json:"call"`
	Block  int    `json:"block"` // its place in the result
	URI    string `json:"uri,omitempty"`
}

// response changes the answer to a request of the host's. What cannot be changed is an error.
func (r *renderer) response(response *jsonrpc.Response, asked call) {
	cited := citation{
		Server: r.server, Tool: asked.tool, Task: asked.task, Call: fmt.Sprint(response.ID.Raw()),
	}
	var change func(members) error
	switch asked.method {
	case "tools/call", "tasks/result", "tasks/get":
		var fault *jsonrpc.Error
		if errors.As(response.Error, &fault) {
			r.failure(fault, cited)
		}
		change = func(m members) error { return r.result(m, cited) }
	case "tools/list":
		change = withoutSchemas
	case "initialize", "server/discover":
		if r.teach {
			change = r.instruct
		}
	}
	if response.Error != nil {
		response.Result = nil
		return
	}
	if change == nil {
		return
	}
	var result members
	err := json.Unmarshal(response.Result, &result)
	if err == nil && result == nil {
		err = errors.New("null")
	}
	if err == nil {
		err = change(result)
	}
	if err == nil {
		response.Result, err = encode(result)
	}
	if err != nil {
		response.Result = nil
		response.Error = &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: "the server's result is not of its form",
		}
	}
}

// members are those of an object. A name that stands twice is there once.
type members map[string]json.RawMessage

// without encodes m without some of them, each name once.
func (m members) without(names ...string) json.RawMessage {
	for _, name := range names {
		delete(m, name)
	}
	encoded, _ := encode(m) // of values that have been decoded
	return encoded
}

// fold takes out the members whose names are these but for their case, which some readers do not
// look at.
func (m members) fold(names ...string) {
	for member := range m {
		for _, name := range names {
			if member != name && strings.EqualFold(member, name) {
				delete(m, member)
			}
		}
	}
}

// failure makes the message of an error an envelope. Its code and data are for programs.
func (r *renderer) failure(fault *jsonrpc.Error, cited citation) {
	item := envelope.Item{Kind: "tool-error", Citation: cited, Content: fault.Message}
	prepared, err := r.line.Render([]envelope.Item{item}, r.bounds(0))
	if err != nil || !prepared.Ready() {
		fault.Message = "the call has failed"
		return
	}
	fault.Message = prepared.Content
}

// result makes the texts of a tool's result envelopes: one, or where blocks are annotated
// differently, one for each annotation.
func (r *renderer) result(result members, cited citation) error {
	result.fold("content", "structuredContent", "toolResult", "result", "error")
	if err := r.task(result, cited); err != nil {
		return err
	}
	structured := result["structuredContent"]
	if structured == nil {
		structured = result["toolResult"] // of the first version of the protocol
	}
	delete(result, "structuredContent")
	delete(result, "toolResult")
	content, ok := result["content"]
	if !ok && structured == nil {
		return nil // a task, or a question of the server's
	}
	var blocks []json.RawMessage
	if ok {
		var err error
		if blocks, err = elements(content); err != nil {
			return err
		}
	}
	groups, out := r.sort(blocks, cited)
	if len(out) == 0 && structured != nil {
		item := envelope.Item{Kind: "tool-result", Citation: cited, Content: string(structured)}
		groups = []*group{{at: len(out), items: []envelope.Item{item}}}
		out = append(out, nil)
	}
	used := 0
	for _, g := range groups {
		prepared, err := r.line.Render(g.items, r.bounds(used))
		if err != nil {
			return err
		}
		if !prepared.Ready() {
			continue // nothing but white space, or no room
		}
		used += len(prepared.Content)
		text, err := encode(prepared.Content)
		if err != nil {
			return err
		}
		block := members{"type": json.RawMessage(`"text"`), "text": text}
		for _, name := range annotations {
			if g.block[name] != nil {
				block[name] = g.block[name]
			}
		}
		if out[g.at], err = encode(block); err != nil {
			return err
		}
	}
	kept := []json.RawMessage{}
	for _, block := range out {
		if block != nil {
			kept = append(kept, block)
		}
	}
	var err error
	result["content"], err = encode(kept)
	return err
}

// task makes the result or the error of a task, which stands inside of what the server says about
// it, what a result and an error are.
func (r *renderer) task(result members, cited citation) error {
	var inner members
	if json.Unmarshal(result["result"], &inner) == nil && inner != nil {
		if err := r.result(inner, cited); err != nil {
			return err
		}
		result["result"] = inner.without()
	}
	var fault members
	if json.Unmarshal(result["error"], &fault) == nil && fault != nil {
		fault.fold("message")
		wrapped := jsonrpc.Error{Message: text(fault["message"])}
		r.failure(&wrapped, cited)
		var err error
		if fault["message"], err = encode(wrapped.Message); err != nil {
			return err
		}
		result["error"] = fault.without()
	}
	return nil
}

// mostElements is how many elements are read of an array. A message has room for millions of them,
// of which each takes far more memory than it is long.
const mostElements = 10_000

// elements reads an array of at most mostElements.
func elements(raw json.RawMessage) ([]json.RawMessage, error) {
	all := []json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(raw))
	if token, err := d.Token(); err != nil || token != json.Delim('[') {
		return nil, errors.New("not an array")
	}
	for d.More() {
		if len(all) == mostElements {
			return nil, errors.New("too many elements")
		}
		var element json.RawMessage
		if err := d.Decode(&element); err != nil {
			return nil, err
		}
		all = append(all, element)
	}
	_, err := d.Token()
	return all, err
}

// group is the texts that become one envelope.
type group struct {
	at    int // its place among the blocks
	block members
	items []envelope.Item
}

// annotations are what a text block says about itself, to programs.
var annotations = []string{"_meta", "annotations"}

// sort tells the texts among the blocks of a result from what passes as it is, in its place.
func (r *renderer) sort(
	blocks []json.RawMessage, cited citation,
) (groups []*group, out []json.RawMessage) {
	known := map[string]*group{}
	for i, raw := range blocks {
		var block members
		item := envelope.Item{Kind: "tool-result", Content: string(raw)}
		cited.Block, cited.URI = i, ""
		if json.Unmarshal(raw, &block) == nil && block != nil {
			block.fold("type", "text", "resource")
			switch text(block["type"]) {
			case "image", "audio", "resource_link":
				out = append(out, block.without("text"))
				continue
			case "text":
				if isString(block["text"]) {
					item.Content = text(block["text"])
				}
			case "resource":
				var resource members
				_ = json.Unmarshal(block["resource"], &resource)
				resource.fold("text", "uri", "blob")
				if !isString(resource["text"]) {
					block["resource"] = resource.without("text")
					out = append(out, block.without("text"))
					continue
				}
				item.Content, cited.URI = text(resource["text"]), text(resource["uri"])
			}
		}
		item.Citation = cited
		key := string(block[annotations[0]]) + "\x00" + string(block[annotations[1]])
		g := known[key]
		if g == nil {
			g = &group{at: len(out), block: block}
			known[key], groups, out = g, append(groups, g), append(out, nil)
		}
		g.items = append(g.items, item)
	}
	return groups, out
}

// withoutSchemas says of no tool that it has structured content.
func withoutSchemas(result members) error {
	tools, err := elements(result["tools"])
	if err != nil {
		return err
	}
	for i, raw := range tools {
		var tool members
		if err := json.Unmarshal(raw, &tool); err != nil || tool == nil {
			return errors.New("a tool is no object")
		}
		tools[i] = tool.without("outputSchema")
	}
	result["tools"], err = encode(tools)
	return err
}

// instruct puts what an envelope is before what the server says of itself.
func (r *renderer) instruct(result members) (err error) {
	all := r.line.Instructions()
	if own := text(result["instructions"]); own != "" {
		all += "\n\n" + own
	}
	result["instructions"], err = encode(all)
	return err
}

func isString(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

// text is a string's, "" of any other value.
func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

// encode encodes v without the escapes of HTML, which a message has no use for.
func encode(v any) (json.RawMessage, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n")), err
}
