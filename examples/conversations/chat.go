package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/untrusted-context/envelope/transcript"
)

// talkChat stores the parameters that the SDK sends, and of an answer the message as the API
// returned it: the parameters that the SDK makes of one leave out what it does not know.
func talkChat(ctx context.Context, url string, log *transcript.Log) error {
	client := chatClient(url)
	var history []openai.ChatCompletionMessageParamUnion
	store := func(m openai.ChatCompletionMessageParamUnion) error {
		history = append(history, m)
		return log.Append(m)
	}
	ask := func() (openai.ChatCompletionMessage, error) {
		answer, err := client.Chat.Completions.New(ctx, chatRequest(history))
		if err == nil && len(answer.Choices) == 0 {
			err = errors.New("no choice")
		}
		if err != nil {
			return openai.ChatCompletionMessage{}, err
		}
		m := answer.Choices[0].Message
		history = append(history, m.ToParam())
		return m, log.Append(json.RawMessage(m.RawJSON()))
	}
	first := openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.TextContentPart(question),
		openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{
			URL: "data:image/png;base64," + picture,
		}),
	})
	if err := errors.Join(store(openai.SystemMessage("Be brief.")), store(first)); err != nil {
		return err
	}
	answer, err := ask()
	if err != nil {
		return err
	}
	for _, call := range answer.ToolCalls {
		if err := store(openai.ToolMessage(config, call.ID)); err != nil {
			return err
		}
	}
	_, err = ask()
	return err
}

// resumeChat reads them back.
func resumeChat(ctx context.Context, url, path, question string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var history []openai.ChatCompletionMessageParamUnion
	for record, err := range transcript.Records(file, transcript.Options{}) {
		if err != nil {
			return err // or go on behind it, if a line that is lost may be missing
		}
		var m openai.ChatCompletionMessageParamUnion
		if err := record.Decode(&m); err != nil {
			return err
		}
		history = append(history, m)
	}
	client := chatClient(url)
	_, err = client.Chat.Completions.New(
		ctx, chatRequest(append(history, openai.UserMessage(question))),
	)
	return err
}

func chatClient(url string) openai.Client {
	return openai.NewClient(
		option.WithBaseURL(url), option.WithAPIKey("none"), option.WithMaxRetries(0),
	)
}

func chatRequest(
	history []openai.ChatCompletionMessageParamUnion,
) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: openai.ChatModelGPT5_2, Messages: history}
}

var chatReplies = []string{
	`{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-5.2","choices":[` +
		`{"index":0,"finish_reason":"tool_calls","logprobs":null,"message":{"role":"assistant",` +
		`"content":null,"refusal":null,"annotations":[],"tool_calls":[{"id":"call_1","type":` +
		`"function","function":{"name":"read_file","arguments":"{\"path\":\"config.txt\"}"}},` +
		`{"id":"call_2","type":"function","function":{"name":"read_file","arguments":"{}"}}]}}]}`,
	`{"id":"chatcmpl-2","object":"chat.completion","created":2,"model":"gpt-5.2","choices":[` +
		`{"index":0,"finish_reason":"stop","logprobs":null,"message":{"role":"assistant",` +
		`"content":"The last rule holds.\u2028Done.","refusal":null,"annotations":[]}}]}`,
	`{"id":"chatcmpl-3","object":"chat.completion","created":3,"model":"gpt-5.2","choices":[` +
		`{"index":0,"finish_reason":"stop","logprobs":null,"message":{"role":"assistant",` +
		`"content":"","refusal":null,"annotations":[]}}]}`,
}
