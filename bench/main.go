// Command bench measures envelope beside what a user would pick instead. All run on the same inputs
// and in one process, one after the other round by round: machines are noisy, and only ratios of
// neighbours mean something.
//
//	go run . [-rounds N] [-svg FILE] [-only REGEXP]
//	GOEXPERIMENT=simd go run .
//
// It prints the tables of docs/speed.md, and draws how the cost grows. README.md says how to read
// them.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/untrusted-context/envelope"
)

func main() {
	rounds := flag.Int("rounds", 31, "rounds of each comparison; the figures are medians")
	svg := flag.String("svg", "", "draw how cost grows to this `file`")
	root := flag.String("root", "..", "the `folder` whose documents and sources are the texts")
	only := flag.String("only", "", "only tables whose title this `regexp` matches")
	flag.Parse()
	texts, err := corpora(*root)
	must(err)
	fmt.Printf("%s.\n\n", machine())
	defer os.RemoveAll(folder)
	b := bench{texts, *rounds, regexp.MustCompile(*only)}
	b.compare("One string of 2 KB, times as fast as "+baseline, oneString(2000))
	b.compare("One string of 64 KB, times as fast as "+baseline, oneString(64<<10))
	b.compare("Eight items of 2 KB, the same job, times as fast as "+baseline, sameJob)
	b.compare("The same items fitted into 8000 bytes, times as fast as rendering anew at each "+
		"step of a search", fitted)
	b.compare("Reading the text of the eight items back, times as fast as json.Unmarshal into "+
		"structures", reading)
	b.compare("Eight messages of 2 KB written to a log, times as fast as an Encoder", writingLog)
	b.compare("The log read back, times as fast as a Decoder", readingLog)
	b.small()
	if *svg != "" {
		must(os.WriteFile(*svg, draw(growth(texts[:8], *rounds)), 0o666))
	}
}

// bench is what all tables have in common.
type bench struct {
	texts  []corpus
	rounds int
	only   *regexp.Regexp
}

// contender is a row of a table: something that is done with a text.
type contender struct {
	name  string
	run   func()
	limit bool // what no contender can beat, since it does a part of the job only
}

// compare prints a table of how many times as fast as the first contender each of them is.
func (b *bench) compare(title string, contenders func(text corpus) []contender) {
	if !b.only.MatchString(title) {
		return
	}
	var names []string
	cells, spreads := map[string][]string{}, []float64{}
	for _, text := range b.texts {
		all := contenders(text)
		names = names[:0]
		for i, m := range measure(all, b.rounds) {
			name := all[i].name
			if all[i].limit {
				name = "*" + name + "*"
			}
			names = append(names, name)
			cells[name] = append(cells[name], fmt.Sprintf("%.3g", m.ratio))
			if i > 0 {
				spreads = append(spreads, m.spread)
			}
		}
	}
	fmt.Printf("%s:\n\n| |", title)
	for _, text := range b.texts {
		fmt.Printf(" %s |", text.name)
	}
	fmt.Printf("\n| --- |%s\n", strings.Repeat(" --- |", len(b.texts)))
	for _, name := range names {
		fmt.Printf("| %s | %s |\n", name, strings.Join(cells[name], " | "))
	}
	fmt.Printf("\nSpread: half of the rounds are within %.0f %% of each other in the middle cell, "+
		"and within %.0f %% in the widest.\n\n", 100*median(spreads), 100*spreads[len(spreads)-1])
}

// oneString compares the encoders on one string. Envelope writes the whole envelope around the
// string, which matters less the longer that is.
func oneString(size int) func(text corpus) []contender {
	return func(text corpus) []contender {
		return peers(text.take(size, 0))
	}
}

// sameJob compares eight items of 2 KB without bounds.
func sameJob(text corpus) []contender {
	items := eight(text)
	var r stdRenderer
	var buf []byte
	return []contender{
		{name: baseline, run: func() { r.render(items) }},
		{name: "envelope", run: func() { buf = render(buf, items, unbounded) }},
		{name: "envelope, Markdown instead", run: func() {
			buf = renderMarkdown(buf, items, unbounded)
		}},
	}
}

// fitted compares fitting the same items into 8000 bytes.
func fitted(text corpus) []contender {
	items := eight(text)
	var r stdRenderer
	var buf []byte
	return []contender{
		{name: baseline, run: func() { r.fit(items, 8000, 2000) }},
		{name: "envelope", run: func() { buf = render(buf, items, envelope.Budget{}) }},
	}
}

func eight(text corpus) []envelope.Item { return some(text, 8, 2000, 100) }

// some returns so many items of size bytes each, from places of the text that are step bytes apart.
func some(text corpus, n, size, step int) (items []envelope.Item) {
	for i := range n {
		item := envelope.Item{Citation: cite(int64(i)), Content: text.take(size, step*i)}
		items = append(items, item)
	}
	return items
}

// small prints what calls of little content take.
func (b *bench) small() {
	const title = "Small items, nanoseconds"
	if !b.only.MatchString(title) {
		return
	}
	fmt.Printf("%s:\n\n| | each item | the call |\n| --- | --- | --- |\n", title)
	for _, n := range []int{1, 8, 200} {
		items := some(b.texts[0], n, 60, 10)
		var buf []byte
		call := nanoseconds(func() { buf = render(buf, items, unbounded) }, b.rounds)
		fmt.Printf("| %d of 60 bytes | %.0f | %.0f |\n", n, call/float64(n), call)
	}
	fmt.Println()
}

// growth measures how the cost of one call grows with the size of a content, the number of items
// and the budget.
func growth(texts []corpus, rounds int) []chart {
	cost := func(items []envelope.Item, b envelope.Budget) float64 {
		var buf []byte
		return nanoseconds(func() { buf = render(buf, items, b) }, min(rounds, 15)) / 1000
	}
	charts := []chart{
		{title: "one item, whole: grows with it", x: "bytes of content"},
		{title: "one item, default budget: grows to what is looked at", x: "bytes of content"},
		{title: "items of 200 bytes, whole: grows with their number", x: "items"},
		{title: "64 items of 2 KB: what the budget lets be written, and the check of the rest",
			x: "MaxBytes"},
	}
	for _, text := range texts {
		curves := make([]curve, len(charts))
		for k := range curves {
			curves[k].name = text.name
		}
		for n := 200; n <= 1<<20; n *= 4 {
			one := []envelope.Item{{Citation: cite(1), Content: text.take(n, 0)}}
			curves[0].add(n, cost(one, unbounded))
			curves[1].add(n, cost(one, envelope.Budget{}))
		}
		many, large := some(text, 64, 200, 10), some(text, 64, 2000, 10)
		for n := 1; n <= 64; n *= 2 {
			curves[2].add(n, cost(many[:n], unbounded))
		}
		for n := 500; n <= 256_000; n *= 2 {
			curves[3].add(n, cost(large, envelope.Budget{MaxBytes: n, MaxItems: -1}))
		}
		for k := range charts {
			charts[k].curves = append(charts[k].curves, curves[k])
		}
	}
	return charts
}
