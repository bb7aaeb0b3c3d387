package openai

import (
	"cmp"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/words"
)

// Describe returns the description of servers with OpenAI's API.
func Describe() providers.Description {
	return providers.Description{
		Name: "openai", DisplayName: "Language model", Named: words.New("provider.openai"),
		Icon:      "M4 4h16v12H9l-5 4zM7 8h10v1.5H7zM7 11h7v1.5H7z",
		Purpose:   words.New("openai.purpose"),
		Streams:   []string{library.Digest},
		Endpoints: []string{endpoint},
		Settings: []providers.Setting{
			{Name: "api_url", Own: true, Kind: providers.BaseURL, Called: true, Default: "https://api.openai.com/v1"},
			{Name: "keys", Own: true, Kind: providers.Keys, From: "https://platform.openai.com/api-keys"},
			{Name: "model", Required: true, From: "https://platform.openai.com/docs/models"},
			{Name: "price_in", Kind: providers.Price, With: "price_out"},
			{Name: "price_out", Kind: providers.Price},
			{Name: "currency", Default: "USD"},
		},
		Owner: "openai",
		Pool: &providers.Pool{KeyName: "The language model's key", With: "model", Put: putKey, Advice: keyAdvice,
			Spent: spentAdvice, Try: tryKey},
		Tables: tables(),
		Build:  build,
	}
}

func build(s providers.Settings, in providers.Installation) (providers.Provider, error) {
	return providers.Provider{Model: &model{client: cmp.Or(in.Keyed, in.Client),
		base: strings.TrimRight(s.Text("api_url"), "/"), name: s.Text("model")}}, nil
}
