package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tiktoken-go/tokenizer"

	"github.com/untrusted-context/envelope"
)

// part is what a byte of a text belongs to.
type part uint8

const (
	framePart    part = iota // the notice, the markers, and what stands between other parts
	citationPart             // where an item is from
	contentPart              // what it says
	escapePart               // what it takes to write that so that it stays inside
	parts
)

var partNames = [parts]string{"frame", "citation", "content", "escapes"}

// cost is the tokens of an item by part.
type cost [parts]int

func (c cost) total() (n int) {
	for _, tokens := range c {
		n += tokens
	}
	return n
}

// costs is where the tokens of a text go: for each item that is delivered, and for what stands
// around them.
type costs struct {
	around int
	items  []cost
}

func (c costs) total() int {
	n := c.around
	for _, item := range c.items {
		n += item.total()
	}
	return n
}

// place is the part and the item, from 1, or 0 around them.
type place struct {
	part part
	item int
}

// attribute counts each token where its first byte stands. Tokens do not end where parts do, so
// that another way to count would come out a few tokens different; the sum would not.
func attribute(text string, codec tokenizer.Codec) (costs, error) {
	_, tokens, err := codec.Encode(text)
	if err != nil {
		return costs{}, err
	}
	if strings.Join(tokens, "") != text {
		return costs{}, errors.New("the tokens are not the text")
	}
	places := jsonPlaces
	if strings.Contains(text, "\n"+envelope.PowerContextTextV1.Begin+"\n") {
		places = markdownPlaces
	}
	of := places(text)
	var c costs
	at := 0
	for _, token := range tokens {
		p := of[at]
		at += len(token)
		if p.item == 0 {
			c.around++
			continue
		}
		for len(c.items) < p.item {
			c.items = append(c.items, cost{})
		}
		c.items[p.item-1][p.part]++
	}
	return c, nil
}

// jsonPlaces says of each byte of an envelope where it belongs.
func jsonPlaces(text string) []place {
	of := make([]place, len(text))
	items, err := envelope.JSON{}.Open(text)
	if err != nil {
		return of
	}
	mark := func(from, to int, p place) {
		for i := from; i < to; i++ {
			of[i] = p
		}
	}
	at := 0
	for i, item := range items {
		citation := string(item.Citation.(json.RawMessage))
		const before, between = `{"citation":`, `,"content":"`
		start := at + strings.Index(text[at:], before+citation+between)
		at = start + len(before) + len(citation) + len(between)
		mark(start, at, place{framePart, i + 1})
		mark(start+len(before), at-len(between), place{citationPart, i + 1})
		for text[at] != '"' {
			n, p := 1, contentPart
			if text[at] == '\\' {
				if n, p = 2, escapePart; text[at+1] == 'u' {
					n = 6
				}
			}
			mark(at, at+n, place{p, i + 1})
			at += n
		}
		end := at + strings.IndexByte(text[at:], '}') + 1
		mark(at, end, place{framePart, i + 1})
		at = end
	}
	return of
}

// markdownPlaces says the same of a text for reading.
func markdownPlaces(text string) []place {
	const heading, metadata, body = "### ", "    ", ">     "
	var of []place
	item := 0
	for line := range strings.Lines(text) {
		p, prefix := framePart, 0
		switch {
		case strings.HasPrefix(line, heading):
			item++
		case strings.HasPrefix(line, metadata+"Truncated: "):
		case strings.HasPrefix(line, metadata):
			p = citationPart
		case strings.HasPrefix(line, body):
			p, prefix = contentPart, len(body)
		case line != "\n":
			for i := len(of) - 1; i >= 0 && of[i] == (place{framePart, item}); i-- {
				of[i] = place{} // the blank line belongs to what follows
			}
			of = append(of, make([]place, len(line))...)
			continue
		}
		for i := range len(line) {
			if i < prefix {
				of = append(of, place{escapePart, item})
			} else {
				of = append(of, place{p, item})
			}
		}
	}
	return of
}

// printTable prints what each item of the report costs.
func printTable(out io.Writer, c costs, r envelope.Report) {
	fmt.Fprintf(out, "%-6s %-10s %7s %7s", "item", "outcome", "bytes", "tokens")
	for _, p := range [...]part{citationPart, contentPart, escapePart, framePart} {
		fmt.Fprintf(out, " %9s", partNames[p])
	}
	fmt.Fprintln(out)
	k := 0
	for i, item := range r.Items {
		fmt.Fprintf(out, "%-6d %-10s", i, item.Outcome)
		if item.Outcome.Delivered() && k < len(c.items) {
			of := c.items[k]
			k++
			fmt.Fprintf(out, " %7d %7d", item.DeliveredBytes, of.total())
			for _, p := range [...]part{citationPart, contentPart, escapePart, framePart} {
				fmt.Fprintf(out, " %9d", of[p])
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "%-6s %-10s %7s %7d %9s %9s %9s %9d\n", "around", "", "", c.around,
		"", "", "", c.around)
	fmt.Fprintf(out, "%-6s %-10s %7d %7d\n", "text", "", r.Bytes, c.total())
}
