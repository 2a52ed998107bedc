package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const code = `package sample

import "time"

// Recovered has its panic stopped by a call of recover in an expression.
func Recovered() (ok bool) {
	defer func() {
		if recover() != nil {
			ok = true
		}
	}()
	panic("stopped")
}

var table = [2]int{1, 1}

var total = func() int { return table[1] }()

// Spawned is answered by a goroutine.
func Spawned() int {
	answer := make(chan int)
	go func() { answer <- table[1] }()
	return <-answer
}

// Waits ends when its count does.
func Waits() {
	for count := 1; count > 0; {
		time.Sleep(time.Millisecond)
		count--
	}
}

type fault struct{}

func (*fault) Error() string { return "fault" }

// Fails returns a pointer as an error.
func Fails() error { return &fault{} }

// Unseen has a capacity that nothing tells.
func Unseen() []int { return make([]int, 0, 8) }
`

const tests = `package sample

import "testing"

func Test(t *testing.T) {
	Waits()
	if Fails() == nil {
		t.Fatal("no error")
	}
	if !Recovered() || total != 1 || Spawned() != 1 || len(Unseen()) != 0 {
		t.Fatal("wrong")
	}
}
`

// The tests pass on the code with all mutants in it, and each mutant ends alone: by a panic where
// the package begins or in a goroutine, or by waiting for ever, it is dead, and the next one runs.
func TestMutants(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{
		"go.mod": "module sample\n\ngo 1.26\n", "sample.go": code, "sample_test.go": tests,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	pkg, err := load(dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	files, mutants, err := collect(dir, pkg, regexp.MustCompile(""), regexp.MustCompile("^$"))
	if err != nil {
		t.Fatal(err)
	}
	tester := &tester{pkg: pkg, dir: dir, work: t.TempDir(), patience: time.Second}
	if err := tester.prepare(files); err != nil {
		t.Fatal(err)
	}
	tester.stages = tester.stages[:1]
	want := map[string]string{
		"Recovered: recover() != nil => false": killed,
		"Recovered: ok = true => removed":      killed,
		"var: table[1] => 0":                   killed,
		"var: 1 => +1 #2":                      killed,
		"var: 1 => +1 #3":                      killed, // past the end, where the package begins
		"Spawned: 1 => +1":                     killed, // past the end, in a goroutine
		"Fails: &fault{} => nil":               killed, // no nil pointer in an error
		"Waits: count-- => removed":            timedOut,
		"Unseen: 8 => +1":                      survived,
	}
	for _, m := range mutants {
		name := strings.TrimPrefix(m.name, "sample.go ")
		status, ok := want[name]
		if !ok {
			continue
		}
		delete(want, name)
		if tester.test(m, false); m.status != status {
			t.Errorf("%s, not %s", m, status)
		}
	}
	for name := range want {
		t.Errorf("no mutant: %s", name)
	}
}
