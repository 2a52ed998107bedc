package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/quote"
)

// piece is a piece of shown text: plain text or one of the others.
type piece struct {
	Text   string // as it stands
	Badge  string // in place of a character that nobody sees
	Escape string // an escape, and Name what it stands for
	Name   string
	Broken string // a marker that an escape has broken
	Break  bool   // the page goes on in a new line behind it
	Fault  bool   // it is what is wrong
}

// spelling says how a text may spell characters.
type spelling struct {
	escapes func(s string) (length int, r rune) // the escape that s begins with
	broken  []string                            // markers as the renderer breaks them
}

// pieces is s in pieces, none of which holds a character that cannot be seen.
func (sp *spelling) pieces(s string) []piece {
	var out []piece
	plain := 0
	add := func(at, length int, r piece) {
		if plain < at {
			out = append(out, piece{Text: s[plain:at]})
		}
		out = append(out, r)
		plain = at + length
	}
	for i := 0; i < len(s); {
		if n := sp.brokenAt(s[i:]); n > 0 {
			add(i, n, piece{Broken: s[i : i+n]})
			i += n
			continue
		}
		if s[i] == '\\' && sp.escapes != nil {
			if n, r := sp.escapes(s[i:]); n > 0 {
				add(i, n, piece{Escape: s[i : i+n], Name: badge(r)})
				i += n
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			add(i, size, piece{Badge: byteBadge(s[i])})
		} else if name := badge(r); name != "" {
			crlf := r == '\r' && strings.HasPrefix(s[i:], "\r\n")
			add(i, size, piece{Badge: name, Break: quote.LineBoundary(r) && !crlf})
		}
		i += size
	}
	if plain < len(s) {
		out = append(out, piece{Text: s[plain:]})
	}
	return out
}

func (sp *spelling) brokenAt(s string) int {
	for _, broken := range sp.broken {
		if strings.HasPrefix(s, broken) {
			return len(broken)
		}
	}
	return 0
}

// jsonEscape is the escape that s begins with, both halves of a surrogate pair.
func jsonEscape(s string) (length int, r rune) {
	if len(s) < 2 {
		return 0, 0
	}
	if s[1] != 'u' {
		if i := strings.IndexByte(`bfnrt`, s[1]); i >= 0 {
			return 2, rune("\b\f\n\r\t"[i])
		}
		if strings.IndexByte(`"\/`, s[1]) < 0 {
			return 0, 0
		}
		return 2, rune(s[1])
	}
	unit := func(s string) rune {
		if len(s) >= 6 && s[:2] == `\u` {
			if n, err := strconv.ParseUint(s[2:6], 16, 16); err == nil {
				return rune(n)
			}
		}
		return -1
	}
	r = unit(s)
	if r < 0 {
		return 0, 0
	}
	if utf16.IsSurrogate(r) && len(s) >= 12 {
		if pair := utf16.DecodeRune(r, unit(s[6:])); pair != utf8.RuneError {
			return 12, pair
		}
	}
	return 6, r
}

// visibleEscape is the escape of the Markdown form that s begins with, or text that looks like one.
func visibleEscape(s string) (length int, r rune) {
	for _, form := range []struct {
		prefix string
		digits int
	}{{`\u`, 4}, {`\U`, 8}} {
		if n := len(form.prefix) + form.digits; strings.HasPrefix(s, form.prefix) && len(s) >= n {
			if c, err := strconv.ParseUint(s[2:n], 16, 32); err == nil && c <= utf8.MaxRune {
				return n, rune(c)
			}
		}
	}
	return 0, 0
}

// spelling is how the text of these options spells characters.
func (o *options) spelling() (*spelling, error) {
	sp := &spelling{escapes: jsonEscape}
	if o.format == markdownFormat {
		sp.escapes = visibleEscape
	}
	w := o.wrapperInForce()
	for _, marker := range []string{w.Begin, w.End} {
		broken, err := o.broken(marker)
		if err != nil {
			return nil, err
		}
		sp.broken = append(sp.broken, broken)
	}
	return sp, nil
}

// broken is a marker as the renderer writes it in a content.
func (o *options) broken(marker string) (string, error) {
	alone := *o
	alone.sections = nil
	citation := envelope.ArtifactCitation{Artifact: envelope.ArtifactRef{ArtifactID: "1"}}
	items := []envelope.Item{{Citation: citation, Content: marker}}
	p, err := alone.render(items, envelope.Budget{MaxBytes: -1, MaxItemBytes: -1})
	if err != nil {
		return "", err
	}
	a, err := alone.dissect(p.Content)
	if err != nil {
		return "", err
	}
	content := a.portions[0].content
	written := a.text[content.Start:content.End]
	return strings.TrimPrefix(written, bodyPrefix), nil
}

// clip is as much of s as has at most n bytes, and how many bytes are left.
func clip(s string, n int) (head string, more int) {
	if len(s) <= n {
		return s, 0
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], len(s) - n
}

// number is n with its thousands apart.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// counted is n and the word for so many: "1 byte", "2 bytes".
func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if one == "byte" || one == "item" || one == "line" || one == "value" {
		one += "s"
	}
	return fmt.Sprintf("%s %s", number(n), one)
}
