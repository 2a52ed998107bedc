package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// setup is how a host's hooks are set up.
type setup struct {
	variable string   // of the environment: the folder in place of home
	home     string   // the folder in the user's home
	project  string   // the folder in a project
	file     string   // in either
	empty    string   // a file without hooks
	commands []string // the members that hold a shell command
	group    func(command string) any
	trust    func(folder, file string) check // nil: the host runs what stands there
}

// hookSeconds is how long a host may wait for a hook: the hook's own time, and some for the start
// of a process.
const hookSeconds = 5

// commandHook is what hosts call a hook of type command.
type commandHook struct {
	Type       string `json:"type"`
	Command    string `json:"command,omitempty"`
	Bash       string `json:"bash,omitempty"`
	PowerShell string `json:"powershell,omitempty"`
	Timeout    int    `json:"timeout,omitempty"`
	TimeoutSec int    `json:"timeoutSec,omitempty"`
}

type hookGroup struct {
	Hooks []commandHook `json:"hooks"`
}

// groupOf is a group with one command, whose time-out is in the host's unit.
func groupOf(timeout int) func(string) any {
	return func(command string) any {
		return hookGroup{[]commandHook{{Type: "command", Command: command, Timeout: timeout}}}
	}
}

func copilotHook(command string) any {
	return commandHook{
		Type:       "command",
		Bash:       command,
		PowerShell: "& " + command,
		TimeoutSec: hookSeconds,
	}
}

// installation is one settings file of a host.
type installation struct {
	host   *host
	path   string
	data   []byte
	exists bool
	mode   fs.FileMode
	backup []byte // what was there before install, when it put something in
	record string // the file that says so: a copy of what was there, or that nothing was
}

// What stands behind the name of a settings file in the names of the files that install leaves
// beside it.
const (
	backupSuffix = ".envelope-backup" // what was there
	newSuffix    = ".envelope-new"    // empty: there was nothing
)

// findInstallation reads a host's settings, in the user's home or in a project.
func findInstallation(h *host, project string) (*installation, error) {
	folder := os.Getenv(h.setup.variable)
	switch {
	case project != "":
		folder = filepath.Join(project, filepath.FromSlash(h.setup.project))
	case folder == "" || h.setup.variable == "":
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		folder = filepath.Join(home, filepath.FromSlash(h.setup.home))
	}
	path, err := filepath.Abs(filepath.Join(folder, filepath.FromSlash(h.setup.file)))
	if err != nil {
		return nil, err
	}
	in := &installation{host: h, path: path, mode: 0o600}
	if project != "" {
		in.mode = 0o644 // others have the project too
	}
	// A link, as people have who keep their settings elsewhere, stays one.
	if real, err := filepath.EvalSymlinks(in.path); err == nil {
		in.path = real
	}
	info, err := os.Stat(in.path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a file", in.path)
	case err == nil:
		in.exists, in.mode = true, info.Mode().Perm()
		if in.data, err = os.ReadFile(in.path); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	for _, suffix := range []string{backupSuffix, newSuffix} {
		data, err := os.ReadFile(in.path + suffix)
		if err == nil {
			in.backup, in.record = data, in.path+suffix
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return in, nil
}

// entries are the commands in the settings that run this hook.
func (in *installation) entries() ([]hookEntry, error) {
	if blankSettings(in.data) {
		return nil, nil
	}
	s, err := parseSettings(in.data)
	if err != nil {
		return nil, in.fault(err)
	}
	var all []hookEntry
	for _, p := range in.host.places(s) {
		all = append(all, p.entry)
	}
	return all, nil
}

// fault is what is wrong with the settings, which stay as they are then.
func (in *installation) fault(err error) error {
	return fmt.Errorf("%s %w; it is left as it is", in.path, err)
}

// hookInstall puts the hook into the settings of a host.
func hookInstall(args []string, s streams) (int, error) {
	h, project, flags, err := parseInstall("hook install", args, s)
	if err != nil {
		return failed, err
	}
	if h.wrapperFault != nil {
		return failed, h.wrapperFault
	}
	in, err := findInstallation(h.host, project)
	if err != nil {
		return failed, err
	}
	there, err := in.entries()
	if err != nil {
		return failed, err
	}
	if in.record == "" && len(there) > 0 {
		return in.say(s, done, "has this hook already, and not from here: it is left as it is")
	}
	program, err := ownCommand()
	if err != nil {
		return failed, err
	}
	base := in.data
	if in.record != "" {
		if base, err = in.before(there); err != nil {
			return failed, in.fault(err)
		}
	}
	data, err := in.host.withEntries(base, h.entries(program+flags))
	if err != nil {
		return failed, in.fault(err)
	}
	if in.exists && bytes.Equal(data, in.data) {
		return in.say(s, done, "has this hook already")
	}
	if err := in.write(data); err != nil {
		return failed, err
	}
	return in.say(s, done,
		"has the hook now; envelope hook doctor -host "+in.host.name+" says whether it works")
}

// hookUninstall takes out of the settings of a host what install put in.
func hookUninstall(args []string, s streams) (int, error) {
	h, project, _, err := parseInstall("hook uninstall", args, s)
	if err != nil {
		return failed, err
	}
	in, err := findInstallation(h.host, project)
	if err != nil {
		return failed, err
	}
	there, err := in.entries()
	if err != nil {
		return failed, err
	}
	if in.record == "" {
		if len(there) > 0 {
			return in.say(s, refused, "has this hook, but not from install: it is left as it is")
		}
		return in.say(s, done, "does not have this hook")
	}
	data, err := in.before(there)
	if err != nil {
		return failed, in.fault(err)
	}
	switch {
	case in.exists && data == nil:
		err = os.Remove(in.path)
	case in.exists:
		err = replaceFile(in.path, data, in.mode)
	}
	if err == nil {
		err = os.Remove(in.record)
	}
	if err != nil {
		return failed, err
	}
	return in.say(s, done, "does not have this hook any more")
}

// before is what the settings are without the hook: to the byte what they were, when nothing else
// has changed since, and nil for no file.
func (in *installation) before(there []hookEntry) ([]byte, error) {
	again, err := in.host.withEntries(in.backup, there)
	if err == nil && bytes.Equal(again, in.data) {
		if strings.HasSuffix(in.record, newSuffix) {
			return nil, nil
		}
		return in.backup, nil
	}
	return in.host.withoutEntries(in.data)
}

// write puts data in place of the settings, and a copy of what was there beside it, once.
func (in *installation) write(data []byte) error {
	if err := os.MkdirAll(filepath.Dir(in.path), 0o755); err != nil {
		return err
	}
	if in.record == "" {
		suffix := backupSuffix
		if !in.exists {
			suffix = newSuffix
		}
		if err := replaceFile(in.path+suffix, in.data, in.mode); err != nil {
			return err
		}
	}
	return replaceFile(in.path, data, in.mode)
}

// say says what is the case with the settings, on standard output.
func (in *installation) say(s streams, status int, what string) (int, error) {
	line := printable(errors.New(in.path + " " + what)).Error()
	if _, err := fmt.Fprintln(s.out, line); err != nil {
		return failed, err
	}
	return status, nil
}

// replaceFile writes a file at once: who reads it sees all of it, or what was there.
func replaceFile(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".envelope-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// parseInstall reads the flags of install, uninstall and doctor: those of the hook, which go into
// its command, and where the settings are.
func parseInstall(name string, args []string, s streams) (*hookRun, string, string, error) {
	var project string
	h, set, err := parseHook(name, args, s, func(f *flag.FlagSet) {
		f.StringVar(&project, "project", "",
			"the settings of the project in this `folder`, not the user's")
	})
	if err != nil {
		return nil, "", "", err
	}
	command := " hook -host " + h.host.name
	for _, f := range set {
		switch f.Name {
		case "host", "project":
			continue
		}
		value := f.Value.String()
		if f.Name == "wrapper" { // the host runs the hook in other folders
			if value, err = filepath.Abs(value); err != nil {
				return nil, "", "", err
			}
		}
		if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
			command += " -" + f.Name + "=" + value
		} else {
			command += " -" + f.Name + " " + shellWord(value)
		}
	}
	return h, project, command, nil
}

// entries are what the settings of the host are to have for a hook: its command for each event that
// it does something for.
func (h *hookRun) entries(command string) (all []hookEntry) {
	for _, e := range h.host.events {
		// A session's start is also when what it was given is forgotten.
		if e.kind == promptEvent || h.sessionQuery != "" || h.fresh && e.kind == sessionEvent {
			all = append(all, hookEntry{e.name, command})
		}
	}
	return all
}

// executable is where this program is. Tests have it elsewhere.
var executable = os.Executable

// ownCommand is how a shell calls this program: by its name, where the path has it, and else by
// where it is.
func ownCommand() (string, error) {
	self, err := executable()
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	if found, err := exec.LookPath("envelope"); err == nil {
		if real, err := filepath.EvalSymlinks(found); err == nil && real == self {
			return "envelope", nil
		}
	}
	if strings.Contains(filepath.ToSlash(self), "/go-build") {
		return "", errors.New(
			"go run makes a program that is gone afterwards: install the command first",
		)
	}
	return shellWord(self), nil
}

// shellWord is text as one word of a shell: sh, and on Windows cmd and PowerShell.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			strings.ContainsRune("-_./:,=@%+", r) || r == '\\' && runtime.GOOS == "windows"
	}
	if text != "" && strings.TrimFunc(text, plain) == "" {
		return text
	}
	if runtime.GOOS == "windows" {
		return `"` + text + `"`
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
