package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkHookProcess times whole processes: the hook, from the event to the output, against a
// server here, and what interpreters take to start and do nothing.
func BenchmarkHookProcess(b *testing.B) {
	folder := b.TempDir()
	build := func(name, path string) string {
		binary := filepath.Join(folder, name+".exe")
		out, err := exec.Command("go", "build", "-o", binary, path).CombinedOutput()
		require.NoError(b, err, "%s", out)
		return binary
	}
	server := build("prepare-server", ".")
	hook := build("envelope", "github.com/untrusted-context/envelope/cmd/envelope")
	demo, err := os.Open("../../testdata/demo.jsonl")
	require.NoError(b, err)
	defer demo.Close()
	load := exec.Command(server, "load", "-scope", "project:demo")
	load.Dir, load.Stdin = folder, demo
	out, err := load.CombinedOutput()
	require.NoError(b, err, "%s", out)
	url := start(b, server, folder)

	const event = `{"hook_event_name":"UserPromptSubmit","prompt":"接口改动之后怎么办？",` +
		`"cwd":"project:demo"}`
	for _, p := range []struct {
		name string
		args []string
	}{
		{"hook", []string{hook, "hook", "-host", "claude-code", "-url", url}},
		{"python3", []string{"python3", "-c", "pass"}},
		{"node", []string{"node", "-e", "0"}},
		{"true", []string{"true"}},
	} {
		b.Run(p.name, func(b *testing.B) {
			if _, err := exec.LookPath(p.args[0]); err != nil {
				b.Skipf("no %s here", p.name)
			}
			// The interpreter itself, and not what a version manager puts before it.
			if p.name == "python3" {
				out, err := exec.Command(
					"python3", "-c", "import sys; print(sys.executable)",
				).Output()
				require.NoError(b, err)
				p.args[0] = strings.TrimSpace(string(out))
			}
			times := make([]time.Duration, b.N)
			for i := range times {
				c := exec.Command(p.args[0], p.args[1:]...)
				c.Stdin = strings.NewReader(event)
				began := time.Now()
				out, err := c.Output()
				times[i] = time.Since(began)
				if err != nil || p.name == "hook" && len(out) == 0 {
					b.Fatalf("%v, %d bytes", err, len(out))
				}
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "median-ms")
			b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}
