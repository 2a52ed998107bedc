package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/untrusted-context/envelope"
)

func render(args []string, s streams) (int, error) {
	f := flag.NewFlagSet("render", flag.ContinueOnError)
	var (
		o        options
		budget   envelope.Budget
		prepared = f.Bool("prepared", false,
			"write the response of four members that carries the text to a host")
		report = f.String("report", "",
			"write a JSON report on each item to this `file`, once the text is written")
	)
	o.register(f)
	registerBudget(f, &budget)
	file, err := parse(f, args, s)
	if err != nil {
		return failed, err
	}
	if *report != "" {
		if err := separate(*report, file, o.wrapperFile, s); err != nil {
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
	items, err := readItems(inputName(file), data)
	if err != nil {
		return failed, err
	}
	p, err := o.render(items, budget)
	if err != nil {
		return failed, err
	}
	if err := deliver(p, *prepared, *report, s); err != nil {
		return failed, err
	}
	if !p.Ready() {
		return nothing, errors.New("nothing could be delivered: " + summary(p.Report))
	}
	if p.Report.Count(envelope.Included)+p.Report.Count(envelope.Truncated) < len(items) {
		return done, errors.New("not all items are delivered: " + summary(p.Report))
	}
	return done, nil
}

// registerBudget adds the flags of the budget.
func registerBudget(f *flag.FlagSet, b *envelope.Budget) {
	f.IntVar(&b.MaxBytes, "max-bytes", 0, "maximum bytes of the text (0: 8000, -1: no bound)")
	f.IntVar(&b.MaxItems, "max-items", 0, "maximum number of items (0: 8, -1: no bound)")
	f.IntVar(&b.MaxItemBytes, "max-item-bytes", 0,
		"maximum bytes of one item's content (0: 2000, -1: no bound)")
	f.IntVar(&b.MinTruncatedBytes, "min-truncated-bytes", 0,
		"minimum bytes of a content that is cut (0: 64, -1: no minimum)")
	f.BoolVar(&b.Even, "even", false,
		"share the text between the items: short ones whole, long ones cut alike")
}

// render renders the items as the options say.
func (o *options) render(items []envelope.Item, b envelope.Budget) (envelope.Prepared, error) {
	if o.format == markdownFormat {
		return o.markdown().Render(items, b)
	}
	return o.json().Render(items, b)
}

// deliver writes the text, or the response that carries it, to standard output, and the report to
// its file, if it has one. The report is written out before the text and put in its place after
// it, so that neither stands alone when the other cannot be written.
func deliver(p envelope.Prepared, asResponse bool, reportFile string, s streams) (err error) {
	out := []byte(p.Content)
	if asResponse {
		if out, err = p.MarshalJSON(); err != nil {
			return err
		}
	}
	report := &pendingFile{}
	if reportFile != "" {
		data, err := encodeReport(p.Report)
		if err != nil {
			return err
		}
		if report, err = writeBeside(reportFile, data); err != nil {
			return fmt.Errorf("the report is not written: %w", err)
		}
	}
	if len(out) > 0 {
		if _, err := s.out.Write(append(out, '\n')); err != nil {
			report.discard()
			return err
		}
	}
	if err := report.keep(); err != nil {
		return fmt.Errorf("the text is written, the report is not: %w", err)
	}
	return nil
}

// oneLine is the joined errors on one line.
func oneLine(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), "\nenvelope: ", "; "))
}

// summary says what became of the items, and where the malformed ones are.
func summary(r envelope.Report) string {
	if len(r.Items) == 0 {
		return "no items"
	}
	var parts []string
	for o := envelope.Included; o <= envelope.NoRoom; o++ {
		if n := r.Count(o); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	text := strings.Join(parts, ", ")
	if err := r.Err(); err != nil {
		text += ": " + strings.TrimPrefix(oneLine(err).Error(), "envelope: ")
	}
	return text
}
