package providers

import (
	"context"

	"reprise/internal/resilience"
)

// Prompt is a request to a language model.
type Prompt struct {
	System string // how to write; constant
	User   string // what to write about
}

// Completion is the answer of a language model. When it comes with an error, only the token counts are set.
type Completion struct {
	Text             string // plain text, never empty without an error
	Model            string // the name of the model, from the server
	PromptTokens     int    // counted by the server; 0 when unknown
	CompletionTokens int
	Cut              bool // the text ends at a length limit
}

// Model is a language model. It is safe for concurrent use.
type Model interface {
	Complete(context.Context, resilience.Call, Prompt) (Completion, error)
}
