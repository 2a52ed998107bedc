package envelope

import (
	"errors"
	"math"
	"unicode/utf8"
)

// Unlimited, in a field of a [Budget], is no bound.
const Unlimited = -1

// Budget bounds a rendered text. A field that is 0 has its default and one that is [Unlimited] does not bound; any other
// negative number is an error. All sizes are bytes of UTF-8: of the text for MaxBytes, of content for the other two. The
// default wrapper and one citation take some 300 to 400 bytes around a content, more with long identifiers.
type Budget struct {
	// MaxBytes bounds the whole text as it is written: wrapper, citations and escapes included. Default 8000.
	MaxBytes int
	// MaxItems bounds how many items are delivered. Default 8.
	MaxItems int
	// MaxItemBytes bounds the content of one item, the ellipsis of a truncated one included: the decoded content for JSON,
	// the displayed body for Markdown. Default 2000.
	MaxItemBytes int
	// MinTruncatedBytes is the minimum length of a truncated content, measured likewise. An item that would be cut shorter is
	// left out; with a MaxItemBytes below it, every item that is longer than that. Default 64; Unlimited is no minimum.
	MinTruncatedBytes int
}

const defaultBytes = 8000

// bounds is a budget with its defaults and its "no bound" filled in.
type bounds struct{ bytes, items, item, min int }

func (b Budget) bounds() (bounds, error) {
	for _, f := range [...]struct {
		value int
		name  string
	}{
		{b.MaxBytes, "budget.MaxBytes"},
		{b.MaxItems, "budget.MaxItems"},
		{b.MaxItemBytes, "budget.MaxItemBytes"},
		{b.MinTruncatedBytes, "budget.MinTruncatedBytes"},
	} {
		if f.value < Unlimited {
			return bounds{}, optionError(ErrBudget, f.name, -1, "")
		}
	}
	most := bound(b.MaxBytes, defaultBytes, math.MaxInt)
	return bounds{
		bytes: most,
		items: bound(b.MaxItems, 8, math.MaxInt),
		// No content is longer than the text that it stands in, so that a lower bound than MaxItemBytes changes nothing but how
		// much of a content is looked at.
		item: min(bound(b.MaxItemBytes, 2000, math.MaxInt), max(most, lookBytes)),
		min:  bound(b.MinTruncatedBytes, 64, 0),
	}, nil
}

// lookBytes is how much of a content is looked at in any case, where a bound would have it more.
const lookBytes = 64 << 10

func bound(value, zero, unlimited int) int {
	switch value {
	case 0:
		return zero
	case Unlimited:
		return unlimited
	}
	return value
}

// Outcome is what became of an item. Each item has exactly one, the first that applies in the order of [Unselected] to
// [NoRoom]; an item to which none of these applies is [Included] or [Truncated].
type Outcome uint8

// The outcomes.
const (
	// Included: delivered whole. In JSON the decoded content is then the source, byte for byte.
	Included Outcome = iota
	// Truncated: delivered as the longest prefix that fits, followed by an ellipsis (U+2026), which stands for more than its own
	// length.
	Truncated
	// Unselected: no section of the Markdown renderer takes its kind.
	Unselected
	// Uncited: its citation is nil, a raw message of no bytes or encodes to null, or it is of one of this package's types, or an object of their
	// shape, and lacks its artifact, entry or version id. A blank id is lacking.
	Uncited
	// Malformed: invalid UTF-8 in the kind, the citation or the part of the content that MaxItemBytes could deliver (of a bound
	// above MaxBytes, and above 64 KiB, the larger of these two), or a citation that does not encode to a strict JSON object.
	// ItemReport.Err says where.
	Malformed
	// Blank: its content is empty or only white space: Unicode's White_Space and U+001C to U+001F. A content that begins with more
	// white space than MaxItemBytes could deliver, and than 64 KiB, is blank whatever follows.
	Blank
	// Duplicate: an earlier candidate has the same kind and citation. Candidates are the items to which none of the outcomes
	// up to here applies, whether or not they could be delivered. Citations are the same when they are written the same, however their
	// strings were spelt; numbers and the order of members count.
	Duplicate
	// OverLimit: as many items as Budget.MaxItems or the section's limit allows are delivered already.
	OverLimit
	// TooShort: it would have to be cut to less than Budget.MinTruncatedBytes.
	TooShort
	// NoRoom: not even its first character fits.
	NoRoom
)

var outcomes = [...]string{"included", "truncated", "unselected", "uncited", "malformed", "blank", "duplicate", "over-limit", "too-short", "no-room"}

func (o Outcome) String() string {
	if int(o) < len(outcomes) {
		return outcomes[o]
	}
	return "unknown"
}

// Delivered reports whether the item is in the text.
func (o Outcome) Delivered() bool { return o == Included || o == Truncated }

// Report says what became of the items.
type Report struct {
	Bytes int          // the length of the rendered text
	Items []ItemReport // one for each item of the input, in its order
}

// ItemReport says what became of one item.
type ItemReport struct {
	Outcome        Outcome
	SourceBytes    int   // the length of its content
	DeliveredBytes int   // how much content is delivered, the ellipsis counted: decoded for JSON, as displayed for Markdown
	Err            error // an *Error that says where it is malformed; nil for every other outcome
}

// Count returns how many items have the outcome.
func (r Report) Count(o Outcome) int {
	n := 0
	for i := range r.Items {
		if r.Items[i].Outcome == o {
			n++
		}
	}
	return n
}

// Err returns the errors of the malformed items, joined; nil when there are none.
func (r Report) Err() error {
	var errs []error
	for i := range r.Items {
		errs = append(errs, r.Items[i].Err)
	}
	return errors.Join(errs...)
}

// selection decides which items a renderer may deliver, in whatever order it asks, and keeps the report.
type selection struct {
	bounds
	items     []Item
	report    []ItemReport
	scope     string
	claims    claims
	objects   map[int]citation // by item: the citations that are costly to resolve once more
	delivered int
}

// newSelection starts a report, in the memory given if that is enough.
func newSelection(items []Item, b bounds, scope string, memory []ItemReport) selection {
	// One piece of memory: the reports, and behind them the table of claims.
	slots := 2
	for slots < 2*len(items) {
		slots *= 2
	}
	all := memory[:cap(memory)]
	if len(all) < len(items)+slots {
		all = make([]ItemReport, len(items)+slots)
	} else {
		all = all[:len(items)+slots]
		clear(all)
	}
	report := all[:len(items)]
	for i := range items {
		report[i].SourceBytes = len(items[i].Content)
	}
	return selection{bounds: b, items: items, report: report, scope: scope, claims: claims{table: all[len(items):]}}
}

// candidate decides what can be decided about item i before it is rendered: it reads the citation into c, which is zero, and reports
// whether the item is to be rendered. With full, its renderer delivers no more.
func candidate[M meter](s *selection, m M, i int, c *citation, full bool) bool {
	item := &s.items[i]
	if err := c.resolve(item.Citation, s.scope); err != nil {
		s.malformed(i, err)
		return false
	}
	if c.form == noCitation {
		s.report[i].Outcome = Uncited
		return false
	}
	if bad := firstInvalid(item.Kind); bad >= 0 {
		s.malformed(i, &Error{Err: ErrInvalidUTF8, Field: "kind", Offset: bad})
		return false
	}
	if blank(item.Content, s.item) {
		s.report[i].Outcome = Blank
		return false
	}
	fresh := s.claim(i, c)
	if fresh && !full {
		return true
	}
	if _, bad := m.measure(item.Content, s.item); bad >= 0 {
		if fresh {
			s.claims.withdraw()
		}
		s.malformed(i, &Error{Err: ErrInvalidUTF8, Field: "content", Offset: bad})
		return false
	}
	s.report[i].Outcome = OverLimit
	if !fresh {
		s.report[i].Outcome = Duplicate
	}
	return false
}

// settle notes what the trimmer did with the candidate i: its outcome, and the size of the delivered content or, when it is
// malformed, the first byte at fault.
func (s *selection) settle(i int, o Outcome, n int) {
	switch o {
	case Included, Truncated:
		s.delivered++
		s.report[i].DeliveredBytes = n
	case Malformed:
		s.claims.withdraw()
		s.malformed(i, &Error{Err: ErrInvalidUTF8, Field: "content", Offset: n})
	}
	s.report[i].Outcome = o
}

func (s *selection) malformed(i int, err *Error) {
	err.Item = i
	s.report[i].Outcome, s.report[i].Err = Malformed, err
}

// claims is a hash table, open and at most half full, of the candidates by kind and citation. A slot holds the hash in
// SourceBytes and the item's index, plus 1, in DeliveredBytes.
type claims struct {
	table  []ItemReport
	newest int
}

// claim enters candidate i and reports whether it is the first of its kind and citation.
func (s *selection) claim(i int, c *citation) bool {
	kind := kindOf(&s.items[i])
	var hash int
	if len(s.items) <= fewItems {
		hash = int(c.glance() >> 33) // fits an int of 32 bits
	} else {
		hash = int(c.hash(kind) >> 33)
	}
	mask := len(s.claims.table) - 1
	for k := hash & mask; ; k = (k + 1) & mask {
		slot := &s.claims.table[k]
		if slot.DeliveredBytes == 0 {
			slot.SourceBytes, slot.DeliveredBytes = hash, i+1
			s.claims.newest = k
			if c.parsed {
				if s.objects == nil {
					s.objects = make(map[int]citation)
				}
				s.objects[i] = *c
			}
			return true
		}
		if slot.SourceBytes != hash {
			continue
		}
		other := slot.DeliveredBytes - 1
		d, ok := s.objects[other]
		if !ok {
			d.take(s.items[other].Citation) // it has been found valid
			if d.scope == s.scope {
				d.scope = ""
			}
		}
		if kindOf(&s.items[other]) == kind && d.equal(c) {
			return false
		}
	}
}

// fewItems is how many items may all be compared with each other.
const fewItems = 16

// withdraw takes the newest claim back. No later one can have been pushed aside by it.
func (c *claims) withdraw() { c.table[c.newest] = ItemReport{} }

// defaultKind is the kind of an item that names none.
const defaultKind = "memory"

func kindOf(item *Item) string {
	if item.Kind == "" {
		return defaultKind
	}
	return item.Kind
}

// ellipsis follows a content that was cut.
const ellipsis = "…"

// meter knows what content costs in one rendering. Sizes are bytes of content, as the item bounds count it, and bytes written,
// before markers are broken.
type meter interface {
	// fill appends as much of s as has at most size bytes of content and takes at most room bytes written. It returns how
	// much of s that is and its size; when that is not all, valid says whether a bound stopped it or invalid UTF-8 at s[n].
	fill(dst []byte, s string, size, room int) (out []byte, n, used int, valid bool)
	// last returns the length of the last piece of s that a cut may remove, and what it costs.
	last(s string) (n, used, written int)
	// measure returns how many bytes of content s is, or more than size when it is more, and the first byte of invalid UTF-8 in as
	// much of s as could be delivered in size bytes, or -1.
	measure(s string, size int) (used, bad int)
	// dots returns the ellipsis as it is written.
	dots() string
}

// allowance is what one item may take.
type allowance struct {
	item, min  int // bytes of content: at most, and at least when it is cut
	whole, cut int // bytes written: for a content delivered whole, and for one that is cut, with its ellipsis
}

// trim appends content, or the longest prefix of it that the allowance has room for and an ellipsis, with every marker
// in it broken. What an ellipsis stands for is longer than the ellipsis. It returns the outcome and the size of what it delivered
// or, when that is Malformed, the offset of the first invalid byte. It reads no more of content than could be delivered.
func trim[M meter](m M, marks *markers, dst []byte, content string, a allowance) (out []byte, o Outcome, size int) {
	start := len(dst)
	dst, n, used, valid := m.fill(dst, content, a.item, max(a.whole, a.cut))
	written := len(dst) - start
	if n == len(content) && valid {
		extra := marks.extra(dst[start:])
		if written+extra <= a.whole {
			return marks.breakAll(dst, start, extra), Included, used
		}
	}
	cut, bad := m.measure(content[n:], a.item-used)
	if bad >= 0 {
		return dst[:start], Malformed, n + bad
	}
	dots := m.dots()
	back := func() {
		width, u, w := m.last(content[:n])
		n, used, written, cut = n-width, used-u, written-w, cut+u
	}
	most := marks.longest(dst[start:], a.cut-len(dots))
	for n > 0 && (used > a.item-len(ellipsis) || written > most) {
		back()
	}
	if n == 0 {
		return dst[:start], NoRoom, 0
	}
	// An ellipsis stands for more than its own length.
	for n > 0 && cut <= len(ellipsis) {
		back()
	}
	if n == 0 || used+len(ellipsis) < a.min {
		return dst[:start], TooShort, 0
	}
	dst = marks.breakFrom(dst[:start+written], start)
	return append(dst, dots...), Truncated, used + len(ellipsis)
}

// blank reports whether s is empty or only white space: the property White_Space, and U+001C to U+001F, which Python's str.isspace
// and str.strip take for it too. Of more white space at the beginning than could be delivered in size bytes, and than
// lookBytes, nobody asks what follows.
func blank(s string, size int) bool {
	if s != "" && ' ' < s[0] && s[0] < utf8.RuneSelf {
		return false
	}
	window := max(size, lookBytes)
	for i, r := range s {
		if !whiteSpace(r) {
			return false
		}
		if i >= window {
			break
		}
	}
	return true
}

func whiteSpace(r rune) bool {
	switch {
	case '\t' <= r && r <= '\r', '\x1c' <= r && r <= ' ', r == '\u0085', r == '\u00a0', r == '\u1680',
		'\u2000' <= r && r <= '\u200a', r == '\u2028', r == '\u2029', r == '\u202f', r == '\u205f', r == '\u3000':
		return true
	}
	return false
}
