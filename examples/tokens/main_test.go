package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"github.com/untrusted-context/envelope"
)

const handbook = "testdata/handbook.jsonl"

func call(t *testing.T, args ...string) string {
	var out, diagnostics bytes.Buffer
	require.NoError(t, run(args, strings.NewReader(""), &out, &diagnostics))
	require.Empty(t, diagnostics.String())
	return out.String()
}

func TestText(t *testing.T) {
	for _, name := range vocabularies {
		codec, err := tokenizer.Get(name)
		require.NoError(t, err)
		for _, args := range []string{"", "-markdown", "-even", "-markdown -even"} {
			flags := append(strings.Fields(args), "-vocabulary", string(name), "-tokens", "600",
				handbook)
			text, ended := strings.CutSuffix(call(t, flags...), "\n")
			require.True(t, ended)
			n, err := codec.Count(text)
			require.NoError(t, err)
			assert.LessOrEqual(t, n, 600, flags)
			assert.GreaterOrEqual(t, n, 540, flags)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, args := range [][]string{
		{"-tokens", "-2", handbook}, {"-tokens", "0", handbook}, {"-vocabulary", "none", handbook},
		{"no such file"}, {"go.mod"}, {"-no-such-flag"},
	} {
		var out, diagnostics bytes.Buffer
		assert.Error(t, run(args, strings.NewReader(""), &out, &diagnostics), args)
		assert.Empty(t, out.String(), args)
	}
}

// The parts of a table add up to its text.
func TestTable(t *testing.T) {
	for _, args := range []string{"", "-even", "-markdown", "-markdown -even"} {
		flags := append(strings.Fields(args), "-table", "-tokens", "700", handbook)
		lines := strings.Split(strings.TrimSpace(call(t, flags...)), "\n")
		sum := 0
		for _, line := range lines[1:] {
			fields := strings.Fields(line)
			numbers := make([]int, 0, 6)
			for _, field := range fields {
				if n, err := strconv.Atoi(field); err == nil {
					numbers = append(numbers, n)
				}
			}
			switch {
			case fields[0] == "around":
				sum += numbers[0]
			case fields[0] == "text":
				assert.Equal(t, sum, numbers[1], flags)
				assert.LessOrEqual(t, sum, 700, flags)
			case len(numbers) == 7: // item, bytes, tokens, and its four parts
				assert.Equal(t, numbers[2], numbers[3]+numbers[4]+numbers[5]+numbers[6], line)
				assert.Greater(t, numbers[4], numbers[5], "more content than escapes: %s", line)
				sum += numbers[2]
			default:
				assert.Len(t, numbers, 1, line)
			}
		}
	}
}

// Every byte has its place: what the places say of the contents is the contents.
func TestPlaces(t *testing.T) {
	all, err := corpora()
	require.NoError(t, err)
	for _, c := range all {
		p, err := envelope.JSON{}.Render(c.items, everything)
		require.NoError(t, err)
		var content, rest strings.Builder
		for i, place := range jsonPlaces(p.Content) {
			if place.part == contentPart || place.part == escapePart {
				content.WriteByte(p.Content[i])
			} else {
				rest.WriteByte(p.Content[i])
			}
		}
		var decoded, want string
		require.NoError(t, json.Unmarshal([]byte(`"`+content.String()+`"`), &decoded))
		for i, item := range c.items {
			if p.Report.Items[i].Outcome == envelope.Included {
				want += item.Content
			}
		}
		assert.Equal(t, want, decoded, c.name)
		assert.Contains(t, rest.String(), `"content":"","truncated":false`)
		markdown, err := sections.Render(c.items, everything)
		require.NoError(t, err)
		for _, of := range [...]string{p.Content, markdown.Content} {
			codec, err := tokenizer.Get(tokenizer.Cl100kBase)
			require.NoError(t, err)
			got, err := attribute(of, codec)
			require.NoError(t, err)
			n, err := codec.Count(of)
			require.NoError(t, err)
			assert.Equal(t, n, got.total())
		}
	}
}

// The picture in the documents is the one that the command draws.
func TestPicture(t *testing.T) {
	file := filepath.Join(t.TempDir(), "budgets.svg")
	assert.Empty(t, call(t, "-tokens", "600", "-svg", file, handbook))
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	want, err := os.ReadFile("../../docs/budgets.svg")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got),
		"go run . -tokens 600 -svg ../../docs/budgets.svg "+handbook)
}

// The program in docs/budgets.md runs as it stands there, in a module of its own.
func TestDocument(t *testing.T) {
	document, err := os.ReadFile("../../docs/budgets.md")
	require.NoError(t, err)
	_, program, found := strings.Cut(string(document), "```go\n")
	require.True(t, found)
	program, _, found = strings.Cut(program, "```\n")
	require.True(t, found)
	module, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	sums, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	here, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go": program, "go.sum": string(sums),
		"go.mod": strings.Replace(string(module), "=> ../../", "=> "+filepath.ToSlash(here), 1),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	c := exec.Command("go", "run", ".")
	c.Dir = dir
	c.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false")
	var out, diagnostics bytes.Buffer
	c.Stdout, c.Stderr = &out, &diagnostics
	require.NoError(t, c.Run(), diagnostics.String())
	opened, err := envelope.JSON{}.Open(strings.TrimSuffix(out.String(), "\n"))
	require.NoError(t, err)
	assert.Len(t, opened, 1)
	assert.Regexp(t, `[0-9]+ tokens, MaxBytes -1\n$`, diagnostics.String())
}
