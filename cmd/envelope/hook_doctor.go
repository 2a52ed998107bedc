package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// check is one line of the doctor.
type check struct {
	name string
	ok   bool
	what string // what is the case, and what to do when it should not be
}

// hookDoctor says whether the hook of a host works, one line a check, by doing what the host does.
func hookDoctor(args []string, s streams) (int, error) {
	h, project, flags, err := parseInstall("hook doctor", args, s)
	if err != nil {
		return failed, err
	}
	d := doctor{hook: h, project: project, flags: flags}
	status := done
	for _, c := range d.checks() {
		verdict := "ok  "
		if !c.ok {
			verdict, status = "FAIL", refused
		}
		line := printable(fmt.Errorf("%s %-9s %s", verdict, c.name, c.what)).Error()
		if _, err := fmt.Fprintln(s.out, line); err != nil {
			return failed, err
		}
	}
	return status, nil
}

type doctor struct {
	hook    *hookRun
	project string
	flags   string
}

// checks are made in the order in which a host would find what is wrong.
func (d *doctor) checks() []check {
	in, all := d.settings()
	command := ""
	if in != nil {
		if entries, err := in.entries(); err == nil && len(entries) > 0 {
			command = entries[0].command
		}
	}
	if command == "" {
		own, err := ownCommand()
		if err != nil {
			return append(all, check{"binary", false, err.Error()})
		}
		command = own + d.flags
	}
	all = append(all, programCheck(command))
	if in != nil && d.hook.host.setup.trust != nil {
		all = append(all, d.hook.host.setup.trust(d.folder(), in.path))
	}
	return append(all, d.sample(command)...)
}

// settings says whether the hook stands in the host's settings.
func (d *doctor) settings() (*installation, []check) {
	install := "run envelope hook install -host " + d.hook.host.name
	if d.project != "" {
		install += " -project " + shellWord(d.project)
	}
	in, err := findInstallation(d.hook.host, d.project)
	if err != nil {
		return nil, []check{{"settings", false, err.Error()}}
	}
	entries, err := in.entries()
	switch {
	case err != nil:
		return in, []check{{"settings", false, err.Error()}}
	case len(entries) == 0:
		return in, []check{{"settings", false, in.path + " does not have this hook: " + install}}
	}
	var events []string
	for _, e := range entries {
		events = append(events, e.event)
	}
	prompt := d.hook.host.events[0].name
	for _, e := range events {
		if e == prompt {
			what := in.path + " has it for " + strings.Join(events, ", ")
			return in, []check{{"settings", true, what}}
		}
	}
	what := " has it, but not for " + prompt + ", which is the event of a prompt: "
	return in, []check{{"settings", false, in.path + what + install}}
}

// programCheck says whether the program of a shell command is there.
func programCheck(command string) check {
	program := command[:strings.Index(command, " hook -host ")]
	program = strings.Trim(program, `"'`)
	found, err := exec.LookPath(program)
	if err != nil {
		return check{"binary", false, program + " is not found: put its folder into the" +
			" PATH of the host, or install again with a program that stays where it is"}
	}
	return check{"binary", true, found}
}

// folder is where the sample prompt is from.
func (d *doctor) folder() string {
	folder, err := filepath.Abs(orElse(d.project, "."))
	if err != nil {
		return "."
	}
	return folder
}

const samplePrompt = "What should be known before work on this project begins?"

// sample sends a prompt the whole way, as the host does: event, shell, hook, server, output.
func (d *doctor) sample(command string) []check {
	event := map[string]string{
		"session_id":      "envelope-hook-doctor",
		"hook_event_name": d.hook.host.events[0].name,
		"cwd":             d.folder(),
		"prompt":          samplePrompt,
	}
	ctx, cancel := context.WithTimeout(context.Background(), hookSeconds*time.Second)
	defer cancel()
	c := shell(ctx, command)
	c.Dir = d.folder()
	c.Stdin = bytes.NewReader(jsonLine(event))
	c.WaitDelay = time.Second
	var out, diagnostics bytes.Buffer
	c.Stdout, c.Stderr = &out, &diagnostics
	if err := c.Run(); err != nil {
		what := "the command fails: " + err.Error()
		if text := strings.TrimSpace(diagnostics.String()); text != "" {
			what += ": " + text
		}
		return []check{{"sample", false, what}}
	}
	if out.Len() > 0 {
		return d.delivered(out.Bytes())
	}
	var o outcome
	if err := json.Unmarshal(diagnostics.Bytes(), &o); err != nil {
		return []check{{"sample", false, "the hook says nothing at all"}}
	}
	return d.explain(o)
}

// shell is a command as hosts run one.
func shell(ctx context.Context, command string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		return exec.CommandContext(ctx, "cmd", "/c", command)
	}
	return exec.CommandContext(ctx, "sh", "-c", command)
}

// delivered says what a host would get.
func (d *doctor) delivered(output []byte) []check {
	var o hookOutput
	if err := json.Unmarshal(output, &o); err != nil {
		return []check{{"sample", false, "the hook's output is not JSON"}}
	}
	text := o.Context
	if o.Specific != nil {
		text = o.Specific.Context
	}
	if text == "" {
		return []check{{"sample", false, "the hook's output has no context"}}
	}
	return []check{
		{"server", true, "it answers"},
		{"sample", true, fmt.Sprintf("%d bytes of context for a sample prompt", len(text))},
	}
}

// explain says what an outcome means, and what to do about it.
func (d *doctor) explain(o outcome) []check {
	reason := strings.TrimSuffix(o.Outcome+": "+o.Reason, ": ")
	server := func(ok bool, what string) check { return check{"server", ok, what} }
	switch o.Outcome {
	case empty().Outcome:
		return []check{server(true, "it answers"), {"sample", true, d.nothing()}}
	case unavailable("").Outcome:
		what := reason + ": start the server, or say where it is with -url or " + urlVariable
		if o.HTTPStatus != nil {
			what = fmt.Sprintf("%s: it answers with %d", reason, *o.HTTPStatus)
		}
		return []check{server(false, what)}
	case authenticationFailed().Outcome:
		return []check{server(false, reason+": set "+tokenVariable+" to a token that it knows")}
	case versionMismatch().Outcome:
		return []check{server(false, reason+": it has no /"+preparePath+": is -url its address?")}
	case invalidResponse("").Outcome:
		what := reason + ": see the reason codes in docs/hosts.md"
		if o.Reason == reasonWrapper {
			what = reason + ": its texts have another notice or other markers:" +
				" write those into a file and install again with -wrapper FILE"
		}
		return []check{server(true, "it answers"), {"sample", false, what}}
	}
	return []check{{"sample", false, reason + ": see the outcomes in docs/hosts.md"}}
}

// nothing says where a server has nothing, since a scope that nobody stored in is what most often
// is wrong.
func (d *doctor) nothing() string {
	what := "the server has nothing for a sample prompt"
	ctx, cancel := context.WithTimeout(context.Background(), gitTimeout)
	defer cancel()
	literal := bytes.TrimSpace(jsonLine(d.folder()))
	e := &event{map[string][][]byte{memberFolder: {literal}}}
	if scope, reason := d.hook.scopeOf(ctx, e); reason == "" {
		what += "; the scope of this folder is " + scope
	}
	return what
}

// codexTrust asks Codex whether it runs the hooks in a file: it skips silently, in codex exec,
// those that nobody has trusted.
func codexTrust(folder, file string) check {
	fail := func(what string) check { return check{"trust", false, what} }
	program, err := exec.LookPath("codex")
	if err != nil {
		return fail("codex is not found, so that nobody can say whether it trusts the hook")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	hooks, err := codexHooks(ctx, program, folder)
	if err != nil {
		return fail("codex does not say: " + err.Error() + ": look at /hooks in codex")
	}
	found := false
	for _, h := range hooks {
		same := h.SourcePath == file
		if real, err := filepath.EvalSymlinks(h.SourcePath); err == nil {
			same = same || real == file
		}
		if !same || !runsHook(h.Command, "codex") {
			continue
		}
		found = true
		if !h.Enabled {
			return fail("codex has the hook switched off: switch it on under /hooks")
		}
		if h.TrustStatus != "trusted" && h.TrustStatus != "managed" {
			return fail("codex has the hook as " + h.TrustStatus + " and skips it: start codex" +
				" once in a terminal, then review and trust it under /hooks")
		}
	}
	if !found {
		return fail("codex does not list the hook: a project's hooks also need trust_level = " +
			`"trusted" for the project in config.toml`)
	}
	return check{"trust", true, "codex trusts the hook"}
}

type codexHook struct {
	Command     string `json:"command"`
	SourcePath  string `json:"sourcePath"`
	Enabled     bool   `json:"enabled"`
	TrustStatus string `json:"trustStatus"`
}

// codexHooks asks the program's own server, which speaks JSON-RPC on its standard streams.
func codexHooks(ctx context.Context, program, folder string) ([]codexHook, error) {
	c := exec.CommandContext(ctx, program, "app-server")
	c.WaitDelay = time.Second
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = in.Close()
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	type message map[string]any
	for _, m := range []message{
		{"id": 1, "method": "initialize", "params": message{
			"clientInfo": message{"name": "envelope-hook-doctor", "version": "1"},
		}},
		{"method": "initialized"},
		{"id": 2, "method": "hooks/list", "params": message{"cwds": []string{folder}}},
	} {
		if _, err := in.Write(jsonLine(m)); err != nil {
			return nil, err
		}
	}
	lines := bufio.NewScanner(io.LimitReader(out, 4<<20))
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var m struct {
			ID     int
			Result struct {
				Data []struct{ Hooks []codexHook }
			}
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID != 2 {
			continue
		}
		var all []codexHook
		for _, entry := range m.Result.Data {
			all = append(all, entry.Hooks...)
		}
		return all, nil
	}
	if ctx.Err() != nil {
		return nil, errors.New("no answer in time")
	}
	return nil, errors.New("no answer")
}
