package demo

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// complete asks the language model to write about two artists.
func (b bundle) complete(key, model string) reply {
	b.t.Helper()
	body, err := json.Marshal(object{"model": model, "messages": []object{{"role": "system", "content": "Write."},
		{
			"role": "user",
			"content": "Plays in the week: 5\n\nArtists:\n- Nobody (3)\n- Somebody (2)\n\nTracks:\n- Rain – Nobody " +
				"(3)\n\nArtists heard for the first time:\n- Somebody (2)\n",
		}}})
	require.NoError(b.t, err)
	return b.do(http.MethodPost, b.OpenAI.URL+"/chat/completions", "Bearer "+key, string(body))
}

func TestTheModelWritesAboutItsPrompt(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	type answer struct {
		Choices []struct {
			Message struct{ Content string }
		}
		Usage map[string]int
		Error struct{ Code string }
	}
	first := parse[answer](b, b.complete(b.OpenAI.Keys[0], b.OpenAI.Model), 200)
	require.Contains(t, first.Choices[0].Message.Content, "Nobody at its center: 3 plays")
	require.Contains(t, first.Choices[0].Message.Content, "Rain – Nobody")
	require.Contains(t, first.Choices[0].Message.Content, "something new: Somebody")
	require.Positive(t, first.Usage["prompt_tokens"])
	require.Positive(t, first.Usage["completion_tokens"])
	require.Equal(t, first, parse[answer](b, b.complete(b.OpenAI.Keys[1], b.OpenAI.Model), 200),
		"the same about the same")
	require.Len(t, b.OpenAI.Prompts(), 2)

	code := func(key string, status int) string {
		return parse[answer](b, b.complete(key, b.OpenAI.Model), status).Error.Code
	}
	require.Equal(t, "invalid_api_key", code("another", 401))
	require.Equal(t, "model_not_found", parse[answer](b, b.complete(b.OpenAI.Keys[0], "another"), 404).Error.Code)
	b.switchTo(OpenAI, KeySpent)
	require.Equal(t, "insufficient_quota", code(b.OpenAI.Keys[0], 429))
	require.Empty(t, code(b.OpenAI.Keys[1], 200))
	b.switchTo(OpenAI, KeysSpent)
	require.Equal(t, "insufficient_quota", code(b.OpenAI.Keys[1], 429))
	b.switchTo(OpenAI, KeyInvalid)
	require.Empty(t, code(b.OpenAI.Keys[0], 200))
	require.Equal(t, "invalid_api_key", code(b.OpenAI.Keys[1], 401))
	require.Error(t, b.Switch(OpenAI, Revoked))
}
