package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"runtime/debug"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/untrusted-context/envelope"
)

// relay carries messages both ways, a line each.
type relay struct {
	renderer   renderer
	maxMessage int
	out        io.Writer
	note       func(text string) // for people, without anything that a server wrote

	mu    sync.Mutex // of these two
	open  map[id]call
	noted map[string]bool

	writing sync.Mutex // of out, and of this; a host that does not read must not keep mu
	closed  bool
}

// noteOnce notes something that a server may do as often as it likes.
func (r *relay) noteOnce(text string) {
	r.mu.Lock()
	known := r.noted[text]
	r.noted[text] = true
	r.mu.Unlock()
	if !known {
		r.note(text)
	}
}

// id is that of a request: a string or an integer, of which equal ones are equal.
type id = jsonrpc.ID

// call is a request of the host's that is not answered yet.
type call struct{ method, tool, task string }

// fromHost hands on what the host says, unchanged, until it says no more or the server does not
// listen any more.
func (r *relay) fromHost(in io.Reader, server io.Writer) {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(lines, -1)
		if len(bytes.TrimSpace(line)) > 0 {
			for _, message := range messages(line) {
				r.expect(message)
			}
			if _, err := server.Write(append(bytes.TrimRight(line, "\r\n"), '\n')); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// expect notes which answer a message of the host's asks for.
func (r *relay) expect(message []byte) {
	decoded, err := jsonrpc.DecodeMessage(message)
	request, ok := decoded.(*jsonrpc.Request)
	if err != nil || !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if request.IsCall() {
		var params struct{ Name, TaskID string }
		_ = json.Unmarshal(request.Params, &params)
		r.open[request.ID] = call{request.Method, params.Name, params.TaskID}
		return
	}
	if request.Method == "notifications/cancelled" {
		var params struct{ RequestID any }
		_ = json.Unmarshal(request.Params, &params)
		if cancelled, err := jsonrpc.MakeID(params.RequestID); err == nil {
			delete(r.open, cancelled)
		}
	}
}

// fromServer hands on what the server says until it says no more, which is no error, or says more
// in one line than is read.
func (r *relay) fromServer(server io.Reader) error {
	lines := bufio.NewReaderSize(server, 64<<10)
	for {
		line, err := readLine(lines, r.maxMessage)
		large := len(line) > 1<<20
		if err == nil || err == io.EOF {
			if out := r.answer(line); len(out) > 0 {
				if err := r.write(out); err != nil {
					return err
				}
			}
		}
		line = nil
		if large {
			debug.FreeOSMemory() // several times the message, which the next one hardly needs
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// answer is what of the server's line the host is given: a message, a batch of them or nothing. It
// is encoded anew, so that no two readers can take it for two things.
func (r *relay) answer(line []byte) []byte {
	line = bytes.TrimSpace(bytes.ToValidUTF8(line, []byte("\ufffd")))
	if len(line) == 0 {
		return nil
	}
	var out [][]byte
	for _, message := range messages(line) {
		decoded, err := jsonrpc.DecodeMessage(message)
		if err != nil {
			r.noteOnce("the server wrote a line that is no message")
			continue
		}
		if response, ok := decoded.(*jsonrpc.Response); ok && !r.settle(response) {
			r.noteOnce("the server answered what nobody asked")
			continue
		}
		encoded, err := jsonrpc.EncodeMessage(decoded)
		if err != nil {
			r.noteOnce("the server wrote a message that cannot be encoded")
			continue
		}
		out = append(out, encoded)
	}
	switch {
	case len(out) == 0:
		return nil
	case line[0] == '[':
		return append(append([]byte("["), bytes.Join(out, []byte(","))...), ']')
	}
	return out[0]
}

// settle makes the response what the host is given, and reports whether it has asked for it.
func (r *relay) settle(response *jsonrpc.Response) bool {
	r.mu.Lock()
	asked, ok := r.open[response.ID]
	delete(r.open, response.ID)
	r.mu.Unlock()
	if !ok {
		return false
	}
	r.renderer.response(response, asked)
	return true
}

// write writes a message as a line to every reader.
func (r *relay) write(message []byte) error {
	line := append(envelope.EscapeJSON(make([]byte, 0, len(message)+1), message, 0), '\n')
	r.writing.Lock()
	defer r.writing.Unlock()
	if r.closed {
		return nil
	}
	_, err := r.out.Write(line)
	return err
}

// close answers every open request with an error, after which nothing is written.
func (r *relay) close() {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for asked := range r.open {
		ended := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server has ended"}
		message, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: asked, Error: ended})
		if err == nil {
			_, _ = r.out.Write(append(message, '\n'))
		}
	}
	clear(r.open)
}

var errTooLong = errors.New("the server wrote a longer line than -max-message allows")

// readLine reads up to and with the next LF, but no more than most bytes unless that is negative.
func readLine(r *bufio.Reader, most int) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if most >= 0 && len(line)+len(part) > most {
			return nil, errTooLong
		}
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// messages are the messages of a line: one, or those of a batch.
func messages(line []byte) [][]byte {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '[' {
		return [][]byte{line}
	}
	batch, err := elements(line)
	if err != nil {
		return [][]byte{line}
	}
	all := make([][]byte, len(batch))
	for i, message := range batch {
		all[i] = message
	}
	return all
}
