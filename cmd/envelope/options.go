package main

import (
	"errors"
	"flag"
	"strconv"
	"strings"

	"github.com/untrusted-context/envelope"
)

// options are the flags that say how a text is rendered, for whoever writes one and for whoever
// checks one.
type options struct {
	format      formatFlag
	wrapperFile string
	wrapper     envelope.Wrapper // of wrapperFile; the zero value without one
	scope       string
	escape      escapeFlag
	line        lineFlags
	sections    sectionsFlag
	show        showFlag
	invisible   bool
}

func (o *options) register(f *flag.FlagSet) {
	o.format = jsonFormat
	f.Var(&o.format, "format", "the `rendering`: json, markdown")
	o.registerWrapper(f)
	f.StringVar(&o.scope, "scope", "",
		"json: write citations in this `scope` without it; markdown: show it for those without one")
	f.Var(&o.escape, "escape", "json: escape these `classes` too: "+
		"controls,invisible,markup,nonascii\n(verify without it: whichever)")
	o.line.register(f)
	f.Var(&o.sections, "sections",
		"markdown: the `kinds` to show, each with a limit if it has one: memory:6,experience:2")
	f.Var(&o.show, "show", "markdown: more `lines` for each item: confidence,recall_rank")
	f.BoolVar(&o.invisible, "invisible", false,
		"markdown: make variation selectors and fillers visible too")
}

// validate refuses flags that the format has no use for, and reads the file of -wrapper.
func (o *options) validate() error {
	if o.format == jsonFormat && (o.sections != nil || o.show != 0 || o.invisible) {
		return errors.New("-sections, -show and -invisible are for -format markdown")
	}
	if o.format == markdownFormat && (o.escape.set || o.line != lineFlags{}) {
		return errors.New("-escape, -bare, -omitted and -checksum are for -format json")
	}
	return o.readWrapper()
}

func (o *options) json() envelope.JSON {
	return envelope.JSON{
		Wrapper: o.wrapper, Scope: o.scope, Escape: o.escape.classes,
		Bare: o.line.bare, Omitted: o.line.omitted, Checksum: o.line.checksum,
	}
}

// lineFlags are the flags that change the line of JSON.
type lineFlags struct{ bare, omitted, checksum bool }

func (l *lineFlags) register(f *flag.FlagSet) {
	f.BoolVar(&l.bare, "bare", false, "json: the line alone, without notice and markers")
	f.BoolVar(&l.omitted, "omitted", false, "json: say in the line how many items are left out")
	f.BoolVar(&l.checksum, "checksum", false, "json: end the line with a checksum of it")
}

func (o *options) markdown() envelope.Markdown {
	return envelope.Markdown{
		Wrapper:   o.wrapper,
		Scope:     o.scope,
		Sections:  o.sections,
		Show:      envelope.Show(o.show),
		Invisible: o.invisible,
	}
}

// escapeFlag is a flag that takes names of escape classes, separated by commas.
type escapeFlag struct {
	classes envelope.Escape
	set     bool
}

var classNames = []struct {
	name  string
	class envelope.Escape
}{
	{"controls", envelope.EscapeControls},
	{"invisible", envelope.EscapeInvisible},
	{"markup", envelope.EscapeMarkup},
	{"nonascii", envelope.EscapeNonASCII},
}

func (e *escapeFlag) String() string {
	var names []string
	for _, c := range classNames {
		if e.classes&c.class != 0 {
			names = append(names, c.name)
		}
	}
	return strings.Join(names, ",")
}

func (e *escapeFlag) Set(value string) error {
	e.classes, e.set = 0, true
	if value == "" {
		return nil
	}
names:
	for name := range strings.SplitSeq(value, ",") {
		for _, c := range classNames {
			if c.name == name {
				e.classes |= c.class
				continue names
			}
		}
		return errors.New("classes are controls, invisible, markup, nonascii")
	}
	return nil
}

// formatFlag is a flag that takes the name of a rendering.
type formatFlag string

const (
	jsonFormat     = "json"
	markdownFormat = "markdown"
)

func (f *formatFlag) String() string { return string(*f) }

func (f *formatFlag) Set(value string) error {
	if value != jsonFormat && value != markdownFormat {
		return errors.New("formats are json, markdown")
	}
	*f = formatFlag(value)
	return nil
}

// sectionsFlag is a flag that takes kinds, each with a limit if it has one, separated by commas.
type sectionsFlag []envelope.Section

func (s *sectionsFlag) String() string {
	var parts []string
	for _, section := range *s {
		part := section.Kind
		if section.Limit > 0 {
			part += ":" + strconv.Itoa(section.Limit)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

func (s *sectionsFlag) Set(value string) error {
	*s = sectionsFlag{}
	if value == "" {
		return nil
	}
	for part := range strings.SplitSeq(value, ",") {
		kind, limit, limited := strings.Cut(part, ":")
		section := envelope.Section{Kind: kind}
		if limited {
			n, err := strconv.Atoi(limit)
			if err != nil || n < 1 {
				return errors.New("the limit of a section is a positive number")
			}
			section.Limit = n
		}
		if kind == "" {
			return errors.New("a section without a kind")
		}
		*s = append(*s, section)
	}
	return nil
}

// showFlag is a flag that takes names of lines, separated by commas.
type showFlag envelope.Show

func (s *showFlag) String() string {
	var names []string
	for _, line := range showLines {
		if envelope.Show(*s)&line.show != 0 {
			names = append(names, line.name)
		}
	}
	return strings.Join(names, ",")
}

func (s *showFlag) Set(value string) error {
	*s = 0
	if value == "" {
		return nil
	}
names:
	for name := range strings.SplitSeq(value, ",") {
		for _, line := range showLines {
			if line.name == name {
				*s |= showFlag(line.show)
				continue names
			}
		}
		return errors.New("lines are confidence, recall_rank")
	}
	return nil
}

var showLines = []struct {
	name string
	show envelope.Show
}{
	{"confidence", envelope.ShowConfidence},
	{"recall_rank", envelope.ShowRank},
}
