// Command mutate tells what the tests of a package do not see: it changes the code in one small place after the other and runs the
// tests, of which one should fail. No file of the tree is touched.
//
//	go run ./mutate -dir .. -list ../testdata/mutation/equivalent.txt PACKAGE
//
// All mutants of a package are compiled into one test binary and chosen by an environment variable; only those of declared constants
// need a binary each. The quick tests go first, and what survives meets the slower ones.
//
// A mutant that no test can kill since it behaves the same is named in the list, below the reason:
//
//	# a hint of capacity
//	budget.go newSelection: slots < 2*len(items) => <=
//
// The command fails when a survivor is not named there, or a named one is killed or gone.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/tools/go/packages"
)

const (
	killed      = "killed"
	timedOut    = "timed out"
	notCompiled = "not compiled"
	survived    = "survived"
	equivalent  = "equivalent"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func readFile(path string) ([]byte, error) { return os.ReadFile(path) }

func run() error {
	dir := flag.String("dir", ".", "the module's directory")
	list := flag.String("list", "", "the file of equivalent mutants")
	only := flag.String("files", "", "only files whose name this regular expression matches")
	skip := flag.String("skip", "^$", "not the functions that this regular expression matches")
	match := flag.String("match", "", "only mutants whose name this regular expression matches")
	stages := flag.Int("stages", 4, "1: the quick tests alone, 2: those of medium length too, 3: all -short tests, 4: all tests, but for what is listed")
	out := flag.String("out", "", "write every mutant and what became of it to this file")
	again := flag.String("again", "", "only those that an earlier -out file says survived")
	flag.Parse()
	if flag.NArg() != 1 {
		return errors.New("one package, please")
	}
	reasons, err := readList(*list)
	if err != nil {
		return err
	}
	pkg, err := load(*dir, flag.Arg(0))
	if err != nil {
		return err
	}
	files, mutants, err := collect(pkg, regexp.MustCompile(*only), regexp.MustCompile(*skip))
	if err != nil {
		return err
	}
	chosen, err := choose(mutants, *match, *again)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	t := &tester{pkg: pkg, dir: filepath.Dir(pkg.CompiledGoFiles[0]), work: work}
	if err := t.prepare(files); err != nil {
		return err
	}
	t.stages = t.stages[:min(max(*stages, 1), len(t.stages))]
	var report bytes.Buffer
	for i, m := range chosen {
		t.test(m, reasons[m.name] != "")
		if m.status == survived && reasons[m.name] != "" {
			m.status = equivalent
		}
		fmt.Fprintf(&report, "%s\t%s\n", m.status, m.name)
		if m.status == survived || m.status == notCompiled {
			fmt.Printf("%s: %s (%s:%d:%d)\n", m.status, m.name, m.file, m.pos.Line, m.pos.Column)
		}
		if *out != "" && (i%20 == 0 || i == len(chosen)-1) {
			if err := os.WriteFile(*out, report.Bytes(), 0o666); err != nil {
				return err
			}
		}
	}
	return summarize(files, chosen, reasons, *match == "" && *again == "" && *skip == "^$")
}

func load(dir, pattern string) (*packages.Package, error) {
	loaded, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.LoadSyntax | packages.NeedImports}, pattern)
	if err != nil {
		return nil, err
	}
	if packages.PrintErrors(loaded) > 0 || len(loaded) != 1 {
		return nil, fmt.Errorf("cannot load %s", pattern)
	}
	return loaded[0], nil
}

// readList returns the reasons of the equivalent mutants, by name.
func readList(path string) (map[string]string, error) {
	reasons := map[string]string{}
	if path == "" {
		return reasons, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	reason := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		switch comment, ok := strings.CutPrefix(line, "# "); {
		case line == "":
			reason = ""
		case ok:
			reason = strings.TrimSpace(reason + " " + comment)
		case reason == "":
			return nil, fmt.Errorf("%s: no reason for %s", path, line)
		default:
			reasons[line] = reason
		}
	}
	return reasons, nil
}

func choose(mutants []*mutant, match, again string) ([]*mutant, error) {
	pattern, err := regexp.Compile(match)
	if err != nil {
		return nil, err
	}
	before := map[string]bool{}
	if again != "" {
		data, err := os.ReadFile(again)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(data)) {
			status, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
			before[name] = status == survived
		}
	}
	return slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool {
		return !pattern.MatchString(m.name) || again != "" && !before[m.name]
	}), nil
}

// tester runs the tests of a package on its mutants.
type tester struct {
	pkg       *packages.Package
	dir, work string
	binary    string
	stages    []stage
	spent     time.Duration // by the last run
}

// allStages is how many there are, of which the last takes long.
const allStages = 4

// stage is a run of some tests, and how much of the processor's time it may take.
type stage struct {
	args  []string
	limit time.Duration
}

const chooser = "MUTANT"

// prepare compiles all mutants and runs the tests on none of them.
func (t *tester) prepare(files []*file) error {
	overlay := map[string][]byte{}
	for _, f := range files {
		overlay[f.path] = f.render()
	}
	overlay[filepath.Join(t.dir, "zz_mutant.go")] = []byte("package " + t.pkg.Name + `

import (
	"os"
	"strconv"
)

var mutantID = func() int { n, _ := strconv.Atoi(os.Getenv("` + chooser + `")); return n }()
`)
	t.binary = filepath.Join(t.work, "all.test")
	if err := t.compile(overlay, t.binary); err != nil {
		return err
	}
	output, err := t.run(t.binary, 0, 10*time.Minute, "-test.short", "-test.v")
	if err != nil {
		return fmt.Errorf("the tests fail without a mutant: %w\n%s", err, output)
	}
	all, slow, slowest := t.spent, slowTests(output, 0.04), slowTests(output, 0.2)
	if output, err := t.run(t.binary, 0, 10*time.Minute, "-test.short", "-test.skip", slow); err != nil {
		return fmt.Errorf("the tests fail without a mutant: %w\n%s", err, output)
	}
	quick := t.spent
	t.stages = []stage{
		{[]string{"-test.short", "-test.failfast", "-test.skip", slow}, time.Second + 5*quick},
		{[]string{"-test.short", "-test.failfast", "-test.skip", slowest}, time.Second + 3*all},
		{[]string{"-test.short", "-test.failfast"}, time.Second + 3*all},
		{[]string{"-test.failfast"}, 10 * time.Minute},
	}
	fmt.Printf("quick tests %v, all short tests %v; slow: %s\n", quick.Round(time.Millisecond), all.Round(time.Millisecond), slow)
	return nil
}

var passed = regexp.MustCompile(`(?m)^ *--- PASS: (\w+)\S* \(([0-9.]+)s\)$`)

// slowTests matches those that are not worth their time while a mutant has not survived the others. One that runs in parallel has the
// time of its parts only.
func slowTests(output []byte, least float64) string {
	spent := map[string]float64{}
	for _, m := range passed.FindAllSubmatch(output, -1) {
		seconds, _ := strconv.ParseFloat(string(m[2]), 64)
		spent[string(m[1])] += seconds
	}
	maps.DeleteFunc(spent, func(_ string, seconds float64) bool { return seconds < least })
	return "^(" + strings.Join(slices.Sorted(maps.Keys(spent)), "|") + ")$"
}

func (t *tester) compile(overlay map[string][]byte, binary string) error {
	replace := map[string]string{}
	for i, path := range slices.Sorted(maps.Keys(overlay)) {
		name := filepath.Join(t.work, strconv.Itoa(i)+".go")
		if err := os.WriteFile(name, overlay[path], 0o666); err != nil {
			return err
		}
		replace[path] = name
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	config := filepath.Join(t.work, "overlay.json")
	if err := os.WriteFile(config, data, 0o666); err != nil {
		return err
	}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", config, "-o", binary, ".")
	cmd.Dir = t.dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return nil
}

// run runs the tests, of which a mutant must not take all memory. The limit is of the processor's time, so that a busy machine makes
// no difference; only who sleeps runs into the other.
func (t *tester) run(binary string, id int, limit time.Duration, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute+10*limit)
	defer cancel()
	script := fmt.Sprintf(`ulimit -v 4000000; ulimit -t %d; exec "$@"`, int(math.Ceil(limit.Seconds())))
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh", binary}, args...)...)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), chooser+"="+strconv.Itoa(id))
	cmd.WaitDelay = time.Second
	output, err := cmd.CombinedOutput()
	if state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && err != nil && state.Signaled() && state.Signal() == syscall.SIGKILL {
		err = errTime
	}
	t.spent = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return output, err
}

var errTime = errors.New("no time left")

func (t *tester) test(m *mutant, listed bool) {
	binary, id := t.binary, m.id
	if m.lone != nil {
		binary, id = filepath.Join(t.work, "lone.test"), 0
		if err := t.compile(map[string][]byte{m.pos.Filename: m.lone}, binary); err != nil {
			m.status = notCompiled
			return
		}
	}
	m.status = survived
	for i, s := range t.stages {
		if listed && i == allStages-1 {
			return
		}
		_, err := t.run(binary, id, s.limit, s.args...)
		switch {
		case err == errTime:
			m.status = timedOut
			return
		case err != nil:
			m.status = killed
			return
		}
	}
}

// summarize counts by file, and fails where the list and the mutants disagree.
func summarize(files []*file, mutants []*mutant, reasons map[string]string, whole bool) error {
	counts := map[string]map[string]int{}
	known := map[string]bool{}
	stale := 0
	for _, m := range mutants {
		for _, key := range []string{m.file, "total"} {
			if counts[key] == nil {
				counts[key] = map[string]int{}
			}
			counts[key][m.status]++
			counts[key]["all"]++
		}
		known[m.name] = true
		if reasons[m.name] != "" && m.status != equivalent {
			fmt.Printf("%s, but listed: %s\n", m.status, m.name)
			stale++
		}
	}
	ours := map[string]bool{}
	for _, f := range files {
		ours[filepath.Base(f.path)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		if base, _, _ := strings.Cut(name, " "); whole && ours[base] && !known[name] {
			fmt.Printf("listed, but gone: %s\n", name)
			stale++
		}
	}
	rows := slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), func(key string) bool { return key == "total" })
	fmt.Printf("%-20s %8s %8s %9s %12s %10s %8s %7s\n", "file", "mutants", killed, timedOut, notCompiled, equivalent, survived, "score")
	for _, key := range append(rows, "total") {
		n := counts[key]
		score := 100.0
		if able := n["all"] - n[notCompiled] - n[equivalent]; able > 0 {
			score = 100 * float64(n[killed]+n[timedOut]) / float64(able)
		}
		fmt.Printf("%-20s %8d %8d %9d %12d %10d %8d %6.1f%%\n", key, n["all"], n[killed], n[timedOut], n[notCompiled], n[equivalent], n[survived], score)
	}
	if n := counts["total"][survived]; n > 0 || stale > 0 {
		return fmt.Errorf("%d survivors without a reason, %d stale lines in the list", n, stale)
	}
	return nil
}
