package export_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server"
	"reprise/internal/server/servertest"
)

// download downloads a file.
func download(h *servertest.Household, path string) (text string, header http.Header) {
	h.T.Helper()
	w := h.Do(http.MethodGet, "/api/v1"+path, "", "")
	require.Equal(h.T, http.StatusOK, w.Code, "%s: %s", path, w.Body)
	return w.Body.String(), w.Header()
}

var forms = []string{"/export/listens.jsonl", "/export/listens.csv", "/export/lastfm.csv", "/export/maloja.json"}

func TestListensAreDownloaded(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for _, form := range forms {
			text, _ := download(h, form)
			require.NotContains(t, text, "Hoppípolla", "an empty library")
		}
		h.Heard("Hoppípolla", `=1+1 "x"`)
		time.Sleep(48 * time.Hour)
		h.Heard("Later")
		text, header := download(h, "/export/listens.jsonl")
		require.Equal(t, "application/x-ndjson", header.Get("Content-Type"))
		require.Contains(t, header.Get("Content-Disposition"), "attachment; filename=reprise-Ann-")
		listed := h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		require.Len(t, lines, 3)
		for i, line := range lines {
			var one any
			require.NoError(t, json.Unmarshal([]byte(line), &one))
			delete(listed[i].(map[string]any), "stands_in_for") // follows from what is known of the connections now
			require.Equal(t, listed[i], one, "as the API lists it")
		}
		for _, form := range forms {
			text, _ := download(h, form)
			require.Contains(t, text, "Hoppípolla", form)
		}
		text, _ = download(h, "/export/listens.csv")
		require.Contains(t, text, `,"'=1+1 ""x""",`)

		text, _ = download(h, "/export/listens.jsonl?artist=nobody")
		require.Empty(t, text)
		yesterday := time.Now().Add(-24 * time.Hour)
		text, _ = download(h, "/export/lastfm.csv?to="+yesterday.UTC().Format(time.DateOnly))
		require.Contains(t, text, "Hoppípolla")
		require.NotContains(t, text, "Later")
		text, _ = download(h, "/export/maloja.json?from="+yesterday.UTC().Format(time.RFC3339)+"&artist=sigur+r%C3%B3s")
		require.Contains(t, text, "Later")
		require.NotContains(t, text, "Hoppípolla")
		h.Call(http.MethodGet, "/export/listens.csv?from=yesterday", "", http.StatusBadRequest)
		h.Call(http.MethodGet, "/export/listens.csv?artst=x", "", http.StatusBadRequest)

		months, _ := download(h, "/export/listenbrainz.zip")
		archive, err := zip.NewReader(strings.NewReader(months), int64(len(months)))
		require.NoError(t, err)
		require.Equal(t, "listens/2000/01.jsonl", archive.File[0].Name)

		h.As(h.Other("Ben"))
		for _, form := range forms {
			text, _ := download(h, form)
			require.NotContains(t, text, "Hoppípolla", "somebody else's")
		}
	})
}

// Every list and chart of Listening can be downloaded as a table, with the page's filters.
func TestStatisticsAreDownloaded(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Heard("Hoppípolla", `=1+1 "x"`, `=1+1 "x"`)
		text, header := download(h, "/export/stats/tracks.csv?span=all")
		require.Equal(t, "text/csv; charset=utf-8", header.Get("Content-Type"))
		require.Contains(t, header.Get("Content-Disposition"), "attachment; filename=reprise-Ann-tracks.csv")
		require.Equal(t, "\ufeffartist,track,album,listens,before,seconds\n"+
			"Sigur Rós,\"'=1+1 \"\"x\"\"\",,2,0,120\nSigur Rós,Hoppípolla,,1,0,60\n", text)
		for _, name := range []string{"artists", "albums", "discoveries", "back", "over", "days", "hours", "sources"} {
			text, _ := download(h, "/export/stats/"+name+".csv?span=year")
			require.Contains(t, text, "listens", name)
		}
		page := h.Page("/listening?span=year&hour=0")
		for _, name := range []string{"artists", "tracks", "days", "hours"} {
			require.Regexp(t, `href="/api/v1/export/stats/`+name+`\.csv\?at=[0-9-]+&amp;hour=0&amp;span=year"`, page)
		}
		text, _ = download(h, "/export/stats/artists.csv?span=all&hour=3")
		require.Equal(t, "\ufeffartist,listens,before,seconds\n", text)
		for path, want := range map[string]int{"genres.csv": http.StatusNotFound, "tracks": http.StatusNotFound,
			"tracks.csv?span=decade": http.StatusBadRequest, "tracks.csv?limit=1": http.StatusBadRequest} {
			h.Call(http.MethodGet, "/export/stats/"+path, "", want)
		}
		h.As(h.Other("Ben"))
		text, _ = download(h, "/export/stats/tracks.csv?span=all")
		require.NotContains(t, text, "Hoppípolla", "somebody else's")
	})
}

func TestCorrectionsAreDownloaded(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		text, _ := download(h, "/export/corrections.jsonl")
		require.Empty(t, text)
		h.Heard("One", "Two")
		one := h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any)[0].(map[string]any)
		h.Call(http.MethodDelete, "/listens/"+one["id"].(string), "", http.StatusOK)
		text, _ = download(h, "/export/corrections.jsonl")
		var line any
		require.NoError(t, json.Unmarshal([]byte(text), &line))
		require.Equal(t, h.Call(http.MethodGet, "/corrections", "", http.StatusOK)["corrections"], []any{line})
		h.As(h.Other("Ben"))
		text, _ = download(h, "/export/corrections.jsonl")
		require.Empty(t, text, "somebody else's")
	})
}

func TestPlaylistsAreDownloaded(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		path := h.Playlist("Évening <1>/2", "Hoppípolla", "=1+1")
		id := path[strings.LastIndex(path, "/")+1:]
		page := h.Page("/playlists/" + id)
		for ending, want := range map[string]string{"jspf": `{"title":"Hoppípolla"`,
			"xspf": "<title>Hoppípolla</title>", "m3u8": "Sigur Rós - Hoppípolla\n", "csv": `,'=1+1,`} {
			text, header := download(h, "/export/playlists/"+id+"."+ending)
			require.Contains(t, text, want)
			require.Contains(t, header.Get("Content-Disposition"), "vening")
			require.NotContains(t, header.Get("Content-Disposition"), "/2")
			require.Contains(t, page, `href="/api/v1/export/playlists/`+id+"."+ending+`"`)
		}
		for _, none := range []string{"999999.csv", "x.csv", id, id + ".exe", ".csv"} {
			h.Call(http.MethodGet, "/export/playlists/"+none, "", http.StatusNotFound)
		}
		h.As(h.Other("Ben"))
		h.Call(http.MethodGet, "/export/playlists/"+id+".csv", "", http.StatusNotFound)
	})
}

func TestTheArchiveSaysWhatIsInIt(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Heard("One", "Two")
		h.Playlist("Evening", "One")
		h.Call(http.MethodPatch, "/account", `{"language":"de"}`, http.StatusOK)
		text, _ := download(h, "/export/all.zip")
		archive, err := zip.NewReader(strings.NewReader(text), int64(len(text)))
		require.NoError(t, err)
		read := func(name string) []byte {
			f, err := archive.Open(name)
			require.NoError(t, err, name)
			b, err := io.ReadAll(f)
			require.NoError(t, err)
			return b
		}
		require.Contains(t, string(read("README.txt")), "was Ann gehört")
		require.Contains(t, string(read("statistics/tracks.csv")), "Sigur Rós,One,")
		require.Empty(t, read("corrections.jsonl"))
		var manifest struct {
			Format, Account string
			Files           []struct {
				Name, Kind, SHA256 string
				Count              int
				Bytes              int
			}
		}
		require.NoError(t, json.Unmarshal(read("manifest.json"), &manifest))
		require.Equal(t, "reprise-export", manifest.Format)
		require.Equal(t, "Ann", manifest.Account)
		require.Len(t, manifest.Files, len(archive.File)-1)
		for _, f := range manifest.Files {
			b := read(f.Name)
			sum := sha256.Sum256(b)
			require.Equal(t, len(b), f.Bytes)
			require.Equal(t, hex.EncodeToString(sum[:]), f.SHA256)
			if f.Kind == "listens" {
				require.Equal(t, 2, f.Count)
				require.Equal(t, 2, bytes.Count(b, []byte("\n")))
			}
		}
	})
}

// endless is a store that never runs out of listens. It counts the pages that are read.
type endless struct {
	server.Store
	pages int
	read  func(page int)
}

func (e *endless) FindListens(ctx context.Context, f library.ListenFilter, _ string, n int) ([]library.StoredListen,
	string, error) {
	e.pages++
	e.read(e.pages)
	page := make([]library.StoredListen, n)
	for i := range page {
		page[i].Title, page[i].PlayedAt = rand.Text(), time.Now()
	}
	return page, "more", ctx.Err()
}

func TestAClientThatGoesAwayEndsAnExport(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	ctx, leave := context.WithCancel(t.Context())
	e := &endless{Store: h.DB, read: func(page int) {
		if page == 20 {
			leave()
		}
	}}
	h.Store = e
	h.Restart()
	for _, path := range []string{"/export/listens.csv", "/export/all.zip"} {
		e.pages = 0
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:8420/api/v1"+path, nil)
		w := httptest.NewRecorder()
		require.PanicsWithError(t, http.ErrAbortHandler.Error(), func() { h.ServeHTTP(w, r) }, path)
		require.LessOrEqual(t, e.pages, 20)
		ctx, leave = context.WithCancel(t.Context())
	}
	leave()
}

func TestThePageOffersEveryForm(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		page := h.Page("/export")
		require.Contains(t, page, "0 listens.")
		require.NotContains(t, page, `href="/playlists">Open`)
		h.Heard("One", "Two", "Three")
		h.Playlist("Evening", "One")
		page = h.Page("/export?artist=sigur+r%C3%B3s&from=1999-12-01")
		require.Contains(t, page, "3 listens.")
		require.Contains(t, page, `value="sigur rós"`)
		require.Contains(t, page, `value="1999-12-01"`)
		for _, form := range append(forms, "/export/listenbrainz.zip") {
			require.Contains(t, page, `formaction="/api/v1`+form+`"`)
		}
		require.Contains(t, page, `href="/api/v1/export/all.zip"`)
		require.Contains(t, page, "less than 1 kB")
		require.Contains(t, page, `href="/playlists">Open`)
		require.Contains(t, page, "/api/v1/feed.atom?token=TOKEN")
		for _, from := range []string{"/settings/account", "/settings/services", "/imports"} {
			require.Contains(t, h.Page(from), `href="/export"`, from)
		}
	})
}

func TestFeedsShowTheNewestListens(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		var atom struct {
			Title   string `xml:"title"`
			Entries []struct {
				ID      string `xml:"id"`
				Title   string `xml:"title"`
				Updated string `xml:"updated"`
			} `xml:"entry"`
		}
		text, header := download(h, "/feed.atom")
		require.Equal(t, "application/atom+xml; charset=utf-8", header.Get("Content-Type"))
		require.NoError(t, xml.Unmarshal([]byte(text), &atom))
		require.Empty(t, atom.Entries, "an empty library")
		for i := range 55 {
			h.Heard(fmt.Sprintf("</title>\u202e%d", i))
		}
		secret := func(scope string) string {
			body := fmt.Sprintf(`{"name":"reader %s","scope":%q}`, scope, scope)
			return h.Call(http.MethodPost, "/tokens", body, http.StatusCreated)["token"].(string)
		}
		read, operate := secret("read"), secret("operate")
		far := func(path string, headers ...string) *httptest.ResponseRecorder {
			return h.Knock(http.MethodGet, "/api/v1"+path, headers...)
		}
		for _, w := range []*httptest.ResponseRecorder{far("/feed.atom?token=" + read),
			far("/feed.atom", "Authorization", "Bearer "+operate)} {
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			require.NoError(t, xml.Unmarshal(w.Body.Bytes(), &atom))
			require.Len(t, atom.Entries, 50)
			require.Equal(t, "Ann's listens", atom.Title)
			require.Contains(t, atom.Entries[0].Title, "Sigur Rós – </title>")
			atom.Entries = nil
		}
		var feed struct {
			Version string
			Items   []struct{ ID, Title, Text string }
		}
		w := far("/feed.json?token=" + read)
		require.Equal(t, "application/feed+json", w.Header().Get("Content-Type"))
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &feed))
		require.Len(t, feed.Items, 50)
		now := far("/now-playing?token=" + read)
		require.Equal(t, http.StatusOK, now.Code)
		require.JSONEq(t, `{"now_playing":[]}`, now.Body.String())
		h.As(0)
		for path, status := range map[string]int{"/feed.json": http.StatusUnauthorized,
			"/feed.json?token=wrong": http.StatusUnauthorized, "/feed.json?token=" + operate: http.StatusForbidden,
			"/listens?token=" + read: http.StatusUnauthorized} {
			require.Equal(t, status, far(path).Code, path)
		}
	})
}
