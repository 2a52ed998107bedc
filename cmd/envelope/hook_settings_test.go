package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Comments and trailing commas become blanks, and everything else keeps its place.
func TestWithoutComments(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1}`:              `{"a":1}`,
		"{// x\n\"a\":1}":      "{####\n\"a\":1}",
		"{\"a\":1// x\r\n}":    "{\"a\":1####\r\n}",
		`{"a":/* x */1}`:       `{"a":#######1}`,
		"{/* x\n * y\r\n */}":  "{####\n #\u0020#\r\n ##}",
		`{"a":"// /* x */"}`:   `{"a":"// /* x */"}`,
		`{"a":"\"// x"}`:       `{"a":"\"// x"}`,
		`{"a":"\\"}// x`:       `{"a":"\\"}####`,
		`{"a":[1,2,],}`:        `{"a":[1,2#]#}`,
		"{\"a\":1, // x,\n}":   "{\"a\":1# #####\n}",
		`{"a":1,/* , */ // y,`: `{"a":1,#######\u0020#####`,
		`{"a":1,"b":2}`:        `{"a":1,"b":2}`,
		`{"a":",","b":"]"}`:    `{"a":",","b":"]"}`,
		`[,]`:                  `[#]`,
		`[,,]`:                 `[,#]`,
		`[1,"]"]`:              `[1,"]"]`,
		`/* x`:                 `/* x`,
		`/`:                    `/`,
		`/*/`:                  `/*/`,
		`/**/`:                 `####`,
		`"x`:                   `"x`,
		`"x\`:                  `"x\`,
		"":                     "",
	} {
		want = strings.ReplaceAll(strings.ReplaceAll(want, "#", " "), `\u0020`, " ")
		got := string(withoutLastCommas(withoutComments([]byte(text))))
		assert.Equal(t, want, got, "%q", text)
	}
}

// What runs this hook is told by its program and its host, whatever stands before and behind.
func TestRunsHook(t *testing.T) {
	for command, want := range map[string]bool{
		"envelope hook -host codex":                        true,
		"envelope hook -host codex -max-bytes 9000":        true,
		"/opt/envelope-1.2/bin/envelope hook -host codex":  true,
		"'/home/a b/envelope' hook -host codex":            true,
		`"C:\Program Files\envelope.exe" hook -host codex`: true,
		"& /opt/envelope hook -host codex":                 true,
		"/opt/envelope-linux-amd64 hook -host codex":       true,
		"envelope hook -host claude-code":                  false,
		"envelope hook -host codexes":                      false,
		"envelope hook doctor -host codex":                 false,
		"powercontext hook -host codex":                    false,
		"echo envelope":                                    false,
		"/opt/envelope/other hook -host codex":             false,
		"":                                                 false,
	} {
		assert.Equal(t, want, runsHook(command, "codex"), "%q", command)
	}
}

// settingsCases are what people have before install.
var settingsCases = map[string]string{
	"empty":            "",
	"a line feed":      "\n",
	"blank":            " \r\n\t",
	"a mark":           "\ufeff",
	"an object":        "{}",
	"one with a line":  "{}\n",
	"one with a blank": "{ }",
	"one over lines":   "{\n}\n",
	"other settings": "{\n    \"model\": \"m\",\n    \"env\": {\n        \"A\": \"b\"\n    " +
		"}\n}\n",
	"tabs":               "{\n\t\"model\": \"m\"\n}",
	"on one line":        `{"model":"m","hooks":{}}`,
	"with a mark":        "\ufeff{\n  \"model\": \"m\"\n}\n",
	"CRLF":               "{\r\n  \"model\": \"m\",\r\n  \"hooks\": {\r\n  }\r\n}\r\n",
	"CRLF without hooks": "{\r\n  \"model\": \"m\"\r\n}\r\n",
	"comments":           "// mine\n{\n  /* x */ \"model\": \"m\", // y\n}\n// end\n",
	"commented out": "{\n  // \"hooks\": { \"EVENT\": [ { \"hooks\": [ { \"type\": \"command\"," +
		" \"command\": \"envelope hook -host HOST\" } ] } ] }\n" +
		"  \"model\": \"m\"\n}\n",
	"hooks that are commented out": "{\n  \"hooks\": {\n    /* \"EVENT\": [] */\n  }\n}\n",
	"the event without hooks":      "{\n  \"hooks\": {\n    \"EVENT\": []\n  }\n}\n",
	"hooks of others": "{\n  \"hooks\": {\n    \"EVENT\": [\n      {\n        \"hooks\": [\n   " +
		"       { \"type\": \"command\", \"command\": \"other hook -host HOST\" }\n        ]\n " +
		"     }\n    ],\n" +
		"    \"Stop\": [{\"hooks\":[]}]\n  },\n  \"model\": \"m\"\n}\n",
	"hooks of others with commas behind": "{\"hooks\":{\"EVENT\":[{\"hooks\":[],},],},}",
	"hooks of others with comments": "{\"hooks\":{\"EVENT\":[{\"hooks\":[]} // one\n " +
		"/* two */ ] // three\n} }",
	"this hook for another host": "{\"hooks\":{\"EVENT\":[{\"hooks\":[{\"type\":" +
		"\"command\",\"command\":\"envelope hook -host vim\"}]}]}}",
	"members in other orders": "{\"z\":1,\"hooks\":{\"SessionStart\":[]," +
		"\"EVENT\":[],\"SubagentStart\":[]},\"a\":[1,2]}",
	"escapes and odd strings": "{\"\\u0068ooks\":{},\"a\":\"// \\\" {[\"," +
		"\"项目\":\"\u2028\"}",
}

// caseFor is the case with the names of a host.
func caseFor(h *host, text string) []byte {
	return []byte(strings.NewReplacer("EVENT", h.events[0].name, "HOST", h.name).Replace(text))
}

// The entries are put in behind what is there, each once, and all else is what it was.
func TestSettingsEntries(t *testing.T) {
	for i := range hosts {
		h := &hosts[i]
		for why, text := range settingsCases {
			if h.setup.file == "hooks/envelope.json" {
				text = strings.ReplaceAll(text, `"command":`, `"bash":`)
				text = strings.ReplaceAll(text, `"command": "`, `"bash": "`)
			}
			data := caseFor(h, text)
			var entries []hookEntry
			for _, e := range h.events {
				entries = append(
					entries,
					hookEntry{e.name, "'/o p/envelope' hook -host " + h.name + " -url <&>"},
				)
			}
			with, err := h.withEntries(data, entries)
			require.NoError(t, err, "%s: %s", h.name, why)
			s, err := parseSettings(with)
			require.NoError(t, err, "%s: %s: %s", h.name, why, with)
			var got []hookEntry
			for _, p := range h.places(s) {
				got = append(got, p.entry)
			}
			assert.ElementsMatch(t, entries, got, "%s: %s: %s", h.name, why, with)
			for _, e := range entries {
				list := s.member(s.member(s.root, "hooks"), e.event)
				children := s.children(list)
				last := children[len(children)-1]
				assert.Contains(
					t, string(with[last.start:last.end]), "/envelope' hook -host",
					"the last of its event",
				)
			}
			if strings.Contains(text, "\r\n") && strings.Contains(text, "{") {
				assert.Equal(
					t, strings.Count(string(with), "\n"), strings.Count(string(with), "\r\n"),
					"one kind of line end",
				)
			}

			// Taken out again, the meaning is that of before, without hooks that are empty.
			without, err := h.withoutEntries(with)
			require.NoError(t, err)
			assert.JSONEq(
				t, meaning(t, h, data), meaning(t, h, without), "%s: %s: %s", h.name, why,
				without,
			)
		}
	}
}

// meaning is a settings file as plain JSON without comments, and without hooks that are empty.
func meaning(t *testing.T, h *host, data []byte) string {
	if len(strings.Trim(string(data), " \t\r\n\ufeff")) == 0 {
		data = []byte(h.setup.empty)
	}
	var top map[string]any
	require.NoError(
		t,
		json.Unmarshal(
			withoutLastCommas(withoutComments([]byte(strings.TrimPrefix(string(data), "\ufeff")))),
			&top,
		),
	)
	if hooks, ok := top["hooks"].(map[string]any); ok {
		for event, list := range hooks {
			if len(list.([]any)) == 0 {
				delete(hooks, event)
			}
		}
		if len(hooks) == 0 {
			delete(top, "hooks")
		}
	}
	text, err := json.Marshal(top)
	require.NoError(t, err)
	return string(text)
}

// What cannot be changed without a guess is left alone, with the reason.
func TestSettingsRefused(t *testing.T) {
	h := hostNamed("codex")
	for text, want := range map[string]string{
		"{\n\"a\":}":                        "is not JSON: line 2: syntax error",
		"model = \"m\"\n":                   "is not JSON: line 1: syntax error",
		"{":                                 "is not JSON: line 1: unexpected end",
		"{}{}":                              "is not JSON: line 1: syntax error",
		"/* {}":                             "is not JSON: line 1: syntax error",
		`{"a":1,"a":2}`:                     "is not JSON: line 1: duplicate member name",
		"{\"a\":\"\xff\"}":                  "is not JSON: line 1: invalid UTF-8",
		"\xff\xfe{\x00}\x00":                "is not JSON: line 1: syntax error",
		`[]`:                                "is not a JSON object",
		`{"hooks":[]}`:                      "has hooks that are not an object",
		`{"hooks":null}`:                    "has hooks that are not an object",
		`{"hooks":{"UserPromptSubmit":{}}}`: "has hooks of an event that are not an array",
	} {
		_, err := h.withEntries(
			[]byte(text), []hookEntry{{"UserPromptSubmit", "envelope hook -host codex"}},
		)
		assert.EqualError(t, err, want, "%q", text)
	}
}

// Of a group that has more than this hook, only this hook goes.
func TestSettingsWithoutEntries(t *testing.T) {
	h := hostNamed("claude-code")
	const ours = `{"type":"command","command":"envelope hook -host claude-code"}`
	for text, want := range map[string]string{
		`{"hooks":{"UserPromptSubmit":[{"hooks"` +
			`:[` + ours + `]}]}}`: `{}`,
		`{"a":1,` +
			`"hooks":{"UserPromptSubmit":[{"hooks"` +
			`:[` + ours + `]}]}}`: `{"a":1}`,
		`{"hooks":{"UserPromptSubmit":[{"matcher":"",` +
			`"hooks":[` + ours + `]}]},"a":1}`: `{"a":1}`,
		`{"hooks":{"UserPromptSubmit":[{"hooks":[{"x":1}, ` + ours +
			`]}]}}`: `{"hooks":{"UserPromptSubmit":[{"hooks":[` +
			`{"x":1}]}]}}`,
		`{"hooks":{"UserPromptSubmit":[{"hooks":[` + ours +
			`, {"x":1}]}]}}`: `{"hooks":{"UserPromptSubmit":[{` +
			`"hooks":[ {"x":1}]}]}}`,
		`{"hooks":{"UserPromptSubmit":[{"hooks":[` + ours +
			`]},{"hooks":[]}]}}`: `{"hooks":{"UserPromptSubmit":[{` +
			`"hooks":[]}]}}`,
		`{"hooks":{"UserPromptSubmit":[{"hooks":[` + ours +
			`],"note":"mine"}]}}`: `{"hooks":{"UserPromptSubmit":[{` +
			`"hooks":[],"note":"mine"}]}}`,
		`{"hooks":{"Stop":[],` +
			`"UserPromptSubmit":[{"hooks"` +
			`:[` + ours + `]}]}}`: `{"hooks":{"Stop":[]}}`,
		`{"hooks":{"UserPromptSubmit":[{"hooks"` +
			`:[` + ours + `,],}],},}`: `{}`,
		"{\n  // mine\n  \"hooks\": " +
			"{\"UserPromptSubmit\":[{\"hooks\"" +
			":[" + ours + "]}]} // x\n}": "{\n  // mine\n   // x\n}",
		"{\"a\":1, // mine\n\"hooks\": " +
			"{\"UserPromptSubmit\":[{\"hooks\"" +
			":[" + ours + "]}]}}": "{\"a\":1 // mine\n}",
		`{"hooks":{"UserPromptSubmit":[{"hooks"` +
			`:[` + ours + `]}],"SessionStart":[{"hooks":[` + ours + `]}]}}`: `{}`,
	} {
		got, err := h.withoutEntries([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "%q", text)
	}
}

// FuzzSettings puts a hook into settings and takes it out: no input panics, what was settings stays
// settings with the hook in it, and an installation that nobody touched is undone to the byte.
func FuzzSettings(f *testing.F) {
	h := hostNamed("claude-code")
	for _, text := range settingsCases {
		f.Add(caseFor(h, text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries := []hookEntry{
			{"UserPromptSubmit", "envelope hook -host claude-code -url x"},
			{"SessionStart", "envelope hook -host claude-code -url x"},
		}
		with, err := h.withEntries(data, entries)
		if err != nil {
			return
		}
		s, err := parseSettings(with)
		require.NoError(t, err, "%q", with)
		places := h.places(s)
		require.GreaterOrEqual(t, len(places), len(entries))
		without, err := h.withoutEntries(with)
		require.NoError(t, err, "%q", with)
		if !blankSettings(without) {
			s, err = parseSettings(without)
			require.NoError(t, err, "%q", without)
			require.Empty(t, h.places(s))
		}
		if len(places) > len(entries) {
			return // some were there before
		}
		in := &installation{host: h, data: with, exists: true, backup: data, record: backupSuffix}
		there, err := in.entries()
		require.NoError(t, err)
		before, err := in.before(there)
		require.NoError(t, err)
		require.Equal(t, string(data), string(before))
	})
}
