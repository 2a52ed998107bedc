package envelope

import (
	"math"
)

// share returns the item bound for the next pass over the items, after one that did not have room
// for all of them: the largest with which every candidate is delivered, or the least with which
// each by itself could be. It may write to buf behind the start of the items.
//
// What a text takes with an item bound is what its items take outside of their contents, which
// the pass before has measured, and what the contents take when the trimmer cuts them, the last
// one to the least that it may have. That grows with the bound but for two steps down: a bound
// that reaches invalid UTF-8 makes the item Malformed, and then it takes nothing; and an ellipsis
// that is written as an escape can be longer than what it stands for.
func share[M meter](
	m M, piece int, marks *markers, buf []byte, sel *selection, s *space,
) (size int, out []byte) {
	v := &s.survey
	least, most := min(max(s.min, 1), s.item), s.item
	h := sharing{sel: sel, survey: v, min: s.min, all: s.end - v.start, piece: piece}
	out = buf[:v.start]
	out, h.lastSize = leastSize(m, marks, out, &h, least)
	// With a bound below low, what is Malformed may not be.
	low, found, whole := max(least, min(v.admits+1, most)), 0, false
	if !v.lost && v.passes <= maxSurveys {
		out, found, whole = largest(m, marks, out, &h, low, most)
	}
	v.on, v.over = false, false
	switch {
	case whole:
		// Where something is Malformed, a pass has to tell whether it still is.
		size, v.on = found, found < most && v.admits > 0
	case v.admits > least && most > least && v.passes <= maxSurveys:
		size, v.on = min(v.admits, most-1), true
	default:
		out, size = smallest(m, marks, out, &h, least, most)
	}
	sel.restart(size)
	return size, out
}

// maxSurveys bounds the passes where items with invalid UTF-8 come and go with the bound.
const maxSurveys = 16

// sharing is what it takes to find an item bound with which the contents have room. The meter, the
// markers and the buffer are apart from it, and it is on the stack with all that it points to.
type sharing struct {
	sel    *selection
	survey *survey
	min    int // the least that a cut content may hold
	all    int // room for the items
	piece  int // the longest piece of content that no cut divides

	lastSize int // the item bound with which the last item takes the least
}

// sizeOf returns the item bound for item i when that of all is size.
func (h *sharing) sizeOf(i, size int) int {
	if i == h.survey.last {
		return min(size, h.lastSize)
	}
	return size
}

// leastSize returns the smallest item bound, from least on, with which the last item is delivered.
func leastSize[M meter](
	m M, marks *markers, buf []byte, h *sharing, least int,
) (out []byte, size int) {
	start, content := len(buf), h.sel.items[h.survey.last].Content
	for size = least; size < least+h.piece+len(ellipsis); size++ {
		var t trimmed
		a := allowance{size: size, min: h.min, room: h.all, roomCut: h.all}
		if buf, t = trim(m, marks, buf, content, a); t.outcome.Delivered() {
			break
		}
	}
	return buf[:start], size
}

// contents returns what the contents take when no item has more than size bytes of content and the
// last no more than it needs, and whether every item can then be delivered. It writes to the spare
// capacity of buf.
func contents[M meter](
	m M, marks *markers, buf []byte, h *sharing, size int,
) (out []byte, written int, whole bool) {
	start := len(buf)
	whole = true
	for i := range h.sel.report {
		if !h.sel.report[i].Outcome.Delivered() {
			continue
		}
		a := allowance{size: h.sizeOf(i, size), min: h.min, room: h.all, roomCut: h.all}
		var t trimmed
		buf, t = trim(m, marks, buf, h.sel.items[i].Content, a)
		written += len(buf) - start
		buf = buf[:start]
		if t.outcome == Truncated {
			written += h.survey.newest.cutTail
		}
		whole = whole && t.outcome.Delivered()
	}
	return buf, written, whole
}

// largest returns the largest size from least to most with which the contents have room, or less
// than least, and whether every item can then be delivered.
func largest[M meter](
	m M, marks *markers, buf []byte, h *sharing, least, most int,
) (out []byte, size int, whole bool) {
	room := h.all - h.survey.fixed
	low, high := spent{size: least - 1}, spent{size: most + 1}
	if room <= 0 {
		return buf, low.size, false
	}
	dips := len(m.dots()) > len(ellipsis) // then an ellipsis may take more than what it stands for
	for tries := 0; tries < maxTries; tries++ {
		next := low.size + (high.size-low.size)/2
		if high.size-low.size <= 1 {
			next = low.size + 2
			if !dips || next <= high.size || next > most {
				break
			}
		} else if tries < 8 || tries%2 == 0 {
			next = h.between(low, high, room)
		}
		var n int
		var all bool
		buf, n, all = contents(m, marks, buf, h, next)
		switch {
		case n > room && next > high.size:
			return buf, low.size, whole
		case n > room:
			high = spent{next, n}
		default:
			if next > high.size {
				high = spent{size: most + 1}
			}
			low, whole = spent{next, n}, all
			if room-n < h.growth(next) {
				return buf, low.size, whole
			}
		}
	}
	return buf, low.size, whole
}

// maxTries is more than halving the space between any two sizes takes.
const maxTries = 256

// spent is an item bound and what the contents take with it, 0 when that is not known.
type spent struct{ size, written int }

// between returns the size between low and high with which the contents should just have room, if
// what they take grows in step with what is delivered.
func (h *sharing) between(low, high spent, room int) int {
	from, rate := 0, 1.0
	if h.survey.size > 0 {
		rate = float64(h.survey.kept) / float64(h.survey.size)
	}
	if low.written > 0 {
		from = h.delivered(low.size)
		rate = float64(low.written) / float64(from)
	}
	if high.written > 0 {
		rate = float64(high.written-low.written) / float64(h.delivered(high.size)-from)
	}
	target := from + int(float64(room-low.written)/rate)
	a, b := low.size, high.size
	for b-a > 1 {
		if middle := a + (b-a)/2; h.delivered(middle) <= target {
			a = middle
		} else {
			b = middle
		}
	}
	return min(max(a, low.size+1), high.size-1)
}

// delivered returns how many bytes of content there are when no item has more than size, taking
// contents for as long in the text as they are.
func (h *sharing) delivered(size int) int {
	n := 0
	for i := range h.sel.report {
		if r := &h.sel.report[i]; r.Outcome.Delivered() {
			n += min(r.DeliveredBytes, h.sizeOf(i, size))
		}
	}
	return n
}

// growth returns by how many bytes the contents grow at least when the size grows by more than
// nearBytes: each that is cut, but for the last, fills the new size up to a piece. With room for
// less than that there is no need to look for a size that is a little larger.
func (h *sharing) growth(size int) int {
	each := max(nearBytes+1-(h.piece-1), 0)
	n := 0
	for i := range h.sel.report {
		r := &h.sel.report[i]
		if r.Outcome.Delivered() && r.DeliveredBytes > size+nearBytes && i != h.survey.last {
			n += each
		}
	}
	return n
}

// nearBytes is how much larger another size may be that would have done.
const nearBytes = 8

// smallest returns the smallest size from least on with which every item can be delivered, were
// there room for it, or least. It is more than that where characters are wide.
func smallest[M meter](
	m M, marks *markers, buf []byte, h *sharing, least, most int,
) (out []byte, size int) {
	for size := least; size <= min(most, least+h.piece+len(ellipsis)); size++ {
		var whole bool
		if buf, _, whole = contents(m, marks, buf, h, size); whole {
			return buf, size
		}
	}
	return buf, least
}

// fitter is a renderer that appends the text that the limits have room for.
type fitter interface {
	fit(dst []byte, sel *selection, limits bounds, even bool, r *Report) []byte
}

const (
	maxCounts = 24
	maxFits   = 96 // a text that has been counted is not counted again, but it has been rendered
)

// withinTokens appends the text of the largest MaxBytes found with which it has at most
// b.MaxTokens. Tokens neither add up nor grow with every byte, so what is kept is a pair of
// bounds: the larger one gave too many tokens, the smaller one did not, and its text is the
// result.
func withinTokens(
	f fitter, sel *selection, dst []byte, b Budget,
) ([]byte, Report, error) {
	sel.many = true
	r := Report{Items: sel.report}
	search := tokenSearch{
		counter: b.Counter,
		tokens:  bound(b.MaxTokens, 0, math.MaxInt),
		most:    bound(b.MaxBytes, defaultBytes, math.MaxInt),
	}
	var best struct {
		text   string
		tokens int
		budget Budget
		items  []ItemReport
	}
	out := dst
	for size := search.first(); ; {
		try := b
		if try.MaxBytes = size; size == search.most {
			try.MaxBytes = b.MaxBytes
		}
		limits, err := try.bounds()
		if err != nil {
			return dst, Report{Items: r.Items[:0]}, err
		}
		if search.fits > 0 {
			sel.restart(limits.item)
		}
		try.spell(&r.Budget)
		out = f.fit(out[:len(dst)], sel, limits, b.Even, &r)
		kept, err := search.take(size, out[len(dst):])
		if err != nil {
			return dst, Report{Items: r.Items[:0]}, err
		}
		if kept {
			best.text, best.tokens, best.budget = search.low.text, search.low.tokens, r.Budget
			best.items = append(best.items[:0], sel.report...)
		}
		if size = search.next(); size == 0 {
			break
		}
	}
	copy(sel.report, best.items)
	r.Bytes, r.Tokens, r.Budget = len(best.text), best.tokens, best.budget
	if best.text == "" {
		return dst, r, nil
	}
	return append(out[:len(dst)], best.text...), r, nil
}

// tokenSearch moves a bound in bytes to where a text has as many tokens as it may.
type tokenSearch struct {
	counter      Counter
	tokens, most int // the bounds: of tokens, and of bytes

	low, high counted // the largest that did, the smallest that did not keep within the bound
	fits      int
	counts    int
	same      int // how often in a row there was a text that had been counted
}

// counted is a bound in bytes and the text that it gave.
type counted struct {
	size   int
	text   string
	tokens int
}

// first returns the bound to begin with, of which there is a text with more tokens in few
// languages.
func (s *tokenSearch) first() int {
	const perToken = 4
	if s.tokens > s.most/perToken {
		return s.most
	}
	return s.tokens * perToken
}

// take notes the text that the bound size gave, and reports whether it is the best so far.
func (s *tokenSearch) take(size int, text []byte) (bool, error) {
	now := counted{size: size}
	s.fits++
	s.same++
	switch {
	case len(text) == 0:
	case string(text) == s.low.text:
		now.text, now.tokens = s.low.text, s.low.tokens
	case string(text) == s.high.text:
		now.text, now.tokens = s.high.text, s.high.tokens
	default:
		now.text = string(text)
		n, err := count(s.counter, now.text)
		if err != nil {
			return false, err
		}
		now.tokens = n
		s.counts++
		s.same = 0
	}
	if now.tokens > s.tokens {
		s.high = now
		return false, nil
	}
	s.low = now
	return true, nil
}

// count asks the caller's counter, and takes a panic in it for the error that it is.
func count(c Counter, text string) (n int, err error) {
	defer func() {
		if recover() != nil {
			n, err = 0, optionError(ErrCounter, "budget.Counter", -1, "a panic")
		}
	}()
	n, failure := c.Count(text)
	switch {
	case failure != nil:
		failed := optionError(ErrCounter, "budget.Counter", -1, "")
		failed.cause = failure
		return 0, failed
	case n < 0:
		return 0, optionError(ErrCounter, "budget.Counter", -1, "a negative count")
	}
	return n, nil
}

// next returns the bound to try next, and 0 when the search is over.
func (s *tokenSearch) next() int {
	low, high := &s.low, &s.high
	exhausted := s.counts == maxCounts || s.fits >= maxFits
	switch {
	case low.size == s.most || exhausted && low.size > 0:
		return 0
	case exhausted:
		return 1 // there is no text that short
	case low.tokens > 0 && float64(s.tokens-low.tokens) <= s.slack():
		return 0
	case high.size == 0:
		return s.above()
	case high.size-low.size <= 1+int(s.slack()):
		if low.size == 0 {
			return 1
		}
		return 0
	}
	middle := low.size + (high.size-low.size)/2
	if s.same > 0 || s.counts%4 == 3 {
		return middle
	}
	wanted := float64(s.tokens-low.tokens) - s.slack()/2
	part := wanted / float64(high.tokens-low.tokens)
	next := len(low.text) + int(part*float64(len(high.text)-len(low.text)))
	return min(max(next, low.size+1), high.size-1)
}

// slack is how many tokens may stay unused: the more, the longer it takes to use them.
func (s *tokenSearch) slack() float64 { return float64(s.tokens) * float64(s.counts) / 400 }

// above returns a bound to try above one that did, where none is known that did not.
func (s *tokenSearch) above() int {
	factor := 4.0
	switch {
	case s.same > 1:
		return s.most
	case s.same == 0 && s.low.tokens > 0:
		factor = min(float64(s.tokens)/float64(s.low.tokens), 8)
	}
	next := float64(s.low.size) * factor
	if next >= float64(s.most) {
		return s.most
	}
	return max(int(next), s.low.size+1)
}
