package imports_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/demo"
	"reprise/internal/server/servertest"
)

func TestProgramsImportAFile(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)))
		h := servertest.New(t, delivery.Options{})
		var file bytes.Buffer
		require.NoError(t, demo.WriteSpotifyExport(&file, 1, 10, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)))
		w := h.Do(http.MethodPost, "/api/v1/imports?provider=spotify&name=a.zip", file.String(), "application/zip")
		require.Equal(t, http.StatusCreated, w.Code, w.Body)
		id := h.Call(http.MethodGet, "/imports", "", http.StatusOK)["imports"].([]any)[0].(map[string]any)["id"]
		h.Call(http.MethodDelete, "/imports/"+id.(string), "", http.StatusNoContent)
	})
}

// afterAll is later than the plays in the files, and before the clock of a database server, by which jobs are due.
var afterAll = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// run has files read until none waits.
func run(t *testing.T, h *servertest.Household) {
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = h.Imports.Run(ctx) })
	for range 60 {
		time.Sleep(time.Second)
		synctest.Wait()
		state := h.Call(http.MethodGet, "/imports", "", http.StatusOK)["imports"].([]any)[0].(map[string]any)["state"]
		if state != "waiting" && state != "running" {
			break
		}
	}
	stop()
	running.Wait()
}

func TestAnyFileIsLookedAtBeforeItIsImported(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		time.Sleep(time.Until(afterAll))
		h := servertest.New(t, delivery.Options{})
		const table = "What;When\nBjörk - Jóga;2026-04-30 21:05:11\nBjörk - Hunter;2026-04-30 21:11:00\n"
		v := h.Call(http.MethodPost, "/imports?name=mine.csv", table, http.StatusCreated)
		require.Equal(t, []any{"file", "ready", "columns", true}, []any{v["provider"], v["state"], v["question"],
			v["preview"]})
		at := "/imports/" + v["id"].(string)
		problem := h.Call(http.MethodPost, at+"/start", "", http.StatusUnprocessableEntity)
		require.Contains(t, problem["detail"], "Answer the question about the file first")
		page := h.Page("/imports")
		for _, part := range []string{"Column 1", "Björk - Jóga", "In the title, as Artist - Title", "1: What",
			"Look again"} {
			require.Contains(t, page, part)
		}
		require.NotContains(t, page, at+"/start")
		h.Call(http.MethodPatch, at, `{"columns":{"artist":0,"title":0,"time":2}}`, http.StatusUnprocessableEntity)

		h.Call(http.MethodPatch, at, `{"columns":{"artist":0,"title":2,"time":1}}`, http.StatusOK)
		run(t, h)
		require.Contains(t, h.Page("/imports"), "Reprise found no listens in it.")
		require.NotContains(t, h.Page("/imports"), at+"/start", "there is nothing to import")

		h.Call(http.MethodPatch, at, `{"columns":{"artist":0,"title":1,"time":2},"time_zone":"Europe/Berlin"}`,
			http.StatusOK)
		run(t, h)
		require.Contains(t, h.Page("/imports"), "This is a table. The file has 2 listens, all from 30 April 2026.")
		require.Contains(t, h.Page("/imports"), "All of them are new to Reprise.")
		require.Contains(t, h.Page("/imports"), "Import 2 listens")
		require.Empty(t, h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"])

		require.Equal(t, "waiting", h.Call(http.MethodPost, at+"/start", "", http.StatusOK)["state"])
		run(t, h)
		listens := h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any)
		require.Len(t, listens, 2)
		require.Equal(t, "2026-04-30T19:11:00.000Z", listens[0].(map[string]any)["played_at"])
		require.Contains(t, h.Page("/listens"), "A file", "where it comes from")
		problem = h.Call(http.MethodPost, at+"/start", "", http.StatusUnprocessableEntity)
		require.Contains(t, problem["detail"], "isn't waiting for you")
	})
}

func TestAFileOnThePageIsRecognised(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		time.Sleep(time.Until(afterAll))
		h := servertest.New(t, delivery.Options{})
		send := func(name, text string) (status int, body, to string) {
			form := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n" + text +
				"\r\n--b--\r\n"
			w := h.Do(http.MethodPost, "/imports", form, "multipart/form-data; boundary=b")
			return w.Code, w.Body.String(), w.Header().Get("Location")
		}
		status, body, _ := send("a.html", "<html>")
		require.Equal(t, http.StatusUnprocessableEntity, status)
		require.Contains(t, body, "This is a web page")
		status, _, to := send("maloja.json", `{"maloja":{},"scrobbles":[{"time":1700000000,"track":{"artists":["Low"],`+
			`"title":"Days Like These"},"origin":"client:Kitchen"}]}`)
		require.Equal(t, http.StatusSeeOther, status)
		require.True(t, strings.HasPrefix(to, "/imports#import-"), to)
		run(t, h)
		require.Contains(t, h.Page("/imports"), "This is an export of Maloja. The file has 1 listen, from")
		id := strings.TrimPrefix(to, "/imports#import-")
		require.Equal(t, http.StatusSeeOther, h.Do(http.MethodPost, "/imports/"+id+"/start", "",
			"application/x-www-form-urlencoded").Code)
		run(t, h)
		require.Contains(t, h.Page("/listens"), "Days Like These")
	})
}

// Promise: A file that is sent for the wrong service is read as what it is, and the page says so.
func TestAFileForAnotherServiceIsSaid(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		time.Sleep(time.Until(afterAll))
		h := servertest.New(t, delivery.Options{})
		h.Page("/")
		send := func(path, name, text string) string {
			w := h.Do(http.MethodPost, path, "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\""+name+
				"\"\r\n\r\n"+text+"\r\n--b--\r\n", "multipart/form-data; boundary=b")
			require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
			return h.Page("/imports")
		}
		const scrobbles = "uts,artist,album,track\n1700000000,Low,,Days Like These\n"
		page := send("/imports?provider=spotify", "mine.csv", scrobbles)
		require.Contains(t, page, "mine.csv is being imported.")
		require.Contains(t, page, "This is a list of scrobbles from Last.fm. Reprise reads it as such, not as a file "+
			"from Spotify.")
		require.Contains(t, page, "Next in line")
		require.NotContains(t, page, "one after another")
		page = send("/imports?provider=lastfm", "more.csv", scrobbles)
		require.NotContains(t, page, "not as a file from")
		require.Contains(t, page, "This one begins when mine.csv is done.")
		page = send("/imports?provider=lastfm", "most.csv", scrobbles)
		require.Contains(t, page, "This one begins when more.csv is done.")
		run(t, h)
	})
}

// What is wrong with an answer about a file is said at its field, and what was typed stays there.
func TestAWrongTimeZoneIsSaidAtItsField(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		time.Sleep(time.Until(afterAll))
		h := servertest.New(t, delivery.Options{})
		v := h.Call(http.MethodPost, "/imports?name=mine.csv", "What;When\nLow - Cue;2026-04-30 21:05:11\n",
			http.StatusCreated)
		id := v["id"].(string)
		page := h.Submit("/imports/"+id+"/answers", http.StatusUnprocessableEntity, "artist", "0", "title", "1",
			"album", "0", "time", "2", "length", "0", "time_zone", "Atlantis").Body.String()
		_, field, _ := strings.Cut(page, `id="time_zone-`+id+`"`)
		field, _, _ = strings.Cut(field, "</form>")
		require.Contains(t, field, `value="Atlantis"`)
		require.Contains(t, field, "time zone")
		require.Contains(t, page, `aria-invalid="true"`)
		require.NotContains(t, page, `class="problem" id="problem"`, "not at the top")
	})
}
