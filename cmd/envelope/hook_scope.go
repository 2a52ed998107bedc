package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/untrusted-context/envelope/internal/strictjson"
)

// The bounds of a scope, and of what is read to compute it.
const (
	mostScope      = 256 // characters
	mostBinding    = 64 << 10
	mostGitOutput  = 64 << 10
	gitTimeout     = 2 * time.Second
	folderScope    = "cwd" // a configured scope that is the folder of the event as it stands
	bindingFile    = "powercontext/codex-workspace.json"
	bindingSchema  = "powercontext.codex-workspace.v1"
	hashedScope    = "sha256:"
	remoteScope    = "git:"
	localPathScope = "local:"
)

// scopeOf is where to look: what is configured, or what PowerContext's own plugins compute of the
// folder that the host works in. With anything else nothing that they stored would be found.
func (h *hookRun) scopeOf(ctx context.Context, e *event) (scope, reason string) {
	if h.scope != "" && h.scope != folderScope {
		if !legalText(h.scope) {
			return "", "scope"
		}
		return boundScope("", h.scope), ""
	}
	folder, _, reason := e.text(memberFolder)
	switch {
	case reason != "":
		return "", reason
	case !legalText(folder) || strings.Contains(folder, "\x00"):
		return "", "scope"
	case h.scope == folderScope:
		return boundScope("", folder), ""
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	scope, err := derivedScope(ctx, folder)
	if err != nil {
		return "", "scope-timeout"
	}
	return scope, ""
}

// boundScope is a scope of at most 256 characters: in place of a longer value stands its hash.
func boundScope(prefix, value string) string {
	if utf8.RuneCountInString(prefix+value) <= mostScope {
		return prefix + value
	}
	return prefix + hashedScope + hexHash(value)
}

func hexHash(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

// derivedScope is the scope of a folder: what its git directory is bound to, or the remote that its
// work tree is from, or else the path. The error is that git did not answer in time.
func derivedScope(ctx context.Context, folder string) (string, error) {
	gitDir, err := gitValue(ctx, folder, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return "", err
	}
	if gitDir != "" {
		if scope := boundTo(filepath.Join(gitDir, filepath.FromSlash(bindingFile))); scope != "" {
			return scope, nil
		}
	}
	root, err := gitValue(ctx, folder, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", err
	}
	path := resolved(orElse(root, folder)) // a bare repository has no work tree
	remote, err := gitValue(ctx, path, "config", "--get", "remote.origin.url")
	if err != nil {
		return "", err
	}
	if remote = normalizedRemote(remote); remote != "" {
		return boundScope(remoteScope, remote), nil
	}
	return localPathScope + hexHash(path), nil
}

// gitValue is what git prints, "" when it fails or there is no git. It is asked, rather than its
// files read, since only git knows all the ways in which a work tree, a submodule, a bare
// repository or an included file can say where the configuration is.
func gitValue(ctx context.Context, folder string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir = folder
	c.WaitDelay = 100 * time.Millisecond // for what git may have started
	var out limitedBuffer
	c.Stdout = &out
	err := c.Run()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil || !utf8.Valid(out.Bytes()) {
		return "", nil
	}
	return strings.TrimFunc(out.String(), space), nil
}

// limitedBuffer fails when it is given too much.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > mostGitOutput {
		return 0, errors.New("too much output")
	}
	return b.Buffer.Write(p)
}

// space is what Python's str.strip takes away, which the plugins use.
func space(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// resolved is the absolute path without symbolic links, as far as it exists.
func resolved(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	for head, rest := path, ""; ; {
		real, err := filepath.EvalSymlinks(head)
		if err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(head)
		if parent == head {
			return path
		}
		rest = filepath.Join(filepath.Base(head), rest)
		head = parent
	}
}

// boundTo is the scope that a file in the git directory names, "" when there is none that is legal.
func boundTo(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostBinding+1))
	if err != nil || len(data) > mostBinding {
		return ""
	}
	s := strictjson.Scanner{Data: data}
	start, _, fault := s.Whole()
	if fault != nil || data[start] != '{' {
		return ""
	}
	values := map[string]string{}
	for _, m := range s.Members(start) {
		if literal := data[m.ValueStart:m.ValueEnd]; literal[0] == '"' {
			values[string(m.Name)] = string(strictjson.Decode(literal))
		}
	}
	scope := values["scope_id"]
	if values["schema"] != bindingSchema || scope == "" || strings.TrimFunc(
		scope, space,
	) != scope ||
		utf8.RuneCountInString(scope) > mostScope {
		return ""
	}
	return scope
}

// normalizedRemote is the host and the path of a remote, which two clones of one repository share
// however they were made. It has no user, no password and no query. What is no address of a host is
// "", and so is what seems to have a password where none belongs.
func normalizedRemote(remote string) string {
	host, path, ok := splitRemote(strings.TrimFunc(remote, space))
	if !ok {
		return ""
	}
	var parts []string
	for part := range strings.SplitSeq(strings.ReplaceAll(path, `\`, "/"), "/") {
		if at := strings.LastIndexByte(part, '@'); at >= 0 && strings.Contains(part[:at], ":") {
			return ""
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	path = strings.TrimSuffix(strings.Join(parts, "/"), ".git")
	path = strings.TrimRight(path, "/")
	if host == "" || path == "" {
		return ""
	}
	return strings.ToLower(host) + "/" + path
}

// splitRemote splits user@host:path and the URLs that git fetches over a network.
func splitRemote(remote string) (host, path string, ok bool) {
	scheme, rest, isURL := strings.Cut(remote, "://")
	if !isURL {
		host, path, ok = strings.Cut(remote, ":")
		// A user may have colons in its password, and then the host begins behind the last @ of
		// what has no slash.
		if at := strings.IndexByte(remote, '@'); at > 0 && !strings.ContainsFunc(
			remote[:at], notInUser,
		) {
			host, path, ok = strings.Cut(remote[at+1:], ":")
		}
		host = host[strings.LastIndexByte(host, '@')+1:]
		ok = ok && host != "" && path != "" && !strings.ContainsFunc(host, notInUser) &&
			!strings.Contains(path, "\n") && !networkScheme(host) &&
			path[0] != ':' // transport::address, for a program that git starts
		return host, path, ok
	}
	if !networkScheme(scheme) {
		return "", "", false
	}
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	host, port, ok := splitAuthority(authority[strings.LastIndexByte(authority, '@')+1:])
	if !ok {
		return "", "", false
	}
	if port != "" {
		host += ":" + port
	}
	return host, path, true
}

func notInUser(r rune) bool { return r == '/' || space(r) }

func networkScheme(name string) bool {
	switch strings.ToLower(name) {
	case "http", "https", "ssh", "git":
		return true
	}
	return false
}

// splitAuthority splits host:port and [address]:port. A port is a number in its plain form.
func splitAuthority(authority string) (host, port string, ok bool) {
	if address, rest, bracketed := strings.Cut(strings.TrimPrefix(authority, "["), "]"); bracketed {
		if authority[0] != '[' || rest != "" && rest[0] != ':' {
			return "", "", false
		}
		host, port = address, strings.TrimPrefix(rest, ":")
	} else {
		host, port, _ = strings.Cut(authority, ":")
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return "", "", false
		}
		port = strconv.FormatUint(n, 10)
	}
	return host, port, host != "" && !strings.ContainsFunc(host, space)
}
