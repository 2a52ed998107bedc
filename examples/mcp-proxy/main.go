// Command mcp-proxy starts a server of the Model Context Protocol and stands between it and a
// host, both over stdio. The text of each tool's result arrives at the host as a bare envelope;
// everything else passes as it is.
//
//	mcp-proxy [flags] -- COMMAND [ARGUMENTS]
//
// In a host's settings it takes the place of the server's command:
//
//	{"mcpServers": {"files": {
//	  "command": "mcp-proxy",
//	  "args": ["-name", "files", "--",
//	           "npx", "-y", "@modelcontextprotocol/server-filesystem", "."]
//	}}}
//
// What is not as the server sent it, and why:
//
//   - All text blocks and embedded text resources of a result are items of one envelope, in the
//     place of the first. Each cites server, tool and call, and its place or URI.
//   - structuredContent is left out, and outputSchema with it, since a host may show it to the
//     model beside the envelope. Where a result has nothing else it is the text.
//   - The message of an error that answers a tool call is an envelope too.
//   - The server's instructions begin with those for reading an envelope.
//   - An answer to no request that is open is left out, and so is a line that is no message.
//
// The status is 0 when the host has ended the session and 1 when the server has, in which case each
// open request is answered with an error; 2 is a wrong use.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/untrusted-context/envelope"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, in io.Reader, out, diagnostics io.Writer) int {
	f := flag.NewFlagSet("mcp-proxy", flag.ContinueOnError)
	f.SetOutput(diagnostics)
	var (
		name = f.String("name", "",
			"what a citation calls the server (default: the last element of COMMAND)")
		maxBytes   = f.Int("max-bytes", 32_000, "maximum bytes of a result's text; -1 is no bound")
		maxMessage = f.Int("max-message", 64<<20, "maximum bytes of a message of the server")
		checksum   = f.Bool("checksum", false, "end each envelope with a checksum")
		teach      = f.Bool("instructions", true, "put what an envelope is into the instructions")
	)
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if f.NArg() == 0 || *maxMessage < 1 {
		fmt.Fprintln(diagnostics, "usage: mcp-proxy [flags] -- COMMAND [ARGUMENTS]")
		return 2
	}
	if *name == "" {
		*name = filepath.Base(f.Arg(0))
	}
	r := &relay{
		renderer: renderer{
			line:   envelope.JSON{Bare: true, Omitted: true, Checksum: *checksum},
			budget: envelope.Budget{MaxBytes: *maxBytes},
			server: *name,
			teach:  *teach,
		},
		maxMessage: *maxMessage,
		out:        out,
		note:       func(text string) { fmt.Fprintln(diagnostics, "mcp-proxy:", text) },
		open:       map[id]call{},
		noted:      map[string]bool{},
	}
	if err := r.renderer.validate(); err != nil {
		r.note(err.Error())
		return 2
	}
	server := exec.Command(f.Arg(0), f.Args()[1:]...)
	server.Stderr = diagnostics
	if err := serve(ctx, r, server, in); err != nil {
		r.note(err.Error())
		return 1
	}
	return 0
}

// How long a server may take to end once its input has, and to say its last words once it has.
const (
	grace = 5 * time.Second
	drain = 2 * time.Second
)

// serve runs the server until it or the host ends the session. An error is that the server did.
func serve(ctx context.Context, r *relay, server *exec.Cmd, in io.Reader) error {
	toServer, fromServer, err := start(server)
	if err != nil {
		return err
	}
	defer toServer.Close()
	defer fromServer.Close()
	said, ended, left := make(chan error, 1), make(chan error, 1), make(chan struct{})
	go func() { said <- r.fromServer(fromServer) }()
	go func() { ended <- server.Wait() }()
	go func() {
		r.fromHost(in, toServer)
		close(left)
	}()

	hostLeft := false
	select {
	case err = <-said:
	case err = <-ended:
		ended <- err
		err = within(drain, said)
	case <-left:
		hostLeft = true
	case <-ctx.Done():
		hostLeft = true
	}
	toServer.Close()
	if hostLeft {
		err = within(grace, said)
	}
	if within(drain, ended) == errTime {
		_ = server.Process.Kill()
		within(drain, ended)
	}
	if hostLeft {
		return nil // it may not read any more
	}
	r.close()
	if err == nil || err == errTime {
		err = errors.New("the server has ended: " + server.ProcessState.String())
	}
	return err
}

var errTime = errors.New("the time is over")

// within waits for what a channel brings, and no longer than for d.
func within(d time.Duration, c <-chan error) error {
	select {
	case err := <-c:
		return err
	case <-time.After(d):
		return errTime
	}
}

// start starts the server with pipes that its end does not close, so that all that it said is read.
func start(server *exec.Cmd) (toServer io.WriteCloser, fromServer io.ReadCloser, err error) {
	toServer, err = server.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	fromServer, stdout, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	server.Stdout = stdout
	err = server.Start()
	stdout.Close()
	if err != nil {
		fromServer.Close()
	}
	return toServer, fromServer, err
}
