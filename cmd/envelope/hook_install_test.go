package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// atHome gives a test a home of its own, and a program that is not gone after the test.
func atHome(t *testing.T) string {
	unset(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for i := range hosts {
		if name := hosts[i].setup.variable; name != "" {
			t.Setenv(name, "")
		}
	}
	before := executable
	executable = func() (string, error) { return filepath.Join(home, "bin", "envelope"), nil }
	t.Cleanup(func() { executable = before })
	return home
}

// settingsPath is where a host has its settings, by what its documents say.
var settingsPath = map[string][2]string{ // in the user's home, in a project
	"claude-code": {".claude/settings.json", ".claude/settings.json"},
	"codex":       {".codex/hooks.json", ".codex/hooks.json"},
	"gemini":      {".gemini/settings.json", ".gemini/settings.json"},
	"copilot":     {".copilot/hooks/envelope.json", ".github/hooks/envelope.json"},
}

// tree is all that is in a folder: modes and contents.
func tree(t *testing.T, folder string) map[string]string {
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		require.NoError(t, err)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		all[path] = info.Mode().String() + " " + string(data)
		return nil
	}))
	return all
}

// Two installs and one uninstall leave every byte as it was, in the user's home and in a project.
func TestInstallAndUninstall(t *testing.T) {
	for name, paths := range settingsPath {
		for where, path := range paths {
			for why, text := range settingsCases {
				home := atHome(t)
				flags := []string{"-host", name}
				folder := home
				if where == 1 {
					folder = t.TempDir()
					flags = append(flags, "-project", folder)
				}
				file := filepath.Join(folder, filepath.FromSlash(path))
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				before := caseFor(hostNamed(name), text)
				require.NoError(t, os.WriteFile(file, before, 0o640))
				was := tree(t, folder)

				install := append([]string{"hook", "install"}, flags...)
				status, out, stderr := call("", install...)
				require.Equal(t, done, status, "%s: %s: %s", name, why, stderr)
				assert.Contains(t, out, "has the hook now")
				with, err := os.ReadFile(file)
				require.NoError(t, err)
				assert.NotEqual(t, before, with)
				backup, err := os.ReadFile(file + ".envelope-backup")
				require.NoError(t, err)
				assert.Equal(t, string(before), string(backup), "a copy beside it")
				installed := tree(t, folder)

				_, out, _ = call("", install...)
				assert.Contains(t, out, "has this hook already")
				assert.Equal(t, installed, tree(t, folder), "installed twice is installed once")

				status, _, stderr = call("", append([]string{"hook", "uninstall"}, flags...)...)
				require.Equal(t, done, status, "%s: %s: %s", name, why, stderr)
				assert.Equal(t, was, tree(t, folder), "%s: %s", name, why)
			}
		}
	}
}

// Where there was nothing there is nothing again.
func TestInstallAnew(t *testing.T) {
	for name, paths := range settingsPath {
		home := atHome(t)
		for range 2 {
			status, _, stderr := call("", "hook", "install", "-host", name)
			require.Equal(t, done, status, stderr)
		}
		file := filepath.Join(home, filepath.FromSlash(paths[0]))
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(data), filepath.Join(home, "bin", "envelope")+" hook -host "+name)
		assert.Equal(t, 1, strings.Count(string(data), `"type": "command"`))
		status, _, stderr := call("", "hook", "uninstall", "-host", name)
		require.Equal(t, done, status, stderr)
		assert.Empty(t, tree(t, home))
		status, out, _ := call("", "hook", "uninstall", "-host", name)
		assert.Equal(t, done, status)
		assert.Contains(t, out, "does not have this hook")
	}
}

// A hook that somebody put there by hand is theirs: install adds no second one, and uninstall does
// not take it out.
func TestInstallBesideOnesOwn(t *testing.T) {
	home := atHome(t)
	file := filepath.Join(home, ".codex", "hooks.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	text := `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"envelope ` +
		`hook -host codex"}]}]}}`
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	was := tree(t, home)
	for range 2 {
		status, out, _ := call("", "hook", "install", "-host", "codex")
		assert.Equal(t, done, status)
		assert.Contains(t, out, "has this hook already, and not from here")
		assert.Equal(t, was, tree(t, home))
	}
	status, out, _ := call("", "hook", "uninstall", "-host", "codex")
	assert.Equal(t, refused, status)
	assert.Contains(t, out, "not from install")
	assert.Equal(t, was, tree(t, home))
}

// Flags go into the command; other flags take the place of the earlier command.
func TestInstallFlags(t *testing.T) {
	home := atHome(t)
	file := filepath.Join(home, ".claude", "settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("{\n  \"model\": \"m\"\n}\n"), 0o600))
	was := tree(t, home)
	read := func() string {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(data)
	}
	status, _, stderr := call("", "hook", "install", "-host", "claude-code",
		"-url", "http://127.0.0.1:9000", "-max-bytes", "9000", "-session-query", "What's new?", "-notify", "-timeout", "2s")
	require.Equal(t, done, status, stderr)
	s, err := parseSettings([]byte(read()))
	require.NoError(t, err)
	places := hostNamed("claude-code").places(s)
	require.Len(t, places, 3, "with a session's query, its events too")
	if runtime.GOOS != "windows" {
		assert.Equal(t, filepath.Join(
			home, "bin", "envelope",
		)+" hook -host claude-code -max-bytes 9000 -notify=true"+
			` -session-query 'What'\''s new?' -timeout 2s -url http://127.0.0.1:9000`, places[0].entry.command)
	}
	status, _, stderr = call("", "hook", "install", "-host", "claude-code", "-format", "markdown",
		"-sections", "experience,memory:3", "-show", "recall_rank,confidence")
	require.Equal(t, done, status, stderr)
	assert.Equal(t, 1, strings.Count(read(), "hook -host"))
	assert.Contains(
		t, read(),
		"hook -host claude-code -format markdown -sections experience,memory:3 -show "+
			"confidence,recall_rank\"",
	)
	status, _, stderr = call("", "hook", "install", "-host", "claude-code", "-fresh")
	require.Equal(t, done, status, stderr)
	assert.Contains(t, read(), `"SessionStart"`, "which is when it forgets")
	assert.NotContains(t, read(), `"SubagentStart"`)
	status, _, stderr = call("", "hook", "uninstall", "-host", "claude-code")
	require.Equal(t, done, status, stderr)
	assert.Equal(t, was, tree(t, home))

	for _, flags := range []string{"-max-bytes 9501", "-url ftp://x", "-session-query  -host vim", "-wrapper no-such-file", "-token x"} {
		status, out, stderr := call(
			"",
			append(
				[]string{"hook", "install", "-host", "claude-code"}, strings.Fields(flags)...,
			)...,
		)
		assert.Equal(t, failed, status, flags)
		assert.Empty(t, out)
		assert.NotEmpty(t, stderr)
		assert.Equal(t, was, tree(t, home), "nothing is written")
	}
}

// What somebody else changed between stays, and only the hook goes.
func TestUninstallAfterChanges(t *testing.T) {
	home := atHome(t)
	file := filepath.Join(home, ".gemini", "settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("{\n  // mine\n  \"ui\": {}\n}\n"), 0o600))
	_, _, stderr := call("", "hook", "install", "-host", "gemini")
	require.Empty(t, stderr)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	changed := strings.Replace(string(data), `"ui": {}`, `"ui": {"theme": "dark"}`, 1)
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
	status, _, stderr := call("", "hook", "uninstall", "-host", "gemini")
	require.Equal(t, done, status, stderr)
	assert.Equal(
		t,
		map[string]string{file: "-rw------- {\n  // mine\n  \"ui\": {\"theme\": \"dark\"}\n}\n"},
		tree(t, home),
	)

	_, _, stderr = call("", "hook", "install", "-host", "gemini")
	require.Empty(t, stderr)
	require.NoError(t, os.Remove(file))
	status, _, stderr = call("", "hook", "uninstall", "-host", "gemini")
	require.Equal(t, done, status, stderr)
	assert.Empty(t, tree(t, home), "a file that somebody took away is not put back")
}

// What is no JSON object, or cannot be written, is left alone, with the reason.
func TestInstallLeavesAlone(t *testing.T) {
	for text, want := range map[string]string{
		"model = \"m\"\n": "settings.json is not JSON: line 1: syntax error; it is left as " +
			"it is",
		"{\n  \"model\": \n}": "settings.json is not JSON: line 3: syntax error; it is left as " +
			"it is",
		"{\"hooks\": []}": "settings.json has hooks that are not an object; it is left as " +
			"it is",
		"[1]": "settings.json is not a JSON object; it is left as it is",
	} {
		home := atHome(t)
		file := filepath.Join(home, ".claude", "settings.json")
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		was := tree(t, home)
		for _, command := range []string{"install", "uninstall"} {
			status, out, stderr := call("", "hook", command, "-host", "claude-code")
			if command == "install" || !strings.Contains(text, "[]") {
				assert.Equal(t, failed, status)
				assert.Empty(t, out)
				assert.Contains(t, stderr, want)
			}
			assert.Equal(t, was, tree(t, home))
		}
	}
	home := atHome(t)
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".claude", "settings.json"), 0o755))
	status, _, stderr := call("", "hook", "install", "-host", "claude-code")
	assert.Equal(t, failed, status)
	assert.Contains(t, stderr, "not a file")

	executable = func() (string, error) { return "/tmp/go-build1/b001/exe/envelope", nil }
	status, _, stderr = call("", "hook", "install", "-host", "codex")
	assert.Equal(t, failed, status)
	assert.Contains(t, stderr, "install the command first")
	assert.Empty(t, tree(t, home))
}

// Settings that are a link to where somebody keeps theirs stay one, and a folder in the environment
// comes before the home.
func TestInstallElsewhere(t *testing.T) {
	home := atHome(t)
	if runtime.GOOS != "windows" {
		kept := filepath.Join(home, "dotfiles", "settings.json")
		link := filepath.Join(home, ".claude", "settings.json")
		require.NoError(t, os.MkdirAll(filepath.Dir(kept), 0o755))
		require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o755))
		require.NoError(t, os.WriteFile(kept, []byte("{}"), 0o600))
		require.NoError(t, os.Symlink(kept, link))
		_, _, stderr := call("", "hook", "install", "-host", "claude-code")
		require.Empty(t, stderr)
		info, err := os.Lstat(link)
		require.NoError(t, err)
		assert.Equal(t, fs.ModeSymlink, info.Mode().Type())
		data, err := os.ReadFile(kept)
		require.NoError(t, err)
		assert.Contains(t, string(data), "hook -host claude-code")
	}
	elsewhere := t.TempDir()
	t.Setenv("CODEX_HOME", elsewhere)
	_, _, stderr := call("", "hook", "install", "-host", "codex")
	require.Empty(t, stderr)
	assert.FileExists(t, filepath.Join(elsewhere, "hooks.json"))
	assert.NoDirExists(t, filepath.Join(home, ".codex"))
}

// A word is one word to a shell, whatever is in it.
func TestShellWord(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("sh")
	}
	for _, text := range []string{
		"", "plain", "/a/b-c_d.e:f", "a b", "it's", `"$HOME"`, "`x`", "a\nb", "*", "~", "项目", `\`,
		"!x", "a;b", "-x",
	} {
		out, err := exec.Command("sh", "-c", "printf %s "+shellWord(text)).Output()
		require.NoError(t, err)
		assert.Equal(t, text, string(out))
	}
	assert.Equal(t, "/a/b-c", shellWord("/a/b-c"))
}
