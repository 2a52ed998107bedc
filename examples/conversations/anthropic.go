package main

import (
	"context"
	"os"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/untrusted-context/envelope/transcript"
)

// talkAnthropic stores the parameters that the SDK sends: those of the user, and those that it
// makes of an answer.
func talkAnthropic(ctx context.Context, url string, log *transcript.Log) error {
	client := anthropicClient(url)
	var history []anthropic.MessageParam
	store := func(m anthropic.MessageParam) error {
		history = append(history, m)
		return log.Append(m)
	}
	ask := func() (*anthropic.Message, error) {
		answer, err := client.Messages.New(ctx, anthropicRequest(history))
		if err != nil {
			return nil, err
		}
		return answer, store(answer.ToParam())
	}
	first := anthropic.NewUserMessage(
		anthropic.NewTextBlock(question), anthropic.NewImageBlockBase64("image/png", picture),
	)
	if err := store(first); err != nil {
		return err
	}
	answer, err := ask()
	if err != nil {
		return err
	}
	var results []anthropic.ContentBlockParamUnion
	for _, block := range answer.Content {
		if block.Type == "tool_use" {
			results = append(results, anthropic.NewToolResultBlock(block.ID, config, false))
		}
	}
	if err := store(anthropic.NewUserMessage(results...)); err != nil {
		return err
	}
	_, err = ask()
	return err
}

// resumeAnthropic reads the parameters back.
func resumeAnthropic(ctx context.Context, url, path, question string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var history []anthropic.MessageParam
	for record, err := range transcript.Records(file, transcript.Options{}) {
		if err != nil {
			return err // or go on behind it, if a line that is lost may be missing
		}
		var m anthropic.MessageParam
		if err := record.Decode(&m); err != nil {
			return err
		}
		history = append(history, m)
	}
	history = append(history, anthropic.NewUserMessage(anthropic.NewTextBlock(question)))
	client := anthropicClient(url)
	_, err = client.Messages.New(ctx, anthropicRequest(history))
	return err
}

func anthropicClient(url string) anthropic.Client {
	return anthropic.NewClient(
		option.WithBaseURL(url), option.WithAPIKey("none"), option.WithMaxRetries(0),
	)
}

func anthropicRequest(history []anthropic.MessageParam) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: anthropic.ModelClaudeOpus5_5, MaxTokens: 1024, Messages: history,
	}
}

var anthropicReplies = []string{
	`{"id":"msg_01","type":"message","role":"assistant","model":"claude-opus-5-5","content":[` +
		`{"type":"thinking","thinking":"The file first.","signature":"c2lnbmF0dXJl"},` +
		`{"type":"text","text":"I read the file."},` +
		`{"type":"tool_use","id":"toolu_01","name":"read_file","input":{"path":"config.txt"}},` +
		`{"type":"tool_use","id":"toolu_02","name":"read_file","input":{"path":"config.txt"}}],` +
		`"stop_reason":"tool_use","stop_sequence":null,` +
		`"usage":{"input_tokens":9,"output_tokens":9}}`,
	`{"id":"msg_02","type":"message","role":"assistant","model":"claude-opus-5-5","content":[` +
		`{"type":"text","text":"The last rule holds.\u2028Done.","citations":null}],` +
		`"stop_reason":"end_turn","stop_sequence":null,` +
		`"usage":{"input_tokens":9,"output_tokens":9}}`,
	`{"id":"msg_03","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],` +
		`"stop_reason":"end_turn","stop_sequence":null,` +
		`"usage":{"input_tokens":9,"output_tokens":9}}`,
}
