package envelope_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rooms has the files of this package, each above all that it calls: a call runs down this list.
var rooms = []string{
	"open.go", "open_written.go", "markdown_check.go", "open_frame.go", "instructions.go",
	"envelope.go", "markdown.go", "prepared.go", "search.go", "headings.go", "selection.go",
	"citation.go", "budget.go", "wrapper.go", "markers.go", "report.go", "escape.go", "errors.go",
}

// No file names a function, a variable, a constant or a field of one above it. Of types, Item and
// Budget alone are named from below: they are what a reader looks for first, the budget where its
// trimmer is, and a report says which it was.
func TestCallsRunDown(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the standard library's sources")
	}
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		require.Contains(t, rooms, name, "a new file has its place in the list")
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	info := types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: importer.ForCompiler(set, "source", nil)}
	pkg, err := config.Check("envelope", set, files, &info)
	require.NoError(t, err)
	place := func(at token.Pos) int { return slices.Index(rooms, set.Position(at).Filename) }
	uses := 0
	for id, object := range info.Uses {
		if object.Pkg() != pkg || place(id.Pos()) <= place(object.Pos()) {
			continue
		}
		uses++
		given := false
		for _, name := range []string{"Item", "Budget"} {
			named := pkg.Scope().Lookup(name)
			given = given || object == named
			for field := range named.Type().Underlying().(*types.Struct).Fields() {
				given = given || object == field
			}
		}
		assert.True(t, given, "%s names %s", set.Position(id.Pos()), object.Name())
	}
	require.NotZero(t, uses, "Item is named from below")
}

// No line is wider than 100 columns, a tab counted as four: of Go, and of prose in Markdown,
// outside of testdata, tables (the rows of a test's are tables too), fenced blocks, links and the
// JSON that an example prints.
func TestLinesEndByColumn100(t *testing.T) {
	lines := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		others := entry.Name() == "testdata" || entry.Name() == "node_modules"
		if entry.IsDir() && (others || strings.HasPrefix(path, ".git")) {
			return fs.SkipDir
		}
		markdown, test := filepath.Ext(path) == ".md", strings.HasSuffix(path, "_test.go")
		if filepath.Ext(path) != ".go" && !markdown {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fenced := false
		for n, line := range strings.Split(string(text), "\n") {
			lines++
			if markdown && strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			row := strings.TrimSpace(line)
			apart := markdown && (fenced || strings.HasPrefix(line, "|")) ||
				test && strings.HasPrefix(row, "{") && strings.HasSuffix(row, "},") ||
				test && strings.HasPrefix(row, `// {"`)
			if apart || strings.Contains(line, "://") {
				continue
			}
			columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			assert.LessOrEqual(t, columns, 100, "%s:%d", path, n+1)
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, lines)
}
