package envelope_test

import (
	"os"
	"path/filepath"
	"regexp"
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
		for _, match := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`).FindAllStringSubmatch(string(data), -1) {
			names = append(names, match[1])
		}
	}
	return names
}

// A promise that names a test names one that is there.
func TestDocumentsNameTests(t *testing.T) {
	var all []string
	for _, dir := range []string{".", "transcript", "cmd/envelope", "internal/strictjson", "internal/encode"} {
		all = append(all, testsOf(t, dir)...)
	}
	data, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(string(data), -1)
	require.NotEmpty(t, named)
	for _, match := range named {
		assert.Contains(t, all, match[1], "SECURITY.md names it")
	}

	data, err = os.ReadFile("README.md")
	require.NoError(t, err)
	commands := regexp.MustCompile("`[^`\n]*go test ([^`]+)`").FindAllStringSubmatch(string(data), -1)
	for _, command := range commands {
		fields := strings.Fields(command[1])
		pkg := fields[len(fields)-1]
		for i, flag := range fields[:len(fields)-1] {
			pattern := strings.Trim(fields[i+1], "'")
			if flag != "-run" && flag != "-fuzz" && flag != "-bench" || pattern == "^$" {
				continue
			}
			re, err := regexp.Compile(pattern)
			require.NoError(t, err, command[1])
			names := append(testsOf(t, pkg), testsOf(t, filepath.Join("examples", pkg))...)
			kind := map[string]string{"-run": "Test", "-fuzz": "Fuzz", "-bench": "Benchmark"}[flag]
			found := false
			for _, name := range names {
				found = found || strings.HasPrefix(name, kind) && re.MatchString(name)
			}
			assert.True(t, found, "README.md: go test %s", command[1])
		}
	}
}

// README is for two minutes, and its program is the package's first example.
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
