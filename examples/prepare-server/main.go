// Command prepare-server is a small memory server: SQLite in a file, full-text search, and POST /v1/context/prepare, which renders what
// it finds for a query into an envelope.
//
//	go run ./prepare-server                                    serve, at 127.0.0.1:8000, from memories.db in this folder
//	go run ./prepare-server load -scope project:demo FILE      load items, one JSON object a line
//
// It needs nothing but a folder to keep the file in. Where ENVELOPE_TOKEN is set, a request must carry it as a bearer token.
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
	"time"
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
	address := f.String("addr", "127.0.0.1:8000", "the `address` to listen at; port 0 is a free one")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return errors.New("the one command is load")
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
	server := &http.Server{
		Handler:           newHandler(s, os.Getenv("ENVELOPE_TOKEN")),
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

func runLoad(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	database := f.String("db", "memories.db", "the database `file`, which is made if need be")
	scope := f.String("scope", "", "the `scope` that the items belong to, such as a project or its folder")
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
