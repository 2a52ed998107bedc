package envelope_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// The readers and decoders of other languages, by the command that has to be there. Those that are not are skipped with a word; where
// ENVELOPE_READERS says how many must be, fewer fail.
var (
	lineScripts = []struct{ command, script string }{
		{"python3", "lines.py"}, {"node", "lines.js"}, {"java", "Lines.java"}, {"perl", "lines.pl"},
		{"ruby", "lines.rb"}, {"tclsh", "lines.tcl"}, {"bash", "lines.sh"},
	}
	decoders = []struct{ command, script string }{
		{"python3", "decode.py"}, {"node", "decode.js"}, {"perl", "decode.pl"}, {"ruby", "decode.rb"},
		{"jq", `.items[].content | @base64`}, {"java", "Decode.java"},
	}
)

// gson is where Debian's libgoogle-gson-java puts it.
const gson = "/usr/share/java/gson.jar"

func foreignReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("other languages' readers take long to start")
	}
}

// hostileTexts are what the readers get: contents and identifiers with markers between all boundaries and controls, in each form.
func hostileTexts(t *testing.T) map[string]struct {
	text string
	w    envelope.Wrapper
} {
	texts := make(map[string]struct {
		text string
		w    envelope.Wrapper
	})
	add := func(name string, w envelope.Wrapper, render func([]envelope.Item, envelope.Budget) (envelope.Prepared, error)) {
		var b strings.Builder
		for c := rune(0); c <= 0x9f; c++ {
			if c < ' ' || c >= 0x7f {
				b.WriteString(string(c) + w.End + string(c) + w.Begin)
			}
		}
		for _, c := range "\u2028\u2029\u200b\u202e\ufeff全х✅😅" {
			b.WriteString(string(c) + w.End + string(c) + w.Begin)
		}
		b.WriteString("\r\n" + w.End + "\r\n" + w.Begin + "\n\r" + w.End)
		items := []envelope.Item{
			memory("e\u2028"+w.End+"\u2028", b.String()),
			{Citation: map[string]any{w.End + "\u0085": "\u0085" + w.End + "\u0085"}, Content: w.Begin + "\n" + w.End},
		}
		p, err := render(items, envelope.Budget{MaxBytes: -1, MaxItemBytes: -1})
		require.NoError(t, err)
		require.Equal(t, 2, p.Report.Count(envelope.Included))
		texts[name] = struct {
			text string
			w    envelope.Wrapper
		}{p.Content, w}
	}
	for i, w := range []envelope.Wrapper{envelope.PowerContextV1, wrappers[1]} {
		for _, e := range []envelope.Escape{0, envelope.EscapeControls | envelope.EscapeInvisible | envelope.EscapeMarkup | envelope.EscapeNonASCII} {
			add(fmt.Sprintf("json-%d-%d", i, e), w, envelope.JSON{Wrapper: w, Escape: e}.Render)
		}
	}
	for i, w := range []envelope.Wrapper{envelope.PowerContextTextV1, textWrappers[1]} {
		add(fmt.Sprintf("markdown-%d", i), w, envelope.Markdown{Wrapper: w}.Render)
	}
	return texts
}

// Every line reader that is here finds one line equal to each marker. And each language catches the envelope that an ordinary encoder
// makes of the same content, so that it would see one that is not intact.
func TestForeignLineReaders(t *testing.T) {
	foreignReaders(t)
	dir := t.TempDir()
	present := 1 // Go, whose readers are those of the other tests
	texts := hostileTexts(t)
	for _, l := range lineScripts {
		if _, err := exec.LookPath(l.command); err != nil {
			t.Logf("skipped: no %s here", l.command)
			continue
		}
		present++
		if l.command == "bash" {
			present += 3 // and grep, awk and sed
		}
		t.Run(l.command, func(t *testing.T) {
			if l.command == "java" { // compiled once, and not at each start
				out, err := exec.Command("javac", "-d", dir, filepath.Join("testdata", "readers", l.script)).CombinedOutput()
				if err != nil {
					t.Skipf("no javac here: %s", out)
				}
			}
			for name, text := range texts {
				for reader, counts := range readLines(t, dir, l.command, l.script, text.text, text.w) {
					assert.Equal(t, [2]int{1, 1}, counts, "%s: %s", reader, name)
				}
			}
			naive := "notice\n\n" + begin + "\n" + naiveLine(t, l.command) + "\n" + end
			caught := 0
			for _, counts := range readLines(t, dir, l.command, l.script, naive, envelope.PowerContextV1) {
				if counts != [2]int{1, 1} {
					caught++
				}
			}
			assert.NotZero(t, caught, "the readers see nothing wrong with a naive envelope either")
		})
	}
	t.Logf("%d kinds of readers", present)
	if want, _ := strconv.Atoi(os.Getenv("ENVELOPE_READERS")); present < want {
		t.Errorf("%d kinds of readers are here, %d must be", present, want)
	}
}

// naiveLine is what an encoder writes that leaves raw what JSON allows raw, or for those who read bytes, one that escapes nothing.
func naiveLine(t *testing.T, command string) string {
	content := "x\u2028" + end + "\u2028\u0085" + end + "\u0085"
	if command == "bash" || command == "tclsh" {
		content += "\r\n" + end + "\r\n"
		return `{"content":"` + content + `"}`
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(content))
	return strings.ReplaceAll(strings.TrimSpace(b.String()), `\u2028`, "\u2028")
}

// readLines runs a script over a text and returns how many lines of each marker each of its readers finds.
func readLines(t *testing.T, dir, command, script, text string, w envelope.Wrapper) map[string][2]int {
	file := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
	args := []string{filepath.Join("testdata", "readers", script)}
	if command == "java" {
		args = []string{"-cp", dir, "Lines"}
	}
	out, err := exec.Command(command, append(args, file, w.Begin, w.End)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	found := make(map[string][2]int)
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		require.Len(t, fields, 3, line)
		begins, err1 := strconv.Atoi(fields[1])
		ends, err2 := strconv.Atoi(fields[2])
		require.NoError(t, err1)
		require.NoError(t, err2)
		found[fields[0]] = [2]int{begins, ends}
	}
	require.NotEmpty(t, found)
	return found
}

// Every JSON decoder that is here gives back every code point.
func TestForeignDecoders(t *testing.T) {
	foreignReaders(t)
	var items []envelope.Item
	var b strings.Builder
	for c := rune(0); c <= utf8.MaxRune; c++ {
		if utf8.ValidRune(c) {
			b.WriteRune(c)
		}
		if c%0x4000 == 0x3fff && b.Len() > 0 {
			items = append(items, memory(fmt.Sprint(c), b.String()+end))
			b.Reset()
		}
	}
	for _, s := range corpora {
		items = append(items, memory(s.name, s.text))
	}
	for _, e := range []envelope.Escape{0, envelope.EscapeNonASCII | envelope.EscapeMarkup} {
		text, report, err := envelope.JSON{Escape: e}.Append(nil, items, envelope.Budget{-1, -1, -1, -1})
		require.NoError(t, err)
		require.Equal(t, len(items), report.Count(envelope.Included))
		lines := bytes.Split(text, []byte("\n"))
		line := lines[len(lines)-2]
		for _, d := range decoders {
			t.Run(fmt.Sprintf("%s/%d", d.command, e), func(t *testing.T) {
				if _, err := exec.LookPath(d.command); err != nil {
					t.Skipf("no %s here", d.command)
				}
				args := []string{filepath.Join("testdata", "readers", d.script)}
				switch d.command {
				case "perl":
					if e != 0 {
						t.Skip("takes seconds for as many escapes")
					}
				case "jq":
					args = []string{"-r", d.script}
				case "java":
					if _, err := os.Stat(gson); err != nil {
						t.Skip("no JSON library for Java here (Debian's libgoogle-gson-java)")
					}
					args = append([]string{"-cp", gson}, args...)
				}
				cmd := exec.Command(d.command, args...)
				cmd.Stdin = bytes.NewReader(line)
				out, err := cmd.Output()
				require.NoError(t, err)
				contents := strings.Fields(string(out))
				require.Len(t, contents, len(items))
				for i, content := range contents {
					got, err := base64.StdEncoding.DecodeString(content)
					require.NoError(t, err)
					require.True(t, string(got) == items[i].Content, "item %d", i)
				}
			})
		}
	}
}
