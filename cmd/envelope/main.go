// Command envelope renders untrusted items into an envelope, and says whether a rendered text is intact.
//
//	envelope render [flags] [FILE]    items in, an envelope out
//	envelope verify [flags] [FILE]    an envelope in, a verdict out
//
// FILE is - or absent for standard input. Exactly one document goes to standard output, and diagnostics, which never hold
// content, to standard error. The exit status is 0 when it is done, 1 when the input is not intact or is refused, 2 for an
// error of usage, of input or of output, and 3 when nothing could be delivered.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
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
	if name == "help" || name == "-h" || name == "-help" || name == "--help" {
		usage, status = s.out, done
	}
	fmt.Fprintln(usage, "usage: envelope COMMAND [flags] [FILE]     (envelope COMMAND -h lists the flags)")
	for _, c := range commands {
		fmt.Fprintf(usage, "  %-10s %s\n", c.name, c.does)
	}
	return status
}

// parse parses the flags of a command, which may stand on either side of its one FILE. On an error it has printed what is
// wrong.
func parse(f *flag.FlagSet, args []string, s streams) (file string, err error) {
	// Package flag would print a wrong value as it stands, and where the help goes is not its to decide.
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	var files []string
	for {
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
		if len(rest) == 0 {
			break
		}
		files, args = append(files, rest[0]), rest[1:]
	}
	if len(files) > 1 {
		return "", errors.New("more than one FILE")
	}
	return strings.Join(files, ""), nil
}

// printable is err with every character that is not plain ASCII quoted: what a terminal shows is what stands there.
func printable(err error) error {
	quoted := fmt.Sprintf("%+q", err.Error())
	return errors.New(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`))
}

// input reads the whole of file.
func input(file string, s streams) ([]byte, error) {
	if file == "" || file == "-" {
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

func (f *formatFlag) String() string { return string(*f) }

func (f *formatFlag) Set(value string) error {
	if value != "json" {
		return errors.New("the format is json")
	}
	*f = formatFlag(value)
	return nil
}
