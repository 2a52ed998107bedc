package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// corpus is a text to render, long enough to be cut to any size.
type corpus struct{ name, text string }

// corpora are texts of this project, as they are or in the forms in which tools return text, and
// some that are generated and say so: the project has no prose in other languages than English, no
// log, and no text of hardly anything but characters that need an escape.
func corpora(root string) ([]corpus, error) {
	var failed error
	read := func(pattern string) string {
		text, err := readAll(filepath.Join(root, pattern))
		if err != nil {
			failed = err
		}
		return text
	}
	license, code, vectors := read("LICENSE"), read("*.go"), read("testdata/vectors/*.json")
	texts := []corpus{
		{"prose", prose(code)},
		{"licence", strings.Join(strings.Fields(license), " ")}, // prose in one line
		{"chinese", chinese(false)},
		{"chinese + latin", chinese(true)},
		{"russian", russian()},
		{"code", code},
		{"dense", strings.Repeat("\"\\\n\t\x01\u2028\u0085<", 64)},
		{"mixed", read("*.md")},
		{"log", events(code)},
		{"json in json", vectors},
		{"diff", diff(code)},
		{"emoji", chat()},
	}
	return texts, failed
}

func readAll(pattern string) (string, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		b.Write(data)
	}
	return b.String(), nil
}

// prose is the comments of the sources that are ASCII, in one line.
func prose(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		comment, ok := strings.CutPrefix(line, "// ")
		if ok && strings.IndexFunc(comment, func(r rune) bool { return r > unicode.MaxASCII }) < 0 {
			b.WriteString(strings.TrimSpace(comment) + " ")
		}
	}
	return b.String()
}

// events is a log of JSON lines, a line of the sources in each.
func events(code string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(code) {
		message, err := json.Marshal(strings.TrimSpace(line))
		must(err)
		fmt.Fprintf(&b, `{"time":"2026-01-02T03:%02d:%02d.%03dZ","level":"INFO",`,
			n/60%60, n%60, n*7%1000)
		fmt.Fprintf(&b, `"msg":%s,"took":%d}`+"\n", message, n*n%977)
		n++
	}
	return b.String()
}

// diff is the sources as a change that replaces every tenth line.
func diff(code string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(code) {
		switch n++; {
		case n%60 == 1:
			fmt.Fprintf(&b, "@@ -%d,60 +%d,60 @@ package envelope\n ", n, n)
		case n%10 == 0:
			b.WriteString("-" + strings.ToLower(line) + "+")
		default:
			b.WriteByte(' ')
		}
		b.WriteString(line)
	}
	return b.String()
}

// chat generates short messages with an emoji, a typographic quote or a dash now and then.
func chat() string {
	words := strings.Fields("so the build is green again — I’ve pushed a fix 🎉 can you look at " +
		"the second test? it says “no room” 🤔 when there’s plenty … thanks a lot 👍🏽 déjà vu: we " +
		"had that on Monday ✅ let’s merge and go home 🏠")
	next := random()
	var b strings.Builder
	for b.Len() < 64<<10 {
		for range 4 + next(12) {
			b.WriteString(words[next(len(words))] + " ")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// random returns a generator of numbers below its argument, the same ones each time.
func random() func(n int) int {
	state := uint32(1)
	return func(n int) int {
		state = state*1664525 + 1013904223
		return int(state>>8) % n
	}
}

// chinese generates prose of the shape of Chinese: words of one to three common characters, a comma
// or a full stop between clauses and, with latin, now and then a number or a Latin name.
func chinese(latin bool) string {
	runes := []rune("的一是了我不人在他有这个上们来到时大地为子中你说生国年着就那和要她出也得里后自以会家可下而" +
		"过天去能对小多然于心学么之都好看起发当没成只如事把还用第样道想作种开美总从无情己面最女但现前些所同日手又行意" +
		"动方期它头经长儿回位分爱老因很给名法间斯知世什两次使身者被高已亲其进此话常与活正感")
	next := random()
	var b strings.Builder
	for b.Len() < 64<<10 {
		for range 3 + next(6) {
			for range 1 + next(3) {
				b.WriteRune(runes[next(len(runes))])
			}
		}
		switch other := next(12); {
		case !latin:
		case other == 0:
			b.WriteString("2024")
		case other == 1:
			b.WriteString("OpenAPI")
		}
		b.WriteString([]string{"，", "，", "。", "、"}[next(4)])
	}
	return b.String()
}

// russian generates prose of the shape of Russian: common words of different lengths, a comma or a
// full stop now and then.
func russian() string {
	words := strings.Fields("и в не на я быть он с что а по это она этот к но они мы весь " +
		"который из у свой вот за от так мочь все говорить человек год знать первый работа жизнь " +
		"другой новый хотеть время место теперь система описание интерфейс изменение")
	next := random()
	var b strings.Builder
	for b.Len() < 64<<10 {
		b.WriteString(words[next(len(words))])
		b.WriteString([]string{" ", " ", " ", " ", " ", " ", " ", ", ", ". "}[next(9)])
	}
	return b.String()
}

// take returns n bytes of the corpus, or up to three fewer so as not to cut a character, from
// different places.
func (c corpus) take(n, from int) string {
	text := c.text
	for len(text) < from+n+4 {
		text += c.text
	}
	text = text[from:]
	return strings.ToValidUTF8(text[:n], "")
}
