package envelope

import (
	"strings"

	"github.com/untrusted-context/envelope/internal/quote"
)

// frame is the trusted text of a rendering, on both sides of what its items take. A bare line has
// none, and opening is "".
type frame struct {
	opening, closing string
	wrapper          *Wrapper
	markdown         bool
}

// inside returns what stands in the frame, and where it begins. The error tells what a person is
// likely to have done: its offset is the first byte that differs.
func (f *frame) inside(text string) (inside string, start int, err *Error) {
	if f.opening == "" {
		return text, 0, f.bareFault(text)
	}
	at := difference(f.opening, text[:min(len(f.opening), len(text))])
	if at >= 0 {
		return "", 0, f.openingFault(text, at)
	}
	start = len(f.opening)
	inside, closed := strings.CutSuffix(text[start:], f.closing)
	if !closed {
		return "", 0, f.closingFault(text, start)
	}
	return inside, start, nil
}

func (f *frame) openingFault(text string, at int) *Error {
	plain := strings.ReplaceAll(text[:min(2*len(f.opening), len(text))], "\r\n", "\n")
	switch {
	case quote.Blank(text, len(text)):
		return frameError(at, "there is no text")
	case strings.HasPrefix(plain, f.opening):
		return frameError(at, "its lines end in CR LF")
	case strings.HasPrefix(text, "\ufeff"):
		return frameError(at, "a byte order mark stands before it")
	case !f.markdown && isMarkdown(text, f.wrapper):
		return frameError(at, "it is Markdown, which Markdown.Check reads")
	case f.markdown && isJSON(text, f.wrapper):
		return frameError(at, "it is an envelope of JSON, which JSON.Open reads")
	case strings.HasPrefix(text, `{"trust":`):
		return frameError(at, "it is a bare line")
	case strings.Contains(text, f.opening):
		return frameError(at, "other text stands before it")
	case strings.HasPrefix(f.opening, text):
		return frameError(at, "its end is cut off")
	case at < strings.Index(f.opening, f.wrapper.Begin) && hasLine(text, f.wrapper.Begin):
		err := frameError(at, "")
		err.Err, err.cause = ErrNotice, ErrFrame
		return err
	}
	return frameError(at, "")
}

// bareFault is that text, which should be a line alone, is none at first sight.
func (f *frame) bareFault(text string) *Error {
	switch {
	case quote.Blank(text, len(text)):
		return frameError(0, "there is no text")
	case hasLine(text, f.wrapper.Begin):
		return frameError(0, "it is not a bare line: a notice and markers stand around it")
	}
	return nil
}

// closingFault is that text, which has the opening, has not the closing.
func (f *frame) closingFault(text string, start int) *Error {
	if behind := strings.Index(text[start:], f.closing); behind >= 0 {
		at := start + behind + len(f.closing)
		rule := "other text stands behind it"
		if strings.Trim(text[at:], "\r\n") == "" {
			rule = "a line end stands behind it"
		}
		return frameError(at, rule)
	}
	if f.markdown {
		return frameError(len(text), "its end is cut off")
	}
	// The JSON is one line, so that what stands behind it has to be the end.
	line, end, more := strings.Cut(text[start:], "\n")
	at := min(start+len(line)+1, len(text))
	rule := ""
	if !more || strings.HasPrefix(f.wrapper.End, end) {
		rule = "its end is cut off"
	}
	return frameError(at+difference(f.wrapper.End, end), rule)
}

func frameError(at int, rule string) *Error {
	err := openError(ErrFrame, at)
	err.rule = rule
	return err
}

// hasLine reports whether text has a line equal to line.
func hasLine(text, line string) bool {
	return strings.Contains("\n"+text+"\n", "\n"+line+"\n")
}

// isMarkdown reports whether text seems to be of a Markdown renderer with this wrapper or the
// default one.
func isMarkdown(text string, w *Wrapper) bool {
	return hasLine(text, defaultTextWrapper.Begin) ||
		strings.Contains(text, blockEnd+w.Notice+blockEnd+w.Begin+blockEnd)
}

// isJSON reports whether text seems to be of a JSON renderer with this wrapper or the default one.
func isJSON(text string, w *Wrapper) bool {
	return hasLine(text, defaultWrapper.Begin) ||
		strings.HasPrefix(text, w.Notice+blockEnd+w.Begin+"\n{")
}

// difference returns the first byte in which a and b differ, -1 when they do not.
func difference(a, b string) int {
	if a == b {
		return -1
	}
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
