package enrich_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

func TestPicturesAreFoundByMBID(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		rain := track("Sigur Rós", "Takk...", "Glósóli")
		b.gallery.bad["id of album Sigur Rós/Takk..."] = fails(http.StatusNotFound)
		b.hear(b.user, rain)
		b.tick()
		require.Equal(t, []string{"artist Sigur Rós", "album Sigur Rós/Takk..."}, b.art.calls())
		require.Equal(t, []string{"id of artist Sigur Rós", "id of album Sigur Rós/Takk..."}, b.art.with())
		require.Equal(t,
			[]string{"id of artist Sigur Rós", "id of album Sigur Rós/Takk...", "second"}, b.gallery.fetched,
			"no backgrounds; the next one after a failure",
		)
		links, err := b.db.Links(
			t.Context(), []library.Track{rain, track("Sigur Rós", "( )", "Untitled 1"), track("Nobody", "", "Fog")},
		)
		require.NoError(t, err)
		require.Equal(t, "kept second", links[0].Picture)
		require.False(t, links[0].Portrait)
		require.Equal(t, "kept id of artist Sigur Rós", links[1].Picture, "without a cover the artist's portrait")
		require.True(t, links[1].Portrait)
		require.Equal(t, enrich.Links{}, links[2])
	})
}

func TestALostPictureIsFetchedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.hear(b.user, track("A", "First", "T"), track("B", "", "U"))
		b.tick()
		require.Len(t, b.art.calls(), 3)
		pass(3 * time.Hour)
		require.Empty(t, b.art.calls())
		b.gallery.lose("kept id of artist B", "another's")
		pass(2 * time.Hour)
		require.Equal(t, []string{"artist B"}, b.art.calls())

		b.gallery.lose("kept id of artist B")
		b.art.answers(func(library.Entity) (library.Facts, error) {
			return library.Facts{}, fails(http.StatusBadRequest)
		})
		pass(3 * time.Hour)
		require.Equal(t, []string{"artist B", "artist B"}, b.art.calls(), "a failure is postponed as usual")
	})
}

func TestFactsAreKeptWithoutAPicture(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		for _, url := range []string{"id of artist A", "second"} {
			b.gallery.bad[url] = fails(http.StatusGone)
		}
		b.hear(b.user, track("A", "", "T"))
		b.tick()
		require.Equal(t, enrich.Progress{Done: 1}, b.progress("art"))
		require.Equal(t, "id of artist A", told(b.music(library.KindArtist, track("A", "", "T")), "art").MBID)
	})
}

func TestAFullDiskLosesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.gallery.fill(&resilience.LocalError{Problem: words.Plain("The disk is full."), Err: context.DeadlineExceeded})
		b.hear(b.user, track("A", "", "T"))
		b.tick()
		require.Equal(t, enrich.Progress{Waiting: 1}, b.progress("art"))
		state, _ := b.guard.StateForAll(b.provider[1])
		require.Equal(t, backoff.Ready, state.Kind, "the source is not to blame")
		require.Equal(t, "The disk is full.", b.Trouble("art").String())
		require.Empty(t, b.Trouble("facts").String())
		b.gallery.fill(nil)
		pass(2 * time.Hour)
		require.Empty(t, b.Trouble("art").String())
		require.Equal(t, enrich.Progress{Done: 1}, b.progress("art"))
	})
}
