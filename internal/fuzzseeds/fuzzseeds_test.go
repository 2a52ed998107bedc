package fuzzseeds

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTexts(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "sub", "testdata", "fuzz", "FuzzX")
	require.NoError(t, os.MkdirAll(dir, 0o777))
	write := func(path, text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o666)) }
	write(filepath.Join(root, "other"), "no seed")
	seed := filepath.Join(dir, "seed")
	write(seed, "go test fuzz v1\nstring(\"a\\u2028\")\nint16(-97)\nbyte('n')\n"+
		"[]byte(\"\\xff\")\nstring(`raw`)\n")
	texts, err := Texts(root)
	require.NoError(t, err)
	assert.Equal(t, []string{"a\u2028", "\xff", "raw"}, texts)
	for _, broken := range []string{"go test fuzz v1\nstring(\"a\n", "go test fuzz v1\nstring(\n"} {
		write(seed, broken)
		_, err = Texts(root)
		assert.ErrorContains(t, err, "seed")
	}
	_, err = Texts(filepath.Join(root, "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}
