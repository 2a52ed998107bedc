package main

import (
	"fmt"
	"html"
	"os"
	"strings"

	"github.com/tiktoken-go/tokenizer"

	"github.com/untrusted-context/envelope"
)

// drawFile draws the items in the order that they are in and shared, each in the tokens of b.
func drawFile(
	name string, r renderer, items []envelope.Item, b envelope.Budget, codec tokenizer.Codec,
) error {
	var panels []panel
	for _, even := range []bool{false, true} {
		b.Even = even
		p, err := r.Render(items, b)
		if err != nil {
			return err
		}
		c, err := attribute(p.Content, codec)
		if err != nil {
			return err
		}
		title := "in order"
		if even {
			title = "Even"
		}
		panels = append(panels, panel{
			title: fmt.Sprintf("%s: %d tokens of %d", title, c.total(), b.MaxTokens),
			costs: c, report: p.Report,
		})
	}
	return os.WriteFile(name, draw(panels), 0o666)
}

// panel is one rendering.
type panel struct {
	title  string
	costs  costs
	report envelope.Report
}

// draw draws a bar for each item, and one for what stands around them. It has no background, and
// its colours are to be told apart on a light one and on a dark one.
func draw(panels []panel) []byte {
	const row, left, right, width, top = 22, 96, 60, 460, 52
	colours := [parts]string{"#8b949e", "#d29922", "#388bfd", "#f85149"}
	longest, rows := 1, 0
	for _, p := range panels {
		longest = max(longest, p.costs.around)
		rows = max(rows, len(p.report.Items)+1)
		for _, item := range p.costs.items {
			longest = max(longest, item.total())
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"`+
		` font-family="sans-serif" font-size="12">`+"\n",
		len(panels)*(left+width+right), top+rows*row+12)
	b.WriteString(`<style>text{fill:#1f2328}` +
		`@media(prefers-color-scheme:dark){text{fill:#e6edf3}}</style>` + "\n")
	for k, p := range panels {
		x := k * (left + width + right)
		fmt.Fprintf(&b, `<text x="%d" y="18" font-weight="bold">%s</text>`+"\n",
			x+left, html.EscapeString(p.title))
		at := x + left
		for _, part := range [...]part{citationPart, contentPart, escapePart, framePart} {
			fmt.Fprintf(&b, `<rect x="%d" y="29" width="10" height="10" fill="%s"/>`+
				`<text x="%d" y="38">%s</text>`+"\n",
				at, colours[part], at+14, partNames[part])
			at += 80
		}
		y, delivered := top, 0
		bar := func(name, note string, c cost) {
			fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n",
				x+left-8, y+14, name)
			at := float64(x + left)
			for _, part := range [...]part{citationPart, contentPart, escapePart, framePart} {
				w := float64(c[part]) * width / float64(longest)
				if c[part] > 0 {
					fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+
						"\n", at, y+2, w, row-6, colours[part])
				}
				at += w
			}
			if n := c.total(); n > 0 {
				note = fmt.Sprint(n, note)
			}
			fmt.Fprintf(&b, `<text x="%.1f" y="%d">%s</text>`+"\n", at+5, y+14, note)
			y += row
		}
		bar("around", "", cost{framePart: p.costs.around})
		for i, item := range p.report.Items {
			c, note := cost{}, item.Outcome.String()
			if item.Outcome.Delivered() && delivered < len(p.costs.items) {
				c, note = p.costs.items[delivered], ""
				delivered++
				if item.Outcome == envelope.Truncated {
					note = ", cut"
				}
			}
			bar(fmt.Sprint("item ", i), note, c)
		}
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
