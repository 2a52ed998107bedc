package envelope

import (
	"slices"
	"strings"
	"sync"

	"github.com/untrusted-context/envelope/internal/quote"
)

// selection decides which items a renderer may deliver, in whatever order it asks, and keeps the
// report on them.
type selection struct {
	items     []Item
	report    []ItemReport
	scope     string
	quoter    *quote.Escaper // of citations
	looked    int            // how many bytes of a content are looked at
	claims    claims
	delivered int
	many      bool // there may be more passes over the items than one
	again     bool // this is not the first of them
}

// begin starts a report, in the memory given if that is enough.
func (s *selection) begin(items []Item, looked int, memory []ItemReport) {
	if memory == nil || cap(memory) < len(items) {
		memory = make([]ItemReport, len(items))
	}
	report := memory[:len(items)]
	for i := range items {
		report[i] = ItemReport{SourceBytes: len(items[i].Content)}
	}
	s.items, s.report, s.looked = items, report, looked
	s.claims.begin(len(items))
}

// end gives back what the selection has borrowed. What its report says stays.
func (s *selection) end() { s.claims.end() }

// candidate decides what can be decided about item i before it is rendered: it reads the citation
// into c, which is zero, and reports whether the item is to be rendered. With full, its renderer
// delivers no more.
func (s *selection) candidate(m meter, i int, full bool, c *citation) bool {
	item := &s.items[i]
	if s.again && s.report[i].Err != nil {
		return false
	}
	o, err := Malformed, s.resolve(i, c)
	if err == nil {
		o, err = inspect(item, s.looked, c)
	}
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

// inspect decides what can be decided by itself about an item whose citation is c. It looks at
// looked bytes of the content. Included is a candidate.
func inspect(item *Item, looked int, c *citation) (Outcome, *Error) {
	if c.lacks != "" {
		return Uncited, &Error{Err: ErrMissing, Field: c.lacks, Offset: -1}
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

// restart starts another pass over the items, which looks at so many bytes of a content. What is
// known of the citations stays known.
func (s *selection) restart(looked int) {
	for i := range s.report {
		fresh := ItemReport{SourceBytes: s.report[i].SourceBytes}
		if r := &s.report[i]; r.Outcome == Unselected {
			fresh.Outcome = Unselected
		} else if err, _ := r.Err.(*Error); err != nil && strings.HasPrefix(err.Field, "citation") {
			fresh.Outcome, fresh.Err = r.Outcome, r.Err
		}
		s.report[i] = fresh
	}
	clear(s.claims.slots())
	s.looked, s.delivered, s.again = looked, 0, true
}

// resolve reads the citation of item i into c. One that takes more than a look is read once only,
// however many passes there are: reading it may call its methods.
func (s *selection) resolve(i int, c *citation) *Error {
	if s.again {
		if earlier, ok := s.claims.objects[i]; ok {
			*c = earlier
			return nil
		}
	}
	err := c.resolve(s.items[i].Citation, s.scope, s.quoter)
	if s.many && err == nil && c.parsed {
		s.claims.keep(i, c)
	}
	return err
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
	many    []claim             // used for more: the beginning of the table lent
	lent    *[]claim            // or nil
	newest  int                 // the slot of the newest claim
	steps   int                 // how often a slot was taken by another citation
	seeded  bool                // hashes are such that nobody can choose citations that collide
	objects map[int]citation    // by item: the citations that are costly to resolve once more
}

// claim is a slot: part of a candidate's hash, and the item's index plus 1, or 0 when it is free.
type claim struct {
	hash uint32
	item int32
}

// fewItems is how many items may all be compared with each other.
const fewItems = 16

// tables are the tables of selections that have ended, to be used again.
var tables sync.Pool

// begin makes room for the claims of so many items.
func (c *claims) begin(items int) {
	if items <= fewItems {
		return
	}
	slots := powerOfTwo(2 * items)
	c.lent, _ = tables.Get().(*[]claim)
	if c.lent == nil || len(*c.lent) < slots {
		table := make([]claim, slots)
		c.lent = &table
	}
	c.many = (*c.lent)[:slots]
	clear(c.many)
}

func powerOfTwo(least int) int {
	n := 1
	for n < least {
		n *= 2
	}
	return n
}

// end gives the table back, with claims that nobody will read.
func (c *claims) end() {
	if c.lent != nil {
		tables.Put(c.lent)
		c.lent, c.many = nil, nil
	}
}

// withdraw takes the newest claim back. No later one can have been pushed aside by it.
func (c *claims) withdraw() { c.slots()[c.newest] = claim{} }

// keep keeps the citation of item i.
func (c *claims) keep(i int, kept *citation) {
	if c.objects == nil {
		c.objects = make(map[int]citation)
	}
	c.objects[i] = *kept
}

func (c *claims) slots() []claim {
	if c.many != nil {
		return c.many
	}
	return c.few[:]
}

// claim enters candidate i and reports whether it is the first of its kind and citation. Hashes are
// cheap as long as they spread the citations at hand: after a few collisions an item they are made
// anew, so that the author of citations that collide makes nobody wait.
func (s *selection) claim(i int, c *citation) bool {
	if len(s.items) == 1 && !c.parsed {
		return true
	}
	kind := kindOf(&s.items[i])
	table := s.claims.slots()
	own := s.claims.claimOf(i, kind, c)
	for k := own.slot(table); ; k = (k + 1) & (len(table) - 1) {
		slot := &table[k]
		if slot.item == 0 {
			*slot, s.claims.newest = own, k
			if c.parsed && !s.many {
				s.claims.keep(i, c)
			}
			return true
		}
		if slot.hash == own.hash && s.same(int(slot.item-1), kind, c) {
			return false
		}
		s.claims.steps++
		if s.claims.steps > 4*len(s.items) && s.claims.many != nil && !s.claims.seeded {
			s.reseed()
			return s.claim(i, c)
		}
	}
}

func (c *claims) claimOf(i int, kind string, cited *citation) claim {
	hash := uint64(0)
	if c.seeded {
		hash = cited.hash(kind)
	} else {
		hash = cited.glance()
	}
	return claim{hash: uint32(hash >> 32), item: int32(i + 1)}
}

// slot returns where in a table the claim should stand.
func (c claim) slot(table []claim) int { return int(c.hash>>1) & (len(table) - 1) }

// reseed enters all claims anew, with hashes that nobody can foresee.
func (s *selection) reseed() {
	s.claims.seeded = true
	old := slices.Clone(s.claims.many)
	clear(s.claims.many)
	for _, earlier := range old {
		if earlier.item == 0 {
			continue
		}
		i := int(earlier.item - 1)
		c := s.earlier(i)
		own := s.claims.claimOf(i, kindOf(&s.items[i]), &c)
		k := own.slot(old)
		for s.claims.many[k].item != 0 {
			k = (k + 1) & (len(old) - 1)
		}
		s.claims.many[k] = own
	}
}

// same reports whether the earlier candidate i has this kind and citation.
func (s *selection) same(i int, kind string, c *citation) bool {
	if kindOf(&s.items[i]) != kind {
		return false
	}
	earlier := s.earlier(i)
	return earlier.equal(c)
}

// earlier returns the citation of an earlier candidate.
func (s *selection) earlier(i int) citation {
	c, ok := s.claims.objects[i]
	if !ok {
		c.take(s.items[i].Citation) // it has been found valid
		if c.Scope == s.scope {
			c.Scope = ""
		}
	}
	return c
}

// defaultKind is the kind of an item that names none.
const defaultKind = "memory"

func kindOf(item *Item) string {
	if item.Kind == "" {
		return defaultKind
	}
	return item.Kind
}
