package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/quote"
	"github.com/untrusted-context/envelope/internal/readers"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// anatomy is a rendered text in its parts. All sizes are of the text itself.
type anatomy struct {
	text   string
	framed bool
	inside readers.Span // between the lines of the markers; the whole text when it has none
	frame  int          // the bytes that belong to no item
	// portions are the items in the order of the text.
	portions []portion
}

// portion is what one item takes of a text.
type portion struct {
	index   int // of the item in the input
	whole   readers.Span
	content readers.Span // as it is written
	decoded string       // what a reader gets of it: of Markdown, as it is displayed

	kept      int // the bytes of the source that were delivered
	truncated bool

	// What the item takes: its citation and labels; its content, as it is delivered; and what
	// escapes add, in Markdown with the prefix of each line.
	labels, delivered, escapes int
}

// bodyPrefix begins each line of a content in Markdown.
const bodyPrefix = ">     "

// dissectAll is the text of p in its parts, each of which belongs to one of the items.
func (o *options) dissectAll(items []envelope.Item, p envelope.Prepared) (*anatomy, error) {
	a, err := o.dissect(p.Content)
	if err != nil {
		return nil, err
	}
	order := o.order(items, p.Report)
	if len(order) != len(a.portions) {
		return nil, errors.New("the text has other items than the report")
	}
	sum := a.frame
	for k := range a.portions {
		q := &a.portions[k]
		q.index = order[k]
		source, r := items[q.index].Content, &p.Report.Items[q.index]
		q.kept, q.truncated = len(source), r.Outcome == envelope.Truncated
		if q.truncated {
			q.kept = o.cut(source, r.DeliveredBytes)
		}
		if o.format == markdownFormat {
			o.displayed(q, source[:q.kept])
		}
		sum += q.labels + q.delivered + q.escapes
		if q.delivered != r.DeliveredBytes {
			const other = "item %d has another size in the text than in the report"
			return nil, fmt.Errorf(other, q.index)
		}
	}
	if sum != p.Report.Bytes {
		return nil, errors.New("the parts of the text are not the whole")
	}
	return a, nil
}

// displayed measures an item of Markdown, whose delivered bytes are those of its display form.
func (o *options) displayed(q *portion, source string) {
	_, _, q.delivered, _ = o.display().AppendString(nil, source, math.MaxInt/2, math.MaxInt/2)
	if q.truncated {
		q.delivered += len("…")
	}
	q.escapes = q.content.End - q.content.Start - q.delivered
}

// order has the indexes of the delivered items in the order of the text.
func (o *options) order(items []envelope.Item, r envelope.Report) []int {
	var order []int
	for i := range r.Items {
		if r.Items[i].Outcome.Delivered() {
			order = append(order, i)
		}
	}
	if o.format == markdownFormat {
		kinds := []string{"memory", "experience"}
		if o.sections != nil {
			kinds = nil
			for _, section := range o.sections {
				kinds = append(kinds, section.Kind)
			}
		}
		section := func(i int) int { return slices.Index(kinds, kindOf(items[i])) }
		slices.SortStableFunc(order, func(i, j int) int { return section(i) - section(j) })
	}
	return order
}

func kindOf(item envelope.Item) string {
	if item.Kind == "" {
		return "memory"
	}
	return item.Kind
}

// wrapperInForce is the wrapper that texts of these options have.
func (o *options) wrapperInForce() envelope.Wrapper {
	switch {
	case o.wrapper != envelope.Wrapper{}:
		return o.wrapper
	case o.format == markdownFormat:
		return envelope.PowerContextTextV1
	}
	return envelope.PowerContextV1
}

var errNotRendered = errors.New("not a text of this renderer")

// dissect is a text that the renderer of these options has written, in its parts.
func (o *options) dissect(text string) (*anatomy, error) {
	a := &anatomy{text: text, inside: readers.Span{Start: 0, End: len(text)}}
	w := o.wrapperInForce()
	before := w.Notice + "\n\n" + w.Begin + "\n"
	if o.format == markdownFormat {
		before = "\n" + w.Begin + "\n"
	}
	switch at := strings.Index(text, before); {
	case at >= 0 && strings.HasSuffix(text, "\n"+w.End):
		a.framed = true
		a.inside = readers.Span{Start: at + len(before), End: len(text) - len("\n"+w.End)}
	case text == "":
		return a, nil
	case o.format == markdownFormat || text[0] != '{':
		return nil, errNotRendered
	}
	var err error
	if o.format == markdownFormat {
		a.markdown()
	} else {
		err = a.json()
	}
	a.frame = len(text)
	for _, q := range a.portions {
		a.frame -= q.whole.End - q.whole.Start
	}
	return a, err
}

// json finds the items of the line.
func (a *anatomy) json() error {
	data := []byte(a.text[:a.inside.End])
	s := strictjson.Scanner{Data: data, MaxDepth: maxDepth}
	if end, fault := s.Value(a.inside.Start); fault != nil || end != len(data) {
		return errNotRendered
	}
	if data[a.inside.Start] != '{' {
		return errNotRendered
	}
	for _, m := range s.Members(a.inside.Start) {
		if string(m.Name) != "items" || data[m.ValueStart] != '[' {
			continue
		}
		s.Elements(m.ValueStart, func(start, end int) {
			q := portion{index: len(a.portions), whole: readers.Span{Start: start, End: end}}
			q.content, q.labels = readers.Span{Start: start, End: start}, end-start
			if data[start] == '{' {
				q.json(&s, data)
			}
			a.portions = append(a.portions, q)
		})
	}
	return nil
}

func (q *portion) json(s *strictjson.Scanner, data []byte) {
	for _, m := range s.Members(q.whole.Start) {
		if string(m.Name) == "content" && data[m.ValueStart] == '"' {
			q.content = readers.Span{Start: m.ValueStart + 1, End: m.ValueEnd - 1}
			q.decoded = string(strictjson.Decode(data[m.ValueStart:m.ValueEnd]))
		}
	}
	written := q.content.End - q.content.Start
	q.delivered = len(q.decoded)
	q.escapes = written - q.delivered
	q.labels = q.whole.End - q.whole.Start - written
}

// markdown finds the items by how their lines begin, which nothing inside of an item can change.
func (a *anatomy) markdown() {
	var q *portion
	finish := func() {
		if q != nil && q.content.Start > 0 {
			q.whole.End = q.content.End
			body := a.text[q.content.Start:q.content.End]
			body = strings.TrimPrefix(body, bodyPrefix)
			q.decoded = strings.ReplaceAll(body, "\n"+bodyPrefix, "\n")
			q.labels = q.content.Start - q.whole.Start
			q.delivered = len(q.decoded)
			q.escapes = q.content.End - q.content.Start - q.delivered
		}
		q = nil
	}
	at := a.inside.Start
	for line := range strings.SplitSeq(a.text[a.inside.Start:a.inside.End], "\n") {
		end := at + len(line)
		switch {
		case strings.HasPrefix(line, "### "):
			finish()
			a.portions = append(a.portions, portion{
				index: len(a.portions), whole: readers.Span{Start: at, End: end}})
			q = &a.portions[len(a.portions)-1]
		case strings.HasPrefix(line, bodyPrefix) && q != nil:
			if q.content.Start == 0 {
				q.content.Start = at
			}
			q.content.End = end
		}
		at = end + 1
	}
	finish()
}

// cut is the byte of a truncated content's source behind which nothing was delivered.
func (o *options) cut(source string, delivered int) int {
	kept := delivered - len("…")
	if o.format == jsonFormat {
		return kept
	}
	_, n, _, _ := o.display().AppendString(nil, source, kept, math.MaxInt/2)
	return n
}

// display is the display form of Markdown, without what begins its lines.
func (o *options) display() *quote.Display { return quote.NewDisplay("\n", o.invisible) }
