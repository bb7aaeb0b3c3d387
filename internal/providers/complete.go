package providers

import "context"

// Prompt is what a language model is asked to write.
type Prompt struct {
	System string // how to write; the same every time
	User   string // what about
}

// Completion is what a language model has written. Beside an error it says only what that took.
type Completion struct {
	Text             string // plain text, never empty without an error
	Model            string // which wrote it, as the server calls it
	PromptTokens     int    // as the server counts them; 0 when it does not say
	CompletionTokens int
	Cut              bool // it ended at a limit of length, not where it should
}

// Model is a language model. It is safe for concurrent use.
type Model interface {
	Complete(context.Context, Prompt) (Completion, error)
}
