// Command genai lets a Gemini model call a tool, whose result it is given as an envelope.
//
//	GEMINI_API_KEY=… go run ./genai QUESTION
//
// The envelope is the output of the function's response, and its instructions are the system's.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"google.golang.org/genai"

	"github.com/untrusted-context/envelope/examples/frameworks/internal/notes"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/toolresult"
)

func main() {
	client, err := genai.NewClient(context.Background(), nil)
	if err == nil {
		var answer string
		answer, err = ask(context.Background(), client, strings.Join(os.Args[1:], " "))
		fmt.Println(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "genai:", err)
		os.Exit(1)
	}
}

// ask lets the model call the tool a few times, and returns its answer.
func ask(ctx context.Context, client *genai.Client, question string) (string, error) {
	config := &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText(toolresult.Line.Instructions(), genai.RoleUser),
		Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
			Name: "search", Description: "Searches notes that anybody may write.",
			Parameters: &genai.Schema{
				Type:       genai.TypeObject,
				Properties: map[string]*genai.Schema{"query": {Type: genai.TypeString}},
			},
		}}}},
	}
	contents := []*genai.Content{genai.NewContentFromText(question, genai.RoleUser)}
	for range 5 {
		response, err := client.Models.GenerateContent(ctx, "gemini-flash-latest", contents, config)
		if err != nil {
			return "", err
		}
		calls := response.FunctionCalls()
		if len(calls) == 0 {
			return response.Text(), nil
		}
		contents = append(contents, response.Candidates[0].Content)
		results := &genai.Content{Role: genai.RoleUser}
		for _, call := range calls {
			query, _ := call.Args["query"].(string)
			part, err := result(call, notes.Search(query))
			if err != nil {
				return "", err
			}
			results.Parts = append(results.Parts, part)
		}
		contents = append(contents, results)
	}
	return "", fmt.Errorf("the model only calls tools")
}

// result is what a function found, as the model is given it.
func result(call *genai.FunctionCall, found string) (*genai.Part, error) {
	text, err := toolresult.Text(call.Name, call.ID, found)
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{
		ID: call.ID, Name: call.Name, Response: map[string]any{"output": text},
	}}, err
}
