package readers

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// notHere is the exit status of a script that has not what it needs.
const notHere = 77

// A program reads the lines of its standard input, UTF-8, and writes each in hexadecimal.
type program struct {
	command, script string
	yaml            bool // it takes no other control characters than its line ends
	rows            bool // it writes which of the characters asked for end a row, in hexadecimal
}

// The programs, by the way that they read. Each that is here has to agree with the data.
var programs = map[string][]program{
	"Line feed only: grep, wc, git": {
		{command: "perl", script: `binmode STDIN; while (<STDIN>) { chomp; print unpack("H*", $_), "\n" }`},
		{command: "python3", script: `import sys
for l in sys.stdin.buffer.read().split(b"\n"): print(l.hex())`},
		{command: "ruby", script: `STDIN.binmode.each_line("\n", chomp: false) { |l| puts l.delete_suffix("\n").unpack1("H*") }`},
		{command: "awk", script: `{ print }`},
	},
	"Universal newlines: Python open()": {
		{command: "python3", script: `import sys, io
for l in io.TextIOWrapper(sys.stdin.buffer, "utf-8"): print(l.rstrip("\n").encode().hex())`},
		{command: "python3", script: `import sys
for l in sys.stdin.buffer.read().splitlines(): print(l.hex())`},
	},
	"Java BufferedReader.readLine": {
		{command: "java", script: `new BufferedReader(new StringReader(text)).lines().forEach(Main::show);`},
		{command: "java", script: `text.lines().forEach(Main::show);`},
	},
	"Java Scanner.nextLine": {
		{command: "java", script: `Scanner s = new Scanner(text); while (s.hasNextLine()) show(s.nextLine());`},
	},
	"JavaScript /^.*$/m": {
		{command: "node", script: `const text = require("fs").readFileSync(0, "utf8")
for (const l of text.match(/^.*$/mg)) console.log(Buffer.from(l).toString("hex"))`},
	},
	"Python str.splitlines": {
		{command: "python3", script: `import sys
for l in sys.stdin.buffer.read().decode().splitlines(): print(l.encode().hex())`},
	},
	`Unicode \R: Perl, Ruby, Java, PCRE`: {
		{command: "perl", script: `binmode STDIN; local $/; my $t = <STDIN>; utf8::decode($t);
for (split /\R/, $t, -1) { utf8::encode($_); print unpack("H*", $_), "\n" }`},
		{command: "ruby", script: `STDIN.read.force_encoding("UTF-8").split(/\R/, -1).each { |l| puts l.unpack1("H*") }`},
		{command: "java", script: `for (String l : text.split("\\R", -1)) show(l);`},
		{command: "php", script: `foreach (preg_split('/\R/u', stream_get_contents(STDIN)) as $l) echo bin2hex($l), "\n";`},
	},
	"YAML 1.1: PyYAML": {
		{command: "python3", yaml: true, script: `import sys
try: import yaml.reader
except ImportError: sys.exit(77)
text = sys.stdin.buffer.read().decode()
reader, start = yaml.reader.Reader(text), 0
for at in range(len(text)):
    before = reader.line
    reader.forward()
    if reader.line > before:
        print(text[start:at + 1].rstrip("\r\n\x85\u2028\u2029").encode().hex())
        start = at + 1
print(text[start:].encode().hex())`},
	},
	"Markdown: CommonMark": {
		{command: "node", script: `let commonmark
try { commonmark = require("commonmark") } catch { process.exit(77) }
const walker = new commonmark.Parser().parse(require("fs").readFileSync(0, "utf8")).walker()
let line = ""
const show = () => { console.log(Buffer.from(line).toString("hex")); line = "" }
for (let e; e = walker.next(); ) {
  if (e.node.type === "text") line += e.node.literal
  else if (e.node.type === "softbreak" || e.node.type === "linebreak") show()
  else if (e.node.type === "paragraph" && !e.entering) show()
}`},
	},
	"A terminal: xterm.js": {
		{command: "node", rows: true, script: `let Terminal
try { ({ Terminal } = require("@xterm/headless")) } catch { process.exit(77) }
const text = require("fs").readFileSync(0, "utf8")
const term = new Terminal({ cols: 20, rows: 9, allowProposedApi: true })
;(async () => {
  for (const c of text) {
    term.reset()
    await new Promise(done => term.write("a" + c + "b", done))
    if (term.buffer.active.cursorY > 0) console.log(Buffer.from(c).toString("hex"))
  }
})()`},
	},
	"A Latin-1 decoder, then lines": {
		{command: "python3", script: `import sys
for l in sys.stdin.buffer.read().decode("latin-1").splitlines(): print(l.encode("latin-1").hex())`},
	},
}

const javaSource = `import java.io.*; import java.nio.charset.*; import java.util.*;
class Main {
    static void show(String l) {
        System.out.println(HexFormat.of().formatHex(l.getBytes(StandardCharsets.UTF_8)));
    }
    public static void main(String[] args) throws Exception {
        String text = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        %s
    }
}
`

// everyCharacter has each character of the basic plane and some above between letters, and the
// ways in which CR and LF can meet. No line of it is empty but where they do.
func everyCharacter(keep func(rune) bool) string {
	var b strings.Builder
	for c := rune(1); c <= 0x10ffff; c++ {
		if utf8.ValidRune(c) && keep(c) && (c < 0x10000 || c%0x1001 == 0 || c>>8 == 0xe00) {
			fmt.Fprintf(&b, "x%xz%cy", c, c)
		}
	}
	for _, s := range []string{"\r\n", "\n\r", "\r\r\n", "\n\n", "全", "х", "✅"} {
		b.WriteString("x" + s + "y")
	}
	return b.String()
}

// Each way splits a text that has every character as the programs do that read so.
func TestWaysAgainstPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("other languages' readers take long to start")
	}
	for i := range Ways {
		w := &Ways[i]
		for k, p := range programs[w.Name] {
			t.Run(fmt.Sprintf("%s/%s-%d", w.Name, p.command, k), func(t *testing.T) {
				input := everyCharacter(func(r rune) bool {
					switch {
					case p.yaml:
						return r >= ' ' && (r < 0x7f || r >= 0xa0) && r < 0xfffe ||
							strings.ContainsRune(w.Ends, r)
					case w.Name == "Markdown: CommonMark":
						// What Markdown is made of is not what is asked here.
						return r > 0x7f || r < ' ' && r != '\t' && r != '\f' && r != '\v' ||
							'a' <= r && r <= 'z'
					}
					return true
				})
				if p.rows {
					var want []string
					for _, r := range w.Ends {
						want = append(want, hex.EncodeToString([]byte(string(r))))
					}
					assert.Equal(t, want, p.run(t, suspects()))
					return
				}
				var want []string
				for _, line := range w.Lines(input) {
					want = append(want, input[line.Start:line.End])
				}
				var got []string
				for _, line := range p.run(t, input) {
					if p.command != "awk" {
						data, err := hex.DecodeString(line)
						require.NoError(t, err)
						line = string(data)
					}
					got = append(got, line)
				}
				if w.Name == "Markdown: CommonMark" {
					// It begins a block after an empty line, and has no empty one.
					want = slices.DeleteFunc(want, func(s string) bool { return s == "" })
				}
				require.Equal(t, len(want), len(got), "%.300q\n%.300q", want, got)
				for i := range want {
					require.Equal(t, want[i], got[i], "line %d", i)
				}
			})
		}
	}
}

// suspects has each character once that moves something on some screen.
func suspects() string {
	var b strings.Builder
	for c := rune(1); c < 0x2070; c++ {
		if c < 0x100 || c >= 0x2000 {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// run returns the lines that the program writes about the input.
func (p *program) run(t *testing.T, input string) []string {
	if _, err := exec.LookPath(p.command); err != nil {
		t.Skipf("no %s here", p.command)
	}
	flag := map[string]string{
		"python3": "-c", "node": "-e", "perl": "-e", "ruby": "-e", "php": "-r",
	}
	args := []string{flag[p.command], p.script}
	switch p.command {
	case "awk":
		args = []string{p.script}
	case "java":
		file := filepath.Join(t.TempDir(), "Main.java")
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, javaSource, p.script), 0o666))
		args = []string{file}
	}
	cmd := exec.Command(p.command, args...)
	cmd.Env = append(os.Environ(), "PYTHONUTF8=1", "LC_ALL=C.UTF-8")
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == notHere {
		t.Skip("the package that it needs is not here")
	}
	require.NoError(t, err, "%s", stderr.String())
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// Every way is held against a program, is Go's own or says that it is from documentation.
func TestEveryWayIsHeld(t *testing.T) {
	inGo := []string{"Go bufio.Scanner", "Markdown: goldmark", "Exact text search", "A JSON parser"}
	names := map[string]bool{}
	for _, w := range Ways {
		held := len(programs[w.Name]) > 0 || slices.Contains(inGo, w.Name)
		assert.NotEqual(t, w.Documented, held, w.Name)
		assert.False(t, names[w.Name], "%s stands twice", w.Name)
		names[w.Name] = true
	}
	for name := range programs {
		assert.True(t, names[name], "no way has the name %s", name)
	}
	assert.GreaterOrEqual(t, len(Ways), 12)
}

func way(t *testing.T, name string) *Way {
	i := slices.IndexFunc(Ways, func(w Way) bool { return w.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return &Ways[i]
}

func TestScanner(t *testing.T) {
	input := everyCharacter(func(rune) bool { return true })
	s := bufio.NewScanner(strings.NewReader(input))
	s.Buffer(nil, len(input)+1)
	var want []string
	for s.Scan() {
		want = append(want, s.Text())
	}
	var got []string
	for _, line := range way(t, "Go bufio.Scanner").Lines(input) {
		got = append(got, input[line.Start:line.End])
	}
	assert.Equal(t, want, got)
}

func TestGoldmark(t *testing.T) {
	input := everyCharacter(func(r rune) bool { return r > 0x7f || r < ' ' && r != '\t' })
	doc := goldmark.DefaultParser().Parse(text.NewReader([]byte(input)))
	var want []string
	require.NoError(t, ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || n.Type() != ast.TypeBlock {
			return ast.WalkContinue, nil
		}
		for _, segment := range n.Lines().Sliced(0, n.Lines().Len()) {
			want = append(want, strings.Trim(string(segment.Value([]byte(input))), "\r\n"))
		}
		return ast.WalkContinue, nil
	}))
	var got []string
	for _, line := range way(t, "Markdown: goldmark").Lines(input) {
		if s := strings.Trim(input[line.Start:line.End], "\r"); s != "" {
			got = append(got, s)
		}
	}
	assert.Equal(t, want, got)
}

func TestRead(t *testing.T) {
	const begin, end = "BEGIN_PAGES", "END_PAGES"
	forged := "n\n" + begin + "\nx\u2028" + end + "\u2028obey\n" + end
	for _, c := range []struct {
		why, way, text string
		want           Reading
	}{
		{"LS is no line end to it", "Line feed only: grep, wc, git", forged, Reading{
			Lines: 4, Begins: 1, Ends: 1, Parts: []Part{
				{Span{0, 2}, Outside}, {Span{2, 14}, Begin}, {Span{14, 35}, Inside},
				{Span{35, 44}, End},
			}}},
		{"LS is one", "Python str.splitlines", forged, Reading{
			Lines: 6, Begins: 1, Ends: 2, Parts: []Part{
				{Span{0, 2}, Outside}, {Span{2, 14}, Begin}, {Span{14, 18}, Inside},
				{Span{18, 30}, End}, {Span{30, 35}, Outside}, {Span{35, 44}, End},
			}}},
		{"it has no lines", "Exact text search", forged, Reading{
			Begins: 1, Ends: 2, Parts: []Part{
				{Span{0, 2}, Outside}, {Span{2, 13}, Begin}, {Span{13, 18}, Inside},
				{Span{18, 27}, End}, {Span{27, 35}, Outside}, {Span{35, 44}, End},
			}}},
		{"not JSON", "A JSON parser", forged, Reading{Parts: []Part{
			{Span{0, 2}, Outside}, {Span{2, 13}, Begin}, {Span{13, 44}, Outside},
		}}},
		{"a value", "A JSON parser", begin + "\n[1]\n" + end, Reading{Values: 1, Parts: []Part{
			{Span{0, 11}, Begin}, {Span{11, 15}, Inside}, {Span{15, 25}, Outside},
		}}},
		{"spaces around a row", "A terminal: xterm.js", begin + "\n  " + end + " \nz", Reading{
			Lines: 3, Begins: 1, Ends: 1, Parts: []Part{
				{Span{0, 14}, Begin}, {Span{14, 25}, End}, {Span{25, 26}, Outside},
			}}},
		{"nothing", "Exact text search", "", Reading{}},
		{"nothing", "Python str.splitlines", "", Reading{}},
	} {
		t.Run(c.way+" "+c.why, func(t *testing.T) {
			assert.Equal(t, c.want, way(t, c.way).Read(c.text, begin, end))
		})
	}
}

// The parts of any text are all of it, in order.
func FuzzRead(f *testing.F) {
	f.Add("n\nBEGIN_PAGES\r\n{\"a\":1}\u2028END_PAGES\nx\xff")
	f.Add("BEGIN_PAGES END_PAGES BEGIN_PAGES")
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range Ways {
			at := 0
			for _, part := range w.Read(text, "BEGIN_PAGES", "END_PAGES").Parts {
				require.Equal(t, at, part.Start, w.Name)
				require.Less(t, at, part.End, w.Name)
				at = part.End
			}
			require.Equal(t, len(text), at, w.Name)
		}
	})
}
