package digests_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/digest"
	"reprise/internal/providers"
	"reprise/internal/providers/openai"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
	"reprise/internal/server/servertest"
	"reprise/internal/words"
)

// writer is a language model.
type writer struct {
	text  string
	fails error
	asked []providers.Prompt
}

func (w *writer) Complete(_ context.Context, _ resilience.Call, p providers.Prompt) (providers.Completion, error) {
	w.asked = append(w.asked, p)
	return providers.Completion{Text: w.text, Model: "a-model", PromptTokens: 1000, CompletionTokens: 100}, w.fails
}

// withModel gives the household a language model.
func withModel(h *servertest.Household, w *writer) {
	p := providertest.New(openai.Describe(), "api_url", "https://model.example.org", "model", "a-model",
		"price_in", "0.15", "price_out", "0.6", "currency", "EUR")
	p.Model = w
	h.Services = providers.NewRegistry(p)
	h.Digests = digest.New(digest.Config{
		Options:  digest.Options{Zone: time.UTC},
		Services: h.Services,
		Guard:    h.Guard,
		Store:    h.DB,
		Bus:      h.Bus,
		Log:      h.Log,
		Reader: func(ctx context.Context, user int64) context.Context {
			u, err := h.DB.UserByID(ctx, user)
			assert.NoError(h.T, err)
			return u.Elsewhere(ctx)
		},
	})
	h.Restart()
}

// writeDigests runs the digests until those that are due are written.
func writeDigests(h *servertest.Household) {
	h.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(h.T, h.Digests.Run(ctx)) })
	time.Sleep(time.Second)
	synctest.Wait()
	cancel()
	running.Wait()
}

func TestDigestShowsItsPromptAndCost(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		far := &writer{text: "A <b>calm</b> week.\n\nMostly Sigur Rós."}
		withModel(h, far)
		page := h.Page("/digest")
		require.Contains(t, page, "sent to model.example.org:")
		require.Contains(t, page, "hear anything in the last full week")
		require.Contains(t, page, `href="/digest"`)
		h.Call(http.MethodPost, "/digest", "", http.StatusConflict)

		time.Sleep(24 * time.Hour) // to Sunday
		h.Heard("Untitled <1>", "Untitled 3")
		time.Sleep(24 * time.Hour)
		page = h.Page("/digest")
		require.Contains(t, page, "27 December 1999 – 2 January 2000")
		require.Contains(t, page, "- Untitled &lt;1&gt; – Sigur Rós (1)",
			"the prompt to the letter, before anything is sent")
		require.Contains(t, page, "Write me a digest every week")
		require.Contains(t, page, `name="week" value="1999-12-27"`)
		h.Submit("/digest", http.StatusConflict, "week", "1999-12-20")
		require.Empty(t, h.Call(http.MethodGet, "/digests", "", http.StatusOK)["digests"])
		require.Equal(t, "1999-12-27", h.Call(http.MethodPost, "/digest", "", http.StatusAccepted)["week"])
		h.Call(http.MethodPost, "/digest", "", http.StatusConflict)
		require.Contains(t, h.Page("/digest"), "Reprise is writing it.")
		writeDigests(h)

		page = h.Page("/digest")
		require.Contains(t, page, "A &lt;b&gt;calm&lt;/b&gt; week.", "plain text")
		require.Contains(t, page, "Mostly Sigur Rós.")
		require.Contains(t, page, "It cost less than 1 cent.")
		require.Contains(t, page, "1,000 tokens in, 100 out: 0.00021 EUR.", "in its details")
		require.Contains(t, page, "January 2000")
		require.NotContains(t, page, "Write last week&#39;s now")
		one := h.Call(http.MethodGet, "/digests", "", http.StatusOK)["digests"].([]any)[0].(map[string]any)
		require.Equal(t, "A <b>calm</b> week.\n\nMostly Sigur Rós.", one["text"])
		require.Contains(t, one["prompt"].(map[string]any)["text"], "Untitled <1>")
		require.Equal(t, map[string]any{"amount": "0.00021", "currency": "EUR"}, one["cost"])

		card := h.Page("/listening?span=week&at=2000-01-01")
		require.Contains(t, card, "A &lt;b&gt;calm&lt;/b&gt; week.", "on Listening, too")
		require.Contains(t, card, "The week of 27 December 1999 – 2 January 2000")
		require.Contains(t, h.Page("/listening?span=month&at=2000-01-20"), `id="digest"`, "it ended in that month")
		require.NotContains(t, h.Page("/listening?span=week&at=2000-01-01&artist=1"), `id="digest"`, "filtered")

		bob := h.Other("Bob")
		h.As(bob)
		require.Empty(t, h.Call(http.MethodGet, "/digests", "", http.StatusOK)["digests"])
		h.Call(http.MethodDelete, "/digests/"+one["id"].(string), "", http.StatusNotFound)
		require.Equal(t, http.StatusNotFound,
			h.Do(http.MethodGet, "/digest/"+one["id"].(string)+"/delete", "", "").Code)
		require.NotContains(t, h.Page("/digest"), "What your digests cost")

		h.As(h.User)
		path := "/digest/" + one["id"].(string) + "/delete"
		require.Contains(t, h.Page(path), "Delete this digest?")
		h.Submit(path, http.StatusSeeOther)
		h.Submit(path, http.StatusSeeOther)
		page = h.Page("/digest")
		require.NotContains(t, page, "calm")
		require.Contains(t, page, "less than 1 cent", "what was paid was paid")
		require.Contains(t, page, "Write last week&#39;s now")
	})
}

func TestAGermanReadsAGermanDigest(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		far := &writer{text: "Eine ruhige Woche."}
		withModel(h, far)
		require.NoError(t, h.DB.SetChoices(t.Context(), h.User, accounts.Choices{Language: "de"}))
		time.Sleep(24 * time.Hour) // to Sunday
		h.Heard("Untitled 1")
		time.Sleep(24 * time.Hour)
		require.Contains(t, h.Page("/digest"), "Write in German", "as it is sent")
		h.Call(http.MethodPost, "/digest", "", http.StatusAccepted)
		writeDigests(h)
		require.Len(t, far.asked, 1)
		require.Contains(t, far.asked[0].System, "Write in German")
		page := h.Page("/digest")
		require.Contains(t, page, `<h1>Rückblick</h1>`)
		require.Contains(t, page, "27. Dezember 1999 – 2. Januar 2000")
		require.Contains(t, page, "1.000 Token gelesen, 100 geschrieben: 0,00021 EUR.")
		require.Regexp(t, `<p lang="de">Eine ruhige Woche\.</p>`, page)

		require.NoError(t, h.DB.SetChoices(t.Context(), h.User, accounts.Choices{Language: "en"}))
		require.Contains(t, h.Page("/digest"), `<p lang="de">`, "it stays as it was written")
		one := h.Call(http.MethodGet, "/digests", "", http.StatusOK)["digests"].([]any)[0].(map[string]any)
		require.Equal(t, "de", one["language"])
	})
}

func TestDigestsAreSwitchedPerUser(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		withModel(h, &writer{text: "A calm week."})
		enabled := func() any { return h.Call(http.MethodGet, "/digests", "", http.StatusOK)["enabled"] }
		require.Equal(t, false, enabled(), "off by default")
		h.Submit("/digest/switch", http.StatusSeeOther, "enabled", "yes")
		require.Equal(t, true, enabled())
		require.Contains(t, h.Page("/digest"), "Turn off")
		h.As(h.Other("Bob"))
		require.Equal(t, false, enabled())
		require.Equal(t, true, h.Call(http.MethodPut, "/digest", `{"enabled":true}`, http.StatusOK)["enabled"])
		h.Call(http.MethodPut, "/digest", `{"enabled":false}`, http.StatusOK)
		require.Equal(t, false, enabled())
		h.Call(http.MethodPut, "/digest", `{}`, http.StatusUnprocessableEntity)
	})
}

func TestDigestPageWithoutAModelSaysHowToGetOne(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		page := h.Page("/digest")
		require.Contains(t, page, `href="/settings/server#digest"`)
		require.NotContains(t, page, `<a href="/digest"`, "nothing leads here while it does nothing")
		h.Call(http.MethodPut, "/digest", `{"enabled":true}`, http.StatusConflict)
		h.Call(http.MethodPost, "/digest", "", http.StatusConflict)
		require.Equal(t, false, h.Call(http.MethodGet, "/digests", "", http.StatusOK)["configured"])
		h.Page("/settings")
		h.As(h.Other("Bob"))
		page = h.Page("/digest")
		require.Contains(t, page, "The administrator can set one up.")
		require.NotContains(t, page, "providers.openai")
	})
}

// Only an administrator sees which setting is wrong.
func TestDigestObstacleDependsOnTheRole(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		far := &writer{text: "A calm week.",
			fails: &resilience.AnswerError{Endpoint: "POST /chat/completions", Status: 404,
				Meaning: &resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config,
					Scope: resilience.ScopeApp, Advice: words.Plain("Correct providers.openai.model.")}}}
		withModel(h, far)
		time.Sleep(24 * time.Hour)
		h.Heard("Untitled 1")
		time.Sleep(24 * time.Hour)
		h.Submit("/digest", http.StatusSeeOther, "week", "1999-12-27")
		writeDigests(h)
		page := h.Page("/digest")
		require.Contains(t, page, "Correct providers.openai.model.")
		require.Contains(t, page, "Needs the administrator")
		require.Contains(t, page, "Reprise writes it as soon as the language model can be used.")
		model := h.Call(http.MethodGet, "/digests", "", http.StatusOK)["model"].(map[string]any)
		require.Equal(t, []any{"needs_admin", "config"}, []any{model["state"], model["category"]})
		h.As(h.Other("Bob"))
		h.Submit("/digest/switch", http.StatusSeeOther, "enabled", "yes")
		page = h.Page("/digest")
		require.Contains(t, page, "The administrator has been notified")
		require.NotContains(t, page, "providers.openai")
		require.NotContains(t, page, "/digest/retry")
		h.Submit("/digest/retry", http.StatusForbidden)

		h.As(h.User)
		far.fails = &resilience.AnswerError{Status: 429, Meaning: &resilience.Meaning{Class: resilience.Retriable,
			Category: resilience.Quota, Scope: resilience.ScopeKey,
			Hold: 24 * time.Hour, Advice: words.Plain("Look at its billing page.")}}
		h.Submit("/digest/retry", http.StatusSeeOther)
		writeDigests(h)
		require.Contains(t, h.Page("/digest"), "Look at its billing page.")
		model = h.Call(http.MethodGet, "/digests", "", http.StatusOK)["model"].(map[string]any)
		require.Equal(t, []any{"held", "quota"}, []any{model["state"], model["category"]})
		h.Submit("/digest/retry", http.StatusConflict)
		h.As(h.DemoUser + 1)
		page = h.Page("/digest")
		require.Contains(t, page, "budget for the language model is used up")
		require.NotContains(t, page, "billing")
	})
}

func TestProgramsHaveADigestWritten(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		withModel(h, &writer{text: "A calm week."})
		time.Sleep(24 * time.Hour) // to Sunday
		h.Heard("Untitled 1", "Untitled 3")
		time.Sleep(24 * time.Hour)
		h.Call(http.MethodPost, "/digest", "", http.StatusAccepted)
		h.Call(http.MethodPut, "/digest", `{"enabled":true}`, http.StatusOK)
		writeDigests(h)
		one := h.Call(http.MethodGet, "/digests", "", http.StatusOK)["digests"].([]any)[0].(map[string]any)
		require.Equal(t, "written", one["state"])
		h.Call(http.MethodDelete, "/digests/"+one["id"].(string), "", http.StatusNoContent)
	})
}
