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
	maxBytes := f.Int("max-bytes", 0, "refuse a text of more than so many bytes (0 and -1: no bound)")
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
	text := strings.TrimSuffix(string(data), "\n") // render writes one behind the text
	verdict, status := fmt.Sprintf("intact: %d bytes", len(text)), done
	if *maxBytes > 0 && len(text) > *maxBytes {
		verdict, status = fmt.Sprintf("too long: %d bytes, %d allowed", len(text), *maxBytes), refused
	} else if err := intact(&o, text); err != nil {
		var e *envelope.Error
		if !errors.As(err, &e) || e.Field != "text" {
			return failed, err // about an option, not about the text
		}
		before := text[:min(e.Offset, len(text))]
		verdict = fmt.Sprintf("not intact: line %d: %s", 1+strings.Count(before, "\n"), strings.TrimPrefix(e.Error(), "envelope: "))
		status = refused
	}
	if _, err := fmt.Fprintln(s.out, verdict); err != nil {
		return failed, printable(err)
	}
	return status, nil
}

// intact says what is wrong with a text. An envelope is tried with the classes it is said to be rendered with or, when nothing is
// said, with all sets of them, and the fault is that of the set that gets furthest.
func intact(o *options, text string) error {
	if o.format == markdownFormat {
		return o.markdown().Check(text)
	}
	j := o.json()
	if o.escape.set {
		_, err := j.Open(text)
		return err
	}
	var fault error
	furthest := -1
	for j.Escape = range envelope.Escape(1 << len(classNames)) {
		_, err := j.Open(text)
		if err == nil {
			return nil
		}
		var e *envelope.Error
		if errors.As(err, &e) && e.Offset > furthest || fault == nil {
			furthest, fault = e.Offset, err
		}
	}
	return fault
}
