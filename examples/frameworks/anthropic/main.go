// Command anthropic lets a Claude model call a tool, whose result it is given as an envelope.
//
//	ANTHROPIC_API_KEY=… go run ./anthropic QUESTION
//
// The envelope is a tool_result block, alone in it, and its instructions are the system's.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/untrusted-context/envelope/examples/frameworks/internal/notes"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/toolresult"
)

func main() {
	answer, err := ask(context.Background(), anthropic.NewClient(), strings.Join(os.Args[1:], " "))
	if err != nil {
		fmt.Fprintln(os.Stderr, "anthropic:", err)
		os.Exit(1)
	}
	fmt.Println(answer)
}

// ask lets the model call the tool a few times, and returns its answer.
func ask(ctx context.Context, client anthropic.Client, question string) (string, error) {
	params := anthropic.MessageNewParams{
		Model:     anthropic.ModelClaudeOpus5_5,
		MaxTokens: 1024,
		System:    []anthropic.TextBlockParam{{Text: toolresult.Line.Instructions()}},
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name: "search", Description: anthropic.String("Searches notes that anybody may write."),
			InputSchema: anthropic.ToolInputSchemaParam{
				Properties: map[string]any{"query": map[string]string{"type": "string"}},
			},
		}}},
		Messages: []anthropic.MessageParam{
			anthropic.NewUserMessage(anthropic.NewTextBlock(question)),
		},
	}
	for range 5 {
		message, err := client.Messages.New(ctx, params)
		if err != nil {
			return "", err
		}
		var answer string
		var results []anthropic.ContentBlockParamUnion
		for _, block := range message.Content {
			answer += block.Text
			if block.Type != "tool_use" {
				continue
			}
			var arguments struct{ Query string }
			_ = json.Unmarshal(block.Input, &arguments)
			result, err := result(block.Name, block.ID, notes.Search(arguments.Query))
			if err != nil {
				return "", err
			}
			results = append(results, result)
		}
		if len(results) == 0 {
			return answer, nil
		}
		params.Messages = append(params.Messages, message.ToParam(),
			anthropic.NewUserMessage(results...))
	}
	return "", fmt.Errorf("the model only calls tools")
}

// result is what a tool found, as the model is given it.
func result(tool, call, found string) (anthropic.ContentBlockParamUnion, error) {
	text, err := toolresult.Text(tool, call, found)
	return anthropic.NewToolResultBlock(call, text, false), err
}
