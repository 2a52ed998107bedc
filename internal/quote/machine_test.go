package quote

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestMachines(t *testing.T) {
	type named struct {
		name   string
		m      *machine
		wanted func(r rune) bool
	}
	all := []named{{"utf8", &utf8Machine, func(rune) bool { return true }}}
	for c := range All + 1 {
		escaper := For(c)
		all = append(all, named{"escaper", escaper.unescaped.get(), func(r rune) bool {
			return !escaper.Escapes(r)
		}})
	}
	for _, d := range displays {
		all = append(all, named{"display", d.unescaped.get(), func(r rune) bool {
			return !d.Hides(r) && !strings.ContainsRune("\r\n\u2028\u2029", r)
		}})
	}
	for i, m := range all {
		for r := rune(0); r <= utf8.MaxRune; r++ {
			switch {
			case r == 0xd800:
				r = 0xe000
			case r >= 0x20000 && r&0xff == 1 && testing.Short():
				r += 0xfe
			}
			if m.m.reads(string(r)) {
				require.True(t, m.wanted(r), "%s %d reads %U", m.name, i, r)
			} else if m.name == "utf8" || r < 0xc0 {
				require.False(t, m.wanted(r), "%s %d refuses %U", m.name, i, r)
			}
		}
	}
}

// TestMachinesReadUTF8 compares with package utf8 all that begins one to four bytes.
func TestMachinesReadUTF8(t *testing.T) {
	machines := []*machine{&utf8Machine, For(0).unescaped.get(), displays[0].unescaped.get()}
	var check func(s []byte, states []uint64)
	check = func(s []byte, states []uint64) {
		valid := utf8.Valid(s)
		alive := false
		for k, m := range machines {
			if states[k] == between && !valid {
				t.Fatalf("machine %d reads %q", k, s)
			}
			if m == &utf8Machine && valid && states[k] != between {
				t.Fatalf("machine %d refuses %q", k, s)
			}
			alive = alive || states[k] != refused
		}
		// From between characters all begins anew, and from refused nothing does.
		if len(s) == 4 || !alive || len(s) > 0 && valid {
			return
		}
		next := make([]uint64, len(machines))
		for c := range 256 {
			for k, m := range machines {
				next[k] = m[c] >> states[k] & 63
			}
			check(append(s, byte(c)), next)
		}
	}
	check(nil, []uint64{between, between, between})
	for c := range 256 {
		for _, m := range machines {
			require.Zero(t, m[c]&63, "out of refused by %#x", c)
		}
	}
}

// reads reports whether m reads all of s, a few bytes long.
func (m *machine) reads(s string) bool {
	state := uint64(between)
	for i := range len(s) {
		state = m[s[i]] >> state & 63
	}
	return state == between
}

// What most texts are made of is read, so that it is fast.
func TestMachinesReadCommonText(t *testing.T) {
	for _, m := range []*machine{
		&utf8Machine, For(0).unescaped.get(), For(Controls | Invisible | Markup).unescaped.get(),
		displays[0].unescaped.get(), displays[1].unescaped.get(),
	} {
		for _, s := range []string{
			"a", " ", "é", "ж", "א", "中", "あ", "한", "—", "“", "…", "€", "🙂",
		} {
			require.True(t, m.reads(s), s)
		}
	}
}

func TestMachinePrefix(t *testing.T) {
	for _, test := range []struct {
		text string
		want int
		why  string
	}{
		{"", 0, "nothing"},
		{"1234567", 0, "less than a word is left to others"},
		{"12345678", 8, "a word"},
		{"123456789", 8, "the rest is less than a word"},
		{"1234567é", 7, "a character over the end of a word is not begun"},
		{"123456漢", 6, "the same, of three bytes"},
		{"12345🎉8901234", 16, "over two words"},
		{"1234567é901234é\xff1234567", 15, "what comes before a refused word ends between characters"},
		{"1234567\xff", 0, "refused"},
	} {
		n := utf8Machine.prefix(test.text)
		require.True(t, utf8.ValidString(test.text[:n]), test.why)
		require.Equal(t, test.want, n, "%q: %s", test.text, test.why)
		require.Equal(t, test.want, machinePrefix(&utf8Machine, []byte(test.text)), test.why)
	}
}

// Who needs a machine first builds it, and the others wait.
func TestLazyMachineIsBuiltOnce(t *testing.T) {
	built := 0
	l := lazyMachine{wanted: func(first, _ rune) bool {
		if first == 0 {
			built++
		}
		return true
	}}
	var all sync.WaitGroup
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			if !l.get().reads("a") {
				t.Error("half a machine")
			}
		}()
	}
	all.Wait()
	require.Equal(t, 1, built)
}
