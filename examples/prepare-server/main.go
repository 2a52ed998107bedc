// Command prepare-server is a small memory server: SQLite in a file, full-text search, and POST
// /v1/context/prepare, which renders what it finds for a query into an envelope.
//
//	go run ./prepare-server                                  serve, at 127.0.0.1:8000
//	go run ./prepare-server load -scope project:demo FILE    load items, one JSON object a line
//
// It needs nothing but a folder to keep memories.db in. Where ENVELOPE_TOKEN is set, a request must
// carry it as a bearer token. What it renders is for hooks of coding agents, some of which put it
// between tags: so < > & and the backtick are written as escapes, unless -escape says otherwise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/untrusted-context/envelope"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "prepare-server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == "load" {
		return runLoad(ctx, args[1:], out)
	}
	return runServe(ctx, args, out)
}

func runServe(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("prepare-server", flag.ContinueOnError)
	database := f.String("db", "memories.db", "the database `file`, which is made if need be")
	address := f.String(
		"addr", "127.0.0.1:8000", "the `address` to listen at; port 0 is a free one",
	)
	classes := f.String("escape", "markup",
		"the `classes` that envelopes escape too: controls,invisible,markup,nonascii")
	wrapperFile := f.String("wrapper", "",
		"the wrapper is in this `file`: a JSON object of the strings notice, begin and end")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return errors.New("the one command is load")
	}
	escape, err := readClasses(*classes)
	if err != nil {
		return err
	}
	wrapper, err := readWrapper(*wrapperFile)
	if err != nil {
		return err
	}
	s, err := openStore(ctx, *database)
	if err != nil {
		return err
	}
	defer s.Close()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on http://%s\n", listener.Addr())
	answers := server{s, os.Getenv("ENVELOPE_TOKEN"), escape, wrapper}
	server := &http.Server{
		Handler:           answers.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       time.Minute,
	}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		deadline, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(deadline)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

// readClasses reads names of escape classes, separated by commas.
func readClasses(names string) (classes envelope.Escape, err error) {
	if names == "" {
		return 0, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		switch name {
		case "controls":
			classes |= envelope.EscapeControls
		case "invisible":
			classes |= envelope.EscapeInvisible
		case "markup":
			classes |= envelope.EscapeMarkup
		case "nonascii":
			classes |= envelope.EscapeNonASCII
		default:
			return 0, errors.New("-escape: classes are controls, invisible, markup, nonascii")
		}
	}
	return classes, nil
}

// readWrapper reads a file with the members notice, begin and end. No file is PowerContext's
// wrapper.
func readWrapper(file string) (w envelope.Wrapper, err error) {
	if file == "" {
		return w, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return w, err
	}
	members, err := readObject(data)
	if err != nil {
		return w, fmt.Errorf("%s: %w", file, err)
	}
	for name, text := range map[string]*string{
		"notice": &w.Notice, "begin": &w.Begin, "end": &w.End,
	} {
		if members[name] == nil || len(members) != 3 || readString(members[name], text) != nil {
			return w, fmt.Errorf("%s: its members are the strings notice, begin and end", file)
		}
	}
	_, _, err = envelope.JSON{Wrapper: w}.Append(nil, nil, envelope.Budget{}) // whether it is legal
	return w, err
}

func runLoad(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	database := f.String("db", "memories.db", "the database `file`, which is made if need be")
	scope := f.String(
		"scope", "", "the `scope` that the items belong to, such as a project or its folder",
	)
	if err := f.Parse(args); err != nil {
		return err
	}
	if !legalScope(*scope) {
		return errScope
	}
	in := io.Reader(os.Stdin)
	switch {
	case f.NArg() > 1:
		return errors.New("more than one file")
	case f.NArg() == 1 && f.Arg(0) != "-":
		file, err := os.Open(f.Arg(0))
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	s, err := openStore(ctx, *database)
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := s.load(ctx, *scope, in)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "loaded %d items\n", n)
	return nil
}
