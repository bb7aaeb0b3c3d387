package imports_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/demo"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/server/servertest"
	"reprise/internal/store"
	"reprise/internal/words"
)

func TestConnectionPageShowsGaps(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.NotContains(t, h.Page("/connections/spotify"), `id="gaps"`)
		at := func(hours int) time.Time { return time.Date(2026, 3, 3, hours, 0, 0, 0, time.UTC) }
		gap := func(g library.Gap) {
			_, err := h.DB.SaveListens(t.Context(), library.Intake{User: h.User, Connection: "spotify", Gap: &g})
			require.NoError(t, err)
		}
		gap(library.Gap{From: at(0), To: at(5)})
		gap(library.Gap{From: at(10), To: at(50), LostTo: at(38)})
		page := h.Page("/connections/spotify")
		require.Contains(t, page, "Reprise caught up on 0 listens. Nothing was lost.")
		require.Contains(t, page, "is no longer available from Spotify.")
		require.Contains(t, page, `<a href="#import">Fill the gap with an export file from Spotify</a>`)
		require.Contains(t, page, `action="/imports?provider=spotify"`)
		require.NotContains(t, h.Page("/connections/navidrome"), `id="import"`, "nobody exports from there")

		v, err := h.DB.AddImport(t.Context(), imports.Import{User: h.User, Connection: "spotify", Name: "<b>.zip",
			State: imports.Waiting, CreatedAt: time.Now()}, 3)
		require.NoError(t, err)
		v.State, v.Rows, v.BytesDone, v.BytesAll = imports.Running, 10, 100, 1000
		_, err = h.DB.SaveImported(t.Context(), v,
			[]library.Listen{{Track: library.Track{Title: "T", Artist: "A"}, SourceID: "export/x:1",
				PlayedAt: at(20)}})
		require.NoError(t, err)
		page = h.Page("/connections/spotify")
		require.Contains(t, page, "An import filled in 1 listen.")
		require.Contains(t, page, "&lt;b&gt;.zip")
		require.Contains(t, page, `value="10" max="100"`)
		one := h.Call(http.MethodGet, "/imports", "", http.StatusOK)["imports"].([]any)[0].(map[string]any)
		require.InDelta(t, 100, one["rows_total"], 0.1)
		require.Equal(t, "running", one["state"])
	})
}

func TestOnlyImportsMayBeLarge(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		large := string(make([]byte, 300<<10))
		require.Equal(t, http.StatusRequestEntityTooLarge, h.Do(http.MethodPost, "/api/v1/deliveries/redrive",
			large, "application/json").Code)
		require.Equal(t, http.StatusRequestEntityTooLarge, h.Do(http.MethodPost, "/settings/account/password", large,
			"application/x-www-form-urlencoded").Code)
	})
}

// nearlyFull is a database on a disk without room for listens.
type nearlyFull struct {
	*store.Store
	full atomic.Bool
}

func (f *nearlyFull) SaveImported(
	ctx context.Context, v imports.Import, plays []library.Listen,
) (imports.Import, error) {
	if f.full.Load() {
		return v, &resilience.LocalError{Problem: words.Plain("The disk is full. Make room on it."),
			Err: io.ErrShortWrite}
	}
	return f.Store.SaveImported(ctx, v, plays)
}

func TestAFullDiskIsSaidOnThePageOfImports(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC))) // the plays are older, a database is later
		h := servertest.New(t, delivery.Options{})
		db := &nearlyFull{Store: h.DB}
		db.full.Store(true)
		h.Imports = imports.New(imports.Config{Files: imports.Folder{Path: t.TempDir()}, Store: db, Bus: h.Bus,
			Notifier: h.Notifier,
			Log:      h.Log})
		h.Restart()
		h.Syncer.Tick(t.Context(), library.Listens)
		require.Equal(t, http.StatusOK, h.Do(http.MethodGet, "/readyz", "", "").Code)
		var file bytes.Buffer
		require.NoError(t, demo.WriteSpotifyExport(&file, 1, 10, time.Date(2025, 11, 1, 0, 0, 0, 0, time.UTC)))
		require.Equal(t, http.StatusCreated,
			h.Do(http.MethodPost, "/api/v1/imports?provider=spotify&name=a.zip", file.String(), "application/zip").Code)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = h.Imports.Run(ctx) })
		time.Sleep(time.Second)
		synctest.Wait()
		page := h.Page("/imports")
		require.Contains(t, page, "The disk is full. Make room on it. The import continues automatically.")
		require.Contains(t, page, "state-waiting")
		one := h.Call(http.MethodGet, "/imports", "", http.StatusOK)["imports"].([]any)[0].(map[string]any)
		require.Equal(t, "The disk is full. Make room on it.", one["trouble"])
		ready := h.Do(http.MethodGet, "/readyz", "", "")
		require.Equal(t, http.StatusServiceUnavailable, ready.Code)
		require.Equal(t, "imports: The disk is full. Make room on it.\n", ready.Body.String())
		db.full.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, http.StatusOK, h.Do(http.MethodGet, "/readyz", "", "").Code)
		page = h.Page("/imports")
		require.NotContains(t, page, "The disk is full.")
		require.Contains(t, page, "10 listens are new")
		stop()
		running.Wait()
	})
}

func TestAFileWithoutRoomIsRefusedInWords(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Imports = imports.New(imports.Config{Files: imports.Folder{Path: t.TempDir()}, Store: h.DB, Bus: h.Bus,
			Log: h.Log, RowBytes: 310,
			Free: func() (int64, bool) { return imports.Reserve + 1<<20, true }})
		h.Restart()
		problem := h.Call(http.MethodPost, "/imports?provider=spotify", strings.Repeat("x", 2<<20),
			http.StatusInsufficientStorage)
		require.Contains(t, problem["detail"],
			"The file needs about 2 MiB; 65 MiB are free, but 64 MiB of that are kept")
	})
}

func TestCallsWithBombsAreRefusedInWords(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for _, c := range []struct{ body, why string }{
			{`{"url":` + strings.Repeat("[", 200_000), "more than 8 levels"},
			{`{"url":[` + strings.Repeat("[],", 60_000) + `[]]}`, "a list of more than 2,000 elements"},
			{`{"url":1` + strings.Repeat(`,"x":1`, 30_000) + `}`, "an object of more than 200 fields"},
			{`{"url":"` + strings.Repeat("x", 100_000) + `"}`, "a text of more than 64 KiB"},
			{`{"url":"Bj` + "\xf6" + `rk"}`, "isn't in UTF-8"},
		} {
			for _, at := range []string{"PUT /connections/navidrome", "POST /tokens", "PUT /digest"} {
				method, path, _ := strings.Cut(at, " ")
				detail := h.Call(method, path, c.body, http.StatusBadRequest)["detail"]
				require.Contains(t, detail, c.why, at)
			}
		}
	})
}

// endlessParts sends parts of a form, or one with a header, without an end.
type endlessParts struct {
	rest string
	sent int
}

func (e *endlessParts) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		more := copy(p[n:], e.rest[e.sent%len(e.rest):])
		n, e.sent = n+more, e.sent+more
	}
	return n, nil
}

func TestAFormWithoutItsFileEnds(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for name, unit := range map[string]string{
			"parts":  "--b\r\nContent-Disposition: form-data; name=x\r\n\r\ny\r\n",
			"header": "--b\r\nContent-Disposition: form-data; name=x; y=" + strings.Repeat("z", 10_000),
			"fields": "--b\r\n" + strings.Repeat("X-Y: z\r\n", 1000),
		} {
			body := &endlessParts{rest: unit}
			req := httptest.NewRequest(http.MethodPost, "/api/v1/imports?provider=spotify",
				io.LimitReader(body, 64<<20))
			req.Header.Set("Content-Type", "multipart/form-data; boundary=b")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			require.GreaterOrEqual(t, w.Code, 400, name)
			require.Less(t, w.Code, 500, name)
			require.Less(t, body.sent, 1<<20, "%s: no more is read than a form can have", name)
		}
	})
}
