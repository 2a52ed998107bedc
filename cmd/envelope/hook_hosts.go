package main

import (
	"fmt"
	"strings"
)

// host is what a program that runs hooks takes, as it was measured with the programs themselves
// (docs/hosts.md).
type host struct {
	name        string
	events      []hostEvent // those whose output it injects; the first is that of a prompt
	mostContext int         // bytes
	top         bool        // it takes additionalContext at the top only
	notices     bool        // it shows a systemMessage to its user
	forgets     bool        // it says when it has compacted a session: with a new SessionStart
	setup       setup
}

// hostEvent is an event whose output a host injects.
type hostEvent struct {
	name string
	kind eventKind
}

type eventKind uint8

const (
	promptEvent eventKind = iota
	sessionEvent
	subagentEvent
)

// Claude Code cuts at 10,000 UTF-16 units and Codex at 10,000 bytes, of which neither are more than
// there are bytes of UTF-8. Gemini CLI and Copilot CLI take 35,000 characters whole.
var hosts = []host{
	{
		name: "claude-code",
		events: []hostEvent{
			{"UserPromptSubmit", promptEvent},
			{"SessionStart", sessionEvent},
			{"SubagentStart", subagentEvent},
		},
		mostContext: 9500,
		notices:     true,
		forgets:     true,
		setup: setup{
			variable: "CLAUDE_CONFIG_DIR",
			home:     ".claude", project: ".claude", file: "settings.json",
			empty: "{}\n", commands: []string{"command"}, group: groupOf(hookSeconds),
		},
	},
	{
		name: "codex",
		events: []hostEvent{
			{"UserPromptSubmit", promptEvent},
			{"SessionStart", sessionEvent},
		},
		mostContext: 9500,
		notices:     true,
		forgets:     true,
		setup: setup{
			variable: "CODEX_HOME",
			home:     ".codex", project: ".codex", file: "hooks.json",
			empty: "{}\n", commands: []string{"command"}, group: groupOf(hookSeconds),
			trust: codexTrust,
		},
	},
	{
		name:        "gemini",
		events:      []hostEvent{{"BeforeAgent", promptEvent}, {"SessionStart", sessionEvent}},
		mostContext: 30000,
		notices:     true,
		// Its time-outs are milliseconds.
		setup: setup{
			home: ".gemini", project: ".gemini", file: "settings.json",
			empty: "{}\n", commands: []string{"command"}, group: groupOf(hookSeconds * 1000),
		},
	},
	{
		name:        "copilot",
		events:      []hostEvent{{"UserPromptSubmit", promptEvent}, {"SessionStart", sessionEvent}},
		mostContext: 30000,
		top:         true,
		setup: setup{
			variable: "COPILOT_HOME",
			home:     ".copilot", project: ".github", file: "hooks/envelope.json",
			empty: "{\n  \"version\": 1\n}\n", commands: []string{"bash", "powershell"},
			group: copilotHook,
		},
	},
}

func hostNamed(name string) *host {
	for i := range hosts {
		if hosts[i].name == name {
			return &hosts[i]
		}
	}
	return nil
}

// hostNames are the names, for a usage.
func hostNames() string { return hostNamesWith(func(*host) bool { return true }) }

func hostNamesWith(has func(*host) bool) string {
	var names []string
	for i := range hosts {
		if has(&hosts[i]) {
			names = append(names, hosts[i].name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// hostLimits are the upper bounds of -max-bytes, for a usage.
func hostLimits() string {
	most, names := 0, map[int][]string{}
	for _, h := range hosts {
		most = max(most, h.mostContext)
		names[h.mostContext] = append(names[h.mostContext], h.name)
	}
	least := most
	for limit := range names {
		least = min(least, limit)
	}
	if least == most {
		return fmt.Sprint(most)
	}
	return fmt.Sprintf("%d (%s: %d)", least, strings.Join(names[most], ", "), most)
}

// hookSpecific is the output of an event.
type hookSpecific struct {
	EventName string `json:"hookEventName"`
	Context   string `json:"additionalContext"`
}

// hookOutput is all that hosts read; a member that is not theirs is left out.
type hookOutput struct {
	Specific *hookSpecific `json:"hookSpecificOutput,omitempty"`
	Context  string        `json:"additionalContext,omitempty"`
	Message  string        `json:"systemMessage,omitempty"`
}

// output is what the host reads: one object with no member that it does not know, on a line of its
// own to every reader.
func (h *host) output(a *injection, notify bool) []byte {
	var o hookOutput
	if h.top {
		o.Context = a.text
	} else {
		o.Specific = &hookSpecific{a.event, a.text}
	}
	if notify {
		o.Message = a.notice()
	}
	return jsonLine(o)
}

// notice says how much a host was given: "3 memories, 1.2 KB".
func (a *injection) notice() string {
	size := fmt.Sprintf("%.1f KB", float64(len(a.text))/1000)
	switch a.items {
	case -1:
		return "memories: " + size
	case 1:
		return "1 memory, " + size
	}
	return fmt.Sprintf("%d memories, %s", a.items, size)
}
