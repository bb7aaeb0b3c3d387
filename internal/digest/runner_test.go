package digest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/digest"
	"reprise/internal/enginetest"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/words"
)

func TestADigestIsWrittenOnceForThoseWhoWantIt(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.rarely(10 * time.Hour)
		require.NoError(t, h.Switch(t.Context(), h.alice, true))
		h.until(1, 12)
		require.Empty(t, h.far.prompts(), "nothing was heard")
		h.hears(h.alice, "Untitled 1", "Untitled 3")
		h.hears(h.bob, "Something of Bob's")
		h.until(3, 2)
		require.Empty(t, h.far.prompts(), "late listens may still arrive")
		h.until(4, 0)
		require.Equal(t, []string{"1999-12-27 written"}, h.written(h.alice))
		require.Empty(t, h.written(h.bob), "he did not want one")

		sent := h.far.prompts()
		require.Len(t, sent, 1)
		require.Contains(t, sent[0], `Untitled 1 – Sigur Rós (1)`)
		for _, private := range []string{
			"Bob", "Alice", "alice", "Liddell", "spotify", "1999", "2000", "January", "Saturday", ":00",
		} {
			require.NotContains(t, sent[0], private)
		}
		all, err := h.Store.Digests(t.Context(), h.alice)
		require.NoError(t, err)
		require.Equal(t,
			providers.Completion{Text: "A calm week.", Model: "a-model", PromptTokens: 400, CompletionTokens: 100},
			all[0].Completion,
		)
		require.Equal(t, digest.Cost{Micros: 120, Currency: "EUR"}, all[0].Cost)
		require.Contains(t, all[0].Prompt.User, "Untitled 3")

		h.stop()
		h.start()
		h.until(9, 0)
		require.Len(t, h.far.prompts(), 1, "once, across restarts")
		h.until(14, 0)
		require.Len(t, h.far.prompts(), 1, "a week without listens makes no call")
		h.hears(h.alice, "Untitled 8")
		h.until(18, 0)
		require.Len(t, h.far.prompts(), 2)
		require.Equal(t, []string{"2000-01-10 written", "1999-12-27 written"}, h.written(h.alice))
		require.NotContains(t, h.far.prompts()[1], "Untitled 1", "only that week's listens")

		require.NoError(t, h.Switch(t.Context(), h.alice, false))
		h.hears(h.alice, "Untitled 1")
		h.until(25, 0)
		require.Len(t, h.far.prompts(), 2)
	})
}

func TestMissedWeeksAreWrittenAfterAPause(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.rarely(10 * time.Hour)
		h.hears(h.alice, "Before it was wanted")
		h.until(5, 0)
		h.hears(h.alice, "Untitled 1")
		h.until(12, 0)
		require.NoError(t, h.Switch(t.Context(), h.alice, true))
		h.hears(h.alice, "Untitled 2")
		enginetest.Settle()
		require.Equal(t, []string{"2000-01-03 written"}, h.written(h.alice), "from the last full week on")
		h.stop()
		time.Sleep(14 * 24 * time.Hour)
		h.start()
		require.Equal(t, []string{"2000-01-10 written", "2000-01-03 written"}, h.written(h.alice))
	})
}

func TestSpentKeysHoldDigestsForADay(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.hears(h.alice, "Untitled 1")
		h.hears(h.bob, "Untitled 2")
		require.NoError(t, h.Switch(t.Context(), h.alice, true))
		require.NoError(t, h.Switch(t.Context(), h.bob, true))
		h.far.answers(429, noQuota)
		h.until(3, 6)
		require.Len(t, h.far.prompts(), 2, "each key once")
		require.Len(t, h.Open(h.alice), 1)
		require.Equal(t, notify.CauseQuota, h.Open(h.alice)[0].Cause)
		require.Contains(t, h.Open(h.alice)[0].Message.String(), "billing page")
		require.Empty(t, h.Open(h.bob))
		state, words := h.Guard.StateForAll(h.Provider())
		require.Equal(t, backoff.Held, state.Kind)
		require.Contains(t, words.Message.String(), "The Language model quota is used up.")

		h.stop()
		h.start()
		require.NoError(t, h.Ask(t.Context(), h.bob), "asking by hand waits like everything else")
		h.until(4, 1)
		require.Len(t, h.far.prompts(), 2, "no request before")
		require.Len(t, h.Open(h.alice), 1, "one notification")
		require.Equal(t, []string{"1999-12-27 waiting"}, h.written(h.bob))

		h.far.answers(200, answer)
		h.until(4, 6)
		require.Len(t, h.far.prompts(), 4)
		require.Equal(t, []string{"1999-12-27 written"}, h.written(h.alice))
		require.Equal(t, []string{"1999-12-27 written"}, h.written(h.bob))
		require.Empty(t, h.Open(h.alice), "the notification is resolved")
	})
}

func TestAnotherKeyIsUsedAtOnce(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.hears(h.alice, "Untitled 1")
		require.NoError(t, h.Switch(t.Context(), h.alice, true))
		h.far.answers(429, noQuota)
		h.until(3, 6)
		require.Len(t, h.far.prompts(), 2)
		h.far.answers(200, answer)
		h.stop()
		h.start()
		require.Len(t, h.far.prompts(), 2, "the same keys are still spent")
		_, words := h.Guard.StateForAll(h.Provider())
		require.Contains(t, words.Message.String(), "billing page")
		h.stop()
		h.keys = append(h.keys, keys.Key{Secret: "key-three-3333"})
		h.start()
		require.Len(t, h.far.prompts(), 3)
		require.Equal(t, []string{"1999-12-27 written"}, h.written(h.alice))
		require.Empty(t, h.Open(h.alice))
	})
}

func TestAWrongModelStopsUntilSomebodyRetries(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.hears(h.bob, "Untitled 2")
		h.far.answers(404, wrongName)
		require.NoError(t, h.Switch(t.Context(), h.bob, true))
		h.until(5, 0)
		require.Len(t, h.far.prompts(), 1, "one call only")
		require.Len(t, h.Open(h.alice), 1)
		require.Contains(t, h.Open(h.alice)[0].Message.String(), "under Settings, This server")
		require.Equal(t, "/digest", h.Open(h.alice)[0].Action.URL)
		require.Empty(t, h.Open(h.bob))

		h.far.answers(200, answer)
		_, held := h.Guard.RetryForAll(t.Context(), h.Provider())
		require.False(t, held)
		h.Look()
		enginetest.Settle()
		require.Equal(t, []string{"1999-12-27 written"}, h.written(h.bob))
		require.Empty(t, h.Open(h.alice))
	})
}

func TestARequestedDigestIsWrittenEvenLate(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.rarely(100 * time.Hour)
		h.hears(h.bob, "Untitled 2")
		h.far.answers(404, wrongName)
		h.until(3, 1)
		require.NoError(t, h.Ask(t.Context(), h.bob))
		time.Sleep(40 * 24 * time.Hour)
		require.Equal(t, []string{"1999-12-27 waiting"}, h.written(h.bob))
		h.far.answers(200, answer)
		h.Guard.RetryForAll(t.Context(), h.Provider())
		h.Look()
		enginetest.Settle()
		require.Equal(t, []string{"1999-12-27 written"}, h.written(h.bob))
		require.Contains(t, h.far.prompts()[1], "Untitled 2")
	})
}

// forgetful is a store whose listens have all been removed.
type forgetful struct{ digest.Store }

func (forgetful) Heard(context.Context, int64, digest.Week, digest.Limits) (digest.Heard, error) {
	return digest.Heard{}, nil
}

func TestADigestWithoutListensFails(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.hears(h.bob, "Untitled 2")
		h.far.answers(503, `{}`)
		h.until(3, 1)
		require.NoError(t, h.Ask(t.Context(), h.bob))
		enginetest.Settle()
		h.stop()
		h.wrap = func(s digest.Store) digest.Store { return forgetful{s} }
		h.far.answers(200, answer)
		h.start()
		all, err := h.Store.Digests(t.Context(), h.bob)
		require.NoError(t, err)
		require.Equal(t, digest.Failed, all[0].State)
		require.Contains(t, all[0].Reason.String(), "has been removed")
		require.Len(t, h.far.prompts(), 1)
	})
}

func TestAnOutageIsWaitedOut(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.hears(h.bob, "Untitled 2")
		h.far.answers(503, `{"error":{"message":"overloaded"}}`)
		require.NoError(t, h.Switch(t.Context(), h.bob, true))
		h.until(3, 3)
		h.Look() // looks of its own are up to 66 minutes apart
		h.until(3, 4)
		require.Empty(t, h.Open(h.alice), "nobody is notified")
		require.Greater(t, len(h.far.prompts()), 3)
		require.Less(t, len(h.far.prompts()), 12)
		h.far.answers(200, answer)
		h.until(3, 5)
		require.Equal(t, []string{"1999-12-27 written"}, h.written(h.bob))
	})
}

func TestATooLongPromptIsShortenedOnce(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.hears(h.bob, "1", "2", "3", "4", "5", "6", "7", "8")
		h.far.answers(400, tooLong)
		require.NoError(t, h.Switch(t.Context(), h.bob, true))
		h.until(7, 0)
		sent := h.far.prompts()
		require.Len(t, sent, 2)
		require.Less(t, len(sent[1]), len(sent[0]))
		all, err := h.Store.Digests(t.Context(), h.bob)
		require.NoError(t, err)
		require.Equal(t, digest.Failed, all[0].State)
		require.Contains(t, all[0].Reason.String(), "too long for the model")
		require.Contains(t, all[0].Detail, "Too long.")
		require.Empty(t, h.Open(h.alice), "the failure is about that week only")

		h.far.answers(200, answer)
		require.NoError(t, h.Ask(t.Context(), h.bob), "it may be tried again by hand")
		enginetest.Settle()
		require.Equal(t, []string{"1999-12-27 written"}, h.written(h.bob))
	})
}

func TestAnEmptyAnswerIsPaidForAndStopsNobody(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.hears(h.alice, "Untitled 1")
		require.NoError(t, h.Switch(t.Context(), h.alice, true))
		h.far.answers(200, speechless)
		h.until(5, 0)
		require.Len(t, h.far.prompts(), 2)
		all, err := h.Store.Digests(t.Context(), h.alice)
		require.NoError(t, err)
		require.Equal(t, digest.Failed, all[0].State)
		require.Contains(t, all[0].Reason.String(), "length limit")
		require.Empty(t, h.Open(h.alice))
		spent, err := h.Store.DigestsSpent(t.Context(), h.alice, time.Time{})
		require.NoError(t, err)
		require.Equal(t, []digest.Spent{
			{
				At:               all[0].WrittenAt,
				PromptTokens:     800,
				CompletionTokens: 8000,
				Cost:             digest.Cost{Micros: 4920, Currency: "EUR"},
			},
		}, spent)

		h.far.answers(200, answer)
		h.hears(h.bob, "Untitled 2")
		h.until(10, 1)
		require.NoError(t, h.Ask(t.Context(), h.bob))
		enginetest.Settle()
		require.Equal(t, []string{"2000-01-03 written"}, h.written(h.bob))
	})
}

// broken is a store whose disk is full for a while.
type broken struct {
	digest.Store
	full *atomic.Bool
}

func (b broken) SaveDigest(ctx context.Context, d digest.Digest) error {
	if b.full.Load() {
		return &resilience.LocalError{Problem: words.Plain("The disk is full."), Err: errors.New("full")}
	}
	return b.Store.SaveDigest(ctx, d)
}

func TestAnAnswerIsKeptUntilItCanBeStored(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.stop()
		var full atomic.Bool
		full.Store(true)
		h.wrap = func(s digest.Store) digest.Store { return broken{s, &full} }
		h.start()
		h.hears(h.bob, "Untitled 2")
		require.NoError(t, h.Switch(t.Context(), h.bob, true))
		h.until(3, 5)
		require.Len(t, h.far.prompts(), 1)
		require.Empty(t, h.written(h.bob))
		full.Store(false)
		h.until(3, 6)
		require.Equal(t, []string{"1999-12-27 written"}, h.written(h.bob))
		require.Len(t, h.far.prompts(), 1)
	})
}

func TestAStopWaitsBrieflyForAnAnswer(t *testing.T) {
	for took, want := range map[time.Duration]string{3 * time.Second: "written", 20 * time.Second: "waiting"} {
		t.Run(took.String(), func(t *testing.T) {
			inHouse(t, func(t *testing.T, h *house) {
				h.hears(h.bob, "Untitled 2")
				h.until(3, 0)
				h.far.took = took
				require.NoError(t, h.Ask(t.Context(), h.bob))
				time.Sleep(time.Second)
				require.Len(t, h.far.prompts(), 1)
				began := time.Now()
				h.stopRunner()
				require.LessOrEqual(t, time.Since(began), 5*time.Second)
				require.Equal(t, []string{"1999-12-27 " + want}, h.written(h.bob))
				h.Stop()
				h.far.took = 0
				h.start()
				require.Equal(t, []string{"1999-12-27 written"}, h.written(h.bob), "it was still due")
			})
		})
	}
}

func TestWithoutAModelNothingIsWritten(t *testing.T) {
	t.Parallel()
	r := digest.New(digest.Config{})
	require.Nil(t, r.Provider())
	require.ErrorIs(t, r.Ask(t.Context(), 1), digest.ErrOff)
}

func TestADigestIsInItsReadersLanguage(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.rarely(10 * time.Hour)
		require.NoError(t, h.Store.SetChoices(t.Context(), h.alice, accounts.Choices{Language: "de"}))
		h.hears(h.alice, "Untitled 1")
		h.hears(h.bob, "Untitled 1")
		h.until(3, 4)
		want := map[int64][2]string{h.alice: {"de", "Write in German"}, h.bob: {"en", "Write in English"}}
		for user, in := range want {
			prompt, _, err := h.Preview(t.Context(), user)
			require.NoError(t, err)
			require.NoError(t, h.Ask(t.Context(), user))
			enginetest.Settle()
			sent := h.far.prompts()
			require.Contains(t, sent[len(sent)-1], in[1])
			all, err := h.Store.Digests(t.Context(), user)
			require.NoError(t, err)
			require.Equal(t, prompt, all[0].Prompt, "as the page has shown it")
			require.Equal(t, in[0], all[0].Language)
		}
	})
}
