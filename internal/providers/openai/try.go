package openai

import (
	"context"
	"errors"
	"net/http"

	"reprise/internal/resilience"
)

// Try asks which models there are, which costs nothing, to see whether the key that client adds is accepted. A server that
// keeps no list has at least not refused it.
func (c *Client) Try(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/models", nil)
	if err != nil {
		return &resilience.SettingError{Setting: "providers.openai.api_url", Problem: "This is not a web address."}
	}
	req.Header.Set("Accept", "application/json")
	_, err = refusals.Call(c.client, req, "GET /models")
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Status == http.StatusNotFound {
		return nil
	}
	return err
}
