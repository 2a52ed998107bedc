package quote

import (
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// utf8Machine reads any character.
var utf8Machine = func() machine {
	m := newMachine(func(_, _ rune) bool { return true })
	m.on(between, 0xf1, 0xf3, three)
	m.on(between, 0xf4, 0xf4, afterF4)
	m.on(three, 0x80, 0xbf, two)
	m.on(afterF4, 0x80, 0x8f, two)
	return m
}()

// machine is a finite automaton over bytes, without branches. Each byte has a row of fields of
// six bits, one for each state, that say which state is next. A state is the place of its field,
// so that one shift is one step: between characters, which is 6, an 'a' leads to m['a']>>6&63,
// which is 6 again, and C3 to m[0xc3]>>6&63, which is 12: one continuation byte is to come.
type machine [256]uint64

// The states of machines. Each has a field of its own, but for two that are in other machines
// than another two.
const (
	refused = 6 * iota // and nothing leads out of it
	between            // characters
	one                // continuation byte to come
	two                // of them
	three              // of them
	afterE0
	afterED
	afterF0
	afterF4
	afterE2
	afterE280
	afterC2    = afterF4
	afterOther = three // lead byte of three-byte characters that are not all wanted
)

// lazyMachine is a machine that is built when it is first needed: programs that start for one text
// need one or none of them.
type lazyMachine struct {
	wanted func(first, last rune) bool
	built  atomic.Bool
	m      machine
}

func (l *lazyMachine) get() *machine {
	if !l.built.Load() {
		l.build()
	}
	return &l.m
}

// building is one lock for all that is built when first needed. A sync.Once in the struct would put
// whatever points to it on the heap.
var building sync.Mutex

func (l *lazyMachine) build() {
	building.Lock()
	defer building.Unlock()
	if !l.built.Load() {
		l.m = newMachine(l.wanted)
		l.built.Store(true)
	}
}

// newMachine returns a machine that reads valid UTF-8 below U+40000 of wanted characters. Wanted
// is asked about ranges. There are few states, so the machine also refuses wanted characters that
// share their lead, if they have two bytes, or else their second byte, with one that is not
// wanted; but it knows each character below U+00C0 and from U+2000 to U+203F.
func newMachine(wanted func(low, high rune) bool) (m machine) {
	for c := rune(0); c < utf8.RuneSelf; c++ {
		if wanted(c, c) {
			m.on(between, byte(c), byte(c), between)
		}
	}
	m.on(one, 0x80, 0xbf, between)
	m.on(two, 0x80, 0xbf, one)

	for lead := byte(0xc2); lead <= 0xdf; lead++ {
		if low := rune(lead&0x1f) << 6; wanted(low, low+0x3f) {
			m.on(between, lead, lead, one)
		}
	}
	if !wanted(0x80, 0xbf) {
		m.on(between, 0xc2, 0xc2, afterC2)
		for c := byte(0x80); c <= 0xbf; c++ {
			if wanted(rune(c), rune(c)) {
				m.on(afterC2, c, c, between)
			}
		}
	}

	m.on(afterOther, 0x80, 0xbf, one)
	for lead := byte(0xe0); lead <= 0xef; lead++ {
		low := rune(lead&0xf) << 12
		state, first, last := afterOther, byte(0x80), byte(0xbf)
		switch {
		case lead == 0xe0:
			state, first = afterE0, 0xa0 // lower ones are too long
		case lead == 0xed:
			state, last = afterED, 0x9f // higher ones are surrogates
		case wanted(low, low+0xfff):
			m.on(between, lead, lead, two)
			continue
		case lead == 0xe2:
			state = afterE2
		}
		m.on(between, lead, lead, uint64(state))
		if state != afterOther {
			m.on(state, first, last, one)
		}
		for second := first; second <= last; second++ {
			if low := low + rune(second&0x3f)<<6; !wanted(low, low+0x3f) {
				m.on(state, second, second, refused)
			}
		}
	}
	if !wanted(0x2000, 0x203f) {
		m.on(afterE2, 0x80, 0x80, afterE280)
		for c := byte(0x80); c <= 0xbf; c++ {
			if r := 0x2000 + rune(c&0x3f); wanted(r, r) {
				m.on(afterE280, c, c, between)
			}
		}
	}

	m.on(between, 0xf0, 0xf0, afterF0)
	for second := byte(0x90); second <= 0xbf; second++ {
		if low := rune(second&0x3f) << 12; wanted(low, low+0xfff) {
			m.on(afterF0, second, second, two)
		}
	}
	return m
}

// on makes next the state after any of the bytes from low to high.
func (m *machine) on(state int, low, high byte, next uint64) {
	for c := int(low); c <= int(high); c++ {
		m[c] = m[c]&^(63<<state) | next<<state
	}
}

// machineBytes is how far to let a machine run before faster ways are tried again.
const machineBytes = 48

// prefix returns the length of a prefix of s that m does not refuse and that ends between
// characters: some words, so not to the last byte.
func (m *machine) prefix(s string) int { return machinePrefix(m, s) }

func machinePrefix[T string | []byte](m *machine, s T) int {
	n, state := 0, uint64(between)
	for len(s)-n >= wordBytes {
		word := s[n : n+wordBytes]
		next := m[word[0]] >> (state & 63)
		next = m[word[1]] >> (next & 63)
		next = m[word[2]] >> (next & 63)
		next = m[word[3]] >> (next & 63)
		next = m[word[4]] >> (next & 63)
		next = m[word[5]] >> (next & 63)
		next = m[word[6]] >> (next & 63)
		next = m[word[7]] >> (next & 63)
		if next &= 63; next == refused {
			break
		}
		n, state = n+wordBytes, next
	}
	if state != between {
		for n--; !utf8.RuneStart(s[n]); n-- {
		}
	}
	return n
}
