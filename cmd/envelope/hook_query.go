package main

import (
	"strings"
	"unicode/utf8"

	"github.com/untrusted-context/envelope"
)

// mostQuery is how many characters of query a server takes.
const mostQuery = 8192

// query is what a server is asked for.
type query struct {
	text string
	cut  bool
}

// query returns what to ask for an event.
func (h *hookRun) query(e *event, of *hostEvent) (query, string) {
	if of.kind != promptEvent {
		if h.sessionQuery == "" {
			return query{}, "no-session-query"
		}
		return shortened(h.sessionQuery), ""
	}
	prompt, found, reason := e.text(memberPrompt)
	if reason == "" && !found {
		prompt, found, reason = e.text(memberUserPrompt)
	}
	switch {
	case reason != "":
		return query{}, reason
	case !found:
		return query{}, "no-prompt"
	}
	prompt = h.withoutEnvelopes(prompt)
	if strings.TrimSpace(prompt) == "" {
		return query{}, "blank-prompt"
	}
	return shortened(prompt), ""
}

// between stands for what a query leaves out of a prompt.
const between = "\n…\n"

// shortened is the prompt, or the beginning and the end of one that is longer than a server takes:
// people paste a log and ask behind it, or ask and paste a log behind that.
func shortened(prompt string) query {
	if len(prompt) <= mostQuery || utf8.RuneCountInString(prompt) <= mostQuery {
		return query{prompt, false}
	}
	half := (mostQuery - utf8.RuneCountInString(between)) / 2
	head, tail := 0, len(prompt)
	for range half {
		_, size := utf8.DecodeRuneInString(prompt[head:])
		head += size
		_, size = utf8.DecodeLastRuneInString(prompt[:tail])
		tail -= size
	}
	return query{prompt[:head] + between + prompt[tail:], true}
}

// withoutEnvelopes is a prompt without the intact texts in it, whether somebody pasted one or a
// host repeats what it was given: they would be found again, for their own words.
func (h *hookRun) withoutEnvelopes(prompt string) string {
	json := h.options.json()
	prompt = withoutTexts(prompt, "", orWrapper(json.Wrapper, envelope.PowerContextV1),
		func(text string) bool {
			_, _, err := openAny(json, text)
			return err == nil
		})
	markdown := h.options.markdown()
	return withoutTexts(prompt, markdownTitle, orWrapper(
		markdown.Wrapper, envelope.PowerContextTextV1,
	),
		func(text string) bool {
			for markdown.Show = range envelope.Show(1 << len(showLines)) {
				if markdown.Check(text) == nil {
					return true
				}
			}
			return false
		})
}

// markdownTitle is what stands before the notice in Markdown of the default title.
const markdownTitle = "# PowerContext historical context\n\n"

func orWrapper(w, other envelope.Wrapper) envelope.Wrapper {
	if w == (envelope.Wrapper{}) {
		return other
	}
	return w
}

// withoutTexts is a prompt without the intact texts of one wrapper. Each of these ends at an end
// marker, and begins at the last beginning before it, since no marker stands inside.
func withoutTexts(prompt, title string, w envelope.Wrapper, intact func(string) bool) string {
	opening, end := title+w.Notice+"\n\n"+w.Begin+"\n", "\n"+w.End
	var kept strings.Builder
	rest := prompt
	for {
		before, after, found := strings.Cut(rest, end)
		if !found {
			break
		}
		through := len(before) + len(end)
		start := strings.LastIndex(before, opening)
		if start < 0 || !intact(rest[start:through]) {
			start = through
		}
		kept.WriteString(rest[:start])
		rest = after
	}
	return kept.String() + rest
}
