package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// Each host is written what it reads, and nothing that it does not know.
func TestHostOutputs(t *testing.T) {
	unset(t)
	p := prepared(t, envelope.JSON{Escape: envelope.EscapeMarkup})
	server := serve(t, respond(t, p))
	text := strings.TrimSuffix(string(jsonLine(p.Content)), "\n")
	event := func(name string) string {
		return `{"hook_event_name":"` + name + `","prompt":"q","cwd":"c","source":"startup"}`
	}
	specific := func(name string) string {
		return `{"hookSpecificOutput":{"hookEventName"` +
			`:"` + name + `","additionalContext":` + text + `}`
	}
	tests := []struct{ host, event, flags, want string }{
		{"claude-code", "UserPromptSubmit", "", specific("UserPromptSubmit") + "}"},
		{
			"claude-code", "UserPromptSubmit", "-notify",
			specific("UserPromptSubmit") + `,"systemMessage":"1 memory, 0.6 KB"}`,
		},
		{"claude-code", "SessionStart", "-session-query q", specific("SessionStart") + "}"},
		{"claude-code", "SubagentStart", "-session-query q", specific("SubagentStart") + "}"},
		{"codex", "UserPromptSubmit", "", specific("UserPromptSubmit") + "}"},
		{
			"codex", "UserPromptSubmit", "-notify",
			specific("UserPromptSubmit") + `,"systemMessage":"1 memory, 0.6 KB"}`,
		},
		{"codex", "SessionStart", "-session-query q", specific("SessionStart") + "}"},
		{"codex", "user_prompt_submit", "", specific("UserPromptSubmit") + "}"},
		{"gemini", "BeforeAgent", "", specific("BeforeAgent") + "}"},
		{
			"gemini", "BeforeAgent", "-notify -max-bytes 30000",
			specific("BeforeAgent") + `,"systemMessage":"1 memory, 0.6 KB"}`,
		},
		{"gemini", "SessionStart", "-session-query q", specific("SessionStart") + "}"},
		{"copilot", "UserPromptSubmit", "", `{"additionalContext":` + text + `}`},
		{"copilot", "SessionStart", "-session-query q", `{"additionalContext":` + text + `}`},
	}
	for _, tt := range tests {
		args := append(
			[]string{"hook", "-host", tt.host, "-scope", "s", "-url", server},
			strings.Fields(tt.flags)...,
		)
		status, out, stderr := call(event(tt.event), args...)
		assert.Equal(t, done, status)
		assert.Empty(t, stderr)
		assert.Equal(t, tt.want+"\n", out, "%s %s %s", tt.host, tt.event, tt.flags)
	}
	for host, event := range map[string]string{
		"codex": "SubagentStart", "gemini": "UserPromptSubmit",
		"copilot": "SubagentStart", "claude-code": "BeforeAgent",
	} {
		args := []string{"hook", "-host", host, "-scope", "s", "-url", server}
		_, out, stderr := call(`{"hook_event_name":"`+event+`","prompt":"q"}`, args...)
		assert.Empty(t, out)
		assert.Equal(t, skippedLine("event-name"), stderr, "%s injects nothing there", host)
	}
}

// A notice counts what was given.
func TestNotice(t *testing.T) {
	for want, a := range map[string]injection{
		"3 memories, 1.2 KB": {items: 3, text: strings.Repeat("x", 1230)},
		"1 memory, 0.1 KB":   {items: 1, text: strings.Repeat("x", 123)},
		"memories: 9.5 KB":   {items: -1, text: strings.Repeat("x", 9500)},
	} {
		assert.Equal(t, want, a.notice())
	}
}

// The usage names each host and its bound.
func TestHostUsage(t *testing.T) {
	assert.Equal(t, "claude-code, codex, gemini or copilot", hostNames())
	assert.Equal(t, "9500 (gemini, copilot: 30000)", hostLimits())
	_, help, _ := call("", "hook", "-h")
	assert.NotContains(t, help, "[FILE]")
	assert.Contains(t, help, "usage: envelope hook -host HOST [flags]\n")
	require.Contains(t, help, "512 to 9500 (gemini, copilot: 30000)")
}
