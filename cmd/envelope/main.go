// Command envelope renders untrusted items into an envelope, and says whether a rendered text is intact.
//
//	envelope render [flags] [FILE]    items in, an envelope out
//	envelope verify [flags] [FILE]    an envelope in, a verdict out
//	envelope hook -host HOST [flags]  a host's event in, its hook output out
//	envelope transcript check|repair|show [flags] [FILE]
//
// FILE is - or absent for standard input. Exactly one document goes to standard output, and diagnostics, which never hold
// content, to standard error. The exit status is 0 when it is done, 1 when the input is not intact or is refused, 2 for an
// error of usage, of input or of output, and 3 when nothing could be delivered. A hook is never in its host's way: once its flags
// are read its status is 0.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/untrusted-context/envelope"
)

// The exit statuses.
const (
	done    = 0
	refused = 1
	failed  = 2
	nothing = 3
)

func main() {
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

type streams struct {
	in       io.Reader
	out, err io.Writer
}

var commands = []struct {
	name, does string
	run        func(args []string, s streams) (int, error)
}{
	{"render", "items in, an envelope out", render},
	{"verify", "an envelope in, a verdict out", verify},
	{"hook", "a host's event in, its hook output out", hook},
	{"transcript", "a log of messages: check, repair or show it", transcripts},
}

// run runs the command that args name and returns the exit status.
func run(args []string, s streams) int {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	for _, c := range commands {
		if c.name != name {
			continue
		}
		status, err := c.run(args[1:], s)
		if errors.Is(err, flag.ErrHelp) {
			return done
		}
		if err != nil {
			fmt.Fprintf(s.err, "envelope: %s: %s\n", name, strings.TrimPrefix(err.Error(), "envelope: "))
		}
		return status
	}
	usage := s.err
	status := failed
	if name != "" && !strings.HasPrefix(name, "-") && name != "help" {
		fmt.Fprintf(s.err, "envelope: unknown command %s\n", printable(errors.New(name)))
	}
	if name == "help" || name == "-h" || name == "-help" || name == "--help" {
		usage, status = s.out, done
	}
	fmt.Fprintln(usage, "usage: envelope COMMAND [flags] [FILE]     (envelope COMMAND -h lists the flags)")
	for _, c := range commands {
		fmt.Fprintf(usage, "  %-10s %s\n", c.name, c.does)
	}
	return status
}

// parse parses the flags of a command, which may stand on either side of its one FILE, and returns the FILE: "-" when there is
// none.
func parse(f *flag.FlagSet, args []string, s streams) (file string, err error) {
	// Package flag would print a wrong value as it stands, and where the help goes is not its to decide.
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	var files []string
	for flags := true; flags; {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				fmt.Fprintf(s.out, "usage: envelope %s [flags] [FILE]\n", f.Name())
				f.SetOutput(s.out)
				f.PrintDefaults()
				return "", err
			}
			return "", fmt.Errorf("%w (-h lists the flags)", printable(err))
		}
		rest := f.Args()
		parsed := args[:len(args)-len(rest)]
		switch {
		case len(rest) == 0:
			flags = false
		case len(parsed) > 0 && parsed[len(parsed)-1] == "--":
			files, flags = append(files, rest...), false
		default:
			files, args = append(files, rest[0]), rest[1:]
		}
	}
	switch len(files) {
	case 0:
		return "-", nil
	case 1:
		return files[0], nil
	}
	return "", errors.New("more than one FILE")
}

// printable is err with every character that is not plain ASCII quoted: what a terminal shows is what stands there.
func printable(err error) error {
	quoted := fmt.Sprintf("%+q", err.Error())
	return errors.New(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`))
}

// input reads the whole of file.
func input(file string, s streams) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(s.in)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, printable(err)
	}
	return data, nil
}

// escapeFlag is a flag that takes names of escape classes, separated by commas.
type escapeFlag struct {
	classes envelope.Escape
	set     bool
}

var classNames = []struct {
	name  string
	class envelope.Escape
}{
	{"controls", envelope.EscapeControls},
	{"invisible", envelope.EscapeInvisible},
	{"markup", envelope.EscapeMarkup},
	{"nonascii", envelope.EscapeNonASCII},
}

func (e *escapeFlag) String() string {
	var names []string
	for _, c := range classNames {
		if e.classes&c.class != 0 {
			names = append(names, c.name)
		}
	}
	return strings.Join(names, ",")
}

func (e *escapeFlag) Set(value string) error {
	e.classes, e.set = 0, true
	if value == "" {
		return nil
	}
names:
	for name := range strings.SplitSeq(value, ",") {
		for _, c := range classNames {
			if c.name == name {
				e.classes |= c.class
				continue names
			}
		}
		return errors.New("classes are controls, invisible, markup, nonascii")
	}
	return nil
}

// formatFlag is a flag that takes the name of a rendering.
type formatFlag string

const (
	jsonFormat     = "json"
	markdownFormat = "markdown"
)

func (f *formatFlag) String() string { return string(*f) }

func (f *formatFlag) Set(value string) error {
	if value != jsonFormat && value != markdownFormat {
		return errors.New("formats are json, markdown")
	}
	*f = formatFlag(value)
	return nil
}

// options are the flags that say how a text is rendered, for whoever writes one and for whoever checks one.
type options struct {
	format    formatFlag
	scope     string
	escape    escapeFlag
	sections  sectionsFlag
	show      showFlag
	invisible bool
}

func (o *options) register(f *flag.FlagSet) {
	o.format = jsonFormat
	f.Var(&o.format, "format", "the `rendering`: json, markdown")
	f.StringVar(&o.scope, "scope", "", "json: write citations in this `scope` without it; markdown: show it for those without one")
	f.Var(&o.escape, "escape", "json: escape these `classes` too: controls,invisible,markup,nonascii (verify without it: whichever)")
	f.Var(&o.sections, "sections", "markdown: the `kinds` to show, each with a limit if it has one: memory:6,experience:2")
	f.Var(&o.show, "show", "markdown: more `lines` for each item: confidence,recall_rank")
	f.BoolVar(&o.invisible, "invisible", false, "markdown: make variation selectors and fillers visible too")
}

// validate refuses flags that the format has no use for.
func (o *options) validate() error {
	if o.format == jsonFormat && (o.sections != nil || o.show != 0 || o.invisible) {
		return errors.New("-sections, -show and -invisible are for -format markdown")
	}
	if o.format == markdownFormat && o.escape.set {
		return errors.New("-escape is for -format json")
	}
	return nil
}

func (o *options) json() envelope.JSON {
	return envelope.JSON{Scope: o.scope, Escape: o.escape.classes}
}

func (o *options) markdown() envelope.Markdown {
	return envelope.Markdown{Scope: o.scope, Sections: o.sections, Show: envelope.Show(o.show), Invisible: o.invisible}
}

// sectionsFlag is a flag that takes kinds, each with a limit if it has one, separated by commas.
type sectionsFlag []envelope.Section

func (s *sectionsFlag) String() string { return "" }

func (s *sectionsFlag) Set(value string) error {
	*s = sectionsFlag{}
	if value == "" {
		return nil
	}
	for part := range strings.SplitSeq(value, ",") {
		kind, limit, limited := strings.Cut(part, ":")
		section := envelope.Section{Kind: kind}
		if limited {
			n, err := strconv.Atoi(limit)
			if err != nil || n < 1 {
				return errors.New("the limit of a section is a positive number")
			}
			section.Limit = n
		}
		if kind == "" {
			return errors.New("a section without a kind")
		}
		*s = append(*s, section)
	}
	return nil
}

// showFlag is a flag that takes names of lines, separated by commas.
type showFlag envelope.Show

func (s *showFlag) String() string { return "" }

func (s *showFlag) Set(value string) error {
	*s = 0
	if value == "" {
		return nil
	}
names:
	for name := range strings.SplitSeq(value, ",") {
		for _, line := range showLines {
			if line.name == name {
				*s |= showFlag(line.show)
				continue names
			}
		}
		return errors.New("lines are confidence, recall_rank")
	}
	return nil
}

var showLines = []struct {
	name string
	show envelope.Show
}{
	{"confidence", envelope.ShowConfidence},
	{"recall_rank", envelope.ShowRank},
}
