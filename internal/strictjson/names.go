package strictjson

import (
	"bytes"
	"hash/maphash"
	"math"
)

// nameSet holds the member names of one open object. While they are few it is a stretch of the
// scanner's stack of names. From there on it is a hash table, so that an object of very many members
// is not read in quadratic time, and one of places in the data and not of copies, so that it takes
// not much more memory than the object.
type nameSet struct {
	s     *Scanner
	base  int
	table []uint32 // slots: where a name's literal begins, plus one; 0 for none
	count int      // of the names in the table
	huge  map[string]struct{}
}

const fewNames = 16

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
	case len(n.s.Data) >= math.MaxUint32: // a place has no room in a slot
		return n.addHuge(name)
	}
	if n.count >= len(n.table)/4*3 {
		n.grow()
	}
	slot, found := n.find(name)
	if found {
		return false
	}
	n.table[slot] = uint32(start) + 1
	n.count++
	return true
}

// find returns the slot that holds a name, or the one where it belongs.
func (n *nameSet) find(name []byte) (slot int, found bool) {
	last := uint64(len(n.table) - 1)
	for i := maphash.Bytes(nameSeed, name) & last; ; i = (i + 1) & last {
		if n.table[i] == 0 {
			return int(i), false
		}
		if bytes.Equal(n.at(n.table[i]), name) {
			return int(i), true
		}
	}
}

// at returns the name that a slot stands for.
func (n *nameSet) at(slot uint32) []byte {
	start := int(slot - 1)
	return Decode(n.s.Data[start:StringEnd(n.s.Data, start)])
}

func (n *nameSet) grow() {
	old := n.table
	n.table = make([]uint32, max(4*fewNames, 2*len(old)))
	for _, have := range old {
		if have != 0 {
			slot, _ := n.find(n.at(have))
			n.table[slot] = have
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
