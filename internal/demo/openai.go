package demo

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"reprise/internal/words"
)

// OpenAIServer is where the simulated server with a language model is.
type OpenAIServer struct {
	URL   string   // with /v1
	Keys  []string // that it takes, of an account each
	Model string   // the only one it has
	oa    *openAI
}

// Prompts returns the bodies of the requests that were answered with a text, in their order.
func (s OpenAIServer) Prompts() []string {
	s.oa.mu.Lock()
	defer s.oa.mu.Unlock()
	return slices.Clone(s.oa.prompts)
}

const openAIModel = "simulated-writer-1"

var openAIKeys = []string{"simulated-openai-key-one-0001", "simulated-openai-key-two-0002"}

type openAI struct {
	*gate

	mu      sync.Mutex
	prompts []string
}

func (w *World) startOpenAI(ctx context.Context) error {
	oa := &openAI{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", oa.complete)
	oa.gate = w.newGate(ctx, rules{
		who:    func(*http.Request) string { return "" },
		refuse: oa.refuse,
		next:   mux.ServeHTTP,
		lacks:  []Mode{Revoked},
	}, KeySpent, KeysSpent, KeyInvalid) // it belongs to nobody's account
	base, err := w.serve(ctx, OpenAI, oa.gate)
	w.OpenAI = OpenAIServer{URL: base + "/v1", Keys: openAIKeys, Model: openAIModel, oa: oa}
	return err
}

func openAIError(w http.ResponseWriter, status int, kind, code, message string) {
	writeJSON(w, status, object{"error": object{"message": message, "type": kind, "param": nil, "code": code}})
}

func (oa *openAI) refuse(w http.ResponseWriter, m Mode) {
	if m == Unavailable {
		openAIError(w, http.StatusServiceUnavailable, "server_error", "overloaded",
			"The engine is currently overloaded, please try again later.")
		return
	}
	w.Header().Set("X-Ratelimit-Remaining-Requests", "0")
	w.Header().Set("X-Ratelimit-Reset-Requests", oa.opts.RetryAfter.String())
	openAIError(w, http.StatusTooManyRequests, "requests", "rate_limit_exceeded", "Rate limit reached for requests.")
}

// complete writes a text about the titles that it was sent.
func (oa *openAI) complete(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	i := slices.Index(openAIKeys, key)
	mode, _ := oa.current()
	switch err := json.NewDecoder(r.Body).Decode(&in); {
	case i < 0, mode == KeyInvalid && i == len(openAIKeys)-1:
		openAIError(w, http.StatusUnauthorized, "invalid_request_error", "invalid_api_key",
			"Incorrect API key provided.")
		return
	case mode == KeysSpent, mode == KeySpent && i == 0:
		openAIError(w, http.StatusTooManyRequests, "insufficient_quota", "insufficient_quota",
			"You exceeded your current quota, please check your plan and billing details.")
		return
	case err != nil || len(in.Messages) == 0:
		openAIError(w, http.StatusBadRequest, "invalid_request_error", "",
			"We could not parse the JSON body of your request.")
		return
	case in.Model != openAIModel:
		openAIError(w, http.StatusNotFound, "invalid_request_error", "model_not_found",
			"The model `"+in.Model+"` does not exist or you do not have access to it.")
		return
	}
	var b strings.Builder
	for _, m := range in.Messages {
		b.WriteString(m.Content)
	}
	all := b.String()
	text := proseOf(in.Messages[len(in.Messages)-1].Content, asked(all))
	oa.mu.Lock()
	oa.prompts = append(oa.prompts, all)
	oa.mu.Unlock()
	ask, tell := len(all)/4, len(text)/4 // about what a token is
	writeJSON(w, http.StatusOK, object{
		"id":      "chatcmpl-" + strconv.Itoa(len(all)),
		"object":  "chat.completion",
		"created": oa.opts.Now().Unix(),
		"model":   openAIModel,
		"choices": []object{
			{"index": 0, "message": object{"role": "assistant", "content": text}, "finish_reason": "stop"},
		},
		"usage": object{"prompt_tokens": ask, "completion_tokens": tell, "total_tokens": ask + tell},
	})
}

var listed = regexp.MustCompile(`(?m)^- (.+) \((\d+)\)$`)

// asked returns the language that a prompt asks for.
func asked(prompt string) *words.Language {
	for _, l := range words.Languages() {
		if strings.Contains(prompt, words.New("digest.write_in").In(l)) {
			return l
		}
	}
	return words.English
}

// proseOf writes about the lists of a message, always the same about the same.
func proseOf(message string, l *words.Language) string {
	say := func(phrase string, pairs ...any) string { return words.Each("demo.prose.", phrase, pairs...).In(l) }
	heads := map[string][][]string{}
	for part := range strings.SplitSeq(message, "\n\n") {
		head, rest, _ := strings.Cut(part, ":\n")
		heads[head] = listed.FindAllStringSubmatch(rest, -1)
	}
	artists, tracks, fresh := heads["Artists"], heads["Tracks"], heads["Artists heard for the first time"]
	if len(artists) == 0 || len(tracks) == 0 {
		return say("quiet")
	}
	text := say("center", "Artist", artists[0][1], "Plays", artists[0][2])
	if len(artists) > 2 {
		text += " " + say("company", "A", artists[1][1], "B", artists[2][1])
	}
	text += "\n\n" + say("back", "Track", tracks[0][1])
	if len(tracks) > 1 {
		text += " " + say("behind", "Track", tracks[1][1])
	}
	if len(fresh) > 0 {
		text += "\n\n" + say("fresh", "Artist", fresh[0][1])
	}
	return text
}
