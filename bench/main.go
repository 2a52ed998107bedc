// Command bench measures envelope beside what a user would pick instead, all on the same inputs and in one process, one after the
// other round by round, since the machines are noisy and only ratios of neighbours mean something.
//
//	go run . [-rounds N] [-svg FILE]
//
// It prints the tables of the README's section on speed, and draws how the cost grows.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/untrusted-context/envelope"
)

func main() {
	rounds := flag.Int("rounds", 31, "rounds of each comparison; the figures are medians")
	svg := flag.String("svg", "", "draw how cost grows to this `file`")
	root := flag.String("root", "..", "the `folder` whose documents and sources are the texts")
	flag.Parse()
	texts, err := corpora(*root)
	must(err)
	fmt.Printf("%s, %s/%s, %d CPUs\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	oneString(texts, *rounds, 2000, "2 KB")
	oneString(texts, *rounds, 64<<10, "64 KB")
	sameJob(texts, *rounds)
	fitted(texts, *rounds)
	series := growth(texts, *rounds)
	if *svg != "" {
		must(os.WriteFile(*svg, draw(series), 0o666))
	}
}

// oneString compares the encoders on one string. The last row is not an encoder but the whole envelope around the string, which matters less
// the longer that is.
func oneString(texts []corpus, rounds, size int, name string) {
	all := peers()
	cells := make(map[string][]float64)
	for _, text := range texts {
		s := text.take(size, 0)
		runs := make([]func(), len(all))
		for i, p := range all {
			runs[i] = func() { p.encode(s) }
		}
		for i, ratio := range ratios(runs, rounds) {
			cells[all[i].name] = append(cells[all[i].name], ratio)
		}
	}
	table("One string of "+name+", times as fast as "+baseline, texts, func(row func(string, []float64)) {
		for _, p := range all {
			row(p.name, cells[p.name])
		}
	})
}

// sameJob compares eight items of 2 KB without bounds.
func sameJob(texts []corpus, rounds int) {
	var asJSON, asMarkdown []float64
	for _, text := range texts {
		items := eight(text)
		var r stdRenderer
		var buf []byte
		all := ratios([]func(){
			func() { r.render(items) },
			func() { buf = render(buf, items, unbounded) },
			func() { buf = renderMarkdown(buf, items, unbounded) },
		}, rounds)
		asJSON, asMarkdown = append(asJSON, all[1]), append(asMarkdown, all[2])
	}
	table("Eight items of 2 KB, the same job, times as fast as "+baseline, texts, func(row func(string, []float64)) {
		row("envelope", asJSON)
		row("envelope, Markdown instead", asMarkdown)
	})
}

// fitted compares fitting the same items into 8000 bytes.
func fitted(texts []corpus, rounds int) {
	var cells []float64
	for _, text := range texts {
		items := eight(text)
		var r stdRenderer
		var buf []byte
		cells = append(cells, ratios([]func(){
			func() { r.fit(items, 8000, 2000) },
			func() { buf = render(buf, items, envelope.Budget{}) },
		}, rounds)[1])
	}
	table("The same items fitted into 8000 bytes, times as fast as rendering anew at each step of a search", texts, func(row func(string, []float64)) { row("envelope", cells) })
}

func eight(text corpus) (items []envelope.Item) {
	for i := range 8 {
		items = append(items, envelope.Item{Citation: cite(int64(i)), Content: text.take(2000, 100*i)})
	}
	return items
}

func table(title string, texts []corpus, rows func(row func(name string, cells []float64))) {
	fmt.Printf("%s:\n\n| |", title)
	for _, text := range texts {
		fmt.Printf(" %s |", text.name)
	}
	fmt.Printf("\n| --- |%s\n", strings.Repeat(" --- |", len(texts)))
	rows(func(name string, cells []float64) {
		fmt.Printf("| %s |", name)
		for _, c := range cells {
			fmt.Printf(" %.3g |", c)
		}
		fmt.Println()
	})
	fmt.Println()
}

// ratios times the runs in turn, round by round, and returns for each the median over the rounds of how many times as fast as the first
// it was in the same round.
func ratios(runs []func(), rounds int) []float64 {
	count := make([]int, len(runs)) // calls a round, for about a millisecond each
	for i, run := range runs {
		run()
		for n := 1; ; n *= 2 {
			if timed(run, n) >= time.Millisecond || n > 1<<20 {
				count[i] = n
				break
			}
		}
	}
	faster := make([][]float64, len(runs))
	for range rounds {
		var first float64
		for i, run := range runs {
			each := float64(timed(run, count[i])) / float64(count[i])
			if i == 0 {
				first = each
			}
			faster[i] = append(faster[i], first/each)
		}
	}
	medians := make([]float64, len(runs))
	for i := range faster {
		medians[i] = median(faster[i])
	}
	return medians
}

func timed(run func(), n int) time.Duration {
	start := time.Now()
	for range n {
		run()
	}
	return time.Since(start)
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// line is one curve of the drawing.
type line struct {
	name   string
	points [][2]float64 // x, microseconds a call
}

// chart is one drawing: what grows, and how the cost does.
type chart struct {
	title, x string
	lines    []line
}

// growth measures how the cost of one call grows with the size of a content, the number of items and the budget.
func growth(texts []corpus, rounds int) []chart {
	cost := func(items []envelope.Item, b envelope.Budget) float64 {
		var buf []byte
		run := func() { buf = render(buf, items, b) }
		run()
		n := 1
		for timed(run, n) < time.Millisecond && n < 1<<20 {
			n *= 2
		}
		var all []float64
		for range min(rounds, 15) {
			all = append(all, float64(timed(run, n).Nanoseconds())/float64(n)/1000)
		}
		return median(all)
	}
	charts := []chart{
		{title: "one item, whole", x: "bytes of content"},
		{title: "one item, default budget", x: "bytes of content"},
		{title: "items of 200 bytes, whole", x: "items"},
		{title: "64 items of 2 KB", x: "MaxBytes"},
	}
	for _, text := range texts {
		var whole, bounded, items, budget line
		whole.name, bounded.name, items.name, budget.name = text.name, text.name, text.name, text.name
		for n := 200; n <= 1<<20; n *= 4 {
			one := []envelope.Item{{Citation: cite(1), Content: text.take(n, 0)}}
			whole.points = append(whole.points, [2]float64{float64(n), cost(one, unbounded)})
			bounded.points = append(bounded.points, [2]float64{float64(n), cost(one, envelope.Budget{})})
		}
		many := make([]envelope.Item, 64)
		large := make([]envelope.Item, 64)
		for i := range many {
			many[i] = envelope.Item{Citation: cite(int64(i)), Content: text.take(200, 10*i)}
			large[i] = envelope.Item{Citation: cite(int64(i)), Content: text.take(2000, 10*i)}
		}
		for n := 1; n <= 64; n *= 2 {
			items.points = append(items.points, [2]float64{float64(n), cost(many[:n], unbounded)})
		}
		for n := 500; n <= 256_000; n *= 2 {
			budget.points = append(budget.points, [2]float64{float64(n), cost(large, envelope.Budget{MaxBytes: n, MaxItems: -1})})
		}
		charts[0].lines = append(charts[0].lines, whole)
		charts[1].lines = append(charts[1].lines, bounded)
		charts[2].lines = append(charts[2].lines, items)
		charts[3].lines = append(charts[3].lines, budget)
	}
	return charts
}
