package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// machine says where and with what this was measured.
func machine() string {
	cpu := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			name, value, _ := strings.Cut(line, ":")
			if strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	experiment := "the default build"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "GOEXPERIMENT" && s.Value != "" {
				experiment = "GOEXPERIMENT=" + s.Value
			}
		}
	}
	return fmt.Sprintf("%s, %d CPUs, %s/%s, %s, %s",
		cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), experiment)
}

// measured is how a contender did: the median over the rounds of how many times as fast as the
// first it was in the same round, and how far the middle half of the rounds is apart, as part of
// that.
type measured struct{ ratio, spread float64 }

// measure times the contenders in turn, round by round.
func measure(all []contender, rounds int) []measured {
	calls := make([]int, len(all))
	for i, c := range all {
		calls[i] = enough(c.run)
	}
	faster := make([][]float64, len(all))
	for range rounds {
		var first float64
		for i, c := range all {
			each := float64(timed(c.run, calls[i])) / float64(calls[i])
			if i == 0 {
				first = each
			}
			faster[i] = append(faster[i], first/each)
		}
	}
	results := make([]measured, len(all))
	for i, ratios := range faster {
		m := median(ratios)
		results[i] = measured{m, (ratios[len(ratios)*3/4] - ratios[len(ratios)/4]) / m}
	}
	return results
}

// nanoseconds returns what one call takes, the median of the rounds.
func nanoseconds(run func(), rounds int) float64 {
	calls := enough(run)
	var each []float64
	for range rounds {
		each = append(each, float64(timed(run, calls).Nanoseconds())/float64(calls))
	}
	return median(each)
}

// enough returns how many calls take about a millisecond.
func enough(run func()) int {
	run()
	n := 1
	for timed(run, n) < time.Millisecond && n < 1<<20 {
		n *= 2
	}
	return n
}

func timed(run func(), n int) time.Duration {
	start := time.Now()
	for range n {
		run()
	}
	return time.Since(start)
}

// median sorts the values and returns the one in the middle.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
