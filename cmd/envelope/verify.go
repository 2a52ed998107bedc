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
	var (
		format   = formatFlag("json")
		j        envelope.JSON
		escape   escapeFlag
		maxBytes = f.Int("max-bytes", 0, "refuse a text of more than so many bytes (0 and -1: no bound)")
	)
	f.Var(&format, "format", "the rendering: json")
	f.StringVar(&j.Scope, "scope", "", "the scope that the text was rendered in")
	f.Var(&escape, "escape", "the `classes` that the text was rendered with (default: whichever they were)")
	file, err := parse(f, args, s)
	if err != nil {
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
	verdict, status := "", done
	items, err := open(j, escape, text)
	switch {
	case err != nil:
		verdict, status = "not intact: "+err.Error(), refused
		var e *envelope.Error
		if errors.As(err, &e) && e.Offset >= 0 {
			before := text[:min(e.Offset, len(text))]
			verdict = fmt.Sprintf("not intact: line %d: %s", 1+strings.Count(before, "\n"), strings.TrimPrefix(e.Error(), "envelope: "))
		}
	case *maxBytes > 0 && len(text) > *maxBytes:
		verdict, status = fmt.Sprintf("too long: %d bytes, %d allowed", len(text), *maxBytes), refused
	default:
		verdict = fmt.Sprintf("intact: %d items, %d bytes", len(items), len(text))
	}
	if _, err := fmt.Fprintln(s.out, verdict); err != nil {
		return failed, printable(err)
	}
	return status, nil
}

// open opens text with the classes it was rendered with or, when they are not given, with those that get furthest.
func open(j envelope.JSON, escape escapeFlag, text string) (items []envelope.Delivered, err error) {
	if escape.set {
		j.Escape = escape.classes
		return j.Open(text)
	}
	furthest := -1
	for j.Escape = range envelope.Escape(1 << len(classNames)) {
		items, e := j.Open(text)
		if e == nil {
			return items, nil
		}
		var at *envelope.Error
		if errors.As(e, &at) && at.Offset > furthest {
			furthest, err = at.Offset, e
		} else if err == nil {
			err = e
		}
	}
	return nil, err
}
