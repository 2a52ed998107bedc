package envelope_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testsOf returns the names of the tests, fuzz targets and benchmarks of a folder.
func testsOf(t *testing.T, dir string) (names []string) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		name := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
		for _, match := range name.FindAllStringSubmatch(string(data), -1) {
			names = append(names, match[1])
		}
	}
	return names
}

// A document that names a test, or a command that runs one, names one that is there.
func TestDocumentsNameTests(t *testing.T) {
	documents, err := filepath.Glob("*.md")
	require.NoError(t, err)
	more, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	var all []string
	for _, dir := range packages(t) {
		all = append(all, testsOf(t, dir)...)
	}
	named, commands := 0, 0
	for _, document := range append(documents, more...) {
		data, err := os.ReadFile(document)
		require.NoError(t, err)
		name := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
		for _, match := range name.FindAllStringSubmatch(string(data), -1) {
			assert.Contains(t, all, match[1], "%s names it", document)
			named++
		}
		command := regexp.MustCompile("`[^`\n]*go test ([^`]+)`")
		for _, match := range command.FindAllStringSubmatch(string(data), -1) {
			requireTests(t, document, match[1])
			commands++
		}
	}
	assert.NotZero(t, named, "no document names a test")
	assert.NotZero(t, commands, "no document has a command")
}

// packages returns the folders that have tests.
func packages(t *testing.T) (dirs []string) {
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && (path == "." || !strings.HasPrefix(d.Name(), ".")) {
			dirs = append(dirs, path)
		} else if err == nil && d.IsDir() {
			return filepath.SkipDir
		}
		return err
	})
	require.NoError(t, err)
	return dirs
}

// requireTests demands that each pattern of a command, what stands behind go test, has a test to
// run, in the package that it names, in this module or in one of the others.
func requireTests(t *testing.T, document, command string) {
	fields := strings.Fields(command)
	pkg := fields[len(fields)-1]
	for i, flag := range fields[:len(fields)-1] {
		pattern := strings.Trim(fields[i+1], "'")
		if flag != "-run" && flag != "-fuzz" && flag != "-bench" || pattern == "^$" {
			continue
		}
		re, err := regexp.Compile(pattern)
		require.NoError(t, err, command)
		var names []string
		for _, module := range []string{".", "bench", "examples", "examples/tokens"} {
			names = append(names, testsOf(t, filepath.Join(module, pkg))...)
		}
		kind := map[string]string{"-run": "Test", "-fuzz": "Fuzz", "-bench": "Benchmark"}[flag]
		found := slices.ContainsFunc(names, func(name string) bool {
			return strings.HasPrefix(name, kind) && re.MatchString(name)
		})
		assert.True(t, found, "%s: go test %s", document, command)
	}
}

// README can be read in two minutes, and its program is the package's first example.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	assert.LessOrEqual(t, len(readme), 10_000, "proofs and figures live in docs/")
	examples, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	programs := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, programs)
	for _, program := range programs {
		indented := regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(program[1], "\t$1")
		assert.Contains(t, string(examples), indented)
	}
}

// The code in docs/frameworks.md stands in the program that the text before it links to, where a
// test compiles it, and is no longer than it should be.
func TestFrameworksDocument(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("docs", "frameworks.md"))
	require.NoError(t, err)
	link := regexp.MustCompile(`\]\(\.\./(examples/[^)]+\.go)\)`)
	parts := strings.Split(string(data), "```go\n")
	require.Greater(t, len(parts), 8)
	program := ""
	for i, part := range parts {
		if i > 0 {
			code, _, ended := strings.Cut(part, "```\n")
			require.True(t, ended)
			source, err := os.ReadFile(filepath.FromSlash(program))
			require.NoError(t, err)
			assert.Contains(t, string(source), code, program)
			assert.LessOrEqual(t, strings.Count(code, "\n"), 11, program)
		}
		for _, match := range link.FindAllStringSubmatch(part, -1) {
			program = match[1]
			assert.FileExists(t, filepath.FromSlash(program))
		}
	}
}
