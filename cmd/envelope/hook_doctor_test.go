package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// doctorOf runs the doctor of a built command and returns its lines and its status.
func doctorOf(t *testing.T, binary string, flags ...string) (string, int) {
	c := exec.Command(binary, append([]string{"hook", "doctor"}, flags...)...)
	c.Dir = t.TempDir()
	out, err := c.Output()
	status := 0
	if err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		require.Empty(t, string(exit.Stderr))
		status = exit.ExitCode()
	}
	return string(out), status
}

// TestDoctor has a line for each check, from a hook that is nowhere to one that delivers.
func TestDoctor(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a script stands for codex")
	}
	binary := build(t)
	home := atHome(t)
	named := filepath.Join(filepath.Dir(binary), "envelope")
	require.NoError(t, os.Rename(binary, named))
	binary = named
	t.Setenv("PATH", filepath.Dir(binary)+":"+os.Getenv("PATH"))
	run := func(args ...string) {
		out, err := exec.Command(binary, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}

	out, status := doctorOf(t, binary, "-host", "gemini", "-url", "http://127.0.0.1:1")
	assert.Equal(t, refused, status)
	assert.Contains(t, out, "FAIL settings  "+filepath.Join(home, ".gemini", "settings.json")+
		" does not have this hook: run envelope hook install -host gemini\n")
	assert.Contains(t, out, "ok   binary    "+binary+"\n")
	assert.Contains(t, out, "FAIL server    server_unavailable: connection: start the server")

	server := ""
	handle := func(h http.HandlerFunc) { server = serve(t, h) }
	for _, tt := range []struct {
		why     string
		handler http.HandlerFunc
		status  int
		want    string
	}{
		{
			"it works", respond(t, prepared(t, envelope.JSON{})), done,
			"ok   server    it answers\nok   sample    ",
		},
		{
			"nothing found", respond(t, envelope.Prepared{}), done,
			"ok   sample    the server has nothing for a sample prompt; the scope of this " +
				"folder is local:",
		},
		{
			"401", serveBody(401, ""), refused,
			"FAIL server    authentication_failed: set ENVELOPE_TOKEN",
		},
		{
			"404", serveBody(404, ""), refused,
			"FAIL server    version_mismatch: it has no /v1/context/prepare",
		},
		{
			"500", serveBody(500, ""), refused,
			"FAIL server    server_unavailable: http-status: it answers with 500",
		},
		{
			"HTML", serveBody(200, "<html>"), refused,
			"FAIL sample    invalid_response: not-object: see the reason codes",
		},
		{
			"another notice",
			respond(
				t,
				prepared(t, envelope.JSON{Wrapper: envelope.NewWrapper("ACME_NOTES", "Notes.")}),
			),
			refused,
			"FAIL sample    invalid_response: unknown-wrapper: its texts have another notice " +
				"or other markers",
		},
	} {
		handle(tt.handler)
		run("hook", "install", "-host", "claude-code", "-url", server)
		out, status := doctorOf(t, binary, "-host", "claude-code")
		assert.Equal(t, tt.status, status, "%s: %s", tt.why, out)
		assert.Contains(
			t, out,
			"ok   settings  "+filepath.Join(
				home, ".claude", "settings.json",
			)+" has it for UserPromptSubmit\n",
			tt.why,
		)
		assert.Contains(t, out, tt.want, tt.why)
		assert.NotContains(t, out, "secret", tt.why)
	}

	handle(respond(t, prepared(t, envelope.JSON{})))
	run("hook", "install", "-host", "codex", "-url", server)
	file := filepath.Join(home, ".codex", "hooks.json")
	for trust, want := range map[string]string{
		"trusted": "ok   trust     codex trusts the hook\n",
		"untrusted": "FAIL trust     codex has the hook as untrusted and skips it: start codex " +
			"once",
		"modified": "FAIL trust     codex has the hook as modified",
		"off":      "FAIL trust     codex has the hook switched off",
		"": "FAIL trust     codex does not list the hook: a project's hooks also need " +
			"trust_level",
	} {
		hooks := ""
		if trust != "" {
			hooks = fmt.Sprintf(
				`{"command":"envelope hook -host codex -url %s","sourcePath":"%s",`+
					`"enabled":%t,"trustStatus":"%s"}`,
				server, file, trust != "off", trust,
			)
		}
		fakeCodex(
			t, filepath.Dir(binary),
			`echo '{"id":1,"result":{}}'; echo '{"method":"x"}'; echo '{"id":2,`+
				`"result":{"data":[{"cwd":"/","hooks":[`+hooks+`]}]}}'; sleep 30`,
		)
		out, status := doctorOf(t, binary, "-host", "codex")
		assert.Contains(t, out, want)
		assert.Equal(t, trust == "trusted", status == done, out)
		assert.Contains(t, out, "ok   sample    ")
	}
	fakeCodex(t, filepath.Dir(binary), "exit 1")
	out, _ = doctorOf(t, binary, "-host", "codex")
	assert.Contains(t, out, "FAIL trust     codex does not say: ")
	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(binary), "codex")))

	// A program that has moved.
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	moved := strings.Replace(string(data), `"envelope hook`, `"/no/such/envelope hook`, 1)
	require.NoError(t, os.WriteFile(file, []byte(moved), 0o600))
	out, status = doctorOf(t, binary, "-host", "codex")
	assert.Equal(t, refused, status)
	assert.Contains(t, out, "FAIL binary    /no/such/envelope is not found")
	assert.Contains(t, out, "FAIL sample    the command fails")
}

func fakeCodex(t *testing.T, folder, script string) {
	text := "#!/bin/sh\n" + script + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "codex"), []byte(text), 0o755))
}
