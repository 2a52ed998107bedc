package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// sessionServer answers each query with the items whose numbers it names.
func sessionServer(t *testing.T) string {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Query string }
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.NoError(t, json.Unmarshal(body, &request))
		p, err := envelope.JSON{Escape: envelope.EscapeMarkup}.Render(
			sessionItems(request.Query), envelope.Budget{},
		)
		assert.NoError(t, err)
		respond(t, p)(w, r)
	})
}

// sessionItems are the items that a query names by their numbers. Every third one is long.
func sessionItems(query string) (items []envelope.Item) {
	for _, number := range strings.Fields(query) {
		content := "secret item <" + number + ">"
		var n int
		if _, err := fmt.Sscan(number, &n); err == nil && n%3 == 0 {
			content += strings.Repeat(" 长 long", 300)
		}
		items = append(items, envelope.Item{
			Citation: envelope.MemoryCitation{
				Memory:  envelope.ArtifactRef{Family: "memory", ArtifactID: "m", Revision: 1},
				EntryID: number, EntryVersionID: "v",
			},
			Content: content,
		})
	}
	return items
}

// atCache gives a test a cache folder of its own, and returns that of the hook.
func atCache(t *testing.T) string {
	unset(t)
	folder := t.TempDir()
	t.Setenv("HOME", folder)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(folder, "cache"))
	t.Setenv("LocalAppData", folder)
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	return filepath.Join(cache, "envelope", "hook")
}

// prompted runs a hook with -fresh for a prompt of a session.
func prompted(
	t *testing.T, url, session, prompt string, flags ...string,
) (items []string, stderr string) {
	return freshEvent(t, url, map[string]string{
		"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": prompt,
	}, flags...)
}

func freshEvent(
	t *testing.T, url string, event map[string]string, flags ...string,
) (items []string, stderr string) {
	args := []string{"hook", "-host", "claude-code", "-fresh", "-scope", "s", "-url", url}
	status, out, stderr := call(string(jsonLine(event)), append(args, flags...)...)
	assert.Equal(t, done, status)
	assert.NotContains(t, stderr, "secret")
	if out == "" {
		return nil, stderr
	}
	members := strictObject(t, strictObject(t, out)["hookSpecificOutput"]+"\n")
	var text string
	require.NoError(t, json.Unmarshal([]byte(members["additionalContext"]), &text))
	return rawItems(t, text), stderr
}

// rawItems are the items of a text that is intact, as they stand there.
func rawItems(t *testing.T, text string) (items []string) {
	_, _, err := openAny(envelope.JSON{}, text)
	require.NoError(t, err)
	lines := strings.Split(text, "\n")
	var line struct{ Items []json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-2]), &line))
	for _, item := range line.Items {
		items = append(items, string(item))
	}
	return items
}

const unchangedLine = `{"component":"envelope.hook","event":"context_prepare",` +
	`"outcome":"unchanged","http_status":200,"context_status":"ready","content_bytes":`

// In a session of twenty prompts whose memories overlap each item comes once, byte for byte, and
// once more after the host has forgotten.
func TestFreshSession(t *testing.T) {
	folder := atCache(t)
	url := sessionServer(t)
	query := func(n int) string { return fmt.Sprintf("%d %d %d", n/2, n/2+1, n%4) }
	want := map[string]int{}
	for n := range 20 {
		p, err := envelope.JSON{Escape: envelope.EscapeMarkup}.Render(
			sessionItems(query(n)), envelope.Budget{},
		)
		require.NoError(t, err)
		for _, item := range rawItems(t, p.Content) {
			want[item] = 1
		}
	}
	require.Len(t, want, 11)
	for round, source := range []string{"startup", "compact", "clear"} {
		_, stderr := freshEvent(t, url, map[string]string{
			"hook_event_name": "SessionStart", "session_id": "one", "source": source,
		})
		assert.Equal(t, skippedLine("no-session-query"), stderr)
		got, unchanged := map[string]int{}, 0
		for n := range 20 {
			items, stderr := prompted(t, url, "one", query(n))
			for _, item := range items {
				got[item]++
			}
			if items == nil {
				assert.True(t, strings.HasPrefix(stderr, unchangedLine), stderr)
				unchanged++
			} else {
				assert.Empty(t, stderr)
			}
		}
		assert.Equal(t, want, got, "round %d: %s", round, source)
		assert.Positive(t, unchanged)
	}
	items, _ := freshEvent(t, url, map[string]string{
		"hook_event_name": "SessionStart", "session_id": "one", "source": "resume",
	}, "-session-query", "1")
	assert.Empty(t, items, "a session that goes on has what it had")
	items, _ = prompted(t, url, "two", query(0))
	assert.NotEmpty(t, items, "another session has nothing yet")
	items, _ = freshEvent(t, url, map[string]string{
		"hook_event_name": "SubagentStart", "session_id": "one", "agent_id": "a",
	}, "-session-query", "1")
	assert.Len(t, items, 1, "a subagent begins with nothing")

	// Nothing of the content is kept, and nobody else may read it.
	kept := tree(t, filepath.Dir(folder))
	require.Len(t, kept, 3, "a key and two sessions")
	for path, text := range kept {
		for _, word := range []string{"secret", "item", "memory", "one", "two", "entry"} {
			assert.NotContains(t, filepath.Base(path)+text, word)
		}
		if runtime.GOOS != "windows" {
			assert.True(t, strings.HasPrefix(text, "-rw------- "), path)
		}
	}
	if info, err := os.Stat(folder); assert.NoError(t, err) && runtime.GOOS != "windows" {
		assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	}
}

// An item is known by all of it: another content under the same citation is another item, and so is
// the same content under another citation.
func TestFreshKnowsItemsByAllOfThem(t *testing.T) {
	atCache(t)
	citation := func(id string) envelope.MemoryCitation {
		return envelope.MemoryCitation{
			Memory:  envelope.ArtifactRef{Family: "memory", ArtifactID: "m", Revision: 1},
			EntryID: id, EntryVersionID: "v",
		}
	}
	for _, tt := range []struct {
		item envelope.Item
		want int
	}{
		{envelope.Item{Citation: citation("a"), Content: "x"}, 1},
		{envelope.Item{Citation: citation("a"), Content: "x"}, 0},
		{envelope.Item{Citation: citation("a"), Content: "y"}, 1},
		{envelope.Item{Citation: citation("b"), Content: "x"}, 1},
		{envelope.Item{Citation: citation("a"), Content: "x", Kind: "experience"}, 1},
		{envelope.Item{Citation: citation("a"), Content: "x"}, 0},
	} {
		p, err := envelope.JSON{}.Render([]envelope.Item{tt.item}, envelope.Budget{})
		require.NoError(t, err)
		items, _ := prompted(t, serve(t, respond(t, p)), "s", "q")
		assert.Len(t, items, tt.want, "%v", tt.item)
	}
}

// Without -fresh, without a session, and with a file that is damaged or cannot be kept, everything
// comes, again if need be.
func TestFreshCostsNothingButARepetition(t *testing.T) {
	url := sessionServer(t)
	again := func(t *testing.T, session string, want int) {
		items, stderr := prompted(t, url, session, "1 2")
		assert.Len(t, items, want)
		if want > 0 {
			assert.Empty(t, stderr)
		}
	}
	session := func(folder string) string {
		for path := range tree(t, folder) {
			if strings.HasSuffix(path, sessionSuffix) {
				return path
			}
		}
		t.Fatal("no file of a session")
		return ""
	}
	t.Run("no session", func(t *testing.T) {
		atCache(t)
		again(t, "", 2)
		again(t, "", 2)
	})
	t.Run("lines that are none", func(t *testing.T) {
		folder := atCache(t)
		again(t, "s", 2)
		data, err := os.ReadFile(session(folder))
		require.NoError(t, err)
		lines := strings.SplitAfter(string(data), "\n")
		require.NoError(t, os.WriteFile(session(folder),
			[]byte("\xff\x00\n\nzz\n"+lines[0]+lines[1][:20]), 0o600))
		again(t, "s", 1)
	})
	t.Run("far too long", func(t *testing.T) {
		folder := atCache(t)
		again(t, "s", 2)
		require.NoError(t, os.Truncate(session(folder), 1<<20))
		again(t, "s", 2)
		again(t, "s", 0)
	})
	t.Run("far too old", func(t *testing.T) {
		folder := atCache(t)
		again(t, "s", 2)
		old := time.Now().Add(-mostIdle - time.Hour)
		require.NoError(t, os.Chtimes(session(folder), old, old))
		again(t, "s", 2)
		again(t, "s", 0)
	})
	t.Run("another key", func(t *testing.T) {
		folder := atCache(t)
		again(t, "s", 2)
		require.NoError(t, os.WriteFile(filepath.Join(folder, freshKey), []byte("short"), 0o600))
		again(t, "s", 2)
		again(t, "s", 0)
	})
	t.Run("a folder that is a file", func(t *testing.T) {
		folder := atCache(t)
		require.NoError(t, os.MkdirAll(filepath.Dir(folder), 0o700))
		require.NoError(t, os.WriteFile(folder, nil, 0o600))
		again(t, "s", 2)
		again(t, "s", 2)
	})
	t.Run("a file that is a folder", func(t *testing.T) {
		folder := atCache(t)
		again(t, "s", 2)
		path := session(folder)
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Mkdir(path, 0o700))
		again(t, "s", 2)
		again(t, "s", 2)
	})
	t.Run("no home", func(t *testing.T) {
		atCache(t)
		for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
			t.Setenv(name, "")
		}
		again(t, "s", 2)
		again(t, "s", 2)
	})
	t.Run("others may read the folder", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("no modes")
		}
		folder := atCache(t)
		require.NoError(t, os.MkdirAll(folder, 0o777))
		require.NoError(t, os.Chmod(folder, 0o777))
		again(t, "s", 2)
		info, err := os.Stat(folder)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	})
	t.Run("what the host was not handed is not given", func(t *testing.T) {
		atCache(t)
		event := jsonLine(map[string]string{
			"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "1 2",
		})
		args := []string{"hook", "-host", "claude-code", "-fresh", "-scope", "s", "-url", url}
		var stderr strings.Builder
		run(args, streams{strings.NewReader(string(event)), fullDisk{}, &stderr})
		assert.Equal(t, skippedLine("output"), stderr.String())
		again(t, "s", 2)
	})
}

// Old sessions go, and so do the oldest of too many.
func TestFreshIsBounded(t *testing.T) {
	folder := atCache(t)
	require.NoError(t, os.MkdirAll(folder, 0o700))
	path := func(n int) string {
		return filepath.Join(
			folder, fmt.Sprintf("%032x%s", n, sessionSuffix),
		)
	}
	now := time.Now()
	for n := range mostSessions + 100 {
		require.NoError(t, os.WriteFile(path(n), nil, 0o600))
		when := now.Add(-time.Duration(n) * time.Minute)
		if n%10 == 9 {
			when = now.Add(-mostIdle - time.Duration(n)*time.Minute)
		}
		require.NoError(t, os.Chtimes(path(n), when, when))
	}
	_, stderr := prompted(t, sessionServer(t), "s", "1")
	require.Empty(t, stderr)
	kept := tree(t, folder)
	assert.LessOrEqual(t, len(kept), mostSessions+1)
	for n := range mostSessions + 100 {
		_, there := kept[path(n)]
		if n%10 == 9 {
			assert.False(t, there, "%d is too old", n)
		} else if n < 200 {
			assert.True(t, there, "%d", n)
		}
	}
}

// Eight hooks of one session at once lose nothing, and what they repeat was on its way at the same
// time: afterwards the session has everything.
func TestFreshAtOnce(t *testing.T) {
	binary := build(t)
	atCache(t)
	url := sessionServer(t)
	for round := range 5 {
		session := fmt.Sprint("session ", round)
		var outputs, reports [8]string
		var group sync.WaitGroup
		for n := range outputs {
			group.Add(1)
			go func() {
				defer group.Done()
				event := jsonLine(map[string]string{
					"hook_event_name": "UserPromptSubmit", "session_id": session,
					"prompt": fmt.Sprintf("%d %d 100", n, n+1),
				})
				outputs[n], reports[n] = hookProcess(
					t, binary, string(event), "-fresh", "-scope", "s", "-url", url,
				)
			}()
		}
		group.Wait()
		got := map[string]int{}
		for n, out := range outputs {
			if out == "" { // the others were first
				assert.True(t, strings.HasPrefix(reports[n], unchangedLine), reports[n])
				continue
			}
			assert.Empty(t, reports[n])
			for _, item := range rawItems(t, injected(t, out)) {
				got[item]++
			}
		}
		assert.Len(t, got, 10, "each item came")
		for item, times := range got {
			most := 2
			if strings.Contains(item, `"100"`) {
				most = 8
			}
			assert.LessOrEqual(t, times, most, "no more often than it was asked for at once")
		}
		for n := range 8 {
			items, stderr := prompted(t, url, session, fmt.Sprintf("%d %d 100", n, n+1))
			assert.Empty(t, items, "nothing was lost")
			assert.True(t, strings.HasPrefix(stderr, unchangedLine), stderr)
		}
	}
}
