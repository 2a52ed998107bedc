package strictjson

import (
	"bytes"
	"hash/maphash"
	"math"
	"math/bits"
)

// nameSet holds the member names of one open object. While they are few it is a stretch of the
// scanner's stack of names. From there on it is a hash table, so that an object of very many
// members is not read in quadratic time, and one of places in the data and not of copies, so that
// it takes not much more memory than the object.
type nameSet struct {
	s     *Scanner
	base  int
	table []uint32 // slots: where a name's literal begins
	tags  []byte   // eight bits of each name's hash; 0 for an empty slot
	count int      // of the names in the table
	first int      // where the first of them begins
	huge  map[string]struct{}
}

const (
	fewNames  = 16
	manyNames = 1 << 16
)

// add adds the name whose literal is at bytes start to end of the data, and reports whether it is
// new.
func (n *nameSet) add(start, end int) bool {
	name := Decode(n.s.Data[start:end])
	few := n.s.names[n.base:]
	for _, have := range few {
		if bytes.Equal(have, name) {
			return false
		}
	}
	switch {
	case len(few) < fewNames:
		n.s.names = append(n.s.names, name)
		return true
	case uint64(len(n.s.Data)) >= math.MaxUint32: // a place has no room in a slot
		return n.addHuge(name)
	}
	if n.count >= len(n.table)/8*7 {
		if n.table == nil {
			n.first = start
		}
		n.grow(start)
	}
	slot, tag, found := n.find(name)
	if found {
		return false
	}
	n.table[slot], n.tags[slot] = uint32(start), tag
	n.count++
	return true
}

// find returns the slot that holds a name, or the one where it belongs, and the tag that goes with
// it.
func (n *nameSet) find(name []byte) (slot int, tag byte, found bool) {
	hash := maphash.Bytes(nameSeed, name)
	tag = byte(hash) | 1 // 0 is an empty slot
	first, _ := bits.Mul64(hash, uint64(len(n.table)))
	for i := int(first); ; i++ {
		if i == len(n.table) {
			i = 0
		}
		switch {
		case n.tags[i] == 0:
			return i, tag, false
		case n.tags[i] == tag && bytes.Equal(n.at(n.table[i]), name):
			return i, tag, true
		}
	}
}

// at returns the name whose literal begins at a place.
func (n *nameSet) at(place uint32) []byte {
	start := int(place)
	return Decode(n.s.Data[start:StringEnd(n.s.Data, start)])
}

// grow makes room for more names than the one at byte start. For an object of very many it reckons
// how many will come if they go on as they began, since each step needs the old table and the new.
func (n *nameSet) grow(start int) {
	table, tags := n.table, n.tags
	size := max(4*fewNames, len(table)+len(table)/2)
	if n.count > manyNames {
		each := max(1, (start-n.first)/n.count)
		expected := n.count + (len(n.s.Data)-start)/each
		size = min(max(size, expected+expected/6), 8*len(table))
	}
	n.table, n.tags = make([]uint32, size), make([]byte, size)
	for i, tag := range tags {
		if tag != 0 {
			slot, _, _ := n.find(n.at(table[i]))
			n.table[slot], n.tags[slot] = table[i], tag
		}
	}
}

func (n *nameSet) addHuge(name []byte) bool {
	if n.huge == nil {
		n.huge = map[string]struct{}{}
	}
	if _, have := n.huge[string(name)]; have {
		return false
	}
	n.huge[string(name)] = struct{}{}
	return true
}

func (n *nameSet) close() { n.s.names = n.s.names[:n.base] }

var nameSeed = maphash.MakeSeed()
