package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReportStatus(t *testing.T) {
	runStatus(t, []statusTest{
		{"a report on standard output", "render -report -", one, failed, "",
			"standard output is for the text"},
	})
}

func TestReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	items := "{\"citation\":{\"u\":1},\"content\":\"\xff\"}\n" + one + "\n" + one
	status, _, stderr := call(items, "render", "-report", file)
	require.Equal(t, done, status, stderr)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var report struct {
		Bytes int
		Items []map[string]any
	}
	require.NoError(t, json.Unmarshal(data, &report))
	require.Len(t, report.Items, 3)
	assert.Equal(t, map[string]any{
		"index": 0., "outcome": "malformed", "source_bytes": 1., "delivered_bytes": 0.,
		"error": "envelope: item 0: content: invalid UTF-8 (byte 0)",
	}, report.Items[0])
	assert.Equal(t, map[string]any{
		"index": 1., "outcome": "included", "source_bytes": 5., "delivered_bytes": 5.,
	}, report.Items[1])
	assert.Equal(t, "duplicate", report.Items[2]["outcome"])
	link := file + ".link"
	require.NoError(t, os.Symlink(file, link))
	status, _, stderr = call(one, "render", "-report", link)
	require.Equal(t, done, status, stderr)
	again, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.NotEqual(t, data, again, "written through the link")

	status, out, stderr := call(one, "render", "-report", filepath.Join(file, "no", "such"))
	assert.Equal(t, failed, status)
	assert.Empty(t, out, "nothing is written when the report cannot be")
	assert.NotEmpty(t, stderr)
}

// A report that would replace what the run reads, or mix with what it writes, is refused before
// anything is written.
func TestReportOntoAnother(t *testing.T) {
	dir := t.TempDir()
	items, wrapper := filepath.Join(dir, "items"), filepath.Join(dir, "wrapper")
	symlink, hardlink := filepath.Join(dir, "symlink"), filepath.Join(dir, "hardlink")
	require.NoError(t, os.WriteFile(items, []byte(one), 0o600))
	require.NoError(t, os.WriteFile(wrapper, []byte(goodWrapper), 0o600))
	require.NoError(t, os.Symlink(items, symlink))
	require.NoError(t, os.Link(items, hardlink))
	other := filepath.Join(dir, "..", filepath.Base(dir), ".", "items")
	tests := []struct {
		why, report, file, want string
	}{
		{"the same name", items, items, "-report is the input"},
		{"another spelling", dir + "/../" + filepath.Base(dir) + "/./items", items,
			"-report is the input"},
		{"another spelling of the input", items, other, "-report is the input"},
		{"a link", symlink, items, "-report is the input"},
		{"the input by a link", items, symlink, "-report is the input"},
		{"a hard link", hardlink, items, "-report is the input"},
		{"standard input", items, "<", "-report is the input"},
		{"standard input, by a link", symlink, "<", "-report is the input"},
		{"the wrapper", wrapper, items, "-report is the file of -wrapper"},
		{"standard output", filepath.Join(dir, "out"), items,
			"-report is where standard output goes"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			out, err := os.Create(filepath.Join(dir, "out"))
			require.NoError(t, err)
			defer out.Close()
			args := []string{"render", "-wrapper", wrapper, "-report", tt.report}
			s := streams{strings.NewReader(""), out, new(bytes.Buffer)}
			if tt.file == "<" {
				in, err := os.Open(items)
				require.NoError(t, err)
				defer in.Close()
				s.in = in
			} else {
				args = append(args, tt.file)
			}
			assert.Equal(t, failed, run(args, s))
			assert.Contains(t, s.err.(*bytes.Buffer).String(), tt.want)
			unchanged := map[string]string{items: one, wrapper: goodWrapper, out.Name(): ""}
			for file, want := range unchanged {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				assert.Equal(t, want, string(data), file)
			}
		})
	}
	// The device that takes everything is nobody's file.
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer null.Close()
	var stderr bytes.Buffer
	status := run([]string{"render", "-report", os.DevNull, items}, streams{null, null, &stderr})
	assert.Equal(t, done, status, stderr.String())
}

// Writing to a terminal takes nothing from what is typed there, and devices like it are no files to
// replace.
func TestReportOntoDevice(t *testing.T) {
	const device = "/dev/zero"
	if _, err := os.Stat(device); err != nil {
		t.Skip("no " + device + " here")
	}
	assert.NoError(t, separate(device, device, device, streams{}))
	out, err := os.OpenFile(device, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer out.Close()
	assert.Error(t, separate(device, "-", "", streams{out: out}), "two documents on one terminal")
}

// A report is whole or as it was, and there is none about a text that could not be written.
func TestReportWhole(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "report")
	alone := func() {
		t.Helper()
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, entry := range entries {
			assert.Equal(t, "report", entry.Name(), "nothing is left beside it")
		}
	}
	failing := func() {
		t.Helper()
		var stderr bytes.Buffer
		s := streams{strings.NewReader(one), fullDisk{}, &stderr}
		assert.Equal(t, failed, run([]string{"render", "-report", file}, s))
		assert.Contains(t, stderr.String(), "no space left")
		alone()
	}
	failing()
	assert.NoFileExists(t, file)

	status, _, stderr := call(one, "render", "-report", file)
	require.Equal(t, done, status, stderr)
	alone()
	info, err := os.Stat(file)
	require.NoError(t, err)
	fresh, err := os.Create(filepath.Join(t.TempDir(), "fresh"))
	require.NoError(t, err)
	defer fresh.Close()
	usual, err := fresh.Stat()
	require.NoError(t, err)
	assert.Equal(t, usual.Mode(), info.Mode(), "a new file has the permissions of any new file")

	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	require.NoError(t, os.Chmod(file, 0o640))
	failing()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "old", string(data))
	status, _, stderr = call(one, "render", "-report", file)
	require.Equal(t, done, status, stderr)
	alone()
	info, err = os.Stat(file)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		assert.Equal(t, os.FileMode(0o640), info.Mode().Perm(), "an old one keeps its own")
	}

	status, out, stderr := call(one, "render", "-report", dir)
	assert.Equal(t, failed, status)
	assert.Empty(t, out)
	assert.Contains(t, stderr, "the report is not written: ")
	dangling := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink("nowhere", dangling))
	status, out, _ = call(one, "render", "-report", dangling)
	assert.Equal(t, failed, status, "a link to nothing")
	assert.Empty(t, out)
	if _, err := os.Stat("/dev/full"); err == nil {
		status, out, stderr = call(one, "render", "-report", "/dev/full")
		assert.Equal(t, failed, status)
		assert.Empty(t, out)
		assert.Contains(t, stderr, "the report is not written: write /dev/full")
	}
	if os.Geteuid() > 0 { // root may write everywhere
		require.NoError(t, os.Chmod(file, 0o400))
		status, out, stderr = call(one, "render", "-report", file)
		assert.Equal(t, failed, status, "a file that may only be read")
		assert.Empty(t, out)
		assert.Contains(t, stderr, "the report is not written: ")
	}
}
