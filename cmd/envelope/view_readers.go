package main

import (
	"fmt"
	"strings"

	"github.com/untrusted-context/envelope/internal/readers"
)

// How much of a part is shown, and how many parts of a reading.
const (
	shownExcerpt = 160
	shownParts   = 12
)

// noLines is how many lines a reader finds that has none.
const noLines = "no lines"

// readerRow is one way of reading, and what it finds in the text and in the usual rendering.
type readerRow struct {
	Name, Rule  string
	Documented  bool
	Ours, Usual *readingView
}

// readingView is what a reader finds.
type readingView struct {
	Lines, Begins, Ends string
	Holds               bool
	Verdict             string
	Parts               []partView
	More                int // parts that are not shown

	leak readers.Span // the first content that it takes for trusted; empty when there is none
}

// partView is a part of a text and what the reader takes it for.
type partView struct {
	Place  string
	Forged bool // it is not what it is taken for
	Bytes  string
	Pieces []piece
	More   int // bytes that are not shown
}

// readAll reads the text, and the usual rendering if there is one, in every way.
func (o *options) readAll(a *anatomy, u *usual, sp *spelling) []readerRow {
	w := o.wrapperInForce()
	var rows []readerRow
	for i := range readers.Ways {
		way := &readers.Ways[i]
		if way.JSON && o.format == markdownFormat {
			continue
		}
		read := func(text string, inside readers.Span, sp *spelling) *readingView {
			begin := w.Begin
			if way.JSON && !a.framed {
				begin = ""
			}
			r := way.Read(text, begin, w.End)
			return newReadingView(way, &r, text, inside, a.framed, sp)
		}
		row := readerRow{Name: way.Name, Rule: way.Rule, Documented: way.Documented}
		row.Ours = read(a.text, a.inside, sp)
		if u != nil {
			row.Usual = read(u.text, u.inside, &spelling{escapes: sp.escapes})
		}
		rows = append(rows, row)
	}
	return rows
}

func newReadingView(
	way *readers.Way, r *readers.Reading, text string, inside readers.Span, framed bool,
	sp *spelling,
) *readingView {
	v := &readingView{
		Lines: number(r.Lines), Begins: number(r.Begins), Ends: number(r.Ends),
	}
	want := 0
	if framed {
		want = 1
	}
	trusted, forged := 0, 0 // of what is inside: bytes taken for the outside, and for markers
	for _, p := range r.Parts {
		part := readers.Span{
			Start: max(p.Start, inside.Start), End: min(p.End, inside.End),
		}
		held := part.Start < part.End
		switch {
		case held && framed && p.Place == readers.Outside && !way.JSON:
			trusted += part.End - part.Start
			if v.leak.End == 0 && strings.TrimSpace(text[part.Start:part.End]) != "" {
				v.leak = part
			}
		case held && p.Place != readers.Inside && p.Place != readers.Outside:
			forged++
		}
		if len(v.Parts) == shownParts {
			v.More++
			continue
		}
		v.Parts = append(v.Parts, newPartView(p, text, held && p.Place != readers.Inside, sp))
	}
	switch {
	case way.JSON:
		v.Lines, v.Begins, v.Ends = noLines, "not asked", "not asked"
		if v.Holds = r.Values == 1; v.Holds {
			v.Verdict = "holds: one value"
		} else {
			v.Verdict = "no JSON value is there"
		}
		return v
	case way.Search:
		v.Lines = noLines
	}
	v.Holds = r.Begins == want && r.Ends == want && forged == 0 && trusted == 0
	switch {
	case v.Holds && framed:
		v.Verdict = "holds"
	case v.Holds:
		v.Verdict = "no marker in it"
	case forged > 0 && framed:
		v.Verdict = fmt.Sprintf("forged: %s of items %s trusted",
			counted(trusted, "byte"), map[bool]string{true: "seems", false: "seem"}[trusted == 1])
	case forged > 0:
		v.Verdict = "a marker stands in it"
	default:
		v.Verdict = "not one BEGIN and one END"
	}
	return v
}

func newPartView(p readers.Part, text string, forged bool, sp *spelling) partView {
	names := [...]string{"outside", "BEGIN", "inside", "END"}
	v := partView{Place: names[p.Place], Bytes: counted(p.End-p.Start, "byte"), Forged: forged}
	part := text[p.Start:p.End]
	part, v.More = clip(part, shownExcerpt)
	v.Pieces = sp.pieces(part)
	return v
}
