package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/untrusted-context/envelope"
)

// What a session was given is kept in a file for each session, in a folder of the user's cache that
// nobody else may read. It holds keyed hashes of items, and nothing of their content. It is a help,
// not a record: what is damaged, gone or cannot be written costs a repetition and nothing else.
const (
	freshFolder   = "envelope/hook"
	freshKey      = "key"
	keyBytes      = 32
	hashBytes     = 16
	mostHashes    = 4096 // of a session; with more it begins anew
	mostSessions  = 256  // files
	mostIdle      = 30 * 24 * time.Hour
	sessionSuffix = ".given"
)

// given is what a session was given so far.
type given struct {
	key    []byte
	path   string
	hashes map[[hashBytes]byte]bool
}

// openGiven reads what the session of an event was given. It is nil when that cannot be kept, or
// when the event has no session.
func openGiven(e *event) *given {
	session, found, reason := e.text(memberSession)
	if !found || reason != "" || session == "" {
		return nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	folder := filepath.Join(cache, filepath.FromSlash(freshFolder))
	if ownFolder(folder) != nil {
		return nil
	}
	key, err := ownKey(folder)
	if err != nil {
		return nil
	}
	g := &given{key: key}
	name := hex.EncodeToString(g.hash("session", session))
	g.path = filepath.Join(folder, name+sessionSuffix)
	g.read()
	return g
}

// ownFolder makes a folder that only its owner may use.
func ownFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("not a folder")
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(folder, 0o700)
	}
	return nil
}

// ownKey is the key of the hashes, which is made once. Of two hooks that make it at once one is
// first, and both read what is there then.
func ownKey(folder string) ([]byte, error) {
	path := filepath.Join(folder, freshKey)
	key, err := readKey(path)
	if err == nil {
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(path) // it is damaged
	}
	f, err := os.CreateTemp(folder, freshKey+"-*") // for the owner only
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	key = make([]byte, keyBytes)
	_, _ = rand.Read(key) // which does not fail
	_, err = f.Write(key)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		if err := os.Rename(f.Name(), path); err != nil { // no links here
			return nil, err
		}
	}
	return readKey(path)
}

func readKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err == nil && len(key) != keyBytes {
		err = errors.New("not a key")
	}
	return key, err
}

// hash is the keyed hash of some texts, each with its length, so that no two lists have one text.
func (g *given) hash(texts ...string) []byte {
	mac := hmac.New(sha256.New, g.key)
	for _, text := range texts {
		_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		_, _ = mac.Write([]byte(text))
	}
	return mac.Sum(nil)[:hashBytes]
}

// of is the hash of an item: of its kind, its citation and its content.
func (g *given) of(d envelope.Delivered) [hashBytes]byte {
	raw, _ := d.Citation.(json.RawMessage)
	return [hashBytes]byte(g.hash("item", d.Kind, string(raw), d.Content))
}

// read reads the file, one hash a line. Lines that are none are left out: a hook may have been
// ended in the middle of one.
func (g *given) read() {
	g.hashes = map[[hashBytes]byte]bool{}
	info, err := os.Stat(g.path)
	if err != nil {
		return
	}
	if info.Size() > mostHashes*(2*hashBytes+1) || time.Since(info.ModTime()) > mostIdle {
		g.forget()
		return
	}
	data, err := os.ReadFile(g.path)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(data)) {
		hash, err := hex.DecodeString(strings.TrimSuffix(line, "\n"))
		if err == nil && len(hash) == hashBytes {
			g.hashes[[hashBytes]byte(hash)] = true
		}
	}
}

// add adds items, in one write at the end of the file, so that hooks that run at once lose none.
func (g *given) add(items []envelope.Delivered) {
	var lines []byte
	for _, d := range items {
		hash := g.of(d)
		lines = append(hex.AppendEncode(lines, hash[:]), '\n')
	}
	_, err := os.Stat(g.path)
	f, openErr := os.OpenFile(g.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if openErr != nil {
		return
	}
	_, _ = f.Write(lines)
	_ = f.Close()
	if err != nil {
		g.clean() // a new session
	}
}

// begin is called when a session starts. Unless it goes on with what it had, the host's context is
// empty, or a summary of what it was: nothing in it was given word for word.
func (g *given) begin(e *event) {
	if source, _, _ := e.text(memberSource); source != "resume" {
		g.forget()
	}
}

// forget forgets what the session was given.
func (g *given) forget() {
	_ = os.Remove(g.path)
	g.hashes = map[[hashBytes]byte]bool{}
}

// clean takes away the files of sessions that are old, and the oldest of those that are too many.
func (g *given) clean() {
	folder := filepath.Dir(g.path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	type file struct {
		path string
		when time.Time
	}
	var files []file
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.Name() == freshKey {
			continue
		}
		path := filepath.Join(folder, e.Name())
		if time.Since(info.ModTime()) > mostIdle {
			_ = os.Remove(path)
		} else if strings.HasSuffix(e.Name(), sessionSuffix) {
			files = append(files, file{path, info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return a.when.Compare(b.when) })
	for _, f := range files[:max(0, len(files)-mostSessions)] {
		_ = os.Remove(f.path)
	}
}

// fresh leaves out of an injection what the session was given already. The second result is false
// when that is all of it.
func (g *given) fresh(a *injection) bool {
	var kept []envelope.Delivered
	text, err := a.json.Filter(a.text, func(_ int, d envelope.Delivered) bool {
		if g.hashes[g.of(d)] {
			return false
		}
		kept = append(kept, d)
		return true
	})
	if err != nil {
		return true // it was opened before: there is no such error
	}
	a.text, a.items = text, len(kept)
	a.given = func() { g.add(kept) }
	return text != ""
}
