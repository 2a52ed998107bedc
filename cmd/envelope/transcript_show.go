package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/encode"
	"github.com/untrusted-context/envelope/internal/strictjson"
	"github.com/untrusted-context/envelope/transcript"
)

const showIsOneWay = "What it shows is for people. There is no way back from it to messages:\n" +
	"nothing reads it, and a parser of your own would take what stands in a\n" +
	"message for a message.\n"

func showTranscript(args []string, s streams) (int, error) {
	f := newLogFlags("show")
	follow := f.Bool("f", false, "go on with what is appended, until interrupted")
	in, err := openLog(f, args, s)
	if errors.Is(err, flag.ErrHelp) {
		if _, err := io.WriteString(s.out, showIsOneWay); err != nil {
			return failed, logError(err)
		}
	}
	if err != nil {
		return failed, err
	}
	defer in.Close()
	view := &view{out: bufio.NewWriterSize(s.out, 64<<10)}
	if !*follow {
		quiet := terminal(s.out)
		err = view.show(transcript.Records(in.progress(s, quiet), f.options()), false)
		in.clear()
	} else if in.path == "" {
		return failed, errors.New("-f takes a FILE")
	} else {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = view.show(transcript.Follow(ctx, in.path, f.options()), true)
		if ctx.Err() != nil {
			err = nil // it was told to end
		}
	}
	if err = errors.Join(err, view.out.Flush()); err != nil {
		return failed, logError(err)
	}
	return view.status, nil
}

// view is a log as people see it.
type view struct {
	out    *bufio.Writer
	number int // of the last message
	status int // refused when a line is faulty, as of check
}

// show writes what there is, and when it is live each record at once.
func (v *view) show(records iter.Seq2[transcript.Record, error], live bool) error {
	for record, err := range records {
		text, err := v.text(record, err)
		if err != nil {
			return err
		}
		if _, err := v.out.WriteString(text + "\n"); err != nil {
			return err
		}
		if live {
			if err := v.out.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// text is what stands for a record, or for the fault in its place.
func (v *view) text(record transcript.Record, err error) (string, error) {
	var m transcript.Message
	if err == nil {
		if err = record.Decode(&m); err == nil {
			v.number++
			return showMessage(v.number, m), nil
		}
	}
	fault := (*transcript.Fault)(nil)
	switch {
	case errors.As(err, &fault):
		text := note(fault)
		if fault.Kind == transcript.NotMessage { // a log may hold other records
			return text + bodyLines(string(record.JSON)), nil
		}
		v.status = refused
		return text, nil
	case errors.Is(err, transcript.ErrTruncated), errors.Is(err, transcript.ErrReplaced):
		v.number = 0
		return note(err), nil
	}
	return "", err
}

func note(err error) string { return "* " + strings.TrimPrefix(err.Error(), "transcript: ") + "\n" }

// showMessage is a message as people see it. No line of its text begins as the lines about it
// do.
func showMessage(number int, m transcript.Message) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# %d %s\n", number, visible(quoted(m.Role)))
	for _, member := range m.Extra {
		name, value := visible(quoted(member.Name)), visible(string(member.Value))
		fmt.Fprintf(&text, "+ %s: %s\n", name, value)
	}
	if len(m.Parts) == 0 {
		text.WriteString(bodyLines(m.Content))
	} else {
		showParts(&text, m.Parts)
	}
	return text.String()
}

// showParts writes blocks of text as text, and others by their type and size.
func showParts(text *strings.Builder, parts []byte) {
	s := newScanner(parts)
	if parts[0] != '[' {
		showPart(text, s, 0, len(parts))
		return
	}
	s.Elements(0, func(start, end int) { showPart(text, s, start, end) })
}

func showPart(text *strings.Builder, s *strictjson.Scanner, start, end int) {
	part := s.Data[start:end]
	kind := valueKind(part[0])
	switch part[0] {
	case '"':
		text.WriteString(bodyLines(string(strictjson.Decode(part))))
		return
	case '{':
		var typ, content []byte
		s.EachMember(start, func(m strictjson.Member) {
			switch value := s.Data[m.ValueStart:m.ValueEnd]; string(m.Name) {
			case "type":
				typ = value
			case "text":
				content = value
			}
		})
		if isText(typ) && len(content) > 0 && content[0] == '"' {
			text.WriteString(bodyLines(string(strictjson.Decode(content))))
			return
		}
		if len(typ) > 0 && typ[0] == '"' {
			kind = visible(string(typ))
		}
	}
	fmt.Fprintf(text, "- %s, %d bytes\n", kind, len(part))
}

// isText reports whether a block's type, as JSON, is one of the vendors' for text.
func isText(typ []byte) bool {
	for _, text := range []string{`"text"`, `"input_text"`, `"output_text"`} {
		if bytes.Equal(typ, []byte(text)) {
			return true
		}
	}
	return false
}

func valueKind(first byte) string {
	switch first {
	case '{':
		return "object"
	case '[':
		return "array"
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	}
	return "number"
}

// quoted is text as a JSON string.
func quoted(text string) string {
	data, _ := encode.JSON(text, 0) // valid UTF-8, which a record is, always encodes
	return string(data)
}

var lineEnds = strings.NewReplacer(
	"\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n",
)

// bodyLines is text with every line, an empty one too, behind a prefix.
func bodyLines(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(lineEnds.Replace(text), "\n") {
		b.WriteString("|     " + visible(line) + "\n")
	}
	return b.String()
}

// visible is text with its control and format characters as \uXXXX.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < ' ' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	const classes = envelope.EscapeControls | envelope.EscapeInvisible
	return string(envelope.EscapeJSON(nil, []byte(b.String()), classes))
}
