package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/encode"
	"github.com/untrusted-context/envelope/transcript"
)

var transcriptCommands = []struct {
	name, does string
	run        func(args []string, s streams) (int, error)
}{
	{"check", "every fault of a log, one a line", checkTranscript},
	{"repair", "the records of a log, without what is none, in a new file", repairTranscript},
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
		return failed, printable(err)
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
	in, err := openLog(f, args, s)
	if err != nil {
		return failed, err
	}
	defer in.Close()
	// Fault by fault, so that a log of nothing else takes no more memory.
	report := newFaultReport(s.out, *asJSON)
	for _, err := range transcript.Records(in.progress(s, false), f.options()) {
		fault := (*transcript.Fault)(nil)
		switch {
		case errors.As(err, &fault):
			err = report.fault(fault)
		case err == nil:
			report.records++
		}
		if err != nil {
			in.clear()
			return failed, printable(err)
		}
	}
	in.clear()
	if err := report.end(); err != nil {
		return failed, printable(err)
	}
	if report.faults > 0 {
		return refused, nil
	}
	return done, nil
}

// faultReport writes the faults of a log, each as it comes, and how many records there are.
type faultReport struct {
	out             *bufio.Writer
	asJSON          bool
	records, faults int
}

func newFaultReport(w io.Writer, asJSON bool) *faultReport {
	return &faultReport{out: bufio.NewWriterSize(w, 64<<10), asJSON: asJSON}
}

func (r *faultReport) fault(f *transcript.Fault) (err error) {
	r.faults++
	switch {
	case !r.asJSON:
		_, err = fmt.Fprintln(r.out, strings.TrimPrefix(f.Error(), "transcript: "))
	case r.faults == 1:
		_, err = fmt.Fprintf(r.out, `{"faults":[{"line":%d,"offset":%d,"kind":"%s"}`, f.Line, f.Offset, f.Kind)
	default:
		_, err = fmt.Fprintf(r.out, `,{"line":%d,"offset":%d,"kind":"%s"}`, f.Line, f.Offset, f.Kind)
	}
	return err
}

func (r *faultReport) end() error {
	switch {
	case !r.asJSON:
		fmt.Fprintf(r.out, "%d records, %d faults\n", r.records, r.faults)
	case r.faults == 0:
		fmt.Fprintf(r.out, `{"faults":[],"records":%d}`+"\n", r.records)
	default:
		fmt.Fprintf(r.out, `],"records":%d}`+"\n", r.records)
	}
	return r.out.Flush()
}

func repairTranscript(args []string, s streams) (int, error) {
	f := newLogFlags("repair")
	out := f.String("o", "", "write the records to this `file`, which must not exist")
	asJSON := f.Bool("json", false, "say what was left out as one JSON object instead of lines")
	in, err := openLog(f, args, s)
	if err != nil {
		return failed, err
	}
	defer in.Close()
	if *out == "" {
		return failed, errors.New("-o FILE says where the records go")
	}
	// Whatever is there, the log itself by another name or what pipes it to here among them, is not written over.
	if err := absent(*out); err != nil {
		return failed, err
	}
	temp, err := os.CreateTemp(filepath.Dir(*out), ".repair-*")
	if err != nil {
		return failed, printable(err)
	}
	defer removeOnSignal(temp.Name())()
	found, err := transcript.Repair(temp, in.progress(s, false), f.options())
	in.clear()
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err == nil {
		if err = absent(*out); err == nil {
			err = os.Rename(temp.Name(), *out)
		}
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return failed, printable(err)
	}
	report := newFaultReport(s.out, *asJSON)
	report.records = found.Records
	for _, fault := range found.Faults {
		_ = report.fault(fault) // its error stays, and comes with the end
	}
	if err := report.end(); err != nil {
		return failed, printable(err)
	}
	return done, nil
}

// removeOnSignal removes a file when the program is told to end, until the function that it returns is called.
func removeOnSignal(file string) (stop func()) {
	signals := make(chan os.Signal, 1)
	for _, end := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(end) { // as under nohup
			signal.Notify(signals, end)
		}
	}
	go func() {
		if _, told := <-signals; told {
			_ = os.Remove(file)
			os.Exit(failed)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// absent is nil when there is no such file.
func absent(file string) error {
	_, err := os.Lstat(file)
	switch {
	case err == nil:
		return errors.New("the file of -o exists")
	case os.IsNotExist(err):
		return nil
	}
	return printable(err)
}

func showTranscript(args []string, s streams) (int, error) {
	f := newLogFlags("show")
	in, err := openLog(f, args, s)
	if errors.Is(err, flag.ErrHelp) {
		_, failure := io.WriteString(s.out, "What it shows is for people. There is no way back from it "+
			"to messages: nothing reads it, and a parser of\nyour own would take what stands in a "+
			"message for a message.\n")
		if failure != nil {
			return failed, printable(failure)
		}
	}
	if err != nil {
		return failed, err
	}
	defer in.Close()
	out := bufio.NewWriterSize(s.out, 64<<10)
	status := done
	number := 0
	for record, err := range transcript.Records(in.progress(s, terminal(s.out)), f.options()) {
		text := ""
		if err == nil {
			var m transcript.Message
			if err = record.Decode(&m); err == nil {
				number++
				text = showMessage(number, m)
			}
		}
		if fault := (*transcript.Fault)(nil); errors.As(err, &fault) {
			text = "* " + strings.TrimPrefix(fault.Error(), "transcript: ") + "\n"
			if fault.Kind == transcript.NotMessage { // a log may hold other records
				text += bodyLines(string(record.JSON))
			} else {
				status = refused
			}
		} else if err != nil {
			in.clear()
			return failed, errors.Join(printable(err), out.Flush())
		}
		if _, err := out.WriteString(text + "\n"); err != nil {
			in.clear()
			return failed, printable(err)
		}
	}
	in.clear()
	if err := out.Flush(); err != nil {
		return failed, printable(err)
	}
	return status, nil
}

// showMessage is a message as people see it. No line of its text begins as the lines about it do.
func showMessage(number int, m transcript.Message) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# %d %s\n", number, visible(quoted(m.Role)))
	for _, member := range m.Extra {
		fmt.Fprintf(&text, "+ %s: %s\n", visible(quoted(member.Name)), visible(string(member.Value)))
	}
	text.WriteString(bodyLines(m.Content))
	return text.String()
}

// quoted is text as a JSON string.
func quoted(text string) string {
	data, _ := encode.JSON(text, 0) // valid UTF-8, which a record is, always encodes
	return string(data)
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

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
	return string(envelope.EscapeJSON(nil, []byte(b.String()), envelope.EscapeControls|envelope.EscapeInvisible))
}

// logInput is the log that a command reads, and the line that says how far it is.
type logInput struct {
	io.ReadCloser
	size    int64 // 0 when that is not known
	read    int64
	started time.Time
	shown   time.Time
	to      io.Writer // nil: nowhere
	width   int       // of the line that stands there
}

func openLog(f logFlags, args []string, s streams) (*logInput, error) {
	file, err := parse(f.FlagSet, args, s)
	if err != nil {
		return nil, err
	}
	in := &logInput{ReadCloser: io.NopCloser(s.in), started: time.Now()}
	if file != "" && file != "-" {
		log, err := os.Open(file)
		if err != nil {
			return nil, printable(err)
		}
		if info, err := log.Stat(); err == nil && info.Mode().IsRegular() {
			in.size = info.Size()
		}
		in.ReadCloser = log
	}
	return in, nil
}

// progress has the log say on a terminal how far it is read, when that takes more than a second.
func (in *logInput) progress(s streams, quiet bool) io.Reader {
	if !quiet && terminal(s.err) {
		in.to = s.err
	}
	return in
}

func (in *logInput) Read(p []byte) (int, error) {
	n, err := in.ReadCloser.Read(p)
	in.read += int64(n)
	if now := time.Now(); in.to != nil && now.Sub(in.started) > time.Second && now.Sub(in.shown) > time.Second/5 {
		in.clear()
		line := fmt.Sprintf("%d MiB read", in.read>>20)
		if in.size > 0 {
			line = fmt.Sprintf("%d of %d MiB read", in.read>>20, in.size>>20)
		}
		fmt.Fprint(in.to, line)
		in.shown, in.width = now, utf8.RuneCountInString(line)
	}
	return n, err
}

// clear removes the line.
func (in *logInput) clear() {
	if in.width > 0 {
		fmt.Fprintf(in.to, "\r%*s\r", in.width, "")
		in.width = 0
	}
}

// terminal reports whether w is one, or another character device.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
