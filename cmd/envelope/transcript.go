package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/untrusted-context/envelope/transcript"
)

var transcriptCommands = []struct {
	name, does string
	run        func(args []string, s streams) (int, error)
}{
	{"check", "every fault of a log, one a line", checkTranscript},
	{"repair", "the whole records of a log, without what is none, in a new file", repairTranscript},
	{"show", "a view of a log for people, from which there is no way back", showTranscript},
}

func transcripts(args []string, s streams) (int, error) {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	for _, c := range transcriptCommands {
		if c.name == name {
			return c.run(args[1:], s)
		}
	}
	if name != "help" && name != "-h" && name != "-help" && name != "--help" {
		return failed, errors.New("the commands are check, repair and show (-h says what they do)")
	}
	var usage strings.Builder
	usage.WriteString("usage: envelope transcript COMMAND [flags] [FILE]     ")
	usage.WriteString("(envelope transcript COMMAND -h lists the flags)\n")
	for _, c := range transcriptCommands {
		fmt.Fprintf(&usage, "  %-10s %s\n", c.name, c.does)
	}
	if _, err := io.WriteString(s.out, usage.String()); err != nil {
		return failed, logError(err)
	}
	return done, nil
}

// logFlags are the flags of all three.
type logFlags struct {
	*flag.FlagSet
	maxLine *int64
}

func newLogFlags(name string) logFlags {
	f := flag.NewFlagSet("transcript "+name, flag.ContinueOnError)
	return logFlags{f, f.Int64("max-line", 0, "a line has at most so many `bytes` (0: 64 MiB)")}
}

func (f logFlags) options() transcript.Options { return transcript.Options{MaxLine: *f.maxLine} }

func checkTranscript(args []string, s streams) (int, error) {
	f := newLogFlags("check")
	asJSON := f.Bool("json", false, "write one JSON object instead of lines")
	messages := f.Bool("messages", false, "name the records too that are no messages,\n"+
		"the tool calls without a result and the results without a call")
	in, err := openLog(f, args, s)
	if err != nil {
		return failed, err
	}
	defer in.Close()
	// Fault by fault, so that a log of nothing else takes no more memory.
	report := newFaultReport(s.out, *asJSON)
	var conversation *conversation
	if *messages {
		conversation = newConversation(report)
	}
	for record, err := range transcript.Records(in.progress(s, false), f.options()) {
		fault := (*transcript.Fault)(nil)
		switch {
		case errors.As(err, &fault):
			err = report.fault(fault)
		case err == nil:
			report.records++
			if conversation != nil {
				err = conversation.add(record)
			}
		}
		if err != nil {
			in.clear()
			return failed, logError(err)
		}
	}
	in.clear()
	if conversation != nil {
		conversation.end() // an error of its output stays, and comes with the report's end
		report.count("messages", conversation.messages)
	}
	if err := report.end(); err != nil {
		return failed, logError(err)
	}
	if report.faults > 0 {
		return refused, nil
	}
	return done, nil
}

// logError is an error of package transcript, without the name of the command that is printed
// before it.
func logError(err error) error {
	return printable(errors.New(strings.TrimPrefix(err.Error(), "transcript: ")))
}

// faultReport writes the faults of a log, each as it comes, and then what was counted.
type faultReport struct {
	out             *bufio.Writer
	asJSON          bool
	records, faults int
	counts          []count // besides these two
}

type count struct {
	name string
	n    int
}

func newFaultReport(w io.Writer, asJSON bool) *faultReport {
	return &faultReport{out: bufio.NewWriterSize(w, 64<<10), asJSON: asJSON}
}

func (r *faultReport) fault(f *transcript.Fault) error {
	text := strings.TrimPrefix(f.Error(), "transcript: ")
	return r.write(f.Line, f.Offset, f.Kind.String(), text)
}

// other reports what is no fault of the log but of the conversation in it.
func (r *faultReport) other(line int, offset int64, kind string) error {
	return r.write(line, offset, kind, fmt.Sprintf("line %d: %s (byte %d)", line, kind, offset))
}

func (r *faultReport) write(line int, offset int64, kind, text string) (err error) {
	r.faults++
	switch {
	case !r.asJSON:
		_, err = fmt.Fprintln(r.out, text)
	case r.faults == 1:
		_, err = r.out.WriteString(`{"faults":[`)
	default:
		_, err = r.out.WriteString(",")
	}
	if err == nil && r.asJSON {
		_, err = fmt.Fprintf(r.out, `{"line":%d,"offset":%d,"kind":"%s"}`, line, offset, kind)
	}
	return err
}

// count has the end say how many there are of something else.
func (r *faultReport) count(name string, n int) {
	r.counts = append(r.counts, count{name, n})
}

func (r *faultReport) end() error {
	if !r.asJSON {
		fmt.Fprintf(r.out, "%d records, ", r.records)
		for _, c := range r.counts {
			fmt.Fprintf(r.out, "%d %s, ", c.n, c.name)
		}
		fmt.Fprintf(r.out, "%d faults\n", r.faults)
		return r.out.Flush()
	}
	if r.faults == 0 {
		_, _ = r.out.WriteString(`{"faults":[`) // its error stays, and comes with the last
	}
	fmt.Fprintf(r.out, `],"records":%d`, r.records)
	for _, c := range r.counts {
		fmt.Fprintf(r.out, `,"%s":%d`, c.name, c.n)
	}
	_, _ = r.out.WriteString("}\n")
	return r.out.Flush()
}
