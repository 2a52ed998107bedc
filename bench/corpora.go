package main

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// corpus is a text to render, long enough to be cut to any size.
type corpus struct{ name, text string }

// corpora are this project's own comments, licence, sources and documents, and three texts that are generated and say so: Chinese and Russian prose, since the
// project has none, and a text of hardly anything but characters that need an escape.
func corpora(root string) ([]corpus, error) {
	read := func(patterns ...string) (string, error) {
		var b strings.Builder
		for _, pattern := range patterns {
			files, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil {
				return "", err
			}
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					return "", err
				}
				b.Write(data)
			}
		}
		return b.String(), nil
	}
	license, err := read("LICENSE")
	if err != nil {
		return nil, err
	}
	code, err := read("*.go")
	if err != nil {
		return nil, err
	}
	mixed, err := read("*.md")
	if err != nil {
		return nil, err
	}
	return []corpus{
		{"prose", prose(code)},
		{"licence", strings.Join(strings.Fields(license), " ")}, // prose in one line
		{"chinese", chinese(false)},
		{"chinese + latin", chinese(true)},
		{"russian", russian()},
		{"code", code},
		{"dense", strings.Repeat("\"\\\n\t\x01\u2028\u0085<", 64)},
		{"mixed", mixed},
	}, nil
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

// chinese generates prose of the shape of Chinese: words of two to four common characters, a comma or a full stop between clauses and, with
// latin, now and then a number or a Latin name.
func chinese(latin bool) string {
	const common = "的一是了我不人在他有这个上们来到时大地为子中你说生国年着就那和要她出也得里后自以会家可下而过天去能对小多然于心学么之都好看起发当没成只如事把还用第样道想作种开美总从无情己面最女但现前些所同日手又行意动方期它头经长儿回位分爱老因很给名法间斯知世什两次使身者被高已亲其进此话常与活正感"
	runes := []rune(common)
	state := uint32(1)
	next := func(n int) int {
		state = state*1664525 + 1013904223
		return int(state>>8) % n
	}
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

// russian generates prose of the shape of Russian: common words of different lengths, a comma or a full stop now and then.
func russian() string {
	words := strings.Fields("и в не на я быть он с что а по это она этот к но они мы весь который из у свой вот за от так мочь все говорить человек год знать первый работа жизнь другой новый хотеть время место теперь система описание интерфейс изменение")
	state := uint32(1)
	next := func(n int) int {
		state = state*1664525 + 1013904223
		return int(state>>8) % n
	}
	var b strings.Builder
	for b.Len() < 64<<10 {
		b.WriteString(words[next(len(words))])
		b.WriteString([]string{" ", " ", " ", " ", " ", " ", " ", ", ", ". "}[next(9)])
	}
	return b.String()
}

// take returns n bytes of the corpus, or up to three fewer so as not to cut a character, from different places.
func (c corpus) take(n, from int) string {
	text := c.text
	for len(text) < from+n+4 {
		text += c.text
	}
	text = text[from:]
	return strings.ToValidUTF8(text[:n], "")
}
