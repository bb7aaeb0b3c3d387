// Package openai calls a language model on any server with OpenAI's chat API.
//
// Calls use the installation's keys, or none for a server that needs none. They set neither length nor temperature,
// because models and servers name these differently and refuse unknown parameters. The prompt asks for the length
// instead.
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
	"reprise/internal/words"
)

// model is a providers.Model on one server. It is safe for concurrent use.
type model struct {
	client *http.Client
	base   string // without a trailing slash
	name   string // the server's name of it
}

// putKey adds an API key to a request.
func putKey(req *http.Request, key resilience.Secret) {
	req.Header.Set("Authorization", "Bearer "+string(key))
}

const endpoint = "POST /chat/completions"

// message is one turn of a chat.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Complete returns one answer of the model. An empty answer breaks the contract, or is an item failure if it ended at
// a length limit. A text that ended at a length limit is returned with Cut set, because it was paid for and a second
// attempt would end there too.
func (m *model) Complete(
	ctx context.Context, call resilience.Call, p providers.Prompt,
) (providers.Completion, error) {
	messages := []message{{"system", p.System}, {"user", p.User}}
	body, err := json.Marshal(map[string]any{"model": m.name, "messages": messages})
	if err != nil {
		return providers.Completion{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return providers.Completion{}, &resilience.SettingError{Setting: "providers.openai.api_url",
			Problem: words.New("field.web_address")}
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	call.Client, call.Patience = m.client, patience
	answer, err := refusals.Send(call, req, endpoint)
	var out chat
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		_ = json.Unmarshal(e.Body, &out) // refusals cost tokens too, if the body reports them
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

// patience is the timeout of an answer. Local models take minutes, and an abandoned call is repeated and may be billed
// twice.
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

// spent returns the token counts of the answer.
func (a *chat) spent() providers.Completion {
	return providers.Completion{PromptTokens: max(a.Usage.PromptTokens, 0),
		CompletionTokens: max(a.Usage.CompletionTokens, 0)}
}

var thinking = regexp.MustCompile(`(?s)^\s*<think>.*?(</think>|$)`)

// written returns an answer without the reasoning that local models often put in front of it.
func written(content string) string {
	return strings.TrimSpace(strings.ToValidUTF8(thinking.ReplaceAllString(content, ""), ""))
}
