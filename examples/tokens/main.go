// Tokens renders items in a number of tokens, and shows what each item costs of them.
//
//	go run . -tokens 1000 items.jsonl            the text
//	go run . -tokens 1000 -table items.jsonl     a table: what each part of each item costs
//	go run . -tokens 1000 -svg out.svg items.jsonl   a picture: in order, and shared
//	go run . -figures                            the figures of docs/budgets.md
//
// The items are JSON objects, one a line, with the members kind, citation and content. The
// vocabularies are in the program: nothing is downloaded.
//
// A counter is asked several times for texts of about the size of the budget. One that takes time
// in the square of the longest word takes seconds for a single word of 100,000 letters, which
// whoever writes an item can write. The one used here is linear; -figures shows it. Try your own.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/tiktoken-go/tokenizer"

	"github.com/untrusted-context/envelope"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "tokens:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out, diagnostics io.Writer) error {
	f := flag.NewFlagSet("tokens", flag.ContinueOnError)
	f.SetOutput(diagnostics)
	var (
		b          = envelope.Budget{MaxBytes: envelope.Unlimited}
		markdown   = f.Bool("markdown", false, "render for reading, not as a JSON envelope")
		vocabulary = f.String("vocabulary", string(tokenizer.O200kBase),
			"o200k_base or cl100k_base")
		table   = f.Bool("table", false, "print what each item costs, not the text")
		svg     = f.String("svg", "", "draw what each item costs into this `file`")
		figures = f.Bool("figures", false, "print the figures of docs/budgets.md")
	)
	f.IntVar(&b.MaxTokens, "tokens", 1000, "maximum tokens of the text (-1: no bound)")
	f.IntVar(&b.MaxItems, "max-items", 0, "maximum number of items (0: 8, -1: no bound)")
	f.IntVar(&b.MaxItemBytes, "max-item-bytes", 0,
		"maximum bytes of one item's content (0: 2000, -1: no bound)")
	f.BoolVar(&b.Even, "even", false, "share the tokens between the items")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *figures {
		return printFigures(out)
	}
	codec, err := tokenizer.Get(tokenizer.Encoding(*vocabulary))
	if err != nil {
		return err
	}
	b.Counter = codec
	if name := f.Arg(0); name != "" && name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	items, err := readItems(in)
	if err != nil {
		return err
	}
	r := renderer(envelope.JSON{})
	if *markdown {
		r = envelope.Markdown{}
	}
	p, err := r.Render(items, b)
	if err != nil {
		return err
	}
	if *svg != "" {
		if err := drawFile(*svg, r, items, b, codec); err != nil {
			return err
		}
	}
	switch {
	case *table:
		costs, err := attribute(p.Content, codec)
		if err != nil {
			return err
		}
		printTable(out, costs, p.Report)
	case *svg == "":
		fmt.Fprintln(out, p.Content)
	}
	return nil
}

// renderer is either form of a text.
type renderer interface {
	Render([]envelope.Item, envelope.Budget) (envelope.Prepared, error)
}

func readItems(in io.Reader) ([]envelope.Item, error) {
	var items []envelope.Item
	d := json.NewDecoder(bufio.NewReader(in))
	for {
		var item struct {
			Kind     string
			Citation json.RawMessage
			Content  string
		}
		if err := d.Decode(&item); err == io.EOF {
			return items, nil
		} else if err != nil {
			return nil, fmt.Errorf("item %d: %w", len(items), err)
		}
		items = append(items, envelope.Item{
			Kind: item.Kind, Citation: item.Citation, Content: item.Content,
		})
	}
}
