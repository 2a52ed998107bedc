// Command envelope renders untrusted items into an envelope, and says whether a rendered text is
// intact.
//
//	envelope render [flags] [FILE]    items in, an envelope out
//	envelope verify [flags] [FILE]    an envelope in, a verdict out
//	envelope view [flags] [FILE]      items in, a page that shows their envelope
//	envelope hook -host HOST [flags]  a host's event in, its hook output out
//	envelope hook install|uninstall|doctor -host HOST [flags]
//	envelope transcript check|repair|show [flags] [FILE]
//	envelope version
//
// FILE is - or absent for standard input. Exactly one document goes to standard output, and
// diagnostics, which never hold content, to standard error. The exit status is 0 when it is done,
// 1 when the input is not intact or is refused, 2 for an error of usage, of input or of output,
// and 3 when nothing could be delivered. It is never 0 when the output could not be written. A
// hook is never in its host's way: once its flags are read its status is 0.
//
// docs/command.md is the reference.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// The exit statuses.
const (
	done    = 0
	refused = 1
	failed  = 2
	nothing = 3
)

func main() {
	// A reader that has gone is an error of output with its message and status, as a full disk
	// is.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

type streams struct {
	in       io.Reader
	out, err io.Writer
}

type command struct {
	name, does string
	run        func(args []string, s streams) (int, error)
}

func commands() []command {
	return []command{
		{"render", "items in, an envelope out", render},
		{"verify", "an envelope in, a verdict out", verify},
		{"view", "a page that shows an envelope as each reader sees it", views},
		{"hook", "a host's event in, its hook output out", hook},
		{"transcript", "a log of messages: check, repair or show it", transcripts},
		{"version", "the versions of the module and of Go, and the revision", version},
		{"help", "this list", help},
	}
}

// aliases are other names of commands, as flags.
var aliases = map[string]string{
	"-version": "version", "--version": "version",
	"-h": "help", "-help": "help", "--help": "help",
}

// run runs the command that args name and returns the exit status.
func run(args []string, s streams) int {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	for _, c := range commands() {
		if c.name != name {
			continue
		}
		status, err := c.run(args[1:], s)
		if errors.Is(err, flag.ErrHelp) {
			return done
		}
		if err != nil {
			text := strings.TrimPrefix(err.Error(), "envelope: ")
			fmt.Fprintf(s.err, "envelope: %s: %s\n", name, printable(errors.New(text)))
		}
		return status
	}
	if name != "" && !strings.HasPrefix(name, "-") {
		fmt.Fprintf(s.err, "envelope: unknown command %s\n", printable(errors.New(name)))
	}
	fmt.Fprint(s.err, usage())
	return failed
}

func help(_ []string, s streams) (int, error) {
	if _, err := io.WriteString(s.out, usage()); err != nil {
		return failed, err
	}
	return done, nil
}

func usage() string {
	var b strings.Builder
	b.WriteString("usage: envelope COMMAND [flags] [FILE]     ")
	b.WriteString("(envelope COMMAND -h lists the flags)\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-10s %s\n", c.name, c.does)
	}
	return b.String()
}

// parse parses the flags of a command, which may stand on either side of its one FILE, and
// returns the FILE: "-" when there is none.
func parse(f *flag.FlagSet, args []string, s streams) (file string, err error) {
	return parseUsage(f, "[flags] [FILE]", args, s)
}

// parseUsage is parse for a command whose help names other operands.
func parseUsage(
	f *flag.FlagSet, operands string, args []string, s streams,
) (file string, err error) {
	// Package flag would print a wrong value as it stands, and where the help goes is not its to
	// decide.
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	var files []string
	for flags := true; flags; {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return "", printHelp(f, operands, s.out)
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

// printHelp writes the flags of a command and returns [flag.ErrHelp], or why they could not be
// written.
func printHelp(f *flag.FlagSet, operands string, out io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, strings.TrimSpace("usage: envelope "+f.Name()+" "+operands))
	f.SetOutput(&b)
	f.PrintDefaults()
	if _, err := out.Write(b.Bytes()); err != nil {
		return printable(err)
	}
	return flag.ErrHelp
}

// printable is err with every character that is not printable ASCII quoted, so that a terminal
// shows what stands there. An error that has none is returned as it is.
func printable(err error) error {
	text := err.Error()
	if strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
		return err
	}
	quoted := fmt.Sprintf("%+q", text)
	return errors.New(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`))
}
