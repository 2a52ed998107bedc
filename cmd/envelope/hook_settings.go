package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/untrusted-context/envelope/internal/strictjson"
)

// hookEntry is one event of a host's settings, and the command that it is to run.
type hookEntry struct{ event, command string }

// settings is a host's settings file: JSON, perhaps with comments and trailing commas, as several
// hosts allow. It is changed by putting text in and taking text out, so that every other byte
// stays.
type settings struct {
	data    []byte // as it stands
	bare    []byte // the same, with blanks in place of comments
	clean   []byte // and of commas before a closing bracket, so that it is JSON
	scanner strictjson.Scanner
	root    int // where the object begins
	newline string
	indent  string
}

// parseSettings reads data, which is not blank.
func parseSettings(data []byte) (*settings, error) {
	bare := withoutComments(data)
	s := &settings{data: data, bare: bare, clean: withoutLastCommas(bare)}
	mark := 0
	if bytes.HasPrefix(data, []byte(byteOrderMark)) {
		mark = len(byteOrderMark)
		copy(s.clean, "   ") // white space, so that the offsets stay
	}
	s.scanner = strictjson.Scanner{Data: s.clean}
	root, _, fault := s.scanner.Whole()
	if fault != nil {
		line := 1 + bytes.Count(data[:fault.Offset], []byte("\n"))
		return nil, fmt.Errorf("is not JSON: line %d: %s", line, fault)
	}
	if s.clean[root] != '{' {
		return nil, errors.New("is not a JSON object")
	}
	s.root = root
	if i := bytes.IndexByte(data[mark:], '\n'); i >= 0 {
		s.newline, s.indent = "\n", "  "
		if i > 0 && data[mark+i-1] == '\r' {
			s.newline = "\r\n"
		}
		if members := s.scanner.Members(root); len(members) > 0 {
			before := data[:members[0].NameStart]
			line := before[bytes.LastIndexByte(before, '\n')+1:]
			if len(line) > 0 && len(bytes.Trim(line, " \t")) == 0 {
				s.indent = string(line)
			}
		}
	}
	return s, nil
}

// withoutComments is a copy of data with blanks in place of // and /* */ comments. Line ends
// stay, and so do all offsets.
func withoutComments(data []byte) []byte {
	bare := bytes.Clone(data)
	for i := 0; i < len(data); i++ {
		length := 0
		switch {
		case data[i] == '"':
			i = closingQuote(data, i)
		case bytes.HasPrefix(data[i:], []byte("//")):
			if length = bytes.IndexAny(data[i:], "\r\n"); length < 0 {
				length = len(data) - i
			}
		case bytes.HasPrefix(data[i:], []byte("/*")):
			length = bytes.Index(data[i+2:], []byte("*/")) + 4
			if length < 4 {
				return bare // which is not JSON
			}
		}
		for k := i; k < i+length; k++ {
			if !strictjson.IsSpace(data[k]) {
				bare[k] = ' '
			}
		}
		i += max(0, length-1)
	}
	return bare
}

// withoutLastCommas is a copy of data with a blank in place of each comma before a closing bracket.
func withoutLastCommas(data []byte) []byte {
	clean := bytes.Clone(data)
	comma := -1 // the last one, when nothing but white space follows it
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case strictjson.IsSpace(c):
			continue
		case c == ',':
			comma = i
			continue
		case c == '"':
			i = closingQuote(data, i)
		case (c == '}' || c == ']') && comma >= 0:
			clean[comma] = ' '
		}
		comma = -1
	}
	return clean
}

// closingQuote is where the string ends that begins at byte i.
func closingQuote(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// member returns where the value of a member of the object at byte at begins, -1 when there is
// none.
func (s *settings) member(at int, name string) int {
	for _, m := range s.scanner.Members(at) {
		if string(m.Name) == name {
			return m.ValueStart
		}
	}
	return -1
}

// span is the bounds of a child of an object or of an array: of a member, from its name on.
type span struct{ start, end int }

// children are the members of the object, or the elements of the array, at byte at.
func (s *settings) children(at int) (all []span) {
	if s.clean[at] == '[' {
		s.scanner.Elements(at, func(start, end int) { all = append(all, span{start, end}) })
		return all
	}
	for _, m := range s.scanner.Members(at) {
		all = append(all, span{m.NameStart, m.ValueEnd})
	}
	return all
}

// inserted is the file with one more child, the last, in the object or the array at byte at, which
// is so deep.
func (s *settings) inserted(at, depth int, name string, value any) []byte {
	text := s.text(value, depth)
	if name != "" {
		colon := ": "
		if s.newline == "" {
			colon = ":"
		}
		text = s.text(name, 0) + colon + text
	}
	lead := s.newline + strings.Repeat(s.indent, depth)
	where := at + 1
	if children := s.children(at); len(children) > 0 {
		where = children[len(children)-1].end
		text = "," + lead + text
	} else {
		text = lead + text + s.newline + strings.Repeat(s.indent, depth-1)
	}
	return slices.Concat(s.data[:where], []byte(text), s.data[where:])
}

// text is a value in the style of the file.
func (s *settings) text(value any, depth int) string {
	compact := bytes.TrimSpace(jsonLine(value))
	if s.newline == "" {
		return string(compact)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, strings.Repeat(s.indent, depth), s.indent); err != nil {
		panic(err) // it is JSON
	}
	return strings.ReplaceAll(b.String(), "\n", s.newline)
}

// without is the file without a child of the object or the array at byte at, and without the comma
// that it leaves. Comments stay.
func (s *settings) without(at, child int) []byte {
	children := s.children(at)
	from, to := children[child].start, children[child].end
	blank := from // the white space before it, unless that ends a comment
	for blank > at+1 && strictjson.IsSpace(s.data[blank-1]) {
		blank--
	}
	if blank == at+1 || s.bare[blank-1] == s.data[blank-1] {
		from = blank
	}
	if child > 0 {
		comma := children[child-1].end + bytes.IndexByte(s.bare[children[child-1].end:], ',')
		from = max(from, comma+1)
		return slices.Concat(s.data[:comma], s.data[comma+1:from], s.data[to:])
	}
	if comma := s.space(to); s.bare[comma] == ',' {
		return slices.Concat(s.data[:from], s.data[to:comma], s.data[comma+1:])
	}
	return slices.Concat(s.data[:from], s.data[to:])
}

// space is the first byte at or behind i that is neither white space nor of a comment.
func (s *settings) space(i int) int {
	for strictjson.IsSpace(s.bare[i]) {
		i++
	}
	return i
}

// withEntries is a settings file with the entries in it, each behind what else is there for its
// event. A blank file becomes a new one.
func (h *host) withEntries(data []byte, entries []hookEntry) ([]byte, error) {
	if blankSettings(data) {
		mark := len(data) - len(bytes.TrimPrefix(data, []byte(byteOrderMark)))
		data = append(bytes.Clone(data[:mark]), h.setup.empty...)
	}
	for _, e := range entries {
		s, err := parseSettings(data)
		if err != nil {
			return nil, err
		}
		group := h.setup.group(e.command)
		hooks := s.member(s.root, "hooks")
		if hooks < 0 {
			data = s.inserted(s.root, 1, "hooks", map[string]any{e.event: []any{group}})
			continue
		}
		if s.clean[hooks] != '{' {
			return nil, errors.New("has hooks that are not an object")
		}
		list := s.member(hooks, e.event)
		switch {
		case list < 0:
			data = s.inserted(hooks, 2, e.event, []any{group})
		case s.clean[list] != '[':
			return nil, errors.New("has hooks of an event that are not an array")
		default:
			data = s.inserted(list, 3, "", group)
		}
	}
	return data, nil
}

// blankSettings reports whether a file holds nothing, for which some hosts take no settings.
func blankSettings(data []byte) bool {
	return len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte(byteOrderMark)))) == 0
}

// place is where in the settings a command of ours stands: the arrays and objects from the root
// to it, and which child of each is the next.
type place struct {
	entry hookEntry
	at    []int
	child []int
}

// places are the commands that run this hook for the host.
func (h *host) places(s *settings) (all []place) {
	hooks := s.member(s.root, "hooks")
	if hooks < 0 || s.clean[hooks] != '{' {
		return nil
	}
	var in func(event string, p place, at int)
	in = func(event string, p place, at int) {
		if s.clean[at] == '[' {
			for i, c := range s.children(at) {
				in(event, p.down(at, i), c.start)
			}
			return
		}
		if s.clean[at] != '{' {
			return
		}
		for i, m := range s.scanner.Members(at) {
			switch name := string(m.Name); {
			case name == "hooks" && s.clean[m.ValueStart] == '[':
				in(event, p.down(at, i), m.ValueStart)
			case slices.Contains(h.setup.commands, name) && s.clean[m.ValueStart] == '"':
				command := string(strictjson.Decode(s.clean[m.ValueStart:m.ValueEnd]))
				if runsHook(command, h.name) {
					all = append(all, place{hookEntry{event, command}, p.at, p.child})
					return
				}
			}
		}
	}
	root := slices.IndexFunc(s.scanner.Members(s.root), func(m strictjson.Member) bool {
		return m.ValueStart == hooks
	})
	top := place{at: []int{s.root}, child: []int{root}}
	for i, m := range s.scanner.Members(hooks) {
		in(string(m.Name), top.down(hooks, i), m.ValueStart)
	}
	return all
}

func (p place) down(at, child int) place {
	return place{p.entry, append(slices.Clone(p.at), at), append(slices.Clone(p.child), child)}
}

// withoutEntries is a settings file without the commands that run this hook for the host, and
// without the groups, events and hooks that are empty then.
func (h *host) withoutEntries(data []byte) ([]byte, error) {
	for {
		if blankSettings(data) {
			return data, nil
		}
		s, err := parseSettings(data)
		if err != nil {
			return nil, err
		}
		places := h.places(s)
		if len(places) == 0 {
			return data, nil
		}
		p := places[0]
		last := len(p.at) - 1
		for last > 0 && s.removable(p, last) {
			last--
		}
		if last > 1 && s.clean[p.at[last]] == '{' {
			last++ // a group that stays keeps its list of hooks
		}
		data = s.without(p.at[last], p.child[last])
	}
}

// removable reports whether the container at level n would be of no use without its child: it has
// no other, or is a group that has nothing but a matcher beside it.
func (s *settings) removable(p place, n int) bool {
	children := s.children(p.at[n])
	if len(children) == 1 {
		return true
	}
	if s.clean[p.at[n]] != '{' || s.clean[p.at[n-1]] != '[' {
		return false
	}
	for i, m := range s.scanner.Members(p.at[n]) {
		if i != p.child[n] && string(m.Name) != "matcher" {
			return false
		}
	}
	return true
}

// runsHook reports whether a shell command runs this hook for a host.
func runsHook(command, host string) bool {
	program, flags, ok := strings.Cut(command, " hook -host "+host)
	if !ok || flags != "" && flags[0] != ' ' {
		return false
	}
	program = strings.Trim(program, ` &'"`)
	if strings.Contains(path.Base(strings.ReplaceAll(program, `\`, "/")), "envelope") {
		return true
	}
	own, err := ownCommand()
	return err == nil && program == strings.Trim(own, `'"`)
}
