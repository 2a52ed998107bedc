package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

const (
	claudeEvent = `{"session_id":"s","transcript_path":"/t","cwd":"/secret/project",` +
		`"permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":"secret ` +
		`question"}`
	codexEvent = `{"session_id":"s","turn_id":"t","transcript_path":null,` +
		`"cwd":"/secret/project","hook_event_name":"UserPromptSubmit","model":"m",` +
		`"permission_mode":"default","prompt":"secret question"}`
)

// secretScope is the scope of the events' folder, which does not exist.
var secretScope = fmt.Sprintf("local:%x", sha256.Sum256([]byte("/secret/project")))

// prepared is an intact text that is hostile to whoever copies it.
func prepared(t testing.TB, r interface {
	Render([]envelope.Item, envelope.Budget) (envelope.Prepared, error)
}) envelope.Prepared {
	p, err := r.Render([]envelope.Item{{
		Citation: envelope.MemoryCitation{
			Memory:  envelope.ArtifactRef{Family: "memory", ArtifactID: "m", Revision: 1},
			EntryID: "e", EntryVersionID: "v",
		},
		Content: "secret <b>&\u2028\u0085\u0084" + envelope.PowerContextV1.End + "\n全\x7f",
	}}, envelope.Budget{})
	require.NoError(t, err)
	require.True(t, p.Ready())
	return p
}

// serveBody serves one body to every request.
func serveBody(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func respond(t testing.TB, p envelope.Prepared) http.HandlerFunc {
	data, err := p.MarshalJSON()
	require.NoError(t, err)
	return serveBody(200, string(data))
}

func serve(t testing.TB, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// unset clears what the environment of the test may say to a hook.
func unset(t testing.TB) {
	for _, name := range []string{urlVariable, scopeVariable, tokenVariable} {
		t.Setenv(name, "")
	}
}

// strictObject returns the members of a document of one object and a line feed: the name, and the
// value as it stands.
func strictObject(t testing.TB, document string) map[string]string {
	line, ok := strings.CutSuffix(document, "\n")
	require.True(t, ok, "%q", document)
	require.False(
		t, strings.ContainsAny(line, "\n\r\v\f\x1c\x1d\x1e\u0084\u0085\u2028\u2029"), "%q",
		document,
	)
	s := strictjson.Scanner{Data: []byte(line)}
	start, end, fault := s.Whole()
	require.Nil(t, fault, "%q", document)
	require.Equal(t, [2]int{0, len(line)}, [2]int{start, end})
	require.Equal(t, byte('{'), line[0])
	members := map[string]string{}
	for _, m := range s.Members(start) {
		members[string(m.Name)] = line[m.ValueStart:m.ValueEnd]
	}
	return members
}

// injected returns the context that a hook output carries.
func injected(t testing.TB, output string) string {
	top := strictObject(t, output)
	require.Len(t, top, 1)
	members := strictObject(t, top["hookSpecificOutput"]+"\n")
	require.Len(t, members, 2)
	require.Equal(t, `"UserPromptSubmit"`, members["hookEventName"])
	return string(strictjson.Decode([]byte(members["additionalContext"])))
}

func TestHookDelivers(t *testing.T) {
	unset(t)
	tests := []struct {
		why, host, event, flags string
		response                envelope.Prepared
		request                 string
	}{
		{
			"Claude Code", "claude-code", claudeEvent, "", prepared(t, envelope.JSON{}),
			`{"scope_id":"` + secretScope + `","query":"secret question","max_bytes":8000}`,
		},
		{
			"Codex", "codex", codexEvent, "", prepared(t, envelope.JSON{}),
			`{"scope_id":"` + secretScope + `","query":"secret question","max_bytes":8000}`,
		},
		{
			"a scope and a budget", "codex", codexEvent, "-scope p -max-bytes 9500 -",
			prepared(t, envelope.JSON{Scope: "p"}),
			`{"scope_id":"p","query":"secret question","max_bytes":9500}`,
		},
		{
			"a server that escapes more", "codex", codexEvent, "",
			prepared(t, envelope.JSON{Escape: envelope.EscapeMarkup | envelope.EscapeNonASCII}),
			`{"scope_id":"` + secretScope + `","query":"secret question","max_bytes":8000}`,
		},
		{
			"Markdown", "claude-code", claudeEvent, "-format markdown",
			prepared(t, envelope.Markdown{}),
			`{"scope_id":"` + secretScope + `","query":"secret question","max_bytes":8000,` +
				`"assembly":{"format":"markdown"}}`,
		},
		{
			"Markdown with sections", "codex", codexEvent,
			"-format markdown -sections experience,memory:2 -show recall_rank,confidence",
			prepared(t, envelope.Markdown{Show: envelope.ShowConfidence | envelope.ShowRank}),
			`{"scope_id":"` + secretScope + `","query":"secret question","max_bytes":8000,` +
				`"assembly":{"format":"markdown","sections":[{"family":"experience"},` +
				`{"family":"memory","limit":2}],"show":["confidence","recall_rank"]}}`,
		},
		{
			"a prompt that breaks lines", "codex",
			`{"hookEventName":"user_prompt_submit","PROMPT":"a\u2028<b>","Cwd":"c"}`,
			"-scope cwd", prepared(t, envelope.JSON{}),
			`{"scope_id":"c","query":"a\u2028<b>","max_bytes":8000}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			requests := 0
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				body, err := io.ReadAll(r.Body)
				assert.NoError(t, err)
				assert.Equal(t, tt.request+"\n", string(body))
				assert.Equal(t, "POST /v1/context/prepare", r.Method+" "+r.URL.RequestURI())
				assert.Equal(t, "application/json", r.Header.Get("Content-Type"))
				assert.Equal(t, "application/json", r.Header.Get("Accept"))
				assert.Empty(t, r.Header.Get("Authorization"))
				assert.Empty(t, r.Header.Get("Accept-Encoding"))
				respond(t, tt.response)(w, r)
			})
			status, out, stderr := call(
				tt.event,
				append(
					[]string{"hook", "-host", tt.host, "-url", url}, strings.Fields(tt.flags)...,
				)...,
			)
			assert.Equal(t, done, status)
			assert.Empty(t, stderr)
			assert.Equal(t, 1, requests)
			assert.Equal(t, tt.response.Content, injected(t, out))
			assert.True(
				t,
				strings.HasPrefix(
					out,
					`{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit",`+
						`"additionalContext":"`,
				),
				out,
			)
			assert.True(t, strings.HasSuffix(out, "\"}}\n"), out)
		})
	}
}

// Each failure leaves standard output empty and one line on standard error, in time, and nothing
// behind.
func TestHookFailsOpen(t *testing.T) {
	unset(t)
	ok := prepared(t, envelope.JSON{})
	data, err := ok.MarshalJSON()
	require.NoError(t, err)
	body := string(data)
	long := envelope.Prepared{Content: strings.Repeat("x", 9501)}
	slow := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client has gone
		<-r.Context().Done()
	}
	trickle := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(200)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}
	raw := func(text string) http.HandlerFunc { // an answer written by hand
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, text)
				_ = conn.Close()
			}
		}
	}
	elsewhere := serve(
		t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") },
	)
	ready := fmt.Sprintf(`"ready","content_bytes":%d`, len(ok.Content))
	tests := []struct {
		why     string
		handler http.HandlerFunc // nil: nothing listens
		flags   string
		want    string // behind the first two members
	}{
		{
			"down", nil, "",
			`"server_unavailable","http_status":null,"context_status":null,` +
				`"content_bytes":null,"reason":"connection"`,
		},
		{
			"slow", slow, "-timeout 150ms",
			`"server_unavailable","http_status":null,"context_status":null,` +
				`"content_bytes":null,"reason":"timeout"`,
		},
		{
			"slow with the body", trickle, "-timeout 150ms",
			`"server_unavailable","http_status":200,"context_status":null,"content_bytes":null,` +
				`"reason":"timeout"`,
		},
		{
			"no HTTP", raw("secret\r\n\r\n"), "",
			`"server_unavailable","http_status":null,"context_status":null,` +
				`"content_bytes":null,"reason":"connection"`,
		},
		{
			"hangs up", raw(""), "",
			`"server_unavailable","http_status":null,"context_status":null,` +
				`"content_bytes":null,"reason":"connection"`,
		},
		{
			"too many headers",
			raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"), "",
			`"server_unavailable","http_status":null,"context_status":null,` +
				`"content_bytes":null,"reason":"connection"`,
		},
		{
			"404", serveBody(404, body), "",
			`"version_mismatch","http_status":404,"context_status":null,"content_bytes":null`,
		},
		{
			"500", serveBody(500, body), "",
			`"server_unavailable","http_status":500,"context_status":null,"content_bytes":null,` +
				`"reason":"http-status"`,
		},
		{
			"422", serveBody(422, body), "",
			`"server_unavailable","http_status":422,"context_status":null,"content_bytes":null,` +
				`"reason":"http-status"`,
		},
		{
			"401", serveBody(401, body), "",
			`"authentication_failed","http_status":401,"context_status":null,"content_bytes":null`,
		},
		{
			"403", serveBody(403, body), "",
			`"authentication_failed","http_status":403,"context_status":null,"content_bytes":null`,
		},
		{
			"204", serveBody(204, ""), "",
			`"server_unavailable","http_status":204,"context_status":null,"content_bytes":null,` +
				`"reason":"http-status"`,
		},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		}, "", `"server_unavailable","http_status":307,"context_status":null,` +
			`"content_bytes":null,"reason":"redirect"`},
		{
			"another",
			func(
				w http.ResponseWriter, r *http.Request,
			) {
				http.Redirect(w, r, elsewhere, http.StatusFound)
			},
			"",
			`"server_unavailable","http_status":302,"context_status":null,"content_bytes":null,` +
				`"reason":"redirect"`,
		},
		{
			"2 MiB", serveBody(200, strings.Repeat(" ", 2<<20)+body), "",
			`"invalid_response","http_status":200,"context_status":null,"content_bytes":null,` +
				`"reason":"too-large"`,
		},
		{
			"100 KiB of white space", serveBody(200, strings.Repeat(" ", 100<<10)+body), "",
			`"invalid_response","http_status":200,"context_status":null,"content_bytes":null,` +
				`"reason":"too-large"`,
		},
		{
			"a body cut short", raw("HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n" + body), "",
			`"invalid_response","http_status":200,"context_status":null,"content_bytes":null,` +
				`"reason":"cut-short"`,
		},
		{
			"one in chunks",
			raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"sch"), "",
			`"invalid_response","http_status":200,"context_status":null,"content_bytes":null,` +
				`"reason":"cut-short"`,
		},
		{
			"one with a length that hides it", serveBody(200, body[:100]), "",
			`"invalid_response","http_status":200,"context_status":null,"content_bytes":null,` +
				`"reason":"cut-short"`,
		},
		{
			"nothing", serveBody(200, ""), "",
			`"invalid_response","http_status":200,"context_status":null,"content_bytes":null,` +
				`"reason":"cut-short"`,
		},
		{
			"invalid JSON", serveBody(200, `{"schema":secret}`), "",
			`"invalid_response","http_status":200,"context_status":null,"content_bytes":null,` +
				`"reason":"syntax"`,
		},
		{
			"HTML", serveBody(200, "<!DOCTYPE html><html>secret</html>"), "",
			`"invalid_response","http_status":200,"context_status":null,"content_bytes":null,` +
				`"reason":"not-object"`,
		},
		{
			"wrong length",
			serveBody(200, strings.Replace(body, `"content_bytes":`, `"content_bytes":1`, 1)), "",
			`"invalid_response","http_status":200,"context_status":null,"content_bytes":null,` +
				`"reason":"length-mismatch"`,
		},
		{
			"a fifth member", serveBody(200, strings.Replace(body, `{`, `{"secret":1,`, 1)), "",
			`"invalid_response","http_status":200,"context_status":null,"content_bytes":null,` +
				`"reason":"extra-member"`,
		},
		{
			"longer than was asked for", respond(t, long), "-max-bytes 9500",
			`"invalid_response","http_status":200,"context_status":null,"content_bytes":null,` +
				`"reason":"too-long"`,
		},
		{
			"no envelope", respond(t, envelope.Prepared{Content: "secret"}), "",
			`"invalid_response","http_status":200,"context_status":"ready","content_bytes":6,` +
				`"reason":"not-intact"`,
		},
		{
			"a trimmed one", respond(t, envelope.Prepared{Content: ok.Content + "\n"}), "",
			`"invalid_response","http_status":200,"context_status":"ready",` +
				`"content_bytes":` + fmt.Sprint(len(ok.Content)+1) + `,"reason":"not-intact"`,
		},
		{
			"an envelope for a host that wants Markdown", respond(t, ok), "-format markdown",
			`"invalid_response","http_status":200,` +
				`"context_status":` + ready + `,"reason":"not-intact"`,
		},
		{
			"Markdown for a host that wants an envelope",
			respond(t, prepared(t, envelope.Markdown{})), "",
			`"invalid_response","http_status":200,"context_status":"ready",` +
				`"content_bytes":` + fmt.Sprint(
				len(prepared(t, envelope.Markdown{}).Content),
			) + `,"reason":"not-intact"`,
		},
		{
			"empty", respond(t, envelope.Prepared{}), "",
			`"empty","http_status":200,"context_status":"empty","content_bytes":0`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			var url string
			if tt.handler == nil {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(t, err)
				url = "http://" + l.Addr().String()
				require.NoError(t, l.Close())
			} else {
				s := httptest.NewServer(tt.handler)
				defer s.Close()
				url = s.URL
			}
			routines, files := runtime.NumGoroutine(), openFiles()
			start := time.Now()
			status, out, stderr := call(
				claudeEvent,
				append(
					[]string{"hook", "-host", "claude-code", "-url", url, "-scope", "secret"},
					strings.Fields(tt.flags)...,
				)...,
			)
			assert.Less(t, time.Since(start), 3*time.Second)
			assert.Equal(t, done, status)
			assert.Empty(t, out)
			assert.Equal(
				t,
				`{"component":"envelope.hook","event":"context_prepare","outcome":`+tt.want+"}\n",
				stderr,
			)
			strictObject(t, stderr)
			// What the server has for the connection ends a little later.
			for wait := 0; wait < 400 && (runtime.NumGoroutine() > routines ||
				openFiles() > files); wait++ {
				time.Sleep(5 * time.Millisecond)
			}
			assert.LessOrEqual(t, runtime.NumGoroutine(), routines, "goroutines are left")
			assert.LessOrEqual(t, openFiles(), files, "files are left")
		})
	}
}

// openFiles is how many files this process has open, where the system says.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

func skippedLine(reason string) string {
	return `{"component":"envelope.hook","event":"context_prepare","outcome":"skipped",` +
		`"http_status":null,"context_status":null,"content_bytes":null,` +
		`"reason":"` + reason + "\"}\n"
}

func TestHookEnvironment(t *testing.T) {
	unset(t)
	type seen struct{ scope, authorization string }
	var got []seen
	server := func(t *testing.T) string {
		got = nil
		return serve(t, func(w http.ResponseWriter, r *http.Request) {
			var request struct {
				Scope string `json:"scope_id"`
			}
			assert.NoError(t, json.NewDecoder(r.Body).Decode(&request))
			got = append(got, seen{request.Scope, r.Header.Get("Authorization")})
			respond(t, prepared(t, envelope.JSON{}))(w, r)
		})
	}
	hook := func(flags ...string) string {
		status, out, stderr := call(
			claudeEvent, append([]string{"hook", "-host", "claude-code"}, flags...)...,
		)
		assert.Equal(t, done, status)
		assert.NotEqual(t, out == "", stderr == "")
		assert.NotContains(t, stderr, "secret")
		return stderr
	}
	t.Run("in place of flags", func(t *testing.T) {
		t.Setenv(urlVariable, server(t)+"/")
		t.Setenv(scopeVariable, "project")
		t.Setenv(tokenVariable, "secret-token")
		assert.Empty(t, hook())
		assert.Empty(t, hook("-scope", "other"))
		assert.Equal(
			t, []seen{{"project", "Bearer secret-token"}, {"other", "Bearer secret-token"}}, got,
		)
	})
	t.Run("a flag comes first", func(t *testing.T) {
		t.Setenv(urlVariable, "http://127.0.0.1:1/")
		assert.Empty(t, hook("-url", strings.Replace(server(t), "127.0.0.1", "localhost", 1)))
		assert.Equal(t, []seen{{secretScope, ""}}, got)
	})
	t.Run("no token over plain HTTP to another host", func(t *testing.T) {
		t.Setenv(tokenVariable, "secret-token")
		for _, url := range []string{"http://192.0.2.1", "http://example.org:8000", "http://localhost.example.org", "http://127.0.0.1.example.org", "http://0.0.0.0", "http://[::]:8000"} {
			assert.Equal(t, skippedLine("insecure-token"), hook("-url", url))
		}
	})
	t.Run("a token that is no token", func(t *testing.T) {
		for _, token := range []string{"secret\n", "a secret", "secreté"} {
			t.Setenv(tokenVariable, token)
			assert.Equal(t, skippedLine("token"), hook("-url", server(t)))
			assert.Empty(t, got)
		}
	})
	t.Run("the environment is no usage error", func(t *testing.T) {
		for _, url := range []string{"secret", "ftp://127.0.0.1", "http://secret:x@127.0.0.1", "http://127.0.0.1/?secret", "http://127.0.0.1:port"} {
			t.Setenv(urlVariable, url)
			assert.Equal(t, skippedLine("url"), hook())
		}
		t.Setenv(urlVariable, "")
		t.Setenv(scopeVariable, " ")
		assert.Equal(t, skippedLine("scope"), hook())
	})
	t.Run("no token follows a redirect", func(t *testing.T) {
		t.Setenv(tokenVariable, "secret-token")
		to := server(t)
		from := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, to+r.URL.Path, http.StatusPermanentRedirect)
		})
		assert.Contains(t, hook("-url", from), `"reason":"redirect"`)
		assert.Empty(t, got)
	})
	t.Run("a proxy is not used", func(t *testing.T) {
		for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
			t.Setenv(name, "http://127.0.0.1:1")
		}
		assert.Empty(t, hook("-url", server(t)))
	})
}

func TestHookDialsThisMachineOnly(t *testing.T) {
	for host, only := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true,
		"::ffff:127.0.0.1": true, "example.org": false, "0.0.0.0": false,
	} {
		assert.Equal(t, only, loopback(host), host)
	}
	// The address is refused before a connection is tried.
	u, err := url.Parse("http://localhost:8000")
	require.NoError(t, err)
	conn, err := (&hookRun{url: u}).dialer().Dial("tcp", "192.0.2.1:80")
	assert.Nil(t, conn)
	assert.ErrorContains(t, err, "not this machine")
}

func TestHookUsage(t *testing.T) {
	unset(t)
	for _, args := range []string{
		"", "-host vim", "-host codex event.json", "-host codex -format html",
		"-host codex -show confidence", "-host codex -format markdown -sections a,a",
		"-host codex -format markdown -sections=", "-host codex -max-bytes 9501",
		"-host codex -max-bytes 511", "-host codex -max-bytes 0",
		"-host codex -max-bytes -1", "-host codex -timeout 0s", "-host codex -timeout -1s",
		"-host codex -timeout soon", "-host codex -url 127.0.0.1:8000",
		"-host codex -url ftp://secret", "-host codex -url http://secret@127.0.0.1", "-host codex -url http://", "-host codex -scope \xff",
		"-host gemini -max-bytes 30001", "-host copilot -notify", "-host gemini -fresh",
		"-host copilot -fresh", "-host codex -fresh -format markdown", "-token secret",
	} {
		status, out, stderr := call(
			claudeEvent, append([]string{"hook"}, strings.Fields(args)...)...,
		)
		assert.Equal(t, failed, status, args)
		assert.Empty(t, out)
		assert.True(t, strings.HasPrefix(stderr, "envelope: hook: "), stderr)
		assert.Equal(t, 1, strings.Count(stderr, "\n"))
		assert.NotContains(t, stderr, "secret")
	}
	status, out, _ := call("", "hook", "-h")
	assert.Equal(t, done, status)
	assert.Contains(t, out, "-max-bytes")
}

func TestHookOutputFails(t *testing.T) {
	unset(t)
	var stderr bytes.Buffer
	url := serve(t, respond(t, prepared(t, envelope.JSON{})))
	assert.Equal(
		t, done,
		run(
			[]string{"hook", "-host", "codex", "-url", url},
			streams{strings.NewReader(codexEvent), fullDisk{}, &stderr},
		),
	)
	assert.Equal(t, skippedLine("output"), stderr.String())

	stderr.Reset()
	assert.Equal(
		t, done,
		run(
			[]string{"hook", "-host", "codex", "-url", url},
			streams{strings.NewReader(codexEvent), panickingWriter{}, &stderr},
		),
	)
	assert.Equal(
		t, skippedLine("panic"), stderr.String(), "a panic is not left to become the status 2",
	)
}

// TestHookIsNotHeldUp has a host that does not read what the hook says on standard error.
func TestHookIsNotHeldUp(t *testing.T) {
	unset(t)
	_, unread := io.Pipe()
	start := time.Now()
	assert.Equal(t, done, run([]string{"hook", "-host", "codex", "-url", "http://127.0.0.1:1"}, streams{strings.NewReader(codexEvent), io.Discard, unread}))
	assert.Less(t, time.Since(start), 3*time.Second)
}

type panickingWriter struct{}

func (panickingWriter) Write([]byte) (int, error) { panic("secret") }

// build builds the command.
func build(t testing.TB) string {
	if testing.Short() {
		t.Skip("builds the command")
	}
	binary := filepath.Join(t.TempDir(), "envelope.exe")
	out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// hookProcess runs a built hook for an event and returns what it writes.
func hookProcess(t *testing.T, binary, event string, flags ...string) (output, report string) {
	c := exec.Command(binary, append([]string{"hook", "-host", "claude-code"}, flags...)...)
	c.Stdin = strings.NewReader(event)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	assert.NoError(t, err)
	return string(out), stderr.String()
}

func TestHookProcess(t *testing.T) {
	unset(t)
	binary := build(t)
	p := prepared(t, envelope.JSON{})
	url := serve(t, respond(t, p))
	folder, err := os.Getwd() // a work tree, as a rule
	require.NoError(t, err)
	start := func(stdout io.Writer, flags ...string) (*exec.Cmd, io.WriteCloser, *bytes.Buffer) {
		c := exec.Command(binary, append([]string{"hook", "-host", "claude-code"}, flags...)...)
		in, err := c.StdinPipe()
		require.NoError(t, err)
		var stderr bytes.Buffer
		c.Stdout, c.Stderr = stdout, &stderr
		require.NoError(t, c.Start())
		return c, in, &stderr
	}
	t.Run("delivers", func(t *testing.T) {
		var out bytes.Buffer
		c, in, stderr := start(&out, "-url", url)
		_, err := io.WriteString(in, claudeEvent)
		require.NoError(t, err)
		require.NoError(t, in.Close())
		require.NoError(t, c.Wait())
		assert.Empty(t, stderr.String())
		assert.Equal(t, p.Content, injected(t, out.String()))
	})
	t.Run("the event does not end", func(t *testing.T) {
		var out bytes.Buffer
		began := time.Now()
		c, in, stderr := start(&out, "-url", url, "-timeout", "200ms")
		_, err := io.WriteString(in, claudeEvent[:len(claudeEvent)-1])
		require.NoError(t, err)
		require.NoError(t, c.Wait())
		assert.Less(t, time.Since(began), 2*time.Second)
		assert.Empty(t, out.String())
		assert.Equal(t, skippedLine("input-timeout"), stderr.String())
	})
	t.Run("the pipe stays open", func(t *testing.T) {
		// What a host waits for the context, git and the server's answer in it. A hook that waited
		// for the pipe would always be late. So the fastest of 15 counts: other programs run too.
		took := func() time.Duration {
			var all []time.Duration
			for range 15 {
				var out bytes.Buffer
				began := time.Now()
				c, in, stderr := start(&out, "-url", url)
				_, err := io.WriteString(
					in, strings.Replace(claudeEvent, "/secret/project", folder, 1)+"\n",
				)
				require.NoError(t, err)
				require.NoError(t, c.Wait()) // which closes the pipe
				all = append(all, time.Since(began))
				assert.Empty(t, stderr.String())
				assert.Equal(t, p.Content, injected(t, out.String()))
			}
			slices.Sort(all)
			t.Logf("fastest %v, median %v", all[0], all[len(all)/2])
			return all[0]
		}
		fastest := took()
		for tries := 0; fastest >= 50*time.Millisecond && tries < 4; tries++ {
			fastest = took()
		}
		assert.Less(t, fastest, 50*time.Millisecond)
	})
	t.Run("nobody reads the output", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("no SIGPIPE")
		}
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		defer w.Close()
		c, in, stderr := start(w, "-url", url)
		_, err = io.WriteString(in, claudeEvent)
		require.NoError(t, err)
		require.NoError(t, in.Close())
		assert.NoError(t, c.Wait())
		assert.Equal(t, skippedLine("output"), stderr.String())
	})
	t.Run("usage", func(t *testing.T) {
		c, _, _ := start(io.Discard, "-max-bytes", "10000")
		var exit *exec.ExitError
		require.True(t, errors.As(c.Wait(), &exit))
		assert.Equal(t, failed, exit.ExitCode())
	})
}
