package main

import (
	"bytes"
	"errors"
	"flag"
	"strings"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// registerWrapper adds the flag -wrapper, whose file validate reads.
func (o *options) registerWrapper(f *flag.FlagSet) {
	f.StringVar(&o.wrapperFile, "wrapper", "",
		"the wrapper is in this `file`: a JSON object of the strings notice, begin and end")
}

// readWrapper reads the file of -wrapper, if there is one. Its errors name the file and the
// member.
func (o *options) readWrapper() error {
	if o.wrapperFile == "" {
		return nil
	}
	if o.wrapperFile == "-" {
		return errors.New("-wrapper takes a file: standard input is for the input")
	}
	data, err := input(o.wrapperFile, streams{})
	if err != nil {
		return err
	}
	if o.wrapper, err = parseWrapper(o.wrapperFile, data); err != nil {
		return err
	}
	// The renderer's own rules, for the members by the names that they have in the file.
	if o.format == markdownFormat {
		_, _, err = envelope.Markdown{Wrapper: o.wrapper}.Append(nil, nil, envelope.Budget{})
	} else {
		_, _, err = envelope.JSON{Wrapper: o.wrapper}.Append(nil, nil, envelope.Budget{})
	}
	var e *envelope.Error
	if errors.As(err, &e) {
		text := strings.TrimPrefix(e.Error(), "envelope: ")
		if field, ok := strings.CutPrefix(e.Field, "wrapper."); ok {
			text = strings.ToLower(field) + strings.TrimPrefix(text, e.Field)
		}
		return errors.New(o.wrapperFile + ": " + text)
	}
	return err
}

// wrapperNeeds ends each message about a member that is not there.
const wrapperNeeds = "notice, begin and end are all needed"

// parseWrapper reads an object of exactly the members notice, begin and end, each a string.
func parseWrapper(name string, data []byte) (envelope.Wrapper, error) {
	if what := form(data); what != "" {
		return envelope.Wrapper{}, errors.New(name + ": " + what)
	}
	fault := func(offset int, what string) (envelope.Wrapper, error) {
		return envelope.Wrapper{}, newInputError(name, data, -1, offset, what)
	}
	var w envelope.Wrapper
	members := []struct {
		name string
		text *string
	}{{"notice", &w.Notice}, {"begin", &w.Begin}, {"end", &w.End}}

	mark := len(data) - len(bytes.TrimPrefix(data, []byte("\ufeff")))
	s := strictjson.Scanner{Data: data[mark:]}
	start, _, wrong := s.Whole()
	if wrong != nil {
		return fault(mark+wrong.Offset, wrong.Error())
	}
	if s.Data[start] != '{' {
		return fault(mark+start, "not an object")
	}
next:
	for _, m := range s.Members(start) {
		for _, member := range members {
			if member.name != string(m.Name) {
				continue
			}
			value := s.Data[m.ValueStart:m.ValueEnd]
			if value[0] != '"' {
				return fault(mark+m.ValueStart, member.name+": not a string")
			}
			if *member.text = string(strictjson.Decode(value)); *member.text == "" {
				return fault(mark+m.ValueStart, member.name+": empty: "+wrapperNeeds)
			}
			continue next
		}
		return fault(mark+m.NameStart,
			"an unknown member: those of a wrapper are notice, begin, end")
	}
	for _, member := range members {
		if *member.text == "" {
			return fault(mark+start, member.name+": missing: "+wrapperNeeds)
		}
	}
	return w, nil
}
