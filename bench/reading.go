package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/transcript"
)

// reading compares Open, with its full check, and the readers of the other forms with decoding the
// line alone, unchecked.
func reading(text corpus) []contender {
	items := eight(text)
	rendered := string(render(nil, items, unbounded))
	lines := strings.Split(rendered, "\n")
	line := lines[len(lines)-2]
	prepared, err := json.Marshal(envelope.Prepared{Content: rendered})
	must(err)
	shown := string(renderMarkdown(nil, items, unbounded))
	return []contender{
		{name: "json.Unmarshal", run: func() {
			var into stdLine
			must(json.Unmarshal([]byte(line), &into))
		}},
		{name: "Open", run: func() {
			_, err := envelope.JSON{}.Open(rendered)
			must(err)
		}},
		{name: "ParsePrepared", run: func() {
			_, err := envelope.ParsePrepared(prepared, envelope.Unlimited)
			must(err)
		}},
		{name: "Markdown.Check", run: func() { must(markdown.Check(shown)) }},
	}
}

// writingLog compares the append of messages to a log with an Encoder on a file. Both files are
// emptied before.
func writingLog(text corpus) []contender {
	messages := messagesOf(text)
	plain, err := os.Create(filepath.Join(folder, "plain.jsonl"))
	must(err)
	encoder := json.NewEncoder(plain)
	encoder.SetEscapeHTML(false)
	path := filepath.Join(folder, "log.jsonl")
	log, err := transcript.Open(path, transcript.Options{})
	must(err)
	return []contender{
		{name: "Encoder", run: func() {
			must(os.Truncate(plain.Name(), 0))
			_, err := plain.Seek(0, io.SeekStart)
			must(err)
			for _, m := range messages {
				must(encoder.Encode(m))
			}
		}},
		{name: "Log.Append", run: func() {
			must(os.Truncate(path, 0))
			must(log.Append(messages...))
		}},
	}
}

// readingLog compares reading a log with a Decoder, both from memory.
func readingLog(text corpus) []contender {
	var log bytes.Buffer
	for _, m := range messagesOf(text) {
		line, err := json.Marshal(m)
		must(err)
		log.Write(append(line, '\n'))
	}
	return []contender{
		{name: "Decoder", run: func() {
			d := json.NewDecoder(bytes.NewReader(log.Bytes()))
			for {
				var m plainMessage
				err := d.Decode(&m)
				if err == io.EOF {
					return
				}
				must(err)
			}
		}},
		{name: "Messages", run: func() {
			read := bytes.NewReader(log.Bytes())
			for _, err := range transcript.Messages(read, transcript.Options{}) {
				must(err)
			}
		}},
	}
}

type plainMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func messagesOf(text corpus) (messages []any) {
	for _, item := range eight(text) {
		messages = append(messages, transcript.Message{Role: "tool", Content: item.Content})
	}
	return messages
}

// folder is where the logs are.
var folder = func() string {
	dir, err := os.MkdirTemp("", "bench-")
	must(err)
	return dir
}()
