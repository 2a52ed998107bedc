// Command mutate tells what the tests of a package do not see: it changes the code in one small
// place after the other and runs the tests, of which one should fail. No file of the tree is
// touched.
//
//	go run ./mutate -dir .. -list ../testdata/mutation/equivalent.txt PACKAGE
//
// All mutants of a package are compiled into one test binary and chosen by an environment variable;
// only those of declared constants need a binary each. The quick tests go first, and what survives
// meets the slower ones.
//
// A mutant that no test can kill since it behaves the same is counted in the list, by file and
// function, below the reason:
//
//	# hints of capacity
//	budget.go newSelection 2
//
// A function may stand below several reasons; its counts add up. The mutants of a function that
// stands in the list do not meet the slowest tests. The command fails when more of a function
// survive than are explained, or fewer.
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
	stages := flag.Int("stages", 4, "1: the quick tests alone, 2: those of medium length too, "+
		"3: all -short tests, 4: all tests, but for what is listed")
	out := flag.String("out", "", "write every mutant and what became of it to this file")
	again := flag.String("again", "", "only those that an earlier -out file says survived")
	flag.Parse()
	if flag.NArg() != 1 {
		return errors.New("one package, please")
	}
	explained, err := readList(*list)
	if err != nil {
		return err
	}
	pkg, err := load(*dir, flag.Arg(0))
	if err != nil {
		return err
	}
	files, mutants, err := collect(*dir, pkg, regexp.MustCompile(*only), regexp.MustCompile(*skip))
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
	t := &tester{pkg: pkg, dir: filepath.Dir(pkg.CompiledGoFiles[0]), work: work,
		patience: 10 * time.Second}
	if err := t.prepare(files); err != nil {
		return err
	}
	t.stages = t.stages[:min(max(*stages, 1), len(t.stages))]
	var report bytes.Buffer
	for i, m := range chosen {
		t.test(m, explained[m.function()] > 0)
		fmt.Fprintf(&report, "%s\t%s\n", m.status, m.name)
		if m.status == notCompiled || m.status == survived && explained[m.function()] == 0 {
			fmt.Println(m)
		}
		if *out != "" && (i%20 == 0 || i == len(chosen)-1) {
			if err := os.WriteFile(*out, report.Bytes(), 0o666); err != nil {
				return err
			}
		}
	}
	whole := *match == "" && *again == "" && *skip == "^$"
	wrong := compare(files, chosen, explained, whole)
	summarize(chosen)
	if wrong > 0 {
		return fmt.Errorf("%d functions have other survivors than the list explains", wrong)
	}
	return nil
}

func load(dir, pattern string) (*packages.Package, error) {
	mode := packages.LoadSyntax | packages.NeedImports
	loaded, err := packages.Load(&packages.Config{Dir: dir, Mode: mode}, pattern)
	if err != nil {
		return nil, err
	}
	if packages.PrintErrors(loaded) > 0 || len(loaded) != 1 {
		return nil, fmt.Errorf("cannot load %s", pattern)
	}
	return loaded[0], nil
}

// readList returns how many mutants are explained, by file and function.
func readList(path string) (map[string]int, error) {
	explained := map[string]int{}
	if path == "" {
		return explained, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	reason, number := "", 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimSpace(line)
		switch comment, ok := strings.CutPrefix(line, "# "); {
		case line == "":
			reason = ""
			continue
		case ok:
			reason += comment
			continue
		}
		fields := strings.Fields(line)
		if reason == "" || len(fields) != 3 {
			return nil, fmt.Errorf("%s:%d: not file, function, count below a reason", path, number)
		}
		count, err := strconv.Atoi(fields[2])
		if err != nil || count < 1 {
			return nil, fmt.Errorf("%s:%d: %s is no count", path, number, fields[2])
		}
		explained[fields[0]+" "+fields[1]] += count
	}
	return explained, nil
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
	patience  time.Duration // with tests that do nothing
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
	output, err = t.run(t.binary, 0, 10*time.Minute, "-test.short", "-test.skip", slow)
	if err != nil {
		return fmt.Errorf("the tests fail without a mutant: %w\n%s", err, output)
	}
	quick := t.spent
	t.stages = []stage{
		{[]string{"-test.short", "-test.failfast", "-test.skip", slow}, time.Second + 5*quick},
		{[]string{"-test.short", "-test.failfast", "-test.skip", slowest}, time.Second + 3*all},
		{[]string{"-test.short", "-test.failfast"}, time.Second + 3*all},
		{[]string{"-test.failfast"}, 10 * time.Minute},
	}
	fmt.Printf("quick tests %v, all short tests %v; slow: %s\n",
		quick.Round(time.Millisecond), all.Round(time.Millisecond), slow)
	return nil
}

var passed = regexp.MustCompile(`(?m)^ *--- PASS: (\w+)\S* \(([0-9.]+)s\)$`)

// slowTests matches those that are not worth their time while a mutant has not survived the others.
// One that runs in parallel has the time of its parts only.
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

// run runs the tests, of which a mutant must not take all memory. The limit is of the processor's
// time, so that a busy machine makes no difference; the other is for those that sleep.
func (t *tester) run(binary string, id int, limit time.Duration, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute+10*limit)
	defer cancel()
	seconds := int(math.Ceil(limit.Seconds()))
	script := fmt.Sprintf(`ulimit -v 4000000; ulimit -t %d; exec "$@"`, seconds)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh", binary}, args...)...)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), chooser+"="+strconv.Itoa(id))
	// What the tests started ends with them, even when they wait for it for ever.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go t.watch(ctx, cancel, cmd.Process.Pid)
	err := cmd.Wait()
	state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && err != nil && state.Signaled() && state.Signal() == syscall.SIGKILL {
		err = errTime
	}
	t.spent = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return output.Bytes(), err
}

// watch ends tests that wait for what does not come: they leave the processor alone for t.patience,
// which those do not that only have to share it. Where there is no /proc it does nothing.
func (t *tester) watch(ctx context.Context, end func(), pid int) {
	const ticks = 3 // a hundredth of a second each, for who looks up now and then
	before, since := 0, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(t.patience / 10):
		}
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, found := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest)
		if err != nil || !found || len(fields) < 13 {
			return
		}
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		switch now := user + system; {
		case now > before+ticks:
			before, since = now, time.Now()
		case time.Since(since) >= t.patience:
			end()
			return
		}
	}
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

// compare returns how many functions of the files have more or fewer survivors than the list
// explains, and marks those explained as equivalent.
func compare(files []*file, mutants []*mutant, explained map[string]int, whole bool) (wrong int) {
	survivors := map[string][]*mutant{}
	for _, m := range mutants {
		if m.status == survived {
			survivors[m.function()] = append(survivors[m.function()], m)
		}
	}
	ours := map[string]bool{}
	for _, f := range files {
		ours[f.name] = true
	}
	known := slices.Collect(maps.Keys(survivors))
	for function := range explained {
		name, _, _ := strings.Cut(function, " ")
		if ours[name] && whole && survivors[function] == nil {
			known = append(known, function)
		}
	}
	slices.Sort(known)
	for _, function := range known {
		found, want := survivors[function], explained[function]
		if len(found) == want || len(found) < want && !whole {
			for _, m := range found {
				m.status = equivalent
			}
			continue
		}
		wrong++
		fmt.Printf("%s: %d survive, %d are explained\n", function, len(found), want)
		if want > 0 { // the others were printed at once
			for _, m := range found {
				fmt.Println(m)
			}
		}
	}
	return wrong
}

// summarize prints what became of the mutants, by file.
func summarize(mutants []*mutant) {
	counts := map[string]map[string]int{}
	for _, m := range mutants {
		for _, key := range []string{m.file, "total"} {
			if counts[key] == nil {
				counts[key] = map[string]int{}
			}
			counts[key][m.status]++
			counts[key]["all"]++
		}
	}
	rows := slices.Sorted(maps.Keys(counts))
	rows = slices.DeleteFunc(rows, func(key string) bool { return key == "total" })
	fmt.Printf("%-32s %8s %8s %9s %12s %10s %8s %7s\n",
		"file", "mutants", killed, timedOut, notCompiled, equivalent, survived, "score")
	for _, key := range append(rows, "total") {
		n := counts[key]
		score := 100.0
		if able := n["all"] - n[notCompiled] - n[equivalent]; able > 0 {
			score = 100 * float64(n[killed]+n[timedOut]) / float64(able)
		}
		fmt.Printf("%-32s %8d %8d %9d %12d %10d %8d %6.1f%%\n", key, n["all"],
			n[killed], n[timedOut], n[notCompiled], n[equivalent], n[survived], score)
	}
}
