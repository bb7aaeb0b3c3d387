// Package openai lets a language model write, on any server that speaks OpenAI's API for chats.
//
// A call belongs to no person: it is made with the installation's keys, or with none where a server at home asks for
// none. It says nothing about lengths or temperatures, because models and servers differ in what they call them and
// refuse what they do not know; how long an answer should be stands in the prompt.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// model is a providers.Model on one server. Safe for concurrent use.
type model struct {
	client *http.Client
	base   string // without a trailing slash
	name   string // as the server calls it
}

// putKey writes an API key onto a request.
func putKey(req *http.Request, key resilience.Secret) {
	req.Header.Set("Authorization", "Bearer "+string(key))
}

const endpoint = "POST /chat/completions"

// message is one turn of a chat.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Complete lets the model write one answer. One that is empty is a broken contract, or an item failure where it ended
// at a limit of length; one that ended at a limit of length is taken as it is, and says so, because it was paid for and
// asking again would end there once more.
func (m *model) Complete(ctx context.Context, p providers.Prompt) (providers.Completion, error) {
	body, err := json.Marshal(
		map[string]any{"model": m.name, "messages": []message{{"system", p.System}, {"user", p.User}}})
	if err != nil {
		return providers.Completion{}, err
	}
	ctx = resilience.WithPatience(ctx, patience)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return providers.Completion{}, &resilience.SettingError{Setting: "providers.openai.api_url",
			Problem: "This is not a web address."}
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	answer, err := refusals.Call(m.client, req, endpoint)
	var out chat
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		_ = json.Unmarshal(e.Body, &out) // a refusal was paid for as well, where its body says so
		return out.spent(), err
	}
	if err != nil {
		return providers.Completion{}, err
	}
	if err := providers.DecodeJSON(answer, &out); err != nil {
		return providers.Completion{}, err
	}
	return out.completion(m.name)
}

// patience is how long an answer may take. A model that runs at home thinks for minutes, and a call that is given up
// starts again and may cost twice.
const patience = 5 * time.Minute

// chat is the answer of a server.
type chat struct {
	Model   string `json:"model"`
	Choices []struct {
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

func (a *chat) completion(asked string) (providers.Completion, error) {
	if len(a.Choices) == 0 {
		return providers.Completion{}, &resilience.ContractError{Endpoint: endpoint, What: "no choices"}
	}
	first := a.Choices[0]
	text := written(first.Message.Content)
	if text == "" {
		return providers.Completion{}, &resilience.ContractError{Endpoint: endpoint, What: "an empty answer"}
	}
	out := a.spent()
	out.Text, out.Model, out.Cut = text, cmp.Or(a.Model, asked), first.FinishReason == "length"
	return out, nil
}

// spent is what the answer took, whatever it says.
func (a *chat) spent() providers.Completion {
	return providers.Completion{PromptTokens: max(a.Usage.PromptTokens, 0),
		CompletionTokens: max(a.Usage.CompletionTokens, 0)}
}

var thinking = regexp.MustCompile(`(?s)^\s*<think>.*?(</think>|$)`)

// written is what is meant to be read of an answer: models that run at home often think aloud in front of it.
func written(content string) string {
	return strings.TrimSpace(strings.ToValidUTF8(thinking.ReplaceAllString(content, ""), ""))
}
