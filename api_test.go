package envelope_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

var update = flag.Bool("update", false, "rewrite the golden files of the exported API")

// The exported API is what testdata/api says, so that a change of it is seen. After an intended
// change: go test -run API . -update
func TestAPI(t *testing.T) {
	for _, dir := range []string{".", "transcript"} {
		t.Run(dir, func(t *testing.T) {
			if _, err := os.Stat(dir); err != nil {
				t.Skip("no such package yet")
			}
			got := exportedAPI(t, dir)
			require.NotEmpty(t, got)
			name := strings.ReplaceAll(dir, ".", "envelope") + ".txt"
			golden := filepath.Join("testdata", "api", name)
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o666))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
}

// exportedAPI lists the exported declarations of a package as they are written, without comments
// and bodies.
func exportedAPI(t *testing.T, dir string) string {
	files := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	var parsed []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, name, nil, 0)
		require.NoError(t, err)
		parsed = append(parsed, f)
	}
	p, err := doc.NewFromFiles(files, parsed, "example.org/"+dir)
	require.NoError(t, err)
	var b bytes.Buffer
	config := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}
	show := func(decl ast.Decl) {
		if f, ok := decl.(*ast.FuncDecl); ok {
			f.Body = nil
		}
		require.NoError(t, config.Fprint(&b, files, decl))
		b.WriteString("\n")
	}
	values := func(all []*doc.Value) {
		for _, v := range all {
			show(v.Decl)
		}
	}
	funcs := func(all []*doc.Func) {
		for _, f := range all {
			show(f.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	funcs(p.Funcs)
	for _, typ := range p.Types {
		show(typ.Decl)
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs)
		funcs(typ.Methods)
	}
	return b.String()
}

// Many goroutines that share one renderer each get the text that a single one gets.
func TestConcurrentUse(t *testing.T) {
	j := envelope.JSON{Scope: "s", Escape: envelope.EscapeMarkup}
	m := envelope.Markdown{
		Scope:    "s",
		Sections: []envelope.Section{{Kind: "memory"}},
		Show:     envelope.ShowRank,
	}
	items := []envelope.Item{
		memory("e1", "a\u2028"+end+textEnd),
		memory("e2", strings.Repeat("中", 2000)),
		{Citation: map[string]any{"u": "\u2028"}, Content: "x"},
	}
	wantJ, err := j.Render(items, envelope.Budget{})
	require.NoError(t, err)
	wantM, err := m.Render(items, envelope.Budget{})
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 16 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 50 {
				gotJ, errJ := j.Render(items, envelope.Budget{})
				gotM, errM := m.Render(items, envelope.Budget{})
				_, errOpen := j.Open(gotJ.Content)
				errCheck := m.Check(gotM.Content)
				if errJ != nil || errM != nil || errOpen != nil || errCheck != nil ||
					gotJ.Content != wantJ.Content || gotM.Content != wantM.Content {
					t.Error(errJ, errM, errOpen, errCheck, gotJ, gotM)
					return
				}
			}
		}()
	}
	all.Wait()
}
