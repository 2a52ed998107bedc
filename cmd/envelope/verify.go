package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/untrusted-context/envelope"
)

func verify(args []string, s streams) (int, error) {
	f := flag.NewFlagSet("verify", flag.ContinueOnError)
	var o options
	o.register(f)
	maxBytes := f.Int("max-bytes", 0,
		"refuse a text of more than so many bytes (0 and -1: no bound)")
	prepared := f.Bool("prepared", false,
		"the input is the response of four members that carries the text to a host")
	file, err := parse(f, args, s)
	if err != nil {
		return failed, err
	}
	if err := o.validate(); err != nil {
		return failed, err
	}
	if *maxBytes < envelope.Unlimited {
		return failed, envelope.ErrBudget
	}
	data, err := input(file, s)
	if err != nil {
		return failed, err
	}
	read := verifyText
	if *prepared {
		read = verifyResponse
	}
	verdict, status, err := read(&o, data, *maxBytes)
	if err != nil {
		return failed, err
	}
	if _, err := fmt.Fprintln(s.out, printable(errors.New(verdict))); err != nil {
		return failed, err
	}
	return status, nil
}

// verifyText is the verdict on a rendered text with at most one line feed behind it, as render
// writes it.
func verifyText(o *options, data []byte, maxBytes int) (verdict string, status int, err error) {
	text := strings.TrimSuffix(string(data), "\n")
	verdict, status, err = judge(o, text, "", maxBytes)
	if status != refused {
		return verdict, status, err
	}
	if what := form(data); what != "" {
		return "not intact: " + what, refused, nil
	}
	if isResponse(data) {
		verdict = "not intact: a response of four members, not a text: -prepared is for it"
	}
	return verdict, status, nil
}

// verifyResponse is the verdict on a response and, when the response is exact, on the text in it.
func verifyResponse(o *options, data []byte, maxBytes int) (verdict string, status int, err error) {
	p, err := envelope.ParsePrepared(data, envelope.Unlimited)
	if err != nil {
		if what := form(data); what != "" {
			return "not intact: " + what, refused, nil
		}
		return notIntact(string(data), "", err), refused, nil
	}
	if !p.Ready() {
		return "intact: an empty response, without a text", done, nil
	}
	return judge(o, p.Content, " of the content", maxBytes)
}

// judge is the verdict on a text, whose lines are numbered as those of the input or of its part.
func judge(o *options, text, part string, maxBytes int) (verdict string, status int, err error) {
	if maxBytes > 0 && len(text) > maxBytes {
		return fmt.Sprintf("too long: %d bytes, %d allowed", len(text), maxBytes), refused, nil
	}
	if err := intact(o, text); err != nil {
		var e *envelope.Error
		if !errors.As(err, &e) || e.Field != "text" {
			return "", failed, err // about an option, not about the text
		}
		return notIntact(text, part, err), refused, nil
	}
	return fmt.Sprintf("intact: %d bytes", len(text)), done, nil
}

// notIntact is the verdict that err is about text, with the line where that is known.
func notIntact(text, part string, err error) string {
	line := ""
	var e *envelope.Error
	if errors.As(err, &e) && e.Offset >= 0 {
		before := text[:min(e.Offset, len(text))]
		line = fmt.Sprintf("line %d%s: ", 1+strings.Count(before, "\n"), part)
	}
	return "not intact: " + line + strings.TrimPrefix(err.Error(), "envelope: ")
}

// intact says what is wrong with a text. An envelope is tried with the classes it is said to be
// rendered with or, when nothing is said, with all sets of them, and the fault is that of the set
// that gets furthest.
func intact(o *options, text string) error {
	if o.format == markdownFormat {
		return o.markdown().Check(text)
	}
	j := o.json()
	if o.escape.set {
		_, err := j.Open(text)
		return err
	}
	_, _, err := openAny(j, text)
	return err
}

// openAny opens a text with whichever escape classes it was rendered, and returns the renderer of
// those. The error is that of the classes that get furthest.
func openAny(j envelope.JSON, text string) (envelope.JSON, []envelope.Delivered, error) {
	var fault error
	furthest := -1
	for j.Escape = range envelope.Escape(1 << len(classNames)) {
		items, err := j.Open(text)
		if err == nil {
			return j, items, nil
		}
		var e *envelope.Error
		if errors.As(err, &e) && e.Offset > furthest || fault == nil {
			furthest, fault = e.Offset, err
		}
	}
	return envelope.JSON{}, nil, fault
}
