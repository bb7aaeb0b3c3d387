package connections_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/servertest"
	"reprise/internal/words"
)

func TestSkippedItemsOnPageAndAPI(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		list := func() []any {
			return h.Call(http.MethodGet, "/connections/spotify/skipped", "", 200)["skipped"].([]any)
		}
		require.Empty(t, list())
		require.NotNil(t, list())
		require.NotContains(t, h.Page("/connections/spotify"), `id="skipped"`)
		now := time.Now()
		require.NoError(t, h.DB.SaveSkipped(t.Context(), h.User, "spotify", library.Playlists, []library.Skipped{
			{Kind: "track", Playlist: "p1", SourceID: "v1", Name: "Deleted <video>", In: "Mix", Category: "item",
				Reason: words.Plain(
					"This video is gone.",
				), Since: now, TriedAt: now, RetryAt: now.Add(24 * time.Hour), Failures: 1},
			{Kind: "playlist", SourceID: "p2", Name: "Private", Category: "item", Reason: words.Plain("It is private."),
				Answer: "answered 404: no", Since: now, TriedAt: now, RetryAt: now.Add(24 * time.Hour), Failures: 1},
		}))
		all := list()
		require.Len(t, all, 2)
		require.Equal(t, map[string]any{"kind": "playlist", "source_id": "p2", "name": "Private",
			"playlist_source_id": nil, "playlist_name": nil, "category": "item", "reason": "It is private.",
			"answer": "answered 404: no", "since": library.Stamp(now), "tried_at": library.Stamp(now),
			"retry_at": library.Stamp(now.Add(24 * time.Hour))}, all[0])
		require.Equal(t, "Mix", all[1].(map[string]any)["playlist_name"])
		page := h.Page("/connections/spotify")
		for _, text := range []string{"What Spotify doesn&#39;t share", "Deleted &lt;video&gt;", "This video is gone.",
			"answered 404: no", "Check again now", "/connections/spotify/skipped/retry"} {
			require.Contains(t, page, text)
		}
		zipped := h.Do(http.MethodGet, "/api/v1/export/all.zip", "", "").Body.Bytes()
		archive, err := zip.NewReader(bytes.NewReader(zipped), int64(len(zipped)))
		require.NoError(t, err)
		file, err := archive.Open("skipped.csv")
		require.NoError(t, err)
		rows, err := io.ReadAll(file)
		require.NoError(t, err)
		require.Contains(t, string(rows), "spotify,playlist,p2,Private,,It is private.,answered 404: no,")
		h.Call(http.MethodPost, "/connections/spotify/skipped/retry", "", http.StatusAccepted)
		due, err := h.DB.Skipped(t.Context(), h.User, "spotify")
		require.NoError(t, err)
		for _, v := range due {
			require.False(t, v.RetryAt.After(time.Now()), "%s is due", v.Name)
		}
		h.As(h.Other("Ben"))
		h.Call(http.MethodGet, "/connections/spotify/skipped", "", http.StatusNotFound)
	})
}
