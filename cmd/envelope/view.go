package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/untrusted-context/envelope"
)

func views(args []string, s streams) (int, error) {
	f := flag.NewFlagSet("view", flag.ContinueOnError)
	var (
		o      options
		budget envelope.Budget
		out    = f.String("o", "", "write the page to this `file`")
		text   = f.Bool("text", false, "the input is a finished text, not items")
	)
	o.register(f)
	registerBudget(f, &budget)
	file, err := parse(f, args, s)
	if err != nil {
		return failed, err
	}
	if *out != "" {
		if err := apart(*out, file, o.wrapperFile); err != nil {
			return failed, err
		}
	}
	if err := o.validate(); err != nil {
		return failed, err
	}
	data, err := input(file, s)
	if err != nil {
		return failed, err
	}
	look := o.viewItems
	if *text {
		look = o.viewText
	}
	p, status, verdict := look(inputName(file), data, budget)
	if p == nil {
		return status, verdict
	}
	var page strings.Builder
	if err := p.write(&page); err != nil {
		return failed, err
	}
	if err := deliverPage(page.String(), *out, s); err != nil {
		return failed, err
	}
	return status, verdict
}

// apart refuses a page that would replace what the run reads.
func apart(out, file, wrapper string) error {
	target, err := os.Stat(out)
	if err != nil {
		return nil // it is new, or cannot be written
	}
	for _, name := range []string{file, wrapper} {
		if name == "" || name == "-" {
			continue
		}
		if info, err := os.Stat(name); err == nil && os.SameFile(target, info) {
			return errors.New("-o is a file that is read, which it would replace")
		}
	}
	return nil
}

// deliverPage writes the page to its file or, without one, to standard output.
func deliverPage(page, out string, s streams) error {
	if out == "" {
		_, err := s.out.Write([]byte(page))
		return err
	}
	pending, err := writeBeside(out, []byte(page))
	if err != nil {
		return fmt.Errorf("the page is not written: %w", err)
	}
	return pending.keep()
}

// viewing is a rendering that is looked at.
type viewing struct {
	*options
	items    []envelope.Item
	report   envelope.Report
	bounds   envelope.Budget  // those in force
	roomy    *envelope.Report // of the same with no bound on the text
	anatomy  *anatomy
	spelling *spelling
}

func (v *viewing) text() string { return v.anatomy.text }

// viewItems renders items and looks at that. The error is the command's, with the page if there is
// one.
func (o *options) viewItems(name string, data []byte, b envelope.Budget) (*page, int, error) {
	items, err := readItems(name, data)
	if err != nil {
		return nil, failed, err
	}
	p, err := o.render(items, b)
	if err != nil {
		return nil, failed, err
	}
	v := viewing{options: o, items: items, report: p.Report, bounds: p.Report.Budget}
	if v.anatomy, err = o.dissectAll(items, p); err != nil {
		return nil, failed, err
	}
	if v.spelling, err = o.spelling(); err != nil {
		return nil, failed, err
	}
	if p.Report.Count(envelope.Truncated) > 0 {
		b := v.bounds
		b.MaxBytes = envelope.Unlimited
		roomy, err := o.render(items, b)
		if err != nil {
			return nil, failed, err
		}
		v.roomy = &roomy.Report
	}
	page := v.page(o.usual(v.anatomy, items))
	if !p.Ready() {
		return page, nothing, errors.New("nothing could be delivered: " + summary(p.Report))
	}
	return page, done, nil
}

// viewText looks at a finished text, with at most one line feed behind it.
func (o *options) viewText(_ string, data []byte, b envelope.Budget) (*page, int, error) {
	text := strings.TrimSuffix(string(data), "\n")
	verdict, status, err := verifyText(o, data, b.MaxBytes)
	if err != nil {
		return nil, status, err
	}
	v := viewing{options: o}
	if v.spelling, err = o.spelling(); err != nil {
		return nil, failed, err
	}
	var fault *envelope.Error
	if status != done {
		errors.As(intact(o, text), &fault)
	}
	if v.anatomy, err = o.dissect(text); err != nil {
		v.anatomy = o.wholeText(text)
	}
	page := v.textPage(verdict, status == done, fault)
	if status != done {
		return page, status, errors.New(verdict)
	}
	return page, done, nil
}
