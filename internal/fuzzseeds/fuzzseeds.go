// Package fuzzseeds reads the seeds of this module's fuzz targets, for tests that show the same
// inputs to others.
package fuzzseeds

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Texts returns every text that is in a seed of a target below root, a string or bytes, whatever
// argument it is of.
func Texts(root string) (texts []string, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		seed := strings.Contains(filepath.ToSlash(path), "testdata/fuzz/")
		if err != nil || entry.IsDir() || !seed {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
			if i == 0 { // the version of the format
				continue
			}
			expr, err := parser.ParseExpr(line)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			ast.Inspect(expr, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					var text string
					if text, err = strconv.Unquote(literal.Value); err == nil {
						texts = append(texts, text)
					}
				}
				return err == nil
			})
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		return nil
	})
	return texts, err
}
