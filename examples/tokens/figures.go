package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tiktoken-go/tokenizer"

	"github.com/untrusted-context/envelope"
)

var vocabularies = []tokenizer.Encoding{tokenizer.O200kBase, tokenizer.Cl100kBase}

// sizes are the token budgets that are tried.
var sizes = []int{300, 500, 1000, 2000, 4000, 8000}

// everything is a budget without bounds in bytes and items.
var everything = envelope.Budget{
	MaxBytes: envelope.Unlimited, MaxItems: envelope.Unlimited, MaxItemBytes: envelope.Unlimited,
}

// sections takes as many items as the budget does.
var sections = envelope.Markdown{Sections: []envelope.Section{
	{Limit: envelope.Unlimited}, {Kind: "experience", Limit: envelope.Unlimited},
}}

// printFigures prints what docs/budgets.md says in numbers.
func printFigures(out io.Writer) error {
	all, err := corpora()
	if err != nil {
		return err
	}
	for _, figure := range []func(io.Writer, []corpus) error{
		printGuess, printUse, printCitations, printForms, printEscapes, printSpeed,
	} {
		if err := figure(out, all); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	return nil
}

// counting counts how often a counter is asked.
type counting struct {
	envelope.Counter
	calls int
}

func (c *counting) Count(text string) (int, error) {
	c.calls++
	return c.Counter.Count(text)
}

// use is one rendering in a number of tokens that is too few for everything.
type use struct {
	corpus string
	items  []envelope.Item
	form   renderer
	codec  tokenizer.Codec
	even   bool
	tokens int
	used   int
	counts int
}

// short reports whether there was no room for everything.
func short(r envelope.Report) bool {
	return r.Count(envelope.Truncated)+r.Count(envelope.TooShort)+r.Count(envelope.NoRoom) > 0
}

// uses renders every corpus in every size with every vocabulary, in order and shared, as JSON and
// as Markdown, and returns those where not everything fits.
func uses(all []corpus) ([]use, error) {
	var list []use
	for _, name := range vocabularies {
		codec, err := tokenizer.Get(name)
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			for _, r := range []renderer{envelope.JSON{}, sections} {
				for _, tokens := range sizes {
					for _, even := range []bool{false, true} {
						b := everything
						counter := &counting{Counter: codec}
						b.MaxTokens, b.Counter, b.Even = tokens, counter, even
						p, err := r.Render(c.items, b)
						if err != nil {
							return nil, err
						}
						if short(p.Report) {
							list = append(list, use{c.name, c.items, r, codec, even, tokens,
								p.Report.Tokens, counter.calls})
						}
					}
				}
			}
		}
	}
	return list, nil
}

// median is the value in the middle, and the least and the most beside it.
func median[T int | float64](of []T) (middle, least, most T) {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2], of[0], of[len(of)-1]
}

func printUse(out io.Writer, all []corpus) error {
	list, err := uses(all)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "MaxTokens: tokens used of those allowed, where not everything fits")
	for _, even := range []bool{false, true} {
		row := func(name string, from int) {
			u := summarize(list, name, even, from)
			fmt.Fprintf(out, "%-8s Even %-5v from %4d tokens, %2d runs: median %5.1f %%,"+
				" least %5.1f %%, over %d; counts: median %d, most %d\n",
				name, even, from, u.runs, u.median, u.least, u.over, u.counts, u.most)
		}
		for _, c := range all {
			row(c.name, sizes[0])
		}
		row("all", sizes[0])
		row("all", 1000)
	}
	return nil
}

// summary is what there is to say of several uses: their tokens in per cent, and their counts.
type summary struct {
	runs, over    int
	median, least float64
	counts, most  int
}

// summarize takes the uses of a corpus, or of all, with so many tokens at least.
func summarize(list []use, corpus string, even bool, from int) (s summary) {
	var used []float64
	var counts []int
	for _, u := range list {
		if u.even != even || u.tokens < from || u.corpus != corpus && corpus != "all" {
			continue
		}
		used = append(used, 100*float64(u.used)/float64(u.tokens))
		counts = append(counts, u.counts)
		if u.used > u.tokens {
			s.over++
		}
	}
	s.runs = len(used)
	s.median, s.least, _ = median(used)
	s.counts, _, s.most = median(counts)
	return s
}

// printGuess prints what becomes of a budget in bytes that is four times the tokens.
func printGuess(out io.Writer, all []corpus) error {
	fmt.Fprintln(out, "MaxBytes of four times the tokens instead, where not everything fits")
	for _, c := range all {
		var used []float64
		over := 0
		for _, name := range vocabularies {
			codec, err := tokenizer.Get(name)
			if err != nil {
				return err
			}
			for _, tokens := range sizes {
				b := everything
				b.MaxBytes = 4 * tokens
				p, err := envelope.JSON{}.Render(c.items, b)
				if err != nil {
					return err
				}
				if !short(p.Report) {
					continue
				}
				n, err := codec.Count(p.Content)
				if err != nil {
					return err
				}
				used = append(used, 100*float64(n)/float64(tokens))
				if n > tokens {
					over++
				}
			}
		}
		middle, least, most := median(used)
		fmt.Fprintf(out, "%-8s %3d runs: over %2d; used: median %.0f %%, %.0f to %.0f %%\n",
			c.name, len(used), over, middle, least, most)
	}
	return nil
}

// printCitations prints what one more item of one token costs.
func printCitations(out io.Writer, _ []corpus) error {
	fmt.Fprintln(out, "one more item with the content \"Yes\", in tokens")
	one := cut("handbook", strings.Repeat("Yes. ", 2000))[:2]
	for i := range one {
		one[i].Content = "Yes"
	}
	for _, name := range vocabularies {
		codec, err := tokenizer.Get(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-12s", name)
		for i, r := range []renderer{envelope.JSON{}, sections} {
			n, err := tokens(r, one, codec)
			if err != nil {
				return err
			}
			first, err := tokens(r, one[:1], codec)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "  %s %d", [...]string{"JSON", "Markdown"}[i], n-first)
		}
		fmt.Fprintln(out)
	}
	return nil
}

// tokens returns how many tokens all of the items take.
func tokens(r renderer, items []envelope.Item, codec tokenizer.Codec) (int, error) {
	p, err := r.Render(items, everything)
	if err != nil {
		return 0, err
	}
	return codec.Count(p.Content)
}

// contents returns how many tokens the contents alone take.
func contents(items []envelope.Item, codec tokenizer.Codec) (int, error) {
	sum := 0
	for _, item := range items {
		n, err := codec.Count(item.Content)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// printForms prints what each form takes over the contents.
func printForms(out io.Writer, all []corpus) error {
	fmt.Fprintln(out, "tokens of the text over those of the contents, everything delivered")
	for _, name := range vocabularies {
		codec, err := tokenizer.Get(name)
		if err != nil {
			return err
		}
		for _, c := range all {
			bare, err := contents(c.items, codec)
			if err != nil {
				return err
			}
			json, err := tokens(envelope.JSON{}, c.items, codec)
			if err != nil {
				return err
			}
			markdown, err := tokens(sections, c.items, codec)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%-12s %-8s JSON %+4.0f %%, Markdown %+4.0f %%\n", name, c.name,
				more(json, bare), more(markdown, bare))
		}
	}
	return nil
}

// more is by how many per cent a is more than b.
func more(a, b int) float64 { return 100*float64(a)/float64(b) - 100 }

// printEscapes prints what a class of escapes adds to a text.
func printEscapes(out io.Writer, all []corpus) error {
	fmt.Fprintln(out, "tokens that an escape class adds to the JSON text, everything delivered")
	classes := []struct {
		name   string
		escape envelope.Escape
	}{
		{"controls", envelope.EscapeControls},
		{"invisible", envelope.EscapeInvisible},
		{"markup", envelope.EscapeMarkup},
		{"nonascii", envelope.EscapeNonASCII},
	}
	for _, name := range vocabularies {
		codec, err := tokenizer.Get(name)
		if err != nil {
			return err
		}
		for _, c := range all {
			plain, err := tokens(envelope.JSON{}, c.items, codec)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%-12s %-8s", name, c.name)
			for _, class := range classes {
				n, err := tokens(envelope.JSON{Escape: class.escape}, c.items, codec)
				if err != nil {
					return err
				}
				fmt.Fprintf(out, "  %s %+.0f %%", class.name, more(n, plain))
			}
			fmt.Fprintln(out)
		}
	}
	return nil
}

// printSpeed prints how fast a counter is, and how it takes a single long word.
func printSpeed(out io.Writer, all []corpus) error {
	fmt.Fprintln(out, "time of one count (this machine, now)")
	for _, name := range vocabularies {
		codec, err := tokenizer.Get(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-12s", name)
		for _, c := range all {
			text := ""
			for _, item := range c.items {
				text += item.Content
			}
			_, _ = codec.Count(text)
			taken, err := countTime(codec, text)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "  %s %.0f MB/s", c.name, float64(len(text))/taken.Seconds()/1e6)
		}
		fmt.Fprint(out, "; one word of")
		for _, letters := range []int{10_000, 100_000} {
			taken, err := countTime(codec, strings.Repeat("ab", letters/2))
			if err != nil {
				return err
			}
			fmt.Fprintf(out, " %d letters %.0f ms", letters, 1000*taken.Seconds())
		}
		fmt.Fprintln(out)
	}
	return nil
}

// countTime is the shortest time of three counts.
func countTime(c envelope.Counter, text string) (time.Duration, error) {
	var shortest time.Duration
	for i := range 3 {
		began := time.Now()
		if _, err := c.Count(text); err != nil {
			return 0, err
		}
		if taken := time.Since(began); i == 0 || taken < shortest {
			shortest = taken
		}
	}
	return shortest, nil
}
