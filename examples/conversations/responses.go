package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/untrusted-context/envelope/transcript"
)

// talkResponses stores the items of the input, and of an answer the items of its output as the API
// returned them. Items without a role, such as function calls, are records of the log and no
// messages.
func talkResponses(ctx context.Context, url string, log *transcript.Log) error {
	client := chatClient(url)
	var history responses.ResponseInputParam
	store := func(item responses.ResponseInputItemUnionParam) error {
		history = append(history, item)
		return log.Append(item)
	}
	ask := func() (*responses.Response, error) {
		answer, err := client.Responses.New(ctx, responsesRequest(history))
		if err != nil {
			return nil, err
		}
		for _, item := range answer.Output {
			raw := json.RawMessage(item.RawJSON())
			var param responses.ResponseInputItemUnionParam
			if err := errors.Join(log.Append(raw), json.Unmarshal(raw, &param)); err != nil {
				return nil, err
			}
			history = append(history, param)
		}
		return answer, nil
	}
	image := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailAuto)
	image.OfInputImage.ImageURL = openai.String("data:image/png;base64," + picture)
	content := responses.ResponseInputMessageContentListParam{
		responses.ResponseInputContentParamOfInputText(question), image,
	}
	first := responses.ResponseInputItemParamOfMessage(content, responses.EasyInputMessageRoleUser)
	// The SDK leaves the type out, and cannot read the item back without it.
	first.OfMessage.Type = responses.EasyInputMessageTypeMessage
	if err := store(first); err != nil {
		return err
	}
	answer, err := ask()
	if err != nil {
		return err
	}
	for _, item := range answer.Output {
		if item.Type != "function_call" {
			continue
		}
		result := responses.ResponseInputItemParamOfFunctionCallOutput(config)
		result.OfFunctionCallOutput.CallID = openai.String(item.CallID)
		if err := store(result); err != nil {
			return err
		}
	}
	_, err = ask()
	return err
}

// resumeResponses reads them back.
func resumeResponses(ctx context.Context, url, path, question string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var history responses.ResponseInputParam
	for record, err := range transcript.Records(file, transcript.Options{}) {
		if err != nil {
			return err // or go on behind it, if a line that is lost may be missing
		}
		var item responses.ResponseInputItemUnionParam
		if err := record.Decode(&item); err != nil {
			return err
		}
		history = append(history, item)
	}
	history = append(history, responses.ResponseInputItemParamOfMessage(
		question, responses.EasyInputMessageRoleUser,
	))
	client := chatClient(url)
	_, err = client.Responses.New(ctx, responsesRequest(history))
	return err
}

func responsesRequest(history responses.ResponseInputParam) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: openai.ChatModelGPT5_2,
		Store: openai.Bool(false),
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: history},
	}
}

var responsesReplies = []string{
	`{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.2","output":[` +
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ZW5jcnlwdGVk"},` +
		`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"read_file",` +
		`"arguments":"{\"path\":\"config.txt\"}","status":"completed"},` +
		`{"type":"function_call","id":"fc_2","call_id":"call_2","name":"read_file",` +
		`"arguments":"{}","status":"completed"}]}`,
	`{"id":"resp_2","object":"response","status":"completed","model":"gpt-5.2","output":[` +
		`{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[` +
		`{"type":"output_text","text":"The last rule holds.\u2028Done.","annotations":[],` +
		`"logprobs":[]}]}]}`,
	`{"id":"resp_3","object":"response","status":"completed","model":"gpt-5.2","output":[]}`,
}
