package corrections_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

// played adds a listen by hand and returns the ID of its artist.
func played(h *servertest.Household, track, artist, at string) string {
	h.Call(http.MethodPost, "/listens", `{"track":"`+track+`","artist":"`+artist+
		`","album":"Ágætis byrjun","played_at":"`+at+`"}`, http.StatusCreated)
	return idOf(h, "artists", artist)
}

// idOf returns the ID of the first artist, album or track that a search finds.
func idOf(h *servertest.Household, kind, name string) string {
	found := h.Call(http.MethodGet, "/search?q="+url.QueryEscape(name), "", http.StatusOK)[kind].([]any)
	require.NotEmpty(h.T, found, name)
	return found[0].(map[string]any)["id"].(string)
}

func artists(h *servertest.Household) map[string]any {
	all := map[string]any{}
	for _, row := range h.Call(http.MethodGet, "/stats/top/artists?span=all", "", http.StatusOK)["top"].([]any) {
		v := row.(map[string]any)
		all[v["name"].(string)] = v["listens"]
	}
	return all
}

func TestAnAdministratorMergesTwoArtists(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		right := played(h, "Svefn-g-englar", "Sigur Rós", "1999-11-20T10:00:00Z")
		wrong := played(h, "Starálfur", "Sigur Ross", "1999-11-20T11:00:00Z")
		before := artists(h)
		require.Equal(t, map[string]any{"Sigur Rós": 1.0, "Sigur Ross": 1.0}, before)
		merge := "/artists/" + wrong + "/merge"
		would := h.Call(http.MethodPost, merge, `{"into":"`+right+`","dry_run":true}`, http.StatusOK)
		require.Equal(t, map[string]any{"listens": 1.0, "albums": 1.0, "tracks": 1.0, "correction": nil}, would)
		require.Equal(t, before, artists(h))
		made := h.Call(http.MethodPost, merge, `{"into":"`+right+`"}`, http.StatusOK)["correction"].(map[string]any)
		require.Equal(t, []any{"merge", "artist", "Sigur Ross", "Sigur Rós", "Ann", nil}, []any{made["kind"],
			made["about"], made["name"], made["becomes"], made["made_by"], made["undone_at"]})
		require.Equal(t, map[string]any{"Sigur Rós": 2.0}, artists(h))
		h.Call(http.MethodPost, merge, `{"into":"`+right+`"}`, http.StatusConflict)
		h.Call(http.MethodPost, merge, `{"into":"999"}`, http.StatusNotFound)
		require.Equal(t, http.StatusFound, h.Do(http.MethodGet, "/music/artist/"+wrong, "", "").Code)

		h.As(h.Other("Bob"))
		undo := "/corrections/" + made["id"].(string) + "/undo"
		h.Call(http.MethodPost, undo, "", http.StatusForbidden)
		h.Call(http.MethodPost, merge, `{"into":"`+right+`"}`, http.StatusForbidden)
		require.Len(t, h.Call(http.MethodGet, "/corrections", "", http.StatusOK)["corrections"], 1)
		require.NotContains(t, h.Page("/corrections"), undo)
		h.As(h.User)
		require.NotNil(t, h.Call(http.MethodPost, undo, "", http.StatusOK)["undone_at"])
		require.Equal(t, before, artists(h))
	})
}

func TestMusicIsRenamedAndSplitByPrograms(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		artist := played(h, "Svefn-g-englar", "Sigur Rós and Amiina", "1999-11-20T10:00:00Z")
		played(h, "Svefn-g-englar (Remastered)", "Sigur Rós and Amiina", "1999-11-20T11:00:00Z")
		track, album := idOf(h, "tracks", "Svefn"), idOf(h, "albums", "byrjun")
		for path, name := range map[string]string{"/tracks/" + track: "Sleepwalkers",
			"/albums/" + album: "A good beginning", "/artists/" + artist: "Victory Rose"} {
			h.Call(http.MethodPatch, path, `{"name":" "}`, http.StatusUnprocessableEntity)
			require.Equal(t, name, h.Call(http.MethodPatch, path, `{"name":"`+name+`"}`, http.StatusOK)["becomes"])
			h.Call(http.MethodPatch, path, `{"name":"`+name+`"}`, http.StatusConflict)
		}
		require.Equal(t, map[string]any{"Victory Rose": 2.0}, artists(h))
		require.Equal(t, track, idOf(h, "tracks", "sleepwalk"))
		require.Contains(t, h.Page("/listens"), "Sleepwalkers")

		made := h.Call(http.MethodPost, "/tracks/"+track+"/split", `{"titles":["Svefn-g-englar (Remastered)"]}`,
			http.StatusOK)
		require.Equal(t, []any{"divide", "track", 1.0}, []any{made["kind"], made["about"], made["listens"]})
		h.Call(http.MethodPost, "/artists/"+artist+"/split", `{"names":["Sigur Rós","Amiina"]}`, http.StatusOK)
		require.Equal(t, map[string]any{"Sigur Rós": 2.0, "Amiina": 2.0}, artists(h))
		amiina := idOf(h, "artists", "Amiina")
		for body, status := range map[string]int{`{}`: http.StatusUnprocessableEntity,
			`{"names":["A"],"tracks":["1"]}`: http.StatusUnprocessableEntity, `{"names":["A"]}`: http.StatusConflict,
			`{"albums":["9999"],"name":"B"}`: http.StatusUnprocessableEntity} {
			h.Call(http.MethodPost, "/artists/"+amiina+"/split", body, status)
		}
		h.Call(http.MethodPost, "/albums/"+album+"/split", `{"titles":["Ágætis byrjun"]}`, http.StatusConflict)
		h.Call(http.MethodPost, "/artists/"+amiina+"/split", `{"albums":["`+album+`"],"name":"Amiina (quartet)"}`,
			http.StatusOK)
		require.Equal(t, map[string]any{"Sigur Rós": 2.0, "Amiina (quartet)": 2.0}, artists(h))
	})
}

// Without JavaScript, a search finds the artist to keep, the page says what will move, and Corrections undoes it.
func TestMusicIsCorrectedOnThePages(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		right := played(h, "Svefn-g-englar", "Sigur Rós", "1999-11-20T10:00:00Z")
		wrong := played(h, "Starálfur", "Sigur Ross", "1999-11-20T11:00:00Z")
		page := "/music/artist/" + wrong
		html := h.Page(page)
		for _, do := range []string{"/rename", "/merge", "/split"} {
			require.Contains(t, html, `href="`+page+do+`"`)
		}
		require.NotContains(t, h.Page(page+"/merge?q=Nothing"), "?into=")
		require.Contains(t, h.Page(page+"/merge?q=rós"), page+"/merge?into="+right)
		html = h.Page(page + "/merge?into=" + right)
		require.Contains(t, html, "Your 1 listen will count for")
		require.Contains(t, html, "1 album moves with it.")
		to := h.Submit(page+"/merge", http.StatusSeeOther, "into", right).Header().Get("Location")
		require.Equal(t, "/music/artist/"+right, to)
		merged := h.Page(to)
		require.Regexp(t, `(?s)Listens\s*</dt>\s*<dd>.{0,120}>2<`, merged)
		there := regexp.MustCompile(`(?s)class="flash">.*?action="(/corrections/\d+/undo)".*?name="to" value="(.*?)"`).
			FindStringSubmatch(merged)
		require.NotNil(t, there, "it can be undone there and then")
		require.NotContains(t, h.Page(to), `class="flash"`, "it is offered once")
		require.Equal(t, to, h.Submit(there[1], http.StatusSeeOther, "to", there[2]).Header().Get("Location"))
		require.Contains(t, h.Page(to), "Undone. Everything is as it was before.")
		require.Equal(t, map[string]any{"Sigur Rós": 1.0, "Sigur Ross": 1.0}, artists(h))
		elsewhere := h.Submit(there[1], http.StatusSeeOther, "to", "//example.org").Header().Get("Location")
		require.Equal(t, "/", elsewhere, "it leads to pages of ours only")
		h.Submit(page+"/merge", http.StatusSeeOther, "into", right)
		html = h.Page("/corrections")
		require.Contains(t, html, "Part of")
		_, html, _ = strings.Cut(html, `id="corrections"`)
		undo := regexp.MustCompile(`action="(/corrections/\d+/undo)"`).FindStringSubmatch(html)
		require.Equal(t, "/corrections", h.Submit(undo[1], http.StatusSeeOther).Header().Get("Location"))
		require.Equal(t, map[string]any{"Sigur Rós": 1.0, "Sigur Ross": 1.0}, artists(h))

		h.Submit(page+"/rename", http.StatusSeeOther, "name", "Victory Rose")
		require.Contains(t, h.Page(page), "Victory Rose")
		require.Contains(t, h.Page(page+"/split"), "Starálfur")
		h.Submit(page+"/split", http.StatusSeeOther, "names", "One\n\nTwo ")
		require.Equal(t, map[string]any{"Sigur Rós": 1.0, "One": 1.0, "Two": 1.0}, artists(h))
		require.Contains(t, h.Page("/music/track/"+idOf(h, "tracks", "Starálfur")+"/split"), "nothing to split")
	})
}

func TestAPictureIsUploadedAndTakenBack(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		artist := played(h, "Svefn-g-englar", "Sigur Rós", "1999-11-20T10:00:00Z")
		album := idOf(h, "albums", "byrjun")
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 900, 900))))
		cover := func(path, body string, status int) {
			require.Equal(t, status, h.Do(http.MethodPut, "/api/v1"+path+"/picture", body, "image/png").Code)
		}
		for path, kind := range map[string]string{"/albums/" + album: "album", "/artists/" + artist: "artist",
			"/tracks/" + idOf(h, "tracks", "Svefn"): "track"} {
			cover(path, "<svg/>", http.StatusUnprocessableEntity)
			cover(path, strings.Repeat("x", 6<<20), http.StatusRequestEntityTooLarge)
			h.Call(http.MethodDelete, path+"/picture", "", http.StatusConflict)
			cover(path, b.String(), http.StatusOK)
			cover(path, b.String(), http.StatusConflict)
			page := "/music/" + kind + path[strings.LastIndex(path, "/"):]
			src := regexp.MustCompile(`src="(/art/[0-9a-f]+)"`).FindStringSubmatch(h.Page(page))
			require.NotNil(t, src, page)
			w := h.Do(http.MethodGet, src[1], "", "")
			require.Equal(t, []string{"image/jpeg"}, w.Result().Header["Content-Type"])
			require.Less(t, w.Body.Len(), 1<<16)
			require.Contains(t, h.Page(page+"/picture"), "Use the automatic one")
			h.Call(http.MethodDelete, path+"/picture", "", http.StatusNoContent)
			require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, src[1], "", "").Code)
			require.NotContains(t, h.Page(page), src[1])
		}
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		part, err := w.CreateFormFile("file", "cover.png")
		require.NoError(t, err)
		_, err = part.Write(b.Bytes())
		require.NoError(t, errors.Join(err, w.Close()))
		sent := h.Do(http.MethodPost, "/music/album/"+album+"/picture", form.String(), w.FormDataContentType())
		require.Equal(t, http.StatusSeeOther, sent.Code)
		require.Contains(t, h.Page("/corrections"), "Picture chosen")
		h.Submit("/music/album/"+album+"/picture", http.StatusSeeOther, "automatic", "1")
	})
}

// An edition of an album is split off, two other albums are merged, and so are two titles of one track.
func TestAlbumsAndTracksAreMergedByPrograms(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for i, l := range [][2]string{{"Mustapha", "Jazz"}, {"Jealousy", "Jazz (2011 Remaster)"},
			{"Bicycle Race", "Live"}, {"Bicycle", "Live Killers"}} {
			h.Call(http.MethodPost, "/listens", fmt.Sprintf(`{"track":%q,"artist":"Queen","album":%q,
				"played_at":"1999-11-20T1%d:00:00Z"}`, l[0], l[1], i), http.StatusCreated)
		}
		jazz := idOf(h, "albums", "Jazz")
		made := h.Call(http.MethodPost, "/albums/"+jazz+"/split", `{"titles":["Jazz (2011 Remaster)"]}`, http.StatusOK)
		require.Equal(t, []any{"divide", "album", 1.0}, []any{made["kind"], made["about"], made["listens"]})
		require.Equal(t, 1.0, h.Call(http.MethodGet, "/albums/"+jazz, "", http.StatusOK)["plays"])

		for kind, pair := range map[string][2]string{"albums": {"Live", "Killers"}, "tracks": {"Race", "Bicycle"}} {
			into, from := idOf(h, kind, pair[0]), idOf(h, kind, pair[1])
			h.Call(http.MethodPost, "/"+kind+"/"+from+"/merge", `{"into":"`+into+`"}`, http.StatusOK)
			require.Equal(t, 2.0, h.Call(http.MethodGet, "/"+kind+"/"+into, "", http.StatusOK)["plays"], kind)
		}
	})
}
