// Command openai lets an OpenAI model call a tool, whose result it is given as an envelope.
//
//	OPENAI_API_KEY=… go run ./openai QUESTION
//
// The envelope is the output of a function_call_output, and its instructions are the developer's.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/untrusted-context/envelope/examples/frameworks/internal/notes"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/toolresult"
)

func main() {
	answer, err := ask(context.Background(), openai.NewClient(), strings.Join(os.Args[1:], " "))
	if err != nil {
		fmt.Fprintln(os.Stderr, "openai:", err)
		os.Exit(1)
	}
	fmt.Println(answer)
}

// ask lets the model call the tool a few times, and returns its answer.
func ask(ctx context.Context, client openai.Client, question string) (string, error) {
	input := responses.ResponseInputParam{
		responses.ResponseInputItemParamOfMessage(question, responses.EasyInputMessageRoleUser),
	}
	params := responses.ResponseNewParams{
		Model:        openai.ChatModelGPT5_2,
		Instructions: openai.String(toolresult.Line.Instructions()),
		Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
			Name: "search", Description: openai.String("Searches notes that anybody may write."),
			Parameters: map[string]any{
				"type":       "object",
				"properties": map[string]any{"query": map[string]string{"type": "string"}},
			},
		}}},
	}
	for range 5 {
		params.Input.OfInputItemList = input
		response, err := client.Responses.New(ctx, params)
		if err != nil {
			return "", err
		}
		calls := 0
		for _, item := range response.Output {
			if item.Type != "function_call" {
				continue
			}
			call := item.AsFunctionCall()
			var arguments struct{ Query string }
			_ = json.Unmarshal([]byte(call.Arguments), &arguments)
			result, err := result(call.Name, call.CallID, notes.Search(arguments.Query))
			if err != nil {
				return "", err
			}
			input = append(input, responses.ResponseInputItemParamOfFunctionCall(
				call.Arguments, call.CallID, call.Name), result)
			calls++
		}
		if calls == 0 {
			return response.OutputText(), nil
		}
	}
	return "", fmt.Errorf("the model only calls tools")
}

// result is what a function found, as the model is given it.
func result(tool, call, found string) (responses.ResponseInputItemUnionParam, error) {
	text, err := toolresult.Text(tool, call, found)
	output := responses.ResponseInputItemParamOfFunctionCallOutput(text)
	output.OfFunctionCallOutput.CallID = openai.String(call)
	return output, err
}
