package server

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
)

func titlesOf(h *household) (titles []any) {
	for _, l := range h.call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any) {
		titles = append(titles, l.(map[string]any)["track"])
	}
	return titles
}

func TestAListenIsDeletedAndBroughtBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.hear("Ára bátur", "Hoppípolla", "Glósóli")
		before := h.call(http.MethodGet, "/listens", "", http.StatusOK)
		first := before["listens"].([]any)[0].(map[string]any)
		made := h.call(http.MethodDelete, "/listens/"+first["id"].(string), "", http.StatusOK)
		require.Equal(t, []any{"delete", 1.0, first["track"], first["artist"], nil},
			[]any{made["kind"], made["listens"], made["track"], made["artist"], made["undone_at"]})
		require.NotContains(t, titlesOf(h), first["track"])
		h.call(http.MethodDelete, "/listens/"+first["id"].(string), "", http.StatusNotFound)
		h.call(http.MethodDelete, "/listens/x", "", http.StatusNotFound)

		undo := "/corrections/" + made["id"].(string) + "/undo"
		require.NotNil(t, h.call(http.MethodPost, undo, "", http.StatusOK)["undone_at"])
		require.Equal(t, before, h.call(http.MethodGet, "/listens", "", http.StatusOK))
		all := h.call(http.MethodGet, "/corrections", "", http.StatusOK)["corrections"].([]any)
		require.Len(t, all, 1)
		h.as(h.other("Bob"))
		h.call(http.MethodPost, undo, "", http.StatusNotFound)
		h.call(http.MethodDelete, "/listens/"+first["id"].(string), "", http.StatusNotFound)
	})
}

func TestListensAreDeletedByAFilter(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.hear("Ára bátur", "Hoppípolla", "Glósóli")
		for _, body := range []string{`{}`, `{"ids":["1"],"artist":"Sigur Rós"}`, `{"artist":" "}`} {
			h.call(http.MethodPost, "/listens/delete", body, http.StatusUnprocessableEntity)
		}
		h.call(http.MethodPost, "/listens/delete", `{"from":"yesterday"}`, http.StatusBadRequest)
		h.call(http.MethodPost, "/listens/delete", `{"artist":"Nobody"}`, http.StatusNotFound)
		require.EqualValues(t, 3, h.call(http.MethodPost, "/listens/delete", `{"artist":"SIGUR RÓS","dry_run":true}`,
			http.StatusOK)["count"])
		require.Len(t, titlesOf(h), 3)
		made := h.call(http.MethodPost, "/listens/delete", `{"artist":"SIGUR RÓS"}`, http.StatusOK)
		require.EqualValues(t, 3, made["count"])
		require.Empty(t, titlesOf(h))
	})
}

// Without JavaScript: listens are selected, the page says how many before they go, and brings them back.
func TestListensAreDeletedOnThePages(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.hear("Ára bátur", "Hoppípolla", "Glósóli")
		require.Contains(t, h.page("/listens"), `href="/listens?select=1"`)
		html := h.page("/listens?select=1")
		boxes := regexp.MustCompile(`name="listen" value="(\d+)" aria-label="([^"]+)"`).FindAllStringSubmatch(html, -1)
		require.Len(t, boxes, 3)
		require.Contains(t, boxes[0][2], "Sigur Rós")
		query := url.Values{"listen": {boxes[0][1], boxes[2][1]}}.Encode()
		html = h.page("/listens/delete?" + query)
		require.Contains(t, html, "Delete 2 listens?")
		post := regexp.MustCompile(`action="(/listens/delete\?[^"]+)"`).FindStringSubmatch(html)
		require.NotNil(t, post)
		action, err := url.QueryUnescape(regexp.MustCompile("&amp;").ReplaceAllString(post[1], "&"))
		require.NoError(t, err)
		h.submit(action, http.StatusSeeOther)
		require.Len(t, titlesOf(h), 1)

		html = h.page("/listens/delete?artist=Sigur+R%C3%B3s")
		require.Regexp(t, "Delete 1 listen by .*Sigur Rós.*?", html)
		html = h.page("/corrections")
		require.Contains(t, html, "2 listens deleted")
		undo := regexp.MustCompile(`action="(/corrections/\d+/undo)"`).FindStringSubmatch(html)
		h.submit(undo[1], http.StatusSeeOther)
		require.Len(t, titlesOf(h), 3)
		html = h.page("/corrections")
		require.Contains(t, html, "Undone ")
		require.NotContains(t, html, "/undo")
		for _, path := range []string{"/listens/delete", "/listens/delete?listen=999"} {
			require.Equal(t, http.StatusSeeOther, h.do(http.MethodGet, path, "", "").Code)
		}
	})
}
