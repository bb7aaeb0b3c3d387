package recipes_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/recipes"
	"reprise/internal/server/servertest"
)

const top = `{"name":"Best","kind":"top","songs":3,"every":"week"}`

// titles returns the titles of a list of songs.
func titles(list any) (all []any) {
	for _, one := range list.([]any) {
		all = append(all, one.(map[string]any)["track"])
	}
	return all
}

// Promise: A playlist of a person's own history renews itself, says of each song why it is there, keeps what it was
// like before, and is copied to Navidrome.
func TestARecipeMakesAPlaylistThatRenewsItself(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Hear("One", "Two", "One", "Three", "One", "Two", "Four")
		preview := h.Call(http.MethodPost, "/recipes/preview", top, 200)["chosen"].([]any)
		require.Equal(t, []any{"One", "Two", "Four"}, titles(preview))
		require.Equal(t, "3 plays in that time", preview[0].(map[string]any)["why"])
		require.Empty(t, h.Call(http.MethodGet, "/recipes", "", 200)["recipes"])

		made := h.Call(http.MethodPost, "/recipes", top, http.StatusCreated)
		again := h.Call(http.MethodPost, "/recipes", top, http.StatusCreated)
		require.Equal(t, made["id"], again["id"], "a form that was sent twice makes one")
		require.Len(t, h.Call(http.MethodGet, "/recipes", "", 200)["recipes"], 1)
		require.Contains(t, h.Page("/playlists/recipes"), `<a href="/playlists/recipes/`+made["id"].(string)+`">`)
		list := "/playlists/" + made["playlist"].(string)
		require.Equal(t, []any{"One", "Two", "Four"}, titles(h.Call(http.MethodGet, list, "", 200)["tracks"]))
		page := h.Page(list)
		require.Contains(t, page, "3 tracks from your history.")
		require.Contains(t, page, "Copy to Navidrome")
		require.Contains(t, page, "3 plays in that time", "why, also there")
		require.Contains(t, page, "/playlists/recipes/"+made["id"].(string))

		h.Hear("Five", "Five", "Five", "Five")
		maker := recipes.New(h.DB, h.Log)
		all, err := h.DB.AllRecipes(t.Context())
		require.NoError(t, err)
		require.False(t, all[0].Due(time.Now()))
		require.True(t, all[0].Due(time.Now().AddDate(0, 0, 8)))
		before := h.Call(http.MethodGet, list, "", 200)["tracks"].([]any)[0].(map[string]any)
		require.Equal(t, "3 plays in that time", before["why"], "as when it was chosen")
		require.NoError(t, maker.Renew(t.Context(), all[0]))
		require.Contains(t, h.Page(list), "4 plays in that time")
		require.Equal(t, []any{"Five", "One", "Two"}, titles(h.Call(http.MethodGet, list, "", 200)["tracks"]))
		require.Len(t, h.Call(http.MethodGet, list+"/versions", "", 200)["versions"], 1)

		h.Call(http.MethodPut, list+"/copies/navidrome", "{}", http.StatusAccepted)
		h.Far.Has = []library.Track{{Title: "Five", Artist: "Sigur Rós", SourceID: "five there"},
			{Title: "One", Artist: "Sigur Rós", SourceID: "one there"}}
		h.Carry()
		require.Contains(t, h.Far.List, "five there")

		at := "/recipes/" + made["id"].(string)
		require.Equal(t, []any{"Five", "One", "Two"}, titles(h.Call(http.MethodGet, at, "", 200)["chosen"]))
		changed := h.Call(http.MethodPut, at,
			`{"name":"New","kind":"discovered","months":1,"songs":50,"every":"day"}`, 200)
		require.Equal(t, "New", changed["name"])
		require.Len(t, h.Call(http.MethodGet, list, "", 200)["tracks"], 5)
		require.ErrorIs(t, maker.Renew(t.Context(), all[0]), recipes.ErrChanged, "it was read before it changed")
		h.Call(http.MethodPut, at, `{"name":"New","kind":"anniversary","songs":50,"every":"day"}`, 200)
		require.Len(t, h.Call(http.MethodGet, list, "", 200)["tracks"], 5, "nothing fits, so it stays")
		h.Call(http.MethodDelete, at, "", 204)
		require.ErrorIs(t, maker.Renew(t.Context(), all[0]), library.ErrNotFound)
		h.Call(http.MethodGet, at, "", 404)
		h.Call(http.MethodGet, list, "", 404)
		h.Call(http.MethodDelete, at, "", 404)
	})
}

func TestAPersonMakesARecipeOnItsPage(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Contains(t, h.Page("/playlists"), "Make a playlist from your history")
		page := h.Page("/playlists/recipes")
		require.Contains(t, page, "Loved and forgotten")
		require.Contains(t, h.Page("/playlists/recipes/new?kind=anniversary"), "Nothing in your history fits.")
		h.Hear("One", "Two", "One")
		page = h.Page("/playlists/recipes/new?kind=top&name=Mine&songs=1&every=day")
		require.Contains(t, page, "It chooses one song now")
		require.Contains(t, page, "2 plays in that time")
		require.Contains(t, h.Page("/playlists/recipes/new?kind=top&name=Mine&songs=many&every=day"),
			"The number of songs must be from 1 to 500.")
		require.Contains(t, h.Page("/playlists/recipes/new?kind=top&name=Mine&songs=&every=day"),
			"The number of songs must be from 1 to 500.")
		for _, query := range []string{"", "?kind=best", "?kind=best&name=&songs=5"} {
			require.Equal(t, http.StatusSeeOther, h.Do(http.MethodGet, "/playlists/recipes/new"+query, "", "").Code)
		}

		h.Submit("/playlists/recipes", http.StatusUnprocessableEntity, "kind", "top", "name", "", "songs", "5", "every",
			"day")
		h.Submit("/playlists/recipes", http.StatusSeeOther, "kind", "top", "name", "Mine", "songs", "5", "every", "day")
		made := h.Call(http.MethodGet, "/recipes", "", 200)["recipes"].([]any)[0].(map[string]any)
		at := "/playlists/recipes/" + made["id"].(string)
		require.Contains(t, h.Page(at), `value="Mine"`)
		h.Submit(at, http.StatusSeeOther, "name", "Ours", "songs", "1", "every", "week")
		require.Contains(t, h.Page("/playlists"), "Ours")
		require.Contains(t, h.Page(at+"/delete"), "Delete Ours?")

		other := h.Other("Bob")
		me := h.User
		h.As(other)
		h.Call(http.MethodGet, "/recipes/"+made["id"].(string), "", 404)
		h.Call(http.MethodPut, "/recipes/"+made["id"].(string), top, 404)
		h.Submit(at+"/delete", http.StatusNotFound)
		h.As(me)
		h.Submit(at+"/delete", http.StatusSeeOther)
		require.NotContains(t, h.Page("/playlists"), "Ours")
	})
}

func TestWhatARecipeCannotBeIsRefused(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for _, body := range []string{`{"name":"x","kind":"top","songs":0,"every":"day"}`,
			`{"name":"x","kind":"best","songs":1,"every":"day"}`,
			`{"name":"x","kind":"forgotten","songs":1,"every":"day"}`,
			`{"name":"x","kind":"top","season":"winter","songs":1,"every":"day"}`,
			`{"name":"x","kind":"top","library":"nobody","songs":1,"every":"day"}`} {
			h.Call(http.MethodPost, "/recipes", body, http.StatusUnprocessableEntity)
			h.Call(http.MethodPost, "/recipes/preview", body, http.StatusUnprocessableEntity)
		}
		for i := range recipes.Most {
			h.Call(http.MethodPost, "/recipes",
				fmt.Sprintf(`{"name":"n%d","kind":"top","songs":1,"every":"day"}`, i), 201)
		}
		h.Call(http.MethodPost, "/recipes", top, http.StatusConflict)
	})
}
