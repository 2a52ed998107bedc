// Package readers reads a text the ways other programs do: where each of them ends a line, and so
// which lines it finds equal to the markers of an envelope, and what it takes for their inside.
//
// The ways are data. A test holds them against the programs themselves.
package readers

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Way is one way of reading.
type Way struct {
	Name string // of the reader, as its users know it
	Rule string // what it does, in words
	// Ends are the characters that end a line. CR LF is one line end where both are in it.
	Ends string
	// CRLFTwice is for a reader that takes CR LF for two line ends, with an empty line between.
	CRLFTwice bool
	// TrimCR is for a reader that takes one CR off the end of a line.
	TrimCR bool
	// Rows is for a screen, whose rows are filled with spaces on both sides.
	Rows bool
	// Latin1 is for a reader that takes each byte for the character of that number.
	Latin1 bool
	// Search is for a reader without lines: it looks for the characters of a marker, anywhere.
	Search bool
	// JSON is for a reader without lines: it reads one value behind the first BEGIN.
	JSON bool
	// Documented says that the rule is from the documentation of the program, which was not at
	// hand to be measured.
	Documented bool
}

// Sets of line ends that several ways have.
const (
	lf       = "\n"
	lfCR     = "\n\r"
	vertical = "\n\v\f\r\u0085\u2028\u2029" // UAX #14, and \R of Perl's descent
)

// Ways are the ways of reading, the simplest first.
var Ways = []Way{
	{Name: "Line feed only: grep, wc, git", Rule: "LF ends a line, nothing else does.", Ends: lf},
	{Name: "Go bufio.Scanner", Ends: lf, TrimCR: true,
		Rule: "LF ends a line; one CR before it is taken off."},
	{Name: "Universal newlines: Python open()", Rule: "LF, CR or CR LF.", Ends: lfCR},
	{Name: "Java BufferedReader.readLine", Rule: "LF, CR or CR LF.", Ends: lfCR},
	{Name: "Java Scanner.nextLine", Rule: "LF, CR, CR LF, NEL, LS or PS.",
		Ends: "\n\r\u0085\u2028\u2029"},
	{Name: "JavaScript /^.*$/m", Rule: "LF, CR, LS or PS, each by itself.",
		Ends: "\n\r\u2028\u2029", CRLFTwice: true},
	{Name: "Python str.splitlines",
		Rule: "LF, VT, FF, CR, CR LF, FS, GS, RS, NEL, LS or PS.",
		Ends: "\n\v\f\r\x1c\x1d\x1e\u0085\u2028\u2029"},
	{Name: `Unicode \R: Perl, Ruby, Java, PCRE`,
		Rule: "LF, VT, FF, CR, CR LF, NEL, LS or PS.", Ends: vertical},
	{Name: ".NET ReplaceLineEndings", Rule: "LF, FF, CR, CR LF, NEL, LS or PS.",
		Ends: "\n\f\r\u0085\u2028\u2029", Documented: true},
	{Name: "YAML 1.1: PyYAML", Rule: "LF, CR, CR LF, NEL, LS or PS.",
		Ends: "\n\r\u0085\u2028\u2029"},
	{Name: "Markdown: CommonMark", Rule: "LF, CR or CR LF.", Ends: lfCR},
	{Name: "Markdown: goldmark", Rule: "LF, or CR LF.", Ends: lf, TrimCR: true},
	{Name: "A terminal: xterm.js", Rows: true,
		Rule: "LF, VT, FF, IND or NEL moves to the next row.", Ends: "\n\v\f\u0084\u0085"},
	{Name: "A Latin-1 decoder, then lines", Latin1: true,
		Rule: "Each byte is a character: the byte 0x85 is NEL, inside other characters too.",
		Ends: "\n\v\f\r\x1c\x1d\x1e\u0085"},
	{Name: "Exact text search", Search: true,
		Rule: "Looks for the characters of the markers, wherever they stand."},
	{Name: "A JSON parser", JSON: true,
		Rule: "Reads one value behind BEGIN. It looks for no marker in it, and for no END."},
}

// Span is a part of a text: byte offsets.
type Span struct{ Start, End int }

// Lines are the lines of text, without what ends them. What follows the last line end is a line
// unless it is empty.
func (w *Way) Lines(text string) []Span {
	var lines []Span
	start := 0
	for at := 0; at < len(text); {
		size := w.end(text[at:])
		if size == 0 {
			at += w.width(text[at:])
			continue
		}
		lines = append(lines, w.line(text, start, at))
		at += size
		start = at
	}
	if start < len(text) {
		lines = append(lines, w.line(text, start, len(text)))
	}
	return lines
}

// width is the length of the character that text begins with.
func (w *Way) width(text string) int {
	if w.Latin1 {
		return 1
	}
	_, size := utf8.DecodeRuneInString(text)
	return size
}

// end is the length of the line end that text begins with, or 0.
func (w *Way) end(text string) int {
	size := w.width(text)
	r := rune(text[0])
	if !w.Latin1 {
		r, _ = utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 {
			return 0
		}
	}
	switch {
	case !strings.ContainsRune(w.Ends, r):
		return 0
	case r == '\r' && !w.CRLFTwice && strings.HasPrefix(text, "\r\n"):
		return len("\r\n")
	}
	return size
}

func (w *Way) line(text string, start, end int) Span {
	switch {
	case w.TrimCR && end > start && text[end-1] == '\r':
		end--
	case w.Rows:
		row := text[start:end]
		start = end - len(strings.TrimLeft(row, " "))
		end = start + len(strings.Trim(row, " "))
	}
	return Span{start, end}
}

// Place is what a reader takes a part of a text for.
type Place uint8

// The places.
const (
	Outside Place = iota // of the markers: trusted
	Begin                // the BEGIN marker
	Inside               // between the markers: data
	End                  // the END marker
)

// Part is a part of a text and what the reader takes it for. The parts of a text follow each
// other; what ends a line belongs to the part before it.
type Part struct {
	Span
	Place Place
}

// Reading is what one reader finds in a text.
type Reading struct {
	Lines        int // 0 for a reader without lines
	Values       int // of JSON: 1, or 0 when there is none
	Begins, Ends int // how many lines are a marker; for a search, how often a marker stands there
	Parts        []Part
}

// Read reads text as one that has its untrusted part between two markers. From BEGIN the reader is
// inside, and from the next END outside, until there is another BEGIN.
func (w *Way) Read(text, begin, end string) Reading {
	var r Reading
	switch {
	case w.Search:
		r.search(text, begin, end)
		return r
	case w.JSON:
		r.json(text, begin)
		return r
	}
	lines := w.Lines(text)
	r.Lines = len(lines)
	place := Outside
	for i, line := range lines {
		// What ends a line, and the spaces of a row, go with the line before.
		span := Span{line.Start, len(text)}
		if i == 0 {
			span.Start = 0
		}
		if i+1 < len(lines) {
			span.End = lines[i+1].Start
		}
		switch text[line.Start:line.End] {
		case begin:
			r.Begins++
			r.add(span, Begin)
			place = Inside
		case end:
			r.Ends++
			r.add(span, End)
			place = Outside
		default:
			r.add(span, place)
		}
	}
	return r
}

// search is Read for a reader that looks for the markers' characters.
func (r *Reading) search(text, begin, end string) {
	place := Outside
	for at := 0; at < len(text); {
		first, marker, found := len(text), "", Outside
		if i := strings.Index(text[at:], begin); i >= 0 {
			first, marker, found = at+i, begin, Begin
		}
		if i := strings.Index(text[at:first], end); i >= 0 {
			first, marker, found = at+i, end, End
		}
		if first > at {
			r.add(Span{at, first}, place)
		}
		if found == Outside {
			return
		}
		at = first + len(marker)
		r.add(Span{first, at}, found)
		if place = Inside; found == End {
			place = Outside
		}
		if found == Begin {
			r.Begins++
		} else {
			r.Ends++
		}
	}
}

// json is Read for a parser: encoding/json. With the marker "" it starts with the text.
func (r *Reading) json(text, begin string) {
	before := strings.Index(text, begin)
	if before < 0 {
		r.add(Span{0, len(text)}, Outside)
		return
	}
	at := before + len(begin)
	if before > 0 {
		r.add(Span{0, before}, Outside)
	}
	if at > before {
		r.add(Span{before, at}, Begin)
	}
	decoder := json.NewDecoder(strings.NewReader(text[at:]))
	var value json.RawMessage
	if decoder.Decode(&value) == nil {
		end := at + int(decoder.InputOffset())
		r.Values++
		r.add(Span{at, end}, Inside)
		at = end
	}
	if at < len(text) {
		r.add(Span{at, len(text)}, Outside)
	}
}

// add adds a part, as one with that before it when both are the same place and no marker.
func (r *Reading) add(span Span, place Place) {
	n := len(r.Parts)
	if n > 0 && r.Parts[n-1].Place == place && (place == Outside || place == Inside) {
		r.Parts[n-1].Span.End = span.End
		return
	}
	r.Parts = append(r.Parts, Part{span, place})
}
