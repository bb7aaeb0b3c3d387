package digest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/digest"
	"reprise/internal/enginetest"
	"reprise/internal/library"
)

func TestTheLastWeekCanBeAskedForOnce(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		require.ErrorIs(t, h.Ask(t.Context(), h.bob), digest.ErrSilent)
		h.hears(h.bob, "Untitled 2")
		require.ErrorIs(t, h.Ask(t.Context(), h.bob), digest.ErrSilent, "the week is not over")
		h.until(3, 1)
		prompt, plays, err := h.Preview(t.Context(), h.bob)
		require.NoError(t, err)
		require.Equal(t, 1, plays)
		require.NoError(t, h.Ask(t.Context(), h.bob))
		enginetest.Settle()
		require.ErrorIs(t, h.Ask(t.Context(), h.bob), digest.ErrThere)
		all, err := h.Store.Digests(t.Context(), h.bob)
		require.NoError(t, err)
		require.Equal(t, prompt, all[0].Prompt, "the preview is what is sent")

		require.NoError(t, h.Delete(t.Context(), h.bob, all[0].ID))
		require.ErrorIs(t, h.Delete(t.Context(), h.bob, all[0].ID), library.ErrNotFound)
		require.ErrorIs(t, h.Delete(t.Context(), h.alice, all[0].ID), library.ErrNotFound)
		require.NoError(t, h.Switch(t.Context(), h.bob, true))
		h.until(5, 0)
		require.Empty(t, h.written(h.bob), "what was deleted is not written again by itself")
		require.Len(t, h.far.prompts(), 1)
		require.NoError(t, h.Ask(t.Context(), h.bob))
		enginetest.Settle()
		spent, err := h.Store.DigestsSpent(t.Context(), h.bob, time.Time{})
		require.NoError(t, err)
		require.Len(t, spent, 1)
		require.Equal(t, digest.Cost{Micros: 240, Currency: "EUR"}, spent[0].Cost, "both answers were paid for")
	})
}

func TestADigestDeletedWhileItIsWritten(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.hears(h.bob, "Untitled 2")
		h.until(3, 1)
		h.far.took = 30 * time.Second
		require.NoError(t, h.Ask(t.Context(), h.bob))
		time.Sleep(5 * time.Second)
		all, err := h.Store.Digests(t.Context(), h.bob)
		require.NoError(t, err)
		require.Len(t, h.far.prompts(), 1)
		require.NoError(t, h.Delete(t.Context(), h.bob, all[0].ID))
		h.until(3, 2)
		require.Empty(t, h.written(h.bob))
		spent, err := h.Store.DigestsSpent(t.Context(), h.bob, time.Time{})
		require.NoError(t, err)
		require.Len(t, spent, 1)
		require.Equal(t, digest.Cost{Micros: 120, Currency: "EUR"}, spent[0].Cost)

		require.NoError(t, h.Ask(t.Context(), h.bob))
		h.until(3, 3)
		require.Equal(t, []string{"1999-12-27 written"}, h.written(h.bob), "the last request counts")
	})
}

func TestDigestsSwitchedOffWhileOneIsWritten(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.hears(h.alice, "Untitled 1", "Untitled 3")
		h.hears(h.bob, "Something of Bob's")
		require.NoError(t, h.Switch(t.Context(), h.alice, true))
		require.NoError(t, h.Switch(t.Context(), h.bob, true))
		h.far.answers(400, tooLong)
		h.far.took = 4 * time.Minute
		for len(h.far.prompts()) == 0 {
			time.Sleep(time.Minute)
		}
		require.NoError(t, h.Switch(t.Context(), h.alice, false), "while her own is written")
		require.NoError(t, h.Switch(t.Context(), h.bob, false), "while another's is written")
		h.until(4, 0)
		require.Len(t, h.far.prompts(), 1, "not even the shorter prompt")
		require.NotContains(t, h.far.prompts()[0], "Bob")
		require.Empty(t, h.written(h.alice))
		require.Empty(t, h.written(h.bob))
	})
}
