// Package toolresult makes what a tool returned the text that a model is given.
package toolresult

import "github.com/untrusted-context/envelope"

// Line is the renderer of results. Its Instructions belong into the system prompt.
var Line = envelope.JSON{Bare: true, Omitted: true}

// budget has room for one long result. Without MaxItemBytes it would be cut at 2000 bytes.
var budget = envelope.Budget{MaxBytes: 32_000, MaxItemBytes: envelope.Unlimited}

// citation says which call a result is of.
type citation struct {
	Tool string `json:"tool"`
	Call string `json:"call"`
}

// Text is the envelope of a result: "" where there is nothing but white space in it.
func Text(tool, call, result string) (string, error) {
	item := envelope.Item{Kind: "tool-result", Citation: citation{tool, call}, Content: result}
	prepared, err := Line.Render([]envelope.Item{item}, budget)
	return prepared.Content, err
}
