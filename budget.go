package envelope

import (
	"math"

	"github.com/untrusted-context/envelope/internal/quote"
)

// Unlimited, in a field of a [Budget], is no bound.
const Unlimited = -1

// Budget bounds a rendered text. A field that is 0 has its default and one that is [Unlimited] does
// not bound; any other negative number is an error. All sizes are bytes of UTF-8: of the text for
// MaxBytes, of content for the other two. The default wrapper and one citation take some 450 to 550
// bytes around a content, more with long identifiers.
type Budget struct {
	// MaxBytes bounds the whole text as it is written: wrapper, citations and escapes included.
	// Default 8000.
	MaxBytes int
	// MaxItems bounds how many items are delivered. Default 8.
	MaxItems int
	// MaxItemBytes bounds the content of one item, the ellipsis of a truncated one included: the
	// decoded content for JSON, the displayed body for Markdown. Default 2000, whatever MaxBytes
	// is: a text with one item, such as a tool's result, is given all its room by Unlimited.
	MaxItemBytes int
	// MinTruncatedBytes is the minimum length of a truncated content, measured likewise. An item
	// that would be cut shorter is left out. So with a MaxItemBytes below this minimum, every item
	// longer than MaxItemBytes is left out. Default 64; Unlimited is no minimum.
	MinTruncatedBytes int

	// Even shares the text between the items: short ones whole, long ones cut alike, and the last
	// one to what is left, which may be no more than MinTruncatedBytes. Without it the first long
	// item takes what is left, and the rest get nothing. The bound of one item becomes the
	// largest, from MinTruncatedBytes to MaxItemBytes, with which every candidate that the limits
	// allow is delivered; one that is up to 8 bytes larger may do as well. Where there is none it
	// is the smallest with which each could be delivered by itself: MinTruncatedBytes (at least
	// 1), or a few bytes more where characters are wide. [Report].Budget says which bound it is.
	Even bool
	// MaxTokens bounds the tokens of the whole text, as Counter counts them: for the text that is
	// returned, the counter has said at most that many. The text is the one that some MaxBytes
	// gives, not above the Budget's own, and [Report].Budget says which; the other bounds hold as
	// they are, with their defaults. 0 and Unlimited are no bound; with Unlimited the text is
	// counted all the same, for Report.Tokens.
	MaxTokens int
	// Counter counts for MaxTokens. A MaxTokens above 0 needs one, and a Counter needs a MaxTokens,
	// which may be Unlimited. Anything else is an error.
	Counter Counter
}

// Counter counts the tokens of a text: a tokenizer. The Codec of the module
// github.com/tiktoken-go/tokenizer is one as it stands. Count is asked for at most 24 texts a call,
// one after the other; it has to be safe for concurrent use where calls with one Counter are
// concurrent. It need not add up, nor grow with the text: that costs fit, never the bound. A count
// that fails, is negative or panics is the error of the call, an [ErrCounter].
type Counter interface {
	Count(text string) (int, error)
}

const (
	defaultBytes             = 8000
	defaultItems             = 8
	defaultItemBytes         = 2000
	defaultMinTruncatedBytes = 64
)

// bounds is a budget with its defaults and its "no bound" filled in.
type bounds struct {
	bytes, items int
	item, min    int // bytes of content: of one item at most, and of one that is cut at least
}

func (b Budget) bounds() (bounds, error) {
	illegal := ""
	switch {
	case b.MaxBytes < Unlimited:
		illegal = "budget.MaxBytes"
	case b.MaxItems < Unlimited:
		illegal = "budget.MaxItems"
	case b.MaxItemBytes < Unlimited:
		illegal = "budget.MaxItemBytes"
	case b.MinTruncatedBytes < Unlimited:
		illegal = "budget.MinTruncatedBytes"
	case b.MaxTokens < Unlimited:
		illegal = "budget.MaxTokens"
	case b.MaxTokens > 0 && b.Counter == nil:
		return bounds{}, optionError(ErrBudget, "budget.Counter", -1, "MaxTokens needs one")
	case b.MaxTokens == 0 && b.Counter != nil:
		return bounds{}, optionError(ErrBudget, "budget.MaxTokens", -1, "a Counter needs it")
	}
	if illegal != "" {
		return bounds{}, optionError(ErrBudget, illegal, -1, "")
	}
	most := bound(b.MaxBytes, defaultBytes, math.MaxInt)
	return bounds{
		bytes: most,
		items: bound(b.MaxItems, defaultItems, math.MaxInt),
		// No content is longer than the text that it stands in, so that a lower bound than
		// MaxItemBytes changes nothing but how much of a content is looked at.
		item: min(bound(b.MaxItemBytes, defaultItemBytes, math.MaxInt), max(most, lookBytes)),
		min:  bound(b.MinTruncatedBytes, defaultMinTruncatedBytes, 0),
	}, nil
}

// spell makes the bounds of r, which has no others, those of b with their defaults spelt out.
func (b *Budget) spell(r *Budget) {
	r.MaxBytes = bound(b.MaxBytes, defaultBytes, Unlimited)
	r.MaxItems = bound(b.MaxItems, defaultItems, Unlimited)
	r.MaxItemBytes = bound(b.MaxItemBytes, defaultItemBytes, Unlimited)
	r.MinTruncatedBytes = bound(b.MinTruncatedBytes, defaultMinTruncatedBytes, Unlimited)
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

// space is what a text leaves for its items.
type space struct {
	bounds
	end    int // of the buffer, where the items end at the latest; -1 when the frame does not fit
	survey survey
}

// reset makes s the space behind dst in a text with an opening and a closing of so many bytes.
func (s *space) reset(b bounds, dst []byte, opening, closing int) {
	s.bounds = b
	s.end = quote.Add(len(dst), b.bytes-closing)
	if s.end-len(dst) <= opening {
		s.end = -1
	}
}

// headBytes is more than the text in front of a content takes, but for what it says of the item.
const headBytes = 1024

// head returns a slice of length 0 in which to write what stands in front of the next content, to
// see whether it fits, and false when its least bytes do not. It is the spare capacity of dst where
// even the longest form of so many bytes has room there, and otherwise nil: the caller then has a
// scratch of headBytes, since dst must not grow for what does not fit.
func (s *space) head(dst []byte, least int) ([]byte, bool) {
	from := len(dst)
	if s.survey.on {
		from = s.survey.start
	}
	switch {
	case s.end-from <= least:
		return nil, false
	case cap(dst)-len(dst) >= headBytes+quote.UnitBytes*least:
		return dst[len(dst):], true
	}
	return nil, true
}

// open appends head, unless no content fits behind it and in front of a tail of so many bytes, and
// returns what the content may take. The tail of a content that is cut takes cutTail bytes more.
func (s *space) open(dst, head []byte, tail, cutTail int) ([]byte, allowance) {
	room := s.end - len(dst) - len(head) - tail
	if s.survey.on {
		s.survey.open(len(dst), len(head)+tail, cutTail, room)
	}
	if room <= 0 || s.survey.over {
		return dst, s.none()
	}
	if end := len(dst) + len(head); end <= cap(dst) && &dst[:end][len(dst)] == &head[0] {
		dst = dst[:end] // it stands there already
	} else {
		dst = append(dst, head...)
	}
	return dst, allowance{s.item, s.min, room, room - cutTail}
}

// survey is what the items of a text take, had it room for all of them. A pass that is surveyed
// keeps what it writes until an item is cut or left out for want of room. From there on every
// candidate that could stand in the text alone counts as delivered, and none is written.
type survey struct {
	on     bool
	over   bool // there is no room for every candidate
	start  int  // where the items begin, in the buffer
	fixed  int  // what the candidates take but for their contents, each delivered whole
	kept   int  // what the contents take that were written
	size   int  // how many bytes of content those are
	last   int  // the last candidate
	lost   bool // one cannot be delivered, whatever its content
	admits int  // of the item bounds with which a Malformed item may not be one, the largest
	passes int  // how many were surveyed before

	newest struct {
		fits    bool // in a text of its own
		start   int  // where it begins, in the buffer
		outside int  // what it takes but for its content, when that is not cut
		cutTail int  // how much more that is when it is cut
	}
}

// begin starts a pass whose items begin at byte start.
func (v *survey) begin(start int) {
	if v.on {
		*v = survey{on: true, start: start, passes: v.passes + 1}
	}
}

// open notes what the newest candidate takes but for its content, and the room that leaves.
func (v *survey) open(start, outside, cutTail, room int) {
	v.newest.fits = room+start > v.start // in a text of its own
	v.newest.start, v.newest.outside, v.newest.cutTail = start, outside, cutTail
}

// nearlyFull is more room than a cut leaves unused.
const nearlyFull = 64

// noted enters candidate i, the newest of a pass that is surveyed. It returns the buffer to go on
// with and what counts as done with the content.
func (s *space) noted(
	m meter, dst []byte, i int, content string, t trimmed,
) ([]byte, trimmed) {
	v := &s.survey
	if t.outcome == Malformed {
		before, _ := m.measure(content[:t.invalid], math.MaxInt)
		v.admits = max(v.admits, before+len(ellipsis))
		return dst, t
	}
	cut := t.outcome == Truncated && s.end-len(dst) >= nearlyFull // by the item bound
	if !v.over && (cut || t.outcome == Included) {
		v.kept += len(dst) - v.newest.start - v.newest.outside
		v.size += t.size
	} else {
		v.over = true
		v.lost = v.lost || !v.newest.fits
		dst = dst[:v.start]
		t = trimmed{outcome: Truncated, size: min(len(content), s.item)}
	}
	v.fixed += v.newest.outside
	v.newest.fits = false
	v.last = i
	return dst, t
}

// none is the allowance of an item for which there is no room.
func (s *space) none() allowance { return allowance{s.item, s.min, -1, -1} }

// allowance is what the content of one item may take.
type allowance struct {
	size, min     int // bytes of content: at most, and at least when it is cut
	room, roomCut int // bytes written: for a content delivered whole, and for one with its ellipsis
}

// meter knows what content costs in one rendering. Size is bytes of content, as the item bounds
// count it; room is bytes written, before markers are broken.
type meter interface {
	// fill appends as much of s as has at most size bytes of content and takes at most room bytes
	// written. It returns how much of s that is and its size; when that is not all, valid says
	// whether a bound stopped it or invalid UTF-8 at s[n].
	fill(dst []byte, s string, size, room int) (out []byte, n, used int, valid bool)
	// last returns the length of the last piece of s that a cut may remove, and what it costs.
	last(s string) (n, size, room int)
	// measure returns how many bytes of content s is, or more than size when it is more, and the
	// first byte of invalid UTF-8 in as much of s as could be delivered in size bytes, or -1.
	measure(s string, size int) (used, invalid int)
	// dots returns the ellipsis as it is written.
	dots() string
}

// ellipsis follows a content that was cut.
const ellipsis = "…"

// trimmed is what the trimmer did with a content.
type trimmed struct {
	outcome Outcome // Included, Truncated, Malformed, TooShort or NoRoom
	size    int     // bytes of content delivered, the ellipsis counted
	invalid int     // of a Malformed content the first byte at fault
}

// trim appends content, or the longest prefix of it that the allowance has room for and an
// ellipsis, with every marker in it broken. What an ellipsis stands for is longer than the
// ellipsis. It reads no more of content than could be delivered, and leaves dst as it was when
// nothing is.
//
// It is generic because a call through an interface would make every caller's buffer escape to the
// heap.
func trim[M meter](m M, marks *markers, dst []byte, content string, a allowance) ([]byte, trimmed) {
	start := len(dst)
	dst, n, size, valid := m.fill(dst, content, a.size, max(a.room, a.roomCut))
	written := len(dst) - start
	if n == len(content) && valid {
		extra := marks.extra(dst[start:])
		if written+extra <= a.room {
			return marks.breakAll(dst, start, extra), trimmed{outcome: Included, size: size}
		}
	}
	cut, invalid := m.measure(content[n:], a.size-size) // cut is the size of what is left out
	if invalid >= 0 {
		return dst[:start], trimmed{outcome: Malformed, invalid: n + invalid}
	}
	dots := m.dots()
	back := func() {
		lastBytes, lastSize, lastRoom := m.last(content[:n])
		n, size, written, cut = n-lastBytes, size-lastSize, written-lastRoom, cut+lastSize
	}
	most := marks.longest(dst[start:], a.roomCut-len(dots))
	for n > 0 && (size > a.size-len(ellipsis) || written > most) {
		back()
	}
	if n == 0 {
		return dst[:start], trimmed{outcome: NoRoom}
	}
	for n > 0 && cut <= len(ellipsis) {
		back()
	}
	size += len(ellipsis)
	if n == 0 || size < a.min {
		return dst[:start], trimmed{outcome: TooShort}
	}
	dst = marks.breakFrom(dst[:start+written], start)
	return append(dst, dots...), trimmed{outcome: Truncated, size: size}
}
