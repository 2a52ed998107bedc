package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// remotes are what people have in remote.origin.url, and what two clones of it share: "" is
// nothing, so that the path counts.
var remotes = []struct{ why, remote, want string }{
	{"https", "https://github.com/acme/widgets.git", "github.com/acme/widgets"},
	{"no suffix", "https://github.com/acme/widgets", "github.com/acme/widgets"},
	{"a slash behind", "https://github.com/acme/widgets/", "github.com/acme/widgets"},
	{"a suffix and a slash", "https://github.com/acme/widgets.git/", "github.com/acme/widgets"},
	{"two slashes", "https://github.com//acme//widgets.git", "github.com/acme/widgets"},
	{"upper case of the host goes", "https://GitHub.COM/Acme/Widgets.git", "github.com/Acme/Widgets"},
	{"upper case of the scheme", "HTTPS://github.com/acme/widgets", "github.com/acme/widgets"},
	{"http", "http://git.example.org/a", "git.example.org/a"},
	{"git", "git://git.example.org/a.git", "git.example.org/a"},
	{"ssh", "ssh://git@github.com/acme/widgets.git", "github.com/acme/widgets"},
	{"a port", "ssh://git@git.example.org:2222/acme/widgets.git", "git.example.org:2222/acme/widgets"},
	{"the usual port stays", "https://git.example.org:443/a", "git.example.org:443/a"},
	{"a port with zeros", "https://git.example.org:0443/a", "git.example.org:443/a"},
	{"an empty port", "https://git.example.org:/a", "git.example.org/a"},
	{"scp", "git@github.com:acme/widgets.git", "github.com/acme/widgets"},
	{"scp without a user", "github.com:acme/widgets", "github.com/acme/widgets"},
	{"scp with a slash", "git@github.com:/acme/widgets.git", "github.com/acme/widgets"},
	{"scp with an upper-case host", "git@GITHUB.com:Acme/w.git", "github.com/Acme/w"},
	{"an alias of ssh", "work:acme/widgets.git", "work/acme/widgets"},
	{"an address", "ssh://git@[2001:db8::1]:22/a.git", "2001:db8::1:22/a"},
	{"an address without a port", "https://[::1]/a", "::1/a"},
	{"a path with spaces", "https://example.org/a b/c", "example.org/a b/c"},
	{"a path that is no ASCII", "https://example.org/项目/ü.git", "example.org/项目/ü"},
	{"escapes stay", "https://example.org/a%20b.git", "example.org/a%20b"},
	{"backslashes", `https://example.org/a\b.git`, "example.org/a/b"},
	{"an npm scope is no password", "https://example.org/@acme/w.git", "example.org/@acme/w"},
	{"a home", "ssh://example.org/~sam/w.git", "example.org/~sam/w"},
	{"only a suffix", "https://example.org/.git", ""},
	{"white space around it", " https://example.org/a \n", "example.org/a"},

	// What is secret stays where it is.
	{"a user and a password", "https://sam:secret@example.org/a.git", "example.org/a"},
	{"a token", "https://secret@example.org/a.git", "example.org/a"},
	{"a token with colons and @", "https://x:se@cr:et@example.org/a", "example.org/a"},
	{"a query", "https://example.org/a?token=secret", "example.org/a"},
	{"a fragment", "https://example.org/a#secret", "example.org/a"},
	{"a query and no path", "https://example.org?token=secret", ""},
	{"scp with a password", "sam:secret@example.org:a/b.git", "example.org/a/b"},
	{"scp with two @", "secret@sam@example.org:a/b.git", "example.org/a/b"},
	{"a slash is missing", "https:/sam:secret@example.org/a", ""},
	{"both slashes are", "https:sam:secret@example.org/a", ""},
	{"a password in a path", "example.org:sam:secret@other/a", ""},
	{"one deeper down", "https://example.org/x/sam:secret@other/a", ""},
	{"a password and no host", "https://sam:secret@/a", ""},

	{"a path", "/srv/git/widgets.git", ""},
	{"a relative one", "../widgets.git", ""},
	{"file", "file:///srv/git/widgets.git", ""},
	{"ext", "ext::ssh -i secret %S a/b", ""},
	{"another scheme", "ftp://example.org/a", ""},
	{"git+ssh is another", "git+ssh://example.org/a", ""},
	{"no path", "https://example.org", ""},
	{"no path behind a slash", "https://example.org/", ""},
	{"no host", "https:///a", ""},
	{"a port that is none", "https://example.org:port/a", ""},
	{"a port that is too large", "https://example.org:65536/a", ""},
	{"half an address", "https://[::1/a", ""},
	{"nothing", "", ""},
	{"blank", " \x1c\u00a0", ""},
}

func TestNormalizedRemote(t *testing.T) {
	for _, tt := range remotes {
		assert.Equal(t, tt.want, normalizedRemote(tt.remote), "%s: %q", tt.why, tt.remote)
		assert.NotContains(t, normalizedRemote(tt.remote), "secret", tt.why)
		again := ""
		if tt.want != "" {
			again = "https://" + tt.want
			if strings.Contains(tt.want, "::1") {
				continue // without its brackets an address is no host of a URL
			}
			assert.Equal(t, tt.want, normalizedRemote(again), "%s: normal once is normal", tt.why)
		}
	}
}

// plainRemote is the same for what is no odd case, written after the rule and in another way.
func plainRemote(t *testing.T, remote string) string {
	host, path := "", ""
	if m := regexp.MustCompile(
		`^(?:[^@/\s]+@)?([^:/\s]+):(.+)$`,
	).FindStringSubmatch(remote); m != nil &&
		!strings.Contains(remote, "://") {
		host, path = m[1], m[2]
	} else if u, err := url.Parse(remote); err == nil && regexp.MustCompile(
		`^(https?|ssh|git)$`,
	).MatchString(u.Scheme) {
		host, path = u.Host, u.Path
	}
	path = regexp.MustCompile(`/+`).ReplaceAllString(path, "/")
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	require.NotEmpty(t, host)
	return strings.ToLower(host) + "/" + path
}

// independentScope is the scope of a folder in a work tree, from what git says of it.
func independentScope(t *testing.T, folder, remote string) string {
	if remote == "" {
		return fmt.Sprintf("local:%x", sha256.Sum256([]byte(realPath(t, folder))))
	}
	scope := "git:" + plainRemote(t, remote)
	if len([]rune(scope)) > 256 {
		scope = fmt.Sprintf("git:sha256:%x", sha256.Sum256([]byte(plainRemote(t, remote))))
	}
	return scope
}

func realPath(t *testing.T, folder string) string {
	real, err := filepath.EvalSymlinks(folder)
	require.NoError(t, err)
	return real
}

// git runs git without the settings of whoever runs the test.
func git(t *testing.T, folder string, args ...string) string {
	args = append([]string{
		"-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "protocol.file.allow=always",
		"-c", "init.defaultBranch=main",
	}, args...)
	c := exec.Command("git", args...)
	c.Dir = folder
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

func needGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_CEILING_DIRECTORIES"} {
		t.Setenv(name, "")
		require.NoError(t, os.Unsetenv(name))
	}
}

// workTree is a new repository with one commit and a remote, unless that is "".
func workTree(t *testing.T, folder, remote string) string {
	require.NoError(t, os.MkdirAll(folder, 0o755))
	git(t, folder, "init", "-q")
	git(t, folder, "commit", "-q", "--allow-empty", "-m", "x")
	if remote != "" {
		git(t, folder, "config", "remote.origin.url", remote)
	}
	return folder
}

// scopeFrom is the scope that a server is asked in for an event in folder.
func scopeFrom(t *testing.T, folder string) string {
	h := &hookRun{}
	scope, reason := h.scopeOf(t.Context(), eventIn(folder))
	require.Empty(t, reason)
	return scope
}

func eventIn(folder string) *event {
	literal := strings.TrimSpace(string(jsonLine(folder)))
	return &event{map[string][][]byte{memberFolder: {[]byte(literal)}}}
}

func TestScopeOfFolders(t *testing.T) {
	needGit(t)
	const remote = "git@github.com:Acme/widgets.git"
	long := "https://git.example.org/" + strings.Repeat("字/", 200) + "w.git"
	top := t.TempDir()
	in := func(parts ...string) string { return filepath.Join(append([]string{top}, parts...)...) }

	plain := workTree(t, in("plain"), remote)
	deep := filepath.Join(plain, "a", "b 字")
	require.NoError(t, os.MkdirAll(deep, 0o755))
	git(t, plain, "worktree", "add", "-q", in("linked"))
	foreign := workTree(t, in("项目", "ü ☃"), "")
	sub := workTree(t, in("sub"), "https://example.org/sub.git")
	git(t, plain, "submodule", "--quiet", "add", sub, "module")
	git(t, filepath.Join(plain, "module"), "config", "remote.origin.url", "https://example.org/module.git")
	git(t, top, "clone", "-q", "--bare", plain, "bare.git")
	git(t, in("bare.git"), "config", "remote.origin.url", remote)
	git(t, top, "clone", "-q", "--bare", foreign, "alone.git")
	git(t, in("alone.git"), "config", "--unset", "remote.origin.url")
	longTree := workTree(t, in("long"), long)
	local := workTree(t, in("local"), "/srv/git/local.git")
	included := workTree(t, in("included"), "")
	extra := in("extra.cfg")
	require.NoError(
		t, os.WriteFile(extra, []byte("[remote \"origin\"]\n\turl = "+remote+"\n"), 0o644),
	)
	git(t, included, "config", "include.path", extra)
	require.NoError(t, os.Mkdir(in("none"), 0o755))
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Symlink(foreign, in("link")))
		require.NoError(t, os.Symlink(deep, in("link to deep")))
		require.NoError(t, os.Symlink(in("none"), in("link to none")))
	}

	tests := []struct{ why, folder, of, remote string }{
		{"a work tree", plain, plain, remote},
		{"a folder in it", deep, plain, remote},
		{"the folder of git", filepath.Join(plain, ".git"), plain, remote},
		{"a linked work tree", in("linked"), in("linked"), remote},
		{"a submodule", filepath.Join(plain, "module"), "", "https://example.org/module.git"},
		{"a bare repository", in("bare.git"), "", remote},
		{"a bare one without a remote", in("alone.git"), in("alone.git"), ""},
		{"no remote, and no ASCII", foreign, foreign, ""},
		{"a long remote", longTree, longTree, long},
		{"a remote that is a path", local, local, ""},
		{"a configuration that is included", included, included, remote},
		{"no repository", in("none"), in("none"), ""},
		{"a link to a work tree", in("link"), foreign, ""},
		{"a link into one", in("link to deep"), plain, remote},
		{"a link to no repository", in("link to none"), in("none"), ""},
	}
	for _, tt := range tests {
		if _, err := os.Stat(tt.folder); err != nil {
			continue // no links here
		}
		want := independentScope(t, orElse(tt.of, top), tt.remote)
		assert.Equal(t, want, scopeFrom(t, tt.folder), tt.why)
		assert.LessOrEqual(t, len([]rune(want)), 256)
	}
	gone := filepath.Join(realPath(t, top), "gone", "away")
	assert.Equal(
		t, fmt.Sprintf("local:%x", sha256.Sum256([]byte(gone))), scopeFrom(t, gone),
		"no such folder",
	)

	for _, tt := range remotes {
		if strings.TrimFunc(tt.remote, space) == "" {
			continue
		}
		git(t, plain, "config", "remote.origin.url", tt.remote)
		scope := scopeFrom(t, plain)
		if tt.want == "" {
			assert.Equal(t, independentScope(t, plain, ""), scope, tt.why)
		} else {
			assert.Equal(t, "git:"+tt.want, scope, tt.why)
		}
		assert.NotContains(t, scope, "secret", tt.why)
	}
}

// What the git directory is bound to comes before the remote, when it is legal.
func TestScopeOfBinding(t *testing.T) {
	needGit(t)
	folder := workTree(t, filepath.Join(t.TempDir(), "w"), "https://example.org/w.git")
	linked := filepath.Join(t.TempDir(), "linked")
	git(t, folder, "worktree", "add", "-q", linked)
	file := filepath.Join(folder, ".git", filepath.FromSlash(bindingFile))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	const schema = `"schema":"powercontext.codex-workspace.v1"`
	const remote = "git:example.org/w"
	for _, tt := range []struct{ why, text, want string }{
		{"bound", `{` + schema + `,"scope_id":"team:w"}`, "team:w"},
		{
			"white space around it, and more in it",
			" {\"x\":1," + schema + ",\"scope_id\":\"team:w\"}\n", "team:w",
		},
		{
			"256 characters", `{` + schema + `,"scope_id":"` + strings.Repeat("字", 256) + `"}`,
			strings.Repeat("字", 256),
		},
		{"257", `{` + schema + `,"scope_id":"` + strings.Repeat("字", 257) + `"}`, remote},
		{
			"another schema", `{"schema":"powercontext.codex-workspace.v2","scope_id":"team:w"}`,
			remote,
		},
		{"no schema", `{"scope_id":"team:w"}`, remote},
		{"no scope", `{` + schema + `}`, remote},
		{"an empty one", `{` + schema + `,"scope_id":""}`, remote},
		{"a blank before it", `{` + schema + `,"scope_id":" team:w"}`, remote},
		{"a blank behind it", `{` + schema + `,"scope_id":"team:w\u001c"}`, remote},
		{"a number", `{` + schema + `,"scope_id":7}`, remote},
		{"an array", `[{` + schema + `,"scope_id":"team:w"}]`, remote},
		{"cut short", `{` + schema + `,"scope_id":"team:w"`, remote},
		{"two of them", `{` + schema + `,"scope_id":"team:w","scope_id":"team:x"}`, remote},
		{"no UTF-8", `{` + schema + ",\"scope_id\":\"\xff\"}", remote},
		{
			"too large",
			`{` + schema + `,"scope_id":"team:w"}` + strings.Repeat(" ", mostBinding), remote,
		},
	} {
		require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o644))
		assert.Equal(t, tt.want, scopeFrom(t, folder), tt.why)
	}
	require.NoError(t, os.WriteFile(file, []byte(`{`+schema+`,"scope_id":"team:w"}`), 0o644))
	assert.Equal(
		t, remote, scopeFrom(t, linked), "a linked work tree has a git directory of its own",
	)
}

// What is configured comes first, and is never longer than a server takes.
func TestScopeConfigured(t *testing.T) {
	for _, tt := range []struct{ why, scope, want string }{
		{"as it is", "project:demo", "project:demo"},
		{"256 characters", strings.Repeat("é", 256), strings.Repeat("é", 256)},
		{
			"257", strings.Repeat("é", 257),
			fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(strings.Repeat("é", 257)))),
		},
		{"the folder", "cwd", "/no/such"},
	} {
		h := &hookRun{scope: tt.scope}
		scope, reason := h.scopeOf(t.Context(), eventIn("/no/such"))
		assert.Empty(t, reason, tt.why)
		assert.Equal(t, tt.want, scope, tt.why)
	}
	h := &hookRun{scope: "x"}
	_, reason := h.scopeOf(t.Context(), &event{map[string][][]byte{memberFolder: {[]byte("7")}}})
	assert.Empty(t, reason, "the folder is not used then")
}

// A git that hangs costs a skipped event, not a scope that is wrong.
func TestScopeInTime(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a script stands for git")
	}
	folder := t.TempDir()
	script := "#!/bin/sh\nsleep 30 &\nwait\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "git"), []byte(script), 0o755))
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, reason := (&hookRun{}).scopeOf(ctx, eventIn(folder))
	assert.Equal(t, "scope-timeout", reason)
	assert.Less(t, time.Since(start), gitTimeout)

	t.Setenv("PATH", t.TempDir())
	assert.Equal(
		t, independentScope(t, folder, ""), scopeFrom(t, folder), "and no git is no repository",
	)
}

// No outcome holds a scope or a remote.
func TestScopeIsNotReported(t *testing.T) {
	needGit(t)
	unset(t)
	folder := workTree(t, filepath.Join(t.TempDir(), "w"), "https://sam:secret@example.org/w.git")
	asked := ""
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("User-Agent")
		respond(t, envelope.Prepared{})(w, r)
	})
	event := string(jsonLine(map[string]string{
		"hook_event_name": "UserPromptSubmit", "prompt": "q", "cwd": folder,
	}))
	_, out, stderr := call(event, "hook", "-host", "codex", "-url", server)
	assert.Empty(t, out)
	assert.NotEmpty(t, asked)
	assert.Contains(t, stderr, `"outcome":"empty"`)
	for _, word := range []string{"secret", "example.org", filepath.Base(filepath.Dir(folder))} {
		assert.NotContains(t, stderr, word)
	}
}

// FuzzNormalizedRemote has a password in each way in which a remote can have one: it never becomes
// part of the scope.
func FuzzNormalizedRemote(f *testing.F) {
	for _, tt := range remotes {
		f.Add(tt.remote, "sam")
	}
	f.Fuzz(func(t *testing.T, rest, user string) {
		const secret = "s3cr3t-p4ssw0rd"
		for _, before := range []string{
			"https://" + user + ":", "https://", "ssh://" + user + ":", user + ":", "git://:",
		} {
			remote := before + secret + "@" + rest
			if strings.ContainsAny(user, "/?#@:") || strings.ContainsFunc(user, space) {
				continue // the password is none then
			}
			scope := normalizedRemote(remote)
			require.NotContains(t, scope, secret, "%q", remote)
		}
		normalizedRemote(rest)
	})
}
