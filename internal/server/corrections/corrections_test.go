package corrections_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/servertest"
)

func titlesOf(h *servertest.Household) (titles []any) {
	for _, l := range h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any) {
		titles = append(titles, l.(map[string]any)["track"])
	}
	return titles
}

func TestAListenIsDeletedAndBroughtBack(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Hear("Ára bátur", "Hoppípolla", "Glósóli")
		before := h.Call(http.MethodGet, "/listens", "", http.StatusOK)
		first := before["listens"].([]any)[0].(map[string]any)
		made := h.Call(http.MethodDelete, "/listens/"+first["id"].(string), "", http.StatusOK)
		require.Equal(t, []any{"delete", 1.0, first["track"], first["artist"], nil},
			[]any{made["kind"], made["listens"], made["track"], made["artist"], made["undone_at"]})
		require.NotContains(t, titlesOf(h), first["track"])
		h.Call(http.MethodDelete, "/listens/"+first["id"].(string), "", http.StatusNotFound)
		h.Call(http.MethodDelete, "/listens/x", "", http.StatusNotFound)

		undo := "/corrections/" + made["id"].(string) + "/undo"
		require.NotNil(t, h.Call(http.MethodPost, undo, "", http.StatusOK)["undone_at"])
		require.Equal(t, before, h.Call(http.MethodGet, "/listens", "", http.StatusOK))
		all := h.Call(http.MethodGet, "/corrections", "", http.StatusOK)["corrections"].([]any)
		require.Len(t, all, 1)
		h.As(h.Other("Bob"))
		h.Call(http.MethodPost, undo, "", http.StatusNotFound)
		h.Call(http.MethodDelete, "/listens/"+first["id"].(string), "", http.StatusNotFound)
	})
}

func TestListensAreDeletedByAFilter(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Hear("Ára bátur", "Hoppípolla", "Glósóli")
		for _, body := range []string{`{}`, `{"ids":["1"],"artist":"Sigur Rós"}`, `{"artist":" "}`} {
			h.Call(http.MethodPost, "/listens/delete", body, http.StatusUnprocessableEntity)
		}
		h.Call(http.MethodPost, "/listens/delete", `{"from":"yesterday"}`, http.StatusUnprocessableEntity)
		h.Call(http.MethodPost, "/listens/delete", `{"artist":"Nobody"}`, http.StatusNotFound)
		require.EqualValues(t, 3, h.Call(http.MethodPost, "/listens/delete", `{"artist":"SIGUR RÓS","dry_run":true}`,
			http.StatusOK)["count"])
		require.Len(t, titlesOf(h), 3)
		made := h.Call(http.MethodPost, "/listens/delete", `{"artist":"SIGUR RÓS"}`, http.StatusOK)
		require.EqualValues(t, 3, made["count"])
		require.Empty(t, titlesOf(h))
	})
}

// The page that asks before listens are deleted learns that they are gone, and is brought up to date while the browser
// is on its way to the page that says so.
func TestADeletionIsSaidDespiteARefresh(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Hear("Ára bátur", "Hoppípolla")
		ask := "/listens/delete?artist=" + url.QueryEscape("Sigur Rós")
		form := regexp.MustCompile(`action="(/listens/delete\?[^"]+)"`).FindStringSubmatch(h.Page(ask))
		require.NotNil(t, form)
		to := h.Submit(html.UnescapeString(form[1]), http.StatusSeeOther).Header().Get("Location")
		require.Equal(t, http.StatusSeeOther, h.Knock(http.MethodGet, ask, "X-Reprise-Refresh", "/listens/delete").Code)
		page := h.Page(to)
		require.Contains(t, page, "2 listens deleted")
		require.NotContains(t, page, "nothing to delete")
	})
}

// Without JavaScript: listens are selected, the page says how many before they go, and brings them back.
func TestListensAreDeletedOnThePages(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Hear("Ára bátur", "Hoppípolla", "Glósóli")
		require.Contains(t, h.Page("/listens"), `href="/listens?select=1"`)
		html := h.Page("/listens?select=1")
		boxes := regexp.MustCompile(`name="listen" value="(\d+)" aria-label="([^"]+)"`).FindAllStringSubmatch(html, -1)
		require.Len(t, boxes, 3)
		require.Contains(t, boxes[0][2], "Sigur Rós")
		query := url.Values{"listen": {boxes[0][1], boxes[2][1]}}.Encode()
		html = h.Page("/listens/delete?" + query)
		require.Contains(t, html, "Delete 2 listens?")
		post := regexp.MustCompile(`action="(/listens/delete\?[^"]+)"`).FindStringSubmatch(html)
		require.NotNil(t, post)
		action, err := url.QueryUnescape(regexp.MustCompile("&amp;").ReplaceAllString(post[1], "&"))
		require.NoError(t, err)
		h.Submit(action, http.StatusSeeOther)
		require.Len(t, titlesOf(h), 1)

		html = h.Page("/listens/delete?artist=Sigur+R%C3%B3s")
		require.Regexp(t, "Delete 1 listen by .*Sigur Rós.*?", html)
		html = h.Page("/corrections")
		require.Contains(t, html, "2 listens deleted")
		undo := regexp.MustCompile(`action="(/corrections/\d+/undo)"`).FindStringSubmatch(html)
		h.Submit(undo[1], http.StatusSeeOther)
		require.Len(t, titlesOf(h), 3)
		html = h.Page("/corrections")
		require.Contains(t, html, "Undone ")
		require.NotContains(t, html, "/undo")
		for _, path := range []string{"/listens/delete", "/listens/delete?listen=999"} {
			require.Equal(t, http.StatusSeeOther, h.Do(http.MethodGet, path, "", "").Code)
		}
	})
}

func TestAListenIsCorrectedByPrograms(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Hear("Ára bátur", "Hoppípolla")
		first := h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any)[0].(map[string]any)
		path := "/listens/" + first["id"].(string)
		now := h.Call(http.MethodPatch, path, `{"track":" Hoppipolla ","album":"Takk…"}`, http.StatusOK)
		listen := now["listen"].(map[string]any)
		require.Equal(t, []any{"Hoppipolla", "Takk…", first["played_at"]},
			[]any{listen["track"], listen["album"], listen["played_at"]})
		for body, status := range map[string]int{`{"track":" "}`: http.StatusUnprocessableEntity,
			`{"played_at":"now"}`: http.StatusUnprocessableEntity, `{"track":"Hoppipolla"}`: http.StatusConflict,
			`{"played_at":"1970-01-01T00:00:00Z"}`: http.StatusUnprocessableEntity,
			`{"duration_ms":5}`:                    http.StatusBadRequest} {
			h.Call(http.MethodPatch, path, body, status)
		}
		h.Call(http.MethodPatch, "/listens/999", `{"track":"x"}`, http.StatusNotFound)
		h.Call(http.MethodPost, path+"/split", "", http.StatusConflict)

		added := h.Call(http.MethodPost, "/listens", `{"track":"Untitled #1","artist":"Sigur Rós",
			"played_at":"1999-01-01T12:00:00Z","duration_ms":60000}`, http.StatusCreated)
		require.Equal(t, "hand", added["listen"].(map[string]any)["sources"].([]any)[0].(map[string]any)["provider"])
		require.Equal(t, true, added["created"])
		h.Call(http.MethodPost, "/listens", `{"track":"Untitled #1"}`, http.StatusUnprocessableEntity)
		require.Contains(t, h.Page("/listens"), "By hand")
		for _, c := range h.Call(http.MethodGet, "/corrections", "", http.StatusOK)["corrections"].([]any) {
			h.Call(http.MethodPost, "/corrections/"+c.(map[string]any)["id"].(string)+"/undo", "", http.StatusOK)
		}
		require.Equal(t, []any{"Hoppípolla", "Ára bátur"}, titlesOf(h))
	})
}

// A program whose answer was lost sends the same again.
func TestTheSamePlaySentAgainIsOneListen(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		post := func(track, at string, status int) map[string]any {
			return h.Call(http.MethodPost, "/listens",
				fmt.Sprintf(`{"track":%q,"artist":"Sigur Rós","played_at":%q}`, track, at), status)
		}
		first := post("Glósóli", "1999-01-01T12:00:00Z", http.StatusCreated)["listen"]
		for _, same := range [][2]string{{"Glósóli", "1999-01-01T12:00:00Z"}, {"Glósóli", "1999-01-01T12:00:00.4Z"},
			{" glosoli ", "1999-01-01T13:00:00+01:00"}} {
			again := post(same[0], same[1], http.StatusOK)
			require.Equal(t, map[string]any{"created": false, "listen": first, "correction": nil}, again)
		}
		post("Glósóli", "1999-01-01T12:00:01Z", http.StatusCreated)
		post("Sæglópur", "1999-01-01T12:00:00Z", http.StatusCreated)
		require.Len(t, titlesOf(h), 3)
		w := h.Submit("/listens/new", http.StatusSeeOther, "track", "Glósóli", "artist", "Sigur Rós", "at",
			"1999-01-01T12:00")
		require.Equal(t, "/listens/"+first.(map[string]any)["id"].(string), w.Header().Get("Location"))
		require.Contains(t, h.Page(w.Header().Get("Location")), "at that time already")

		last := h.Call(http.MethodGet, "/corrections", "", http.StatusOK)["corrections"].([]any)[2].(map[string]any)
		h.Call(http.MethodPost, "/corrections/"+last["id"].(string)+"/undo", "", http.StatusOK)
		post("Glósóli", "1999-01-01T12:00:00Z", http.StatusCreated) // it was taken back

		h.Hear("Hoppípolla")
		told := h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any)[0].(map[string]any)
		at, err := time.Parse(time.RFC3339, told["played_at"].(string))
		require.NoError(t, err)
		for _, later := range []time.Duration{0, 20 * time.Second} { // a service has told of it already
			there := post("Hoppípolla", at.Add(later).Format(time.RFC3339Nano), http.StatusOK)
			require.Equal(t, told["id"], there["listen"].(map[string]any)["id"])
		}
	})
}

func TestAListenIsCorrectedOnItsPage(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Hear("Ára bátur")
		_, err := h.DB.SaveListens(t.Context(), library.Intake{User: h.User, Connection: "lastfm",
			Listens: []library.Listen{{Track: library.Track{Title: "Ára bátur", Artist: "Sigur Rós"}, SourceID: "x",
				PlayedAt: time.Now().Add(4 * time.Second)}}})
		require.NoError(t, err)
		path := regexp.MustCompile(`href="(/listens/\d+)"`).FindStringSubmatch(h.Page("/listens"))[1]
		html := h.Page(path)
		require.Contains(t, html, "Last.fm reported the same title and artist 4 seconds after Spotify.")
		was := regexp.MustCompile(`name="was" value="([^"]+)"`).FindStringSubmatch(html)[1]
		at := h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any)[0].(map[string]any)["played_at"]
		h.Submit(path, http.StatusSeeOther, "track", "Ara batur", "artist", "Sigur Rós", "at", was, "was", was)
		now := h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any)[0].(map[string]any)
		require.Equal(t, []any{"Ara batur", at}, []any{now["track"], now["played_at"]})
		h.Submit(path, http.StatusSeeOther, "track", "Ara batur", "artist", "Sigur Rós", "at",
			"1998-02-03T04:05", "was", was)
		now = h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any)[0].(map[string]any)
		require.Equal(t, "1998-02-03T04:05:00.000Z", now["played_at"])
		h.Submit(path+"/split", http.StatusSeeOther)
		require.Len(t, titlesOf(h), 2)
		require.NotContains(t, h.Page(path), "Split into 2 listens")
		require.Contains(t, h.Page("/corrections"), "Kept as 2 listens")
		last := h.Call(http.MethodGet, "/corrections", "", http.StatusOK)["corrections"].([]any)[0].(map[string]any)
		h.Call(http.MethodPost, "/corrections/"+last["id"].(string)+"/undo", "", http.StatusOK)
		require.Len(t, titlesOf(h), 1)
		h.Call(http.MethodPost, path+"/split", "", http.StatusOK)
		require.Len(t, titlesOf(h), 2)

		require.Contains(t, h.Page("/listens/new"), `action="/listens/new"`)
		h.Submit("/listens/new", http.StatusSeeOther, "track", "Untitled #1", "artist", "Sigur Rós", "at", was)
		require.Contains(t, titlesOf(h), "Untitled #1")
		h.Submit("/listens/new", http.StatusUnprocessableEntity, "track", "Untitled #1", "artist", "x", "at", "soon")
	})
}

func TestSuspiciousListensAreKeptOrDeleted(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Contains(t, h.Page("/corrections/suspicious"), "Nothing looks wrong.")
		now := time.Now().Add(-24 * time.Hour)
		play := func(after time.Duration, title string) library.Listen {
			return library.Listen{SourceID: title + after.String(), PlayedAt: now.Add(after),
				Track: library.Track{Title: title, Artist: "Sigur Rós", Duration: 200 * time.Second}}
		}
		plays := []library.Listen{play(0, "Glósóli"), play(41*time.Second, "Glósóli"), play(time.Hour, "Heysátan"),
			play(time.Hour+125*time.Second, "Heysátan")}
		for i := range time.Duration(12) {
			plays = append(plays, play(-time.Hour+i*3*time.Second, "Track "+string('a'+rune(i))))
		}
		_, err := h.DB.SaveListens(t.Context(), library.Intake{User: h.User, Connection: "spotify", Listens: plays})
		require.NoError(t, err)

		require.Contains(t, h.Page("/corrections"), "Suspicious listens (3)")
		list := func(query string) []any {
			return h.Call(http.MethodGet, "/listens/suspicious"+query, "", http.StatusOK)["suspicious"].([]any)
		}
		var reasons []any
		for _, v := range list("") {
			reasons = append(reasons, v.(map[string]any)["reason"])
		}
		require.Equal(t, []any{"The same track twice, 2:05 apart; it lasts 3:20.",
			"The same track twice, 41 s apart; it lasts 3:20.", "12 listens in 33 s."}, reasons)
		first := h.Call(http.MethodGet, "/listens/suspicious?limit=2", "", http.StatusOK)
		rest := list("?before=" + first["next"].(string))
		require.Equal(t, list("")[2:], rest)
		h.Call(http.MethodGet, "/listens/suspicious?before=x", "", http.StatusBadRequest)
		h.Call(http.MethodPost, "/listens/suspicious/x/keep", "", http.StatusNotFound)

		id := list("")[0].(map[string]any)["id"].(string)
		made := h.Call(http.MethodPost, "/listens/suspicious/"+id+"/keep", "", http.StatusOK)
		require.Equal(t, []any{"keep", 2.0, "Heysátan"}, []any{made["kind"], made["listens"], made["track"]})
		require.Len(t, list(""), 2)

		html := h.Page("/corrections/suspicious")
		keeps := regexp.MustCompile(`action="(/corrections/suspicious/[^"]+/keep)"`).FindAllStringSubmatch(html, -1)
		require.Len(t, keeps, 2)
		h.Submit(keeps[0][1], http.StatusSeeOther)
		html = h.Page("/corrections/suspicious")
		require.Contains(t, html, "Kept. Reprise won&#39;t list these 2 again.")
		remove := regexp.MustCompile(`href="(/listens/delete[^"]+)"`).FindStringSubmatch(html)[1]
		html = h.Page(strings.ReplaceAll(remove, "&amp;", "&"))
		require.Contains(t, html, "Delete 12 listens?")
		require.Contains(t, html, `href="/corrections/suspicious"`)
		action := regexp.MustCompile(`action="(/listens/delete[^"]+)"`).FindStringSubmatch(html)[1]
		res := h.Submit(strings.ReplaceAll(action, "&amp;", "&"), http.StatusSeeOther)
		require.Equal(t, "/corrections/suspicious", res.Header().Get("Location"))
		require.Len(t, titlesOf(h), 4)
		require.Empty(t, list(""))

		require.Contains(t, h.Page("/corrections"), "2 suspicious listens kept")
		h.Call(http.MethodPost, "/corrections/"+made["id"].(string)+"/undo", "", http.StatusOK)
		require.Len(t, list(""), 1)
		h.As(h.Other("Bob"))
		h.Call(http.MethodPost, "/listens/suspicious/"+id+"/keep", "", http.StatusNotFound)
		require.Empty(t, list(""))
	})
}

// TestInventedListensAreDeletedAndComeBack: a service that only counts plays was sent three of a song, and two of them
// were taken for plays that were missed.
func TestInventedListensAreDeletedAndComeBack(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		told := func(at time.Time, plays int, guesses ...time.Time) {
			song := library.Track{Title: "Glósóli", Artist: "Sigur Rós", SourceID: "song", Duration: time.Minute}
			page := []library.Listen{{Track: song, SourceID: fmt.Sprintf("song@%d", at.Unix()), PlayedAt: at,
				PlayCount: plays}}
			for i, at := range guesses {
				page = append(page, library.Listen{Track: song, SourceID: fmt.Sprintf("song#%d", i+2), PlayedAt: at,
					PlayCount: plays, Approximate: true})
			}
			_, err := h.DB.SaveListens(t.Context(), library.Intake{User: h.User, Connection: "lastfm", Listens: page})
			require.NoError(t, err)
		}
		start := time.Now()
		told(start, 1)
		require.EqualValues(t, 0, h.Call(http.MethodGet, "/listens/invented", "", http.StatusOK)["count"])
		h.Call(http.MethodPost, "/listens/invented/delete", "", http.StatusNotFound)
		h.Call(http.MethodPut, "/connections/lastfm/forwarding", `{}`, http.StatusOK)
		time.Sleep(time.Hour)
		h.Hear("Glósóli", "Glósóli", "Glósóli")
		last := time.Now()
		h.Carry()
		told(last, 4, start.Add(20*time.Minute), start.Add(40*time.Minute))
		require.Len(t, titlesOf(h), 6)

		require.Contains(t, h.Page("/corrections"), "Suspicious listens (1)")
		html := h.Page("/corrections/suspicious")
		require.Contains(t, html, "2 listens that never were")
		require.Contains(t, html, `action="/corrections/invented"`)
		require.EqualValues(t, 2, h.Call(http.MethodGet, "/listens/invented", "", http.StatusOK)["count"])
		h.Submit("/corrections/invented", http.StatusSeeOther)
		require.Len(t, titlesOf(h), 4)
		require.Contains(t, h.Page("/corrections/suspicious"), "Nothing looks wrong.")
		made := h.Call(http.MethodGet, "/corrections", "", http.StatusOK)["corrections"].([]any)[0].(map[string]any)
		h.Call(http.MethodPost, "/corrections/"+made["id"].(string)+"/undo", "", http.StatusOK)
		require.Len(t, titlesOf(h), 6)
		made = h.Call(http.MethodPost, "/listens/invented/delete", "", http.StatusOK)
		require.Equal(t, []any{"delete", 2.0}, []any{made["kind"], made["listens"]})
		h.As(h.Other("Bob"))
		h.Call(http.MethodPost, "/listens/invented/delete", "", http.StatusNotFound)
	})
}
