package envelope

import "github.com/untrusted-context/envelope/internal/quote"

// selection decides which items a renderer may deliver, in whatever order it asks, and keeps the
// report on them.
type selection struct {
	items     []Item
	report    []ItemReport
	scope     string
	looked    int // how many bytes of a content are looked at
	claims    claims
	delivered int
}

// newSelection starts a report, in the memory given if that is enough.
func newSelection(items []Item, scope string, looked int, memory []ItemReport) selection {
	if memory == nil || cap(memory) < len(items) {
		memory = make([]ItemReport, len(items))
	}
	report := memory[:len(items)]
	for i := range items {
		report[i] = ItemReport{SourceBytes: len(items[i].Content)}
	}
	s := selection{items: items, report: report, scope: scope, looked: looked}
	if len(items) > fewItems {
		s.claims.many = make([]claim, powerOfTwo(2*len(items)))
	}
	return s
}

func powerOfTwo(least int) int {
	n := 1
	for n < least {
		n *= 2
	}
	return n
}

// candidate decides what can be decided about item i before it is rendered: it reads the citation
// into c, which is zero, and reports whether the item is to be rendered. With full, its renderer
// delivers no more.
func (s *selection) candidate(m meter, i int, full bool, c *citation) bool {
	item := &s.items[i]
	o, err := inspect(item, s.scope, s.looked, c)
	if o == Included {
		fresh := s.claim(i, c)
		if fresh && !full {
			return true
		}
		o = OverLimit
		if !fresh {
			o = Duplicate
		}
		if _, bad := m.measure(item.Content, s.looked); bad >= 0 {
			if fresh {
				s.claims.withdraw()
			}
			o, err = Malformed, invalid("content", bad)
		}
	}
	s.reject(i, o, err)
	return false
}

// inspect decides what can be decided about an item by itself, and reads its citation into c. It
// looks at looked bytes of the content. Included is a candidate.
func inspect(item *Item, scope string, looked int, c *citation) (Outcome, *Error) {
	if err := c.resolve(item.Citation, scope); err != nil {
		return Malformed, err
	}
	if field := c.lacking(); field != "" {
		return Uncited, &Error{Err: ErrMissing, Field: field, Offset: -1}
	}
	if bad := quote.FirstInvalid(item.Kind); bad >= 0 {
		return Malformed, invalid("kind", bad)
	}
	if quote.Blank(item.Content, max(looked, lookBytes)) {
		return Blank, nil
	}
	return Included, nil
}

func invalid(field string, offset int) *Error {
	return &Error{Err: ErrInvalidUTF8, Field: field, Offset: offset}
}

// reject notes that item i is not delivered, and why.
func (s *selection) reject(i int, o Outcome, err *Error) {
	s.report[i].Outcome = o
	if err != nil {
		err.Item = i
		s.report[i].Err = err
	}
}

// settle notes what the trimmer did with the candidate i, which was the last one asked for.
func (s *selection) settle(i int, t trimmed) {
	if t.outcome == Malformed {
		s.claims.withdraw()
		s.reject(i, Malformed, invalid("content", t.invalid))
		return
	}
	if t.outcome.Delivered() {
		s.delivered++
	}
	s.report[i].Outcome, s.report[i].DeliveredBytes = t.outcome, t.size
}

// claims is a hash table, open and at most half full, of the candidates by kind and citation.
type claims struct {
	few     [2 * fewItems]claim // used for up to fewItems items
	many    []claim             // used for more
	newest  int                 // the slot of the newest claim
	objects map[int]citation    // by item: the citations that are costly to resolve once more
}

// claim is a slot: part of a candidate's hash, and the item's index plus 1, or 0 when it is free.
type claim struct {
	hash uint32
	item int32
}

// fewItems is how many items may all be compared with each other.
const fewItems = 16

// withdraw takes the newest claim back. No later one can have been pushed aside by it.
func (c *claims) withdraw() { c.slots()[c.newest] = claim{} }

func (c *claims) slots() []claim {
	if c.many != nil {
		return c.many
	}
	return c.few[:]
}

// claim enters candidate i and reports whether it is the first of its kind and citation.
func (s *selection) claim(i int, c *citation) bool {
	kind, hash := kindOf(&s.items[i]), uint64(0)
	if s.claims.many == nil {
		hash = c.glance()
	} else {
		hash = c.hash(kind)
	}
	table := s.claims.slots()
	own := claim{hash: uint32(hash >> 32), item: int32(i + 1)}
	for k := int(own.hash>>1) & (len(table) - 1); ; k = (k + 1) & (len(table) - 1) {
		slot := &table[k]
		if slot.item == 0 {
			*slot, s.claims.newest = own, k
			if c.parsed {
				if s.claims.objects == nil {
					s.claims.objects = make(map[int]citation)
				}
				s.claims.objects[i] = *c
			}
			return true
		}
		if slot.hash == own.hash && s.same(int(slot.item-1), kind, c) {
			return false
		}
	}
}

// same reports whether the earlier candidate i has this kind and citation.
func (s *selection) same(i int, kind string, c *citation) bool {
	if kindOf(&s.items[i]) != kind {
		return false
	}
	earlier, ok := s.claims.objects[i]
	if !ok {
		earlier.take(s.items[i].Citation) // it has been found valid
		if earlier.scope == s.scope {
			earlier.scope = ""
		}
	}
	return earlier.equal(c)
}

// defaultKind is the kind of an item that names none.
const defaultKind = "memory"

func kindOf(item *Item) string {
	if item.Kind == "" {
		return defaultKind
	}
	return item.Kind
}
