package playrules_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/server/servertest"
)

// hears stores plays that Spotify tells of, of some minutes ago.
func hears(h *servertest.Household, titles ...string) {
	h.T.Helper()
	var plays []library.Listen
	for i, title := range titles {
		at := time.Now().Add(-time.Duration(i+1) * 10 * time.Minute)
		plays = append(plays, library.Listen{Track: library.Track{Title: title, Artist: "Nina"}, PlayedAt: at,
			SourceID: fmt.Sprint(title, at.Unix())})
	}
	_, err := h.DB.SaveListens(h.T.Context(), library.Intake{User: h.User, Connection: "spotify", Listens: plays,
		Generation: 1})
	require.NoError(h.T, err)
}

func heard(h *servertest.Household) (titles []any) {
	for _, l := range h.Call(http.MethodGet, "/listens", "", 200)["listens"].([]any) {
		titles = append(titles, l.(map[string]any)["track"])
	}
	return titles
}

const remastered = `{"name":"Old","kind":"rewrite","field":"title","title":"/ - Remastered \\d{4}$/"}`

// Promise: A person's rule is tried on the last month before it holds, holds for what comes in, can be applied to the
// past, and is undone with all that it has done.
func TestARuleIsTriedAppliedAndUndone(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	hears(h, "Angie - Remastered 2009", "Plain")
	tried := h.Call(http.MethodPost, "/rules/preview", remastered, 200)
	require.EqualValues(t, 1, tried["count"])
	require.Equal(t, "Angie", tried["examples"].([]any)[0].(map[string]any)["becomes"])
	require.Empty(t, h.Call(http.MethodGet, "/rules", "", 200)["rules"], "nothing is stored")

	made := h.Call(http.MethodPost, "/rules", remastered, http.StatusCreated)
	at := "/rules/" + made["id"].(string)
	require.Equal(t, []any{"Angie - Remastered 2009", "Plain"}, heard(h))
	require.EqualValues(t, 1, h.Call(http.MethodPost, at+"/apply", "", 200)["changed"])
	require.Equal(t, []any{"Angie", "Plain"}, heard(h))
	require.EqualValues(t, 1, h.Call(http.MethodGet, at, "", 200)["renamed"])
	id := h.Call(http.MethodGet, "/listens", "", 200)["listens"].([]any)[0].(map[string]any)["id"].(string)
	require.Contains(t, h.Page("/listens/"+id),
		"This came in as “Nina – Angie - Remastered 2009”. Your rule Old renamed it.")

	h.Call(http.MethodPut, at, `{"name":"Rain","kind":"ignore","title":"rain"}`, 200)
	hears(h, "Rain")
	require.Equal(t, []any{"Angie", "Plain"}, heard(h))
	require.EqualValues(t, 1, h.Call(http.MethodGet, at, "", 200)["ignored"])
	h.Call(http.MethodDelete, at+"?undo=true", "", 204)
	require.ElementsMatch(t, []any{"Rain", "Angie - Remastered 2009", "Plain"}, heard(h))
	h.Call(http.MethodGet, at, "", 404)
	h.Call(http.MethodPost, "/rules", `{"name":"All","kind":"ignore"}`, 422)
	h.Call(http.MethodPost, "/rules", `{"name":"No","kind":"ignore","title":"/(/"}`, 422)
}

func TestAPersonWritesARuleOnItsPage(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	hears(h, "Angie - Remastered 2009", "Rain")
	page := h.Page("/rules")
	require.Contains(t, page, "No rules yet.")
	require.Contains(t, page, "Remove “Remastered 2011” from titles")
	page = h.Page("/rules/new?finished=remastered")
	require.Contains(t, page, "It matches 1 listen of the last month")
	require.Contains(t, page, "becomes “Angie”")
	require.Contains(t, h.Page("/rules/new?kind=withhold"), "Not to Last.fm")
	require.Contains(t, h.Page("/rules/new?kind=ignore&name=X&title=%2F(%2F"),
		"isn&#39;t a regular expression, or is too large.")
	h.Submit("/rules", http.StatusUnprocessableEntity, "kind", "ignore", "name", "X")

	h.Submit("/rules", http.StatusSeeOther, "kind", "ignore", "name", "No rain", "title", "rain", "longer", "")
	page = h.Page("/rules")
	require.Contains(t, page, "No rain")
	id := h.Call(http.MethodGet, "/rules", "", 200)["rules"].([]any)[0].(map[string]any)["id"].(string)
	at := "/rules/" + id
	require.Contains(t, h.Page(at), "Apply to the past")
	require.Contains(t, h.Page(at+"/apply"), "Apply No rain to the past?")
	require.Contains(t, h.Page(at+"/apply"), "It changes 1 listen.")
	h.Submit(at+"/apply", http.StatusSeeOther)
	require.Equal(t, http.StatusSeeOther, h.Do(http.MethodGet, at+"/apply", "", "").Code, "nothing is left to change")
	require.Contains(t, h.Page("/corrections"), `<a href="`+at+`">Ignored by your rule`)
	require.Equal(t, "No rain",
		h.Call(http.MethodGet, "/corrections", "", 200)["corrections"].([]any)[0].(map[string]any)["rule"])
	require.Equal(t, []any{"Angie - Remastered 2009"}, heard(h))
	require.Contains(t, h.Page("/rules"), "1 play ignored")
	h.Submit(at+"/switch", http.StatusSeeOther)
	require.Contains(t, h.Page("/rules"), "Switch on")
	h.Submit(at, http.StatusSeeOther, "kind", "ignore", "name", "No rain at all", "title", "rain")
	require.Contains(t, h.Page("/rules"), "Switch on", "it is off as before")
	require.Contains(t, h.Page(at+"/delete"), "Delete, and undo what it did")
	h.Submit(at+"/delete", http.StatusSeeOther, "undo", "yes")
	require.ElementsMatch(t, []any{"Angie - Remastered 2009", "Rain"}, heard(h))
	require.Contains(t, h.Page("/rules"), "No rules yet.")
}

func TestARuleIsTriedOnAllOfTheMonth(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	var all []string
	for i := range 1200 {
		all = append(all, fmt.Sprint("Song ", i))
	}
	hears(h, all...)
	tried := h.Call(http.MethodPost, "/rules/preview", `{"name":"X","kind":"ignore","title":"song"}`, 200)
	require.EqualValues(t, 1200, tried["count"])
	require.Len(t, tried["examples"], 50)
}

func TestRulesGoOutAndComeBackAsAFile(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.Call(http.MethodPost, "/rules", remastered, http.StatusCreated)
	h.Call(http.MethodPost, "/rules",
		`{"name":"Quiet","kind":"withhold","begins":"22:00","ends":"06:00","to":["lastfm"]}`, http.StatusCreated)
	file := h.Page("/rules/download")
	h.As(h.Other("Ben"))
	for _, added := range []string{"2 rules were added.", "0 rules were added."} {
		require.Contains(t, h.Page(upload(h, file, http.StatusSeeOther)), added)
	}
	require.Equal(t, file, renumbered(h.Page("/rules/download")))
	upload(h, "nonsense", http.StatusUnprocessableEntity)
	upload(h, `{"rules":[{"name":"","kind":"ignore"}]}`, http.StatusUnprocessableEntity)
}

// renumbered returns a file whose rules have the numbers of the first person's.
func renumbered(file string) string {
	for _, n := range []string{"1", "2"} {
		file = string(bytes.Replace([]byte(file), []byte(`"id": "`+map[string]string{"1": "3", "2": "4"}[n]+`"`),
			[]byte(`"id": "`+n+`"`), 1))
	}
	return file
}

// upload sends a file of rules, and returns where that leads.
func upload(h *servertest.Household, file string, status int) string {
	h.T.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "rules.json")
	require.NoError(h.T, err)
	_, err = part.Write([]byte(file))
	require.NoError(h.T, err)
	require.NoError(h.T, form.Close())
	answer := h.Do(http.MethodPost, "/rules/upload", body.String(), form.FormDataContentType())
	require.Equal(h.T, status, answer.Code, answer.Body.String())
	return answer.Header().Get("Location")
}

// What rules did is undone even when they are gone.
func TestWhatRulesDidThatAreGoneIsUndone(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.NotContains(t, h.Page("/rules"), "Rules that are gone")
		r, err := h.DB.SavePlayRule(t.Context(), playrules.Rule{User: h.User, Name: "Mine", Kind: playrules.Withhold,
			Title: "secret"})
		require.NoError(t, err)
		_, err = h.DB.SaveListens(t.Context(), library.Intake{User: h.User, Connection: "spotify",
			Listens: []library.Listen{{SourceID: "1", PlayedAt: time.Now(), Track: library.Track{Title: "Secret",
				Artist: "A"}}}})
		require.NoError(t, err)
		page, _, err := h.DB.Listens(t.Context(), h.User, "", 1)
		require.NoError(t, err)
		address := fmt.Sprint("/listens/", page[0].ID)
		require.Contains(t, h.Page(address), "Your rule")
		require.NoError(t, h.DB.DeletePlayRule(t.Context(), h.User, r.ID))
		require.Contains(t, h.Page(address), "A rule that is gone keeps this listen from being sent")
		list := h.Page("/rules")
		require.Contains(t, list, "Rules that are gone")
		require.Contains(t, list, "1 listen not sent")
		require.Contains(t, h.Page("/rules/gone/undo"), "Undo what rules did that are gone?")
		w := h.Do(http.MethodPost, "/rules/gone/undo", "", "application/x-www-form-urlencoded")
		require.Less(t, w.Code, 400)
		require.NotContains(t, h.Page("/rules"), "Rules that are gone")
		require.NotContains(t, h.Page(address), "A rule that is gone")
	})
}
