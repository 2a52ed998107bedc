package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/readers"
)

var (
	//go:embed view_page.html
	pageSource string
	//go:embed view_page.css
	pageStyle string

	pageTemplate = template.Must(template.New("page").Parse(pageSource))
)

// policy lets the page have its own style and nothing else: no script, no other style, no picture
// and no request. The style is allowed by its hash, so that not even an attribute could add one.
func policy() string {
	sum := sha256.Sum256([]byte(pageStyle))
	hash := base64.StdEncoding.EncodeToString(sum[:])
	return "default-src 'none'; style-src 'sha256-" + hash + "'; " +
		"base-uri 'none'; form-action 'none'"
}

// page is what the template shows. Its strings may hold anything: it is the template that writes
// them as text.
type page struct {
	Policy string
	Style  template.CSS

	Rendered   bool // from items; otherwise of a finished text
	Markdown   bool
	Framed     bool
	Begin, End string

	Verdict string // on a finished text
	Intact  bool
	Place   string   // where it is not intact
	Fault   *excerpt // what stands there

	Total, Whole, Cut, Left int // items
	Ways, Hold, Fail        int // readers: all, right ones, those that the usual way fools

	Story   *story
	Budget  *budgetView
	Items   []itemView
	Text    []section
	Bytes   string
	Readers []readerRow
}

// story is what one reader makes of one item in the usual rendering.
type story struct {
	Item            int
	Reader, Rule    string
	Search          bool // it looks for the marker, and has no lines
	Inside, Outside []piece
	More            int     // bytes of Outside that are not shown
	Here            []piece // the same place in the text
}

// section is a part of the shown text.
type section struct {
	Class  string // frame, labels or content
	Item   int    // of labels and content
	First  bool   // an item begins with it
	Pieces []piece
}

func (p *page) write(w io.Writer) error { return pageTemplate.Execute(w, p) }

func (v *viewing) newPage(u *usual) *page {
	w := v.wrapperInForce()
	p := &page{
		Policy: policy(), Style: template.CSS(pageStyle),
		Markdown: v.format == markdownFormat, Framed: v.anatomy.framed,
		Begin: w.Begin, End: w.End,
		Bytes: number(len(v.text())), Text: v.sections(),
		Readers: v.readAll(v.anatomy, u, v.spelling),
	}
	p.Ways = len(p.Readers)
	for i := range p.Readers {
		row := &p.Readers[i]
		if row.Ours.Holds {
			p.Hold++
		}
		if row.Usual != nil && !row.Usual.Holds {
			p.Fail++
		}
	}
	return p
}

// page is the page about items and what they were rendered to.
func (v *viewing) page(u *usual) *page {
	p := v.newPage(u)
	p.Rendered = true
	p.Total = len(v.items)
	p.Whole, p.Cut = v.report.Count(envelope.Included), v.report.Count(envelope.Truncated)
	p.Left = p.Total - p.Whole - p.Cut
	p.Budget = v.budgetView()
	p.Items = v.itemViews()
	if v.text() != "" {
		p.Story = v.story(p, u)
	}
	return p
}

// textPage is the page about a finished text.
func (v *viewing) textPage(verdict string, intact bool, fault *envelope.Error) *page {
	p := v.newPage(nil)
	p.Verdict, p.Intact = verdict, intact
	text := v.text()
	if fault != nil && fault.Offset >= 0 {
		p.Place = "byte " + number(fault.Offset)
		if fault.Offset < len(text) {
			p.Fault = aroundFault(text, fault.Offset, plainly)
		}
	}
	for k := range v.anatomy.portions {
		q := &v.anatomy.portions[k]
		p.Items = append(p.Items, itemView{
			Index:   k,
			Outcome: "in the text",
			Got:     number(q.delivered),
			Encoded: newExcerpt(text[q.content.Start:q.content.End], v.spelling),
			Decoded: newExcerpt(q.decoded, plainly),
		})
	}
	return p
}

// wholeText is a text that the renderer has not written, as far as its parts can be told.
func (o *options) wholeText(text string) *anatomy {
	a := &anatomy{text: text, framed: true, frame: len(text)}
	w := o.wrapperInForce()
	if o.format == jsonFormat && strings.HasPrefix(text, "{") {
		a.framed, a.inside.End = false, len(text)
		return a
	}
	if begin := strings.Index(text, w.Begin+"\n"); begin >= 0 {
		begin += len(w.Begin) + 1
		if end := strings.LastIndex(text[begin:], "\n"+w.End); end >= 0 {
			a.inside = readers.Span{Start: begin, End: begin + end}
		}
	}
	return a
}

// sections are the parts of the text as they are shown.
func (v *viewing) sections() []section {
	var out []section
	a := v.anatomy
	add := func(class string, item, start, end int, first bool) {
		if start == end {
			return
		}
		sp := v.spelling
		if end <= a.inside.Start || start >= a.inside.End {
			sp = plainly
		}
		out = append(out, section{class, item, first, sp.pieces(a.text[start:end])})
	}
	// The frame before the untrusted part spells nothing, and that around the items may.
	at := a.inside.Start
	add("frame", 0, 0, at, false)
	for _, q := range a.portions {
		add("frame", 0, at, q.whole.Start, false)
		add("labels", q.index, q.whole.Start, q.content.Start, true)
		add("content", q.index, q.content.Start, q.content.End, false)
		add("labels", q.index, q.content.End, q.whole.End, false)
		at = q.whole.End
	}
	add("frame", 0, at, max(at, a.inside.End), false)
	add("frame", 0, max(at, a.inside.End), len(a.text), false)
	return out
}

// How much of the story's text is shown.
const (
	shownBefore  = 60
	shownBehind  = 140
	shownTrusted = 240
)

// story is what the first reader that the usual rendering fools makes of it: a line reader, unless
// only the search is fooled.
func (v *viewing) story(p *page, u *usual) *story {
	var row *readerRow
	for i := range p.Readers {
		r := &p.Readers[i]
		if r.Usual.leak.End > 0 && (row == nil || row.Usual.Lines == noLines) {
			row = r
		}
	}
	if row == nil {
		return nil
	}
	leak := row.Usual.leak
	for k, item := range u.items {
		if leak.Start < item.Start || leak.Start > item.End {
			continue
		}
		q := &v.anatomy.portions[k]
		marker := max(item.Start, strings.LastIndex(u.text[:leak.Start], p.End))
		before := max(item.Start, marker-shownBefore)
		for before < marker && u.text[before]>>6 == 2 {
			before++
		}
		sp := &spelling{escapes: v.spelling.escapes}
		s := &story{Item: q.index, Reader: row.Name, Rule: row.Rule}
		s.Search = row.Usual.Lines == noLines
		s.Inside = sp.pieces(u.text[before:marker])
		outside, more := clip(u.text[leak.Start:min(leak.End, item.End)], shownTrusted)
		s.Outside, s.More = sp.pieces(outside), more+max(0, leak.End-item.End)
		written := v.text()[q.content.Start:q.content.End]
		at := max(0, strings.Index(written, v.spelling.broken[1])-shownBefore)
		for at > 0 && written[at]>>6 == 2 {
			at--
		}
		here, _ := clip(written[at:], shownBefore+len(v.spelling.broken[1])+shownBehind)
		s.Here = v.spelling.pieces(here)
		return s
	}
	return nil
}

// budgetView is where the bytes of the text went.
type budgetView struct {
	Bounds           []bound
	Used, Left, Most string
	Full             []bar // the text within its bound
	Rows             []budgetRow
}

type bound struct{ Name, Value, Meaning string }

// bar is a piece of a picture, in its own units.
type bar struct{ Class, X, W string }

// budgetRow is what the frame, or one item, takes.
type budgetRow struct {
	Name                             string
	Labels, Content, Escapes, Amount string
	Cut                              string
	Bars                             []bar
}

// Widths of the two pictures.
const (
	fullWidth = 1000.0
	rowWidth  = 200.0
)

func (v *viewing) budgetView() *budgetView {
	b, bytes := v.bounds, v.report.Bytes
	most := b.MaxBytes
	view := &budgetView{Used: counted(bytes, "byte"), Most: "no bound", Left: "no bound"}
	if most >= 0 {
		view.Most, view.Left = counted(most, "byte"), counted(most-bytes, "byte")
	} else {
		most = bytes
	}
	value := func(n int) string {
		if n < 0 {
			return "no bound"
		}
		return number(n)
	}
	view.Bounds = []bound{
		{"Bytes of the text", value(b.MaxBytes), "all of it: frame, citations and escapes too"},
		{"Items", value(b.MaxItems), "so many are delivered at most"},
		{"Bytes of one item", value(b.MaxItemBytes), "of its content; a longer one is cut"},
		{"Least bytes of a cut item", value(b.MinTruncatedBytes), "one cut shorter is left out"},
	}

	x := 0
	full := func(class string, n int) {
		view.Full = appendBar(view.Full, class, x, n, fullWidth/float64(max(most, 1)))
		x += n
	}
	full("frame", v.anatomy.frame)
	for _, q := range v.anatomy.portions {
		full("labels", q.labels)
		full("content", q.delivered)
		full("escapes", q.escapes)
	}
	full("left", most-bytes)

	longest := v.anatomy.frame
	portions := map[int]*portion{}
	for k := range v.anatomy.portions {
		q := &v.anatomy.portions[k]
		portions[q.index] = q
		longest = max(longest, q.labels+q.delivered+q.escapes)
	}
	scale := rowWidth / float64(max(2*longest, 1))
	view.Rows = append(view.Rows, budgetRow{
		Name: "Frame", Amount: number(v.anatomy.frame),
		Bars: appendBar(nil, "frame", 0, v.anatomy.frame, scale),
	})
	for i := range v.items {
		row := budgetRow{Name: "Item " + strconv.Itoa(i), Amount: "0"}
		left, x := len(v.items[i].Content), 0
		add := func(class string, n int) string {
			row.Bars = appendBar(row.Bars, class, x, min(n, max(0, 2*longest-x)), scale)
			x += n
			return number(n)
		}
		if q := portions[i]; q != nil {
			left -= q.kept
			row.Amount = number(q.labels + q.delivered + q.escapes)
			row.Labels, row.Content = add("labels", q.labels), add("content", q.delivered)
			row.Escapes = add("escapes", q.escapes)
		}
		if left > 0 {
			row.Cut = add("cut", left)
		}
		view.Rows = append(view.Rows, row)
	}
	return view
}

func appendBar(bars []bar, class string, x, n int, scale float64) []bar {
	if n == 0 {
		return bars
	}
	units := func(n int) string {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)*scale), ".0")
	}
	return append(bars, bar{class, units(x), units(n)})
}
