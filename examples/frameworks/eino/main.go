// Command eino runs an agent of cloudwego/eino, all of whose tools' results are envelopes.
//
//	OPENAI_API_KEY=… go run ./eino QUESTION
//
// One middleware wraps every tool's call, and puts what was recalled before the question, as an
// envelope in a message of its own. The instructions are the system's; they hold braces, so that
// they must not go through the agent's own template.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/notes"
	"github.com/untrusted-context/envelope/examples/frameworks/internal/toolresult"
)

func main() {
	ctx := context.Background()
	config := &openai.ChatModelConfig{APIKey: os.Getenv("OPENAI_API_KEY"), Model: "gpt-5.2"}
	chat, err := openai.NewChatModel(ctx, config)
	if err == nil {
		var answer string
		answer, err = ask(ctx, chat, strings.Join(os.Args[1:], " "), false)
		fmt.Println(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "eino:", err)
		os.Exit(1)
	}
}

// ask lets an agent answer the question.
func ask(
	ctx context.Context, chat model.ToolCallingChatModel, question string, streaming bool,
) (string, error) {
	search, err := utils.InferTool("search", "Searches notes that anybody may write.",
		func(_ context.Context, in struct {
			Query string `json:"query"`
		}) (string, error) {
			return notes.Search(in.Query), nil
		})
	if err != nil {
		return "", err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "answers", Description: "Answers questions.", Model: chat, MaxIterations: 5,
		GenModelInput: withInstructions,
		ToolsConfig: adk.ToolsConfig{
			ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{search}},
		},
		Middlewares: []adk.AgentMiddleware{{
			WrapToolCall: compose.ToolMiddleware{
				Invokable: enveloped, Streamable: envelopedStream,
			},
			BeforeChatModel: recall,
		}},
	})
	if err != nil {
		return "", err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: streaming})
	answer, events := "", runner.Query(ctx, question)
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			return "", event.Err
		}
		message, _, err := adk.GetMessage(event)
		if err != nil {
			return "", err
		}
		if message != nil && message.Role == schema.Assistant {
			answer = message.Content
		}
	}
	return answer, nil
}

// withInstructions puts the system's message before the conversation, as it is.
func withInstructions(
	_ context.Context, _ string, in *adk.AgentInput,
) ([]adk.Message, error) {
	system := schema.SystemMessage(toolresult.Line.Instructions())
	return append([]adk.Message{system}, in.Messages...), nil
}

// enveloped makes what a tool returns an envelope.
func enveloped(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
	return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
		out, err := next(ctx, in)
		if err != nil {
			return nil, err
		}
		text, err := toolresult.Text(in.Name, in.CallID, out.Result)
		return &compose.ToolOutput{Result: text}, err
	}
}

// envelopedStream does the same for a tool that streams: an envelope is of the whole.
func envelopedStream(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
	return func(ctx context.Context, in *compose.ToolInput) (*compose.StreamToolOutput, error) {
		out, err := next(ctx, in)
		if err != nil {
			return nil, err
		}
		defer out.Result.Close()
		var all strings.Builder
		for {
			part, err := out.Result.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			all.WriteString(part)
		}
		text, err := toolresult.Text(in.Name, in.CallID, all.String())
		whole := schema.StreamReaderFromArray([]string{text})
		return &compose.StreamToolOutput{Result: whole}, err
	}
}

// recall puts what a memory has, once, before the last message of the user.
func recall(_ context.Context, state *adk.ChatModelAgentState) error {
	last := len(state.Messages) - 1
	if state.Messages[last].Role != schema.User {
		return nil // after a tool's result
	}
	prepared, err := envelope.JSON{}.Render(memories(), envelope.Budget{})
	if err != nil || !prepared.Ready() {
		return err
	}
	question := state.Messages[last]
	state.Messages = append(state.Messages[:last:last],
		schema.UserMessage(prepared.Content), question)
	return nil
}

// memories stands for a memory.
func memories() []envelope.Item {
	return []envelope.Item{{
		Citation: map[string]string{"note": "release-day"}, Content: "Ask about the branch.\u2028",
	}}
}
