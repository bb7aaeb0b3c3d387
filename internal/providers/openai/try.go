package openai

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// tryKey asks for the list of models, which is free. A server without a list has at least not refused the key.
func tryKey(ctx context.Context, t providers.Trying) error {
	address := strings.TrimRight(t.Settings.Text("api_url"), "/") + "/models"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return &resilience.SettingError{Setting: "providers.openai.api_url", Problem: words.New("field.web_address")}
	}
	req.Header.Set("Accept", "application/json")
	listing := refusals
	listing.Table = tryTable
	_, err = listing.Send(t.Call, req, "GET /models")
	return err
}

// tryTable is table for the list of models.
var tryTable = slices.Concat(providers.Table{
	{Status: http.StatusNotFound, Meaning: resilience.Meaning{Class: resilience.OK}},
}, table)
