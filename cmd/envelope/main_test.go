package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const demo = "../../testdata/demo.jsonl"

// asCommand in the environment of the test's program has it be the command.
const asCommand = "ENVELOPE_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// process is the command as a program of its own.
func process(t testing.TB, args ...string) *exec.Cmd {
	c := exec.Command(self(t), args...)
	c.Env = append(os.Environ(), asCommand+"=1")
	return c
}

// self is the test's program. A test that starts it is skipped where it is another machine's, which
// the system does not start by itself.
func self(t testing.TB) string {
	program, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(program, "version")
	c.Env = append(os.Environ(), asCommand+"=1")
	if err := c.Run(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("the system does not start this program by itself")
	}
	return program
}

// call runs the command as main does.
func call(stdin string, args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(args, streams{strings.NewReader(stdin), &out, &err})
	return status, out.String(), err.String()
}

const one = `{"citation":{"url":"u"},"content":"hello"}`

// statusTest is a run of the command: what goes in, and what comes out where.
type statusTest struct {
	why    string
	args   string // fields; EMPTY is an empty one
	stdin  string
	status int
	stdout string // a part of it; "" is none at all
	stderr string // likewise
}

func runStatus(t *testing.T, tests []statusTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			args := strings.Fields(tt.args)
			for i := range args {
				if args[i] == "EMPTY" {
					args[i] = ""
				}
			}
			status, out, stderr := call(tt.stdin, args...)
			assert.Equal(t, tt.status, status)
			for _, o := range []struct{ want, got string }{{tt.stdout, out}, {tt.stderr, stderr}} {
				if o.want == "" {
					assert.Empty(t, o.got)
				} else {
					assert.Contains(t, o.got, o.want)
				}
			}
			assert.NotContains(t, stderr, "secret")
			assert.NotContains(t, stderr, "\x1b")
			if tt.args != "" && tt.args != "frob" && tt.stderr != "" {
				assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
				assert.True(t, strings.HasPrefix(stderr, "envelope: "), stderr)
			}
		})
	}
}

func TestMainStatus(t *testing.T) {
	runStatus(t, []statusTest{
		{"no command", "", "", failed, "", "usage: envelope"},
		{"an unknown command", "frob", "", failed, "", "usage: envelope"},
		{"help", "help", "", done, "usage: envelope", ""},
		{"help of a command", "render -h", "", done, "-max-item-bytes", ""},
		{"an unknown flag, in odd characters", "render -\u202e\x1b[2J", one, failed, "",
			`\u202e\x1b[2J`},
		{"two files", "render a b", "", failed, "", "more than one FILE"},
		{"a file without a name", "render EMPTY", one, failed, "", "open : no such file"},
		{"no such file", "render no-such-file", "", failed, "", "no-such-file"},
		{"flags behind the operands' mark", "render -- -x", "", failed, "", "open -x"},
	})
}

// The help names a FILE where there can be one.
func TestMainHelp(t *testing.T) {
	for command, first := range map[string]string{
		"render":           "usage: envelope render [flags] [FILE]",
		"verify":           "usage: envelope verify [flags] [FILE]",
		"hook":             "usage: envelope hook -host HOST [flags]",
		"transcript check": "usage: envelope transcript check [flags] [FILE]",
		"version":          "usage: envelope version",
	} {
		status, out, stderr := call("", append(strings.Fields(command), "-h")...)
		assert.Equal(t, done, status)
		assert.Empty(t, stderr)
		line, _, _ := strings.Cut(out, "\n")
		assert.Equal(t, first, line)
	}
	_, out, _ := call("", "help")
	for _, c := range commands() {
		assert.Contains(t, out, "\n  "+c.name)
	}
	for _, other := range []string{"-h", "-help", "--help"} {
		_, same, _ := call("", other)
		assert.Equal(t, out, same)
	}
}

// outputs is a run of each kind of output, with its input.
func outputs(t testing.TB) map[string]string {
	_, text, _ := call(one, "render")
	_, response, _ := call(one, "render", "-prepared")
	require.NotEmpty(t, text)
	require.NotEmpty(t, response)
	return map[string]string{
		"render":                  one,
		"render -prepared":        one,
		"render -format markdown": one,
		"verify":                  text,
		"verify -prepared":        response,
		"verify -max-bytes 1":     text,
		"version":                 "",
		"--version":               "",
		"help":                    "",
		"-h":                      "",
		"render -h":               "",
		"verify -h":               "",
		"hook -h":                 "",
		"version -h":              "",
		"transcript check":        goodLog,
		"transcript check -json":  goodLog,
		"transcript -h":           "",
		"transcript check -h":     "",
		"transcript show -h":      "",
		"transcript show":         goodLog,
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left\n") }

// An output that could not be written is an error, whatever the output.
func TestMainOutputFails(t *testing.T) {
	for args, stdin := range outputs(t) {
		var stderr bytes.Buffer
		status := run(strings.Fields(args), streams{strings.NewReader(stdin), fullDisk{}, &stderr})
		assert.Equal(t, failed, status, args)
		assert.Contains(t, stderr.String(), `no space left\n`, args)
		assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), args)
	}
}

// The same with real files: a full disk, a reader that has gone, a file that is open for reading.
func TestMainProcessOutputFails(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no /dev/full, and other pipes")
	}
	readOnly, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer readOnly.Close()
	closed := func() *os.File {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		t.Cleanup(func() { w.Close() })
		return w
	}
	places := map[string]*os.File{"a reader that has gone": closed(), "open for reading": readOnly}
	if full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
		defer full.Close()
		places["a full disk"] = full
	} else {
		t.Log("no /dev/full here")
	}
	for why, place := range places {
		t.Run(why, func(t *testing.T) {
			for args, stdin := range outputs(t) {
				c := process(t, strings.Fields(args)...)
				var stderr bytes.Buffer
				c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), place, &stderr
				err := c.Run()
				var exit *exec.ExitError
				require.ErrorAs(t, err, &exit, args)
				assert.Equal(t, failed, exit.ExitCode(), "%s: %s", args, err)
				said := stderr.String()
				assert.True(t, strings.HasPrefix(said, "envelope: "), "%s: %q", args, said)
			}
		})
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		`open C:\a "b": no`:  `open C:\a "b": no`,
		"a\x1b[2J":           `a\x1b[2J`,
		"\u202e\u00e9\xff\n": `\u202e\u00e9\xff\n`,
		"\x7f":               `\x7f`,
		"\"\u2028\\":         `"\u2028\\`,
	} {
		once := printable(errors.New(text))
		assert.Equal(t, want, once.Error())
		assert.Equal(t, once, printable(once), "a second time changes nothing")
	}
}

// The examples of the reference print what stands below them, in order and in one folder.
func TestCommandReference(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the examples are for a shell of Unix")
	}
	for _, program := range []string{"sh", "iconv"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("no " + program + " here")
		}
	}
	program := self(t)
	bin, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(program, filepath.Join(bin, "envelope")))
	data, err := os.ReadFile("../../docs/command.md")
	require.NoError(t, err)
	examples := 0
	for _, block := range strings.Split(string(data), "\n```console\n")[1:] {
		block, _, ok := strings.Cut(block, "```\n")
		require.True(t, ok)
		for _, example := range strings.Split("\n"+block, "\n$ ")[1:] {
			line, want, _ := strings.Cut(strings.TrimSuffix(example, "\n")+"\n", "\n")
			c := exec.Command("sh", "-c", line)
			c.Dir = dir
			c.Env = append(os.Environ(), asCommand+"=1", "LC_ALL=C",
				"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			got, err := c.CombinedOutput()
			var exit *exec.ExitError
			require.True(t, err == nil || errors.As(err, &exit), err)
			assert.Equal(t, want, string(got), line)
			examples++
		}
	}
	assert.Greater(t, examples, 15)
}
