package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/quote"
)

// How much of a content is shown beside the text itself, which is shown whole.
const shownContent = 6000

// itemView is what became of one item.
type itemView struct {
	Index     int
	Kind      []piece
	Outcome   string
	Delivered bool
	Why       string
	Error     string
	Source    string // bytes
	Got       string // bytes delivered
	Cut       string
	Carries   []string // what in it could be mistaken
	Hostile   bool     // it has a marker

	Citation []piece
	Encoded  *excerpt // as it stands in the text
	Decoded  *excerpt // what a reader gets of it
	LeftOut  *excerpt // of the source
	Fault    *excerpt // around what is wrong
}

// excerpt is a text for people, or as much of it as is shown.
type excerpt struct {
	Pieces []piece
	More   string // bytes that are not shown, "" when it is all there
}

func newExcerpt(s string, sp *spelling) *excerpt {
	head, more := clip(s, shownContent)
	e := &excerpt{Pieces: sp.pieces(head)}
	if more > 0 {
		e.More = counted(more, "byte")
	}
	return e
}

// plainly is how a text that is no rendering spells characters: as they are.
var plainly = &spelling{}

// itemViews are the items of the input, in its order.
func (v *viewing) itemViews() []itemView {
	views := make([]itemView, len(v.items))
	for i := range v.items {
		views[i] = v.itemView(i)
	}
	for k := range v.anatomy.portions {
		q := &v.anatomy.portions[k]
		view := &views[q.index]
		view.Encoded = newExcerpt(v.text()[q.content.Start:q.content.End], v.spelling)
		view.Decoded = newExcerpt(q.decoded, plainly)
		if q.truncated {
			source := v.items[q.index].Content
			view.LeftOut = newExcerpt(source[q.kept:], plainly)
			view.Cut = fmt.Sprintf("behind byte %s; %s left out",
				number(q.kept), counted(len(source)-q.kept, "byte"))
		}
	}
	return views
}

func (v *viewing) itemView(i int) itemView {
	item, r := v.items[i], v.report.Items[i]
	view := itemView{
		Index: i, Kind: plainly.pieces(kindOf(item)), Outcome: r.Outcome.String(),
		Delivered: r.Outcome.Delivered(), Source: number(r.SourceBytes),
		Got: number(r.DeliveredBytes), Why: v.why(i),
	}
	if raw, ok := item.Citation.(json.RawMessage); ok {
		head, _ := clip(string(raw), shownContent)
		view.Citation = plainly.pieces(head)
	}
	content := item.Content
	if !r.Outcome.Delivered() {
		view.LeftOut = newExcerpt(content, plainly)
	}
	if r.Err != nil {
		view.Error = strings.TrimPrefix(r.Err.Error(), "envelope: ")
		var e *envelope.Error
		inside := errors.As(r.Err, &e) && e.Field == "content"
		if inside && 0 <= e.Offset && e.Offset < len(content) {
			view.Fault = aroundFault(content, e.Offset, plainly)
		}
	}
	view.Carries, view.Hostile = v.carries(content, string(usualJSON(item.Citation)))
	return view
}

// aroundFault is what stands around byte at of s, with that byte marked.
func aroundFault(s string, at int, sp *spelling) *excerpt {
	const around = 60
	from := max(0, at-around)
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	_, size := utf8.DecodeRuneInString(s[at:])
	end := min(len(s), at+max(size, 1))
	after, _ := clip(s[end:], around)
	runs := sp.pieces(s[from:at])
	fault := sp.pieces(s[at:end])
	for k := range fault {
		fault[k].Fault = true
	}
	return &excerpt{Pieces: append(append(runs, fault...), sp.pieces(after)...)}
}

// why is the outcome of an item in words.
func (v *viewing) why(i int) string {
	r, b := v.report.Items[i], v.bounds
	unlimited := func(n int, what string) string {
		if n < 0 {
			return "without a bound"
		}
		return counted(n, what)
	}
	switch r.Outcome {
	case envelope.Included:
		return "delivered whole"
	case envelope.Truncated:
		if v.roomy != nil && v.roomy.Items[i] == r {
			most := unlimited(b.MaxItemBytes, "byte")
			return fmt.Sprintf("cut: longer than one item may be, %s", most)
		}
		return fmt.Sprintf("cut: the text, at most %s, had no room for more",
			unlimited(b.MaxBytes, "byte"))
	case envelope.Unselected:
		return "left out: no section takes its kind"
	case envelope.Uncited:
		return "left out: it does not say where it is from"
	case envelope.Malformed:
		return "left out: it is not well formed"
	case envelope.Blank:
		return "left out: it has only white space"
	case envelope.Duplicate:
		return "left out: an earlier item has the same kind and citation"
	case envelope.OverLimit:
		return fmt.Sprintf("left out: as many items as may be are delivered, %s at most",
			unlimited(b.MaxItems, "item"))
	case envelope.TooShort:
		return fmt.Sprintf("left out: it would have been cut to less than %s",
			unlimited(b.MinTruncatedBytes, "byte"))
	}
	return fmt.Sprintf("left out: the text, at most %s, had no room for it",
		unlimited(b.MaxBytes, "byte"))
}

// carries says what an item has that somebody could take for something else.
func (v *viewing) carries(content, citation string) (has []string, hostile bool) {
	w := v.wrapperInForce()
	for _, part := range []struct{ text, where string }{
		{content, ""}, {citation, " in its citation"},
	} {
		for _, m := range []struct{ text, name string }{{w.Begin, "BEGIN"}, {w.End, "END"}} {
			if n := strings.Count(part.text, m.text); n > 0 {
				has = append(has, fmt.Sprintf("%s marker ×%s%s", m.name, number(n), part.where))
				hostile = true
			}
		}
		var ends, controls, bidi, invisible, bad int
		for i, r := range part.text {
			switch {
			case r == utf8.RuneError && !strings.HasPrefix(part.text[i:], "\ufffd"):
				bad++
			case r == '\n' || r == '\r' || r == '\t':
			case quote.LineBoundary(r):
				ends++
			case quote.Control(r):
				controls++
			case 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069:
				bidi++
			case quote.IsInvisible(r):
				invisible++
			}
		}
		for _, c := range []struct {
			n    int
			name string
		}{
			{ends, "line ends that only some programs know"}, {controls, "control codes"},
			{bidi, "characters that change the direction of writing"},
			{invisible, "invisible characters"}, {bad, "bytes that are not UTF-8"},
		} {
			if c.n > 0 {
				has = append(has, fmt.Sprintf("%s ×%s%s", c.name, number(c.n), part.where))
			}
		}
	}
	return has, hostile
}
