package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/untrusted-context/envelope/transcript"
)

// FuzzRoundTrip gives an attacker a role, a content and another member: refused for what is
// wrong with it, or one line that comes back equal, from every reader of this package.
func FuzzRoundTrip(f *testing.F) {
	f.Fuzz(func(t *testing.T, role, content, name string, value []byte) {
		messages := []transcript.Message{
			{
				Role: role, Content: content,
				Extra: []transcript.Member{
					{Name: name, Value: value}, {Name: name + "2", Value: json.RawMessage("null")},
				},
			},
			{Role: content, Content: role},
			{Role: role, Content: content},
		}
		log, read := newLog(t, "", transcript.Options{})
		written := 0
		for i := range messages {
			m := messages[i]
			fails := !utf8.ValidString(m.Role + "\x00" + m.Content)
			if i == 0 {
				for _, own := range []string{"role", "content"} {
					fails = fails || name == own || name+"2" == own
				}
				fails = fails || !utf8.ValidString(name)
			}
			err := log.Append(m)
			if _, refused := err.(*transcript.RecordError); err != nil && !refused {
				t.Fatalf("%T %v", err, err)
			}
			switch {
			case fails && err == nil:
				t.Fatalf("accepted %q", m)
			case err != nil && !fails && (i > 0 || simple(value)):
				t.Fatalf("refused %q: %v", m, err)
			case err == nil:
				messages[written] = m
				written++
			}
		}
		messages = messages[:written]
		text := read()
		lines := strings.Split(text, "\n")
		broken := strings.ContainsAny(strings.Join(lines, ""), lineBoundaries)
		if broken || len(lines) != written+1 || !utf8.ValidString(text) {
			t.Fatalf("%q is not %d lines", text, written)
		}
		got := readJSON(text)
		if !transcript.Compare(messages, got).OK() {
			t.Fatalf("%q came back as %q", messages, got)
		}
		for i := range got {
			want := messages[i].Extra
			if len(want) != len(got[i].Extra) {
				t.Fatalf("%q came back as %q", messages[i], got[i])
			}
			for k, member := range got[i].Extra {
				same := cmp.Equal(decoded(t, member.Value), decoded(t, want[k].Value))
				if !same || member.Name != want[k].Name {
					t.Fatalf("%q came back as %q", want[k], member)
				}
			}
		}
		// Once more, and now to the byte.
		if again := writeJSON(got); again != text {
			t.Fatalf("%q is written as %q", text, again)
		}
		requireAgreement(t, text, transcript.Options{})
	})
}

// simple reports whether a value is JSON that is surely in strict form.
func simple(value []byte) bool {
	return utf8.Valid(value) && json.Valid(value) && !bytes.ContainsAny(value, `{\`)
}

func decoded(t *testing.T, data []byte) any {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return v
}

// marked is a byte of a log and the good line that it is from, -1 for none.
type marked struct {
	b    byte
	line int
}

// goodLog is a log of good lines, each told from every other.
func goodLog(rng *rand.Rand) (log []marked, lines []string) {
	parts := []string{
		"", "x", `{\"b\":2}`, `\n`, "中🙂", `\ud83d\ude42`, "\u2028", `","c":{"d":[1,{}],"e":"`, " ",
	}
	for i := range 2 + rng.IntN(6) {
		var text strings.Builder
		for range rng.IntN(6) {
			text.WriteString(parts[rng.IntN(len(parts))])
		}
		content := text.String()
		if strings.Count(content, `"c"`) > 1 {
			content = "twice"
		}
		line := fmt.Sprintf(`{"i":%d,"a":"%s"`, i, content)
		if strings.Contains(content, `"c"`) {
			line += "}"
		}
		line += "}"
		lines = append(lines, line)
		for _, b := range []byte(line) {
			log = append(log, marked{b, i})
		}
		log = append(log, marked{'\n', -1})
	}
	return log, lines
}

// damage does one thing to a log that programs, crashes and disks do.
func damage(rng *rand.Rand, log []marked, kind int) []marked {
	if len(log) == 0 {
		return log
	}
	from := rng.IntN(len(log))
	to := min(len(log), from+1+rng.IntN(12))
	fill := func(bytes string) (out []marked) {
		for _, b := range []byte(bytes) {
			out = append(out, marked{b, -1})
		}
		return out
	}
	insert := func(from, to int, with []marked) []marked {
		return append(append(append([]marked(nil), log[:from]...), with...), log[to:]...)
	}
	switch kind % 7 {
	case 0: // cut out
		return insert(from, to, nil)
	case 1: // cut off
		return insert(from, len(log), nil)
	case 2: // NULs over it, or in between
		if rng.IntN(2) == 0 {
			to = from
		}
		return insert(from, to, fill(strings.Repeat("\x00", 1+rng.IntN(9))))
	case 3: // a flipped bit
		return insert(from, from+1, fill(string([]byte{log[from].b ^ 1<<rng.IntN(8)})))
	case 4: // a record written into it
		records := []string{`{"role":"us`, `{"role":"user"}`, `{"role":"user"}` + "\n", "\n"}
		return insert(from, from, fill(records[rng.IntN(len(records))]))
	case 5: // junk
		junk := []string{"\ufeff", "\xff", "\r", `"`, "{", "}", `\`, "\xe4\xb8"}
		return insert(from, to, fill(junk[rng.IntN(len(junk))]))
	}
	// What is there, once more: parts of other lines, which are not those lines.
	again := append([]marked(nil), log[from:to]...)
	for i := range again {
		again[i].line = -1
	}
	at := rng.IntN(len(log) + 1)
	return insert(at, at, again)
}

// FuzzDamage damages good logs. The lines that were not touched are all reported, each with its
// line and offset and bytes, and every other line is a fault, blank, or a record by itself.
// Every record that was not touched is recovered, wherever it stands now, unless it could be a
// value of another.
func FuzzDamage(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed, uint32(seed*2654435761))
	}
	f.Fuzz(func(t *testing.T, seed uint64, kinds uint32) {
		rng := rand.New(rand.NewPCG(seed, 0))
		log, lines := goodLog(rng)
		for ; kinds > 0; kinds /= 8 {
			log = damage(rng, log, int(kinds%8))
		}
		checkDamaged(t, log, lines)
	})
}

func checkDamaged(t *testing.T, log []marked, lines []string) {
	var text []byte
	for _, m := range log {
		text = append(text, m.b)
	}
	type place struct {
		line   int
		offset int64
	}
	got := map[place]string{} // "" is a fault
	for r, err := range transcript.Records(bytes.NewReader(text), transcript.Options{}) {
		if fault, ok := err.(*transcript.Fault); ok {
			if fault.Offset < 0 || fault.Offset > int64(len(text)) {
				t.Fatalf("%q: %v", text, err)
			}
			got[place{fault.Line, -1}] = ""
			continue
		}
		there := text[r.Offset : int(r.Offset)+len(r.JSON)]
		if err != nil || !json.Valid(r.JSON) || !bytes.Equal(there, r.JSON) {
			t.Fatalf("%q: %+v %v", text, r, err)
		}
		got[place{r.Line, r.Offset}] = string(r.JSON)
	}
	offset, accounted := 0, 0
	for i, line := range bytes.Split(text, []byte("\n")) {
		start := offset
		offset += len(line) + 1
		record, isRecord := "", false
		for skip := range len(line) + 1 { // white space or a BOM may stand before it
			if r, ok := got[place{i + 1, int64(start + skip)}]; ok {
				record, isRecord = r, true
			}
		}
		_, isFault := got[place{i + 1, -1}]
		visible := line
		if i == 0 {
			visible = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		blank := len(bytes.Trim(visible, " \t\r")) == 0
		if isRecord && isFault || !isRecord && !isFault && !blank {
			t.Fatalf("%q: line %d: record %v, fault %v", text, i+1, isRecord, isFault)
		}
		if isRecord || isFault {
			accounted++
		}
		if whole := untouched(log[start:start+len(line)], lines); whole != "" && record != whole {
			t.Fatalf("%q: line %d was not touched, and is reported as %q", text, i+1, record)
		}
	}
	if accounted != len(got) {
		t.Fatalf("%q: %d of %d reported lines are there", text, accounted, len(got))
	}
	requireAgreement(t, string(text), transcript.Options{})
	checkRecovered(t, log, text, lines)
}

// checkRecovered returns how many untouched records it found recovered.
func checkRecovered(t *testing.T, log []marked, text []byte, lines []string) (found int) {
	recovered := map[int64]string{}
	for r, err := range transcript.Recover(bytes.NewReader(text), transcript.Options{}) {
		if fault := (*transcript.Fault)(nil); errors.As(err, &fault) {
			if fault.Kind == transcript.Encoding {
				return 0
			}
			continue
		}
		recovered[r.Offset] = string(r.JSON)
	}
	for i, m := range log {
		if m.line < 0 || i+len(lines[m.line]) > len(log) {
			continue
		}
		end := i + len(lines[m.line])
		whole := untouched(log[i:end], lines)
		if whole == "" {
			continue
		}
		if recovered[int64(i)] == whole {
			found++
		} else if !ambiguous(text, i, end) {
			t.Fatalf("%q: the record at byte %d was not touched, and is not recovered", text, i)
		}
	}
	return found
}

// ambiguous reports whether the record at bytes start to end of a log could be a value of a torn
// or headless one. It is slow and has nothing of what the package does.
func ambiguous(text []byte, start, end int) bool {
	line := 1 + bytes.LastIndexByte(text[:start], '\n')
	before := text[line:start]
	if nul := bytes.LastIndexByte(before, 0); nul >= 0 {
		before = before[nul+1:]
	}
	for i, c := range before {
		if c != '{' && c != '[' {
			continue
		}
		d := json.NewDecoder(io.MultiReader(bytes.NewReader(before[i:]), strings.NewReader("{}")))
		var err error
		for err == nil {
			_, err = d.Token()
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return true
		}
	}
	if len(bytes.Trim(text[line:start], " \t\r\ufeff")) == 0 {
		return false
	}
	after := bytes.TrimLeft(text[end:], " \t\r")
	return len(after) > 0 && strings.IndexByte(",]}", after[0]) >= 0
}

// The seeds alone find many records recovered of faulty lines: the assertion is no empty one.
func TestDamageIsRecovered(t *testing.T) {
	found, faulty := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		log, lines := goodLog(rng)
		for range 3 {
			log = damage(rng, log, rng.IntN(7))
		}
		var text []byte
		for _, m := range log {
			text = append(text, m.b)
		}
		found += checkRecovered(t, log, text, lines)
		in, err := transcript.Inspect(bytes.NewReader(text), transcript.Options{})
		if err != nil {
			t.Fatal(err)
		}
		faulty += in.Recovered
	}
	if found < 500 || faulty < 20 {
		t.Fatalf("only %d records are untouched, and %d recovered of faulty lines", found, faulty)
	}
	t.Log(found, faulty)
}

// untouched returns the good line that a line still is, byte for byte.
func untouched(line []marked, lines []string) string {
	if len(line) == 0 || line[0].line < 0 {
		return ""
	}
	good := lines[line[0].line]
	if len(good) != len(line) {
		return ""
	}
	for i, m := range line {
		if m.line != line[0].line || m.b != good[i] {
			return ""
		}
	}
	return good
}

// FuzzInspect reads anything at all, under any bound: no panic, and every way to read agrees.
func FuzzInspect(f *testing.F) {
	f.Fuzz(func(t *testing.T, log []byte, most uint16) {
		in := requireAgreement(t, string(log), transcript.Options{MaxLine: int64(most)})
		if limit := 1 + bytes.Count(log, []byte("\n")); in.Records+len(in.Faults) > limit {
			t.Fatalf(
				"%q: %d records and %d faults on %d lines", log, in.Records, len(in.Faults), limit,
			)
		}
		for m, err := range transcript.Messages(bytes.NewReader(log), transcript.Options{}) {
			if _, ok := err.(*transcript.Fault); err != nil && !ok {
				t.Fatalf("%q: %v", m, err)
			}
		}
	})
}
