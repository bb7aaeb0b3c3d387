package people_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/server/servertest"
)

// An account is removed while a delivery of it is under way, with others that wait.
func TestARemovalCutsOffWhatIsUnderWay(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		ann, ben := h.User, h.Other("Ben")
		h.User = ben
		h.Connect("spotify")
		h.Connect("listenbrainz")
		passOn(h, ben)
		h.Heard("A", "B", "C", "D", "E")
		h.User = ann
		passOn(h, ann)
		h.Heard("X")
		h.Far.Hangs = true
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		defer func() { cancel(); running.Wait() }()
		running.Go(func() { assert.NoError(t, h.Deliveries.Run(ctx)) })
		running.Go(func() { assert.NoError(t, h.Gone.Run(ctx)) })
		time.Sleep(3 * time.Second)
		synctest.Wait()

		path := fmt.Sprint("/admin/users/", ben)
		has := h.Call(http.MethodGet, path, "", http.StatusOK)["has"].(map[string]any)
		require.EqualValues(t, 5, has["listens"])
		require.EqualValues(t, 2, has["connections"])
		require.EqualValues(t, 3, has["deliveries_waiting"])
		watching := h.Bus.Subscribe(ben)
		defer watching.Close()
		require.Equal(t, map[string]any{"previous_state": "present", "new_state": "removing"},
			h.Call(http.MethodDelete, path, "", http.StatusAccepted))
		require.Equal(t, events.Access, (<-watching.C).Type, "open pages ask whether they may stay")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, h.Far.Cut, "the delivery under way")
		leaving, err := h.DB.Leaving(t.Context())
		require.NoError(t, err)
		require.Empty(t, leaving)
		require.Equal(t, map[string]any{"previous_state": "absent", "new_state": "absent"},
			h.Call(http.MethodDelete, path, "", http.StatusOK))
		counts, err := h.DB.Counts(t.Context(), ben)
		require.NoError(t, err)
		require.Zero(t, counts)
		all, _, err := h.DB.DeliveryCounts(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[delivery.State]int{delivery.Running: 1}, all, "Ann's delivery hangs on")
		require.EqualValues(t, 1, h.Call(http.MethodGet, fmt.Sprint("/admin/users/", ann), "",
			http.StatusOK)["has"].(map[string]any)["listens"])
		require.Contains(t, h.Page("/activity"), "Ann removed Ben&#39;s account.")
	})
}

// passOn has a person's listens carried to ListenBrainz.
func passOn(h *servertest.Household, user int64) {
	h.T.Helper()
	_, err := h.DB.StartForwarding(h.T.Context(), delivery.Rule{User: user, Connection: "listenbrainz",
		Kind: delivery.SubmitListens, Batch: 2}, false)
	require.NoError(h.T, err)
}

func TestRolesChangeAndOneAdministratorStays(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		ann, ben := h.User, h.Other("Ben")
		role := func(user int64, to string, status int) map[string]any {
			return h.Call(http.MethodPatch, fmt.Sprint("/admin/users/", user), `{"role":"`+to+`"}`, status)
		}
		role(ann, "member", http.StatusConflict)
		role(ben, "king", http.StatusUnprocessableEntity)
		role(99, "admin", http.StatusNotFound)
		require.Contains(t, h.Page(fmt.Sprint("/settings/people/", ann)), "You&#39;re the only administrator.")
		answer := role(ben, "admin", http.StatusOK)
		require.Equal(t, []any{"member", "admin", "Ben"},
			[]any{answer["previous_state"], answer["new_state"], answer["name"]})
		require.Equal(t, "admin", role(ben, "admin", http.StatusOK)["previous_state"])
		h.Submit(fmt.Sprint("/settings/people/", ann, "/role"), http.StatusSeeOther, "role", "member")
		h.Call(http.MethodGet, "/admin/users", "", http.StatusForbidden)
		h.As(ben)
		h.Call(http.MethodGet, "/admin/users", "", http.StatusOK)
		require.Contains(t, h.Page("/activity"), "Ann changed Ann&#39;s role. As a member.")
		h.As(ann)
		require.NotContains(t, h.Page("/activity"), "Ann changed Ben&#39;s role.", "a member sees their own log")
		h.As(ben)
		require.Contains(t, h.Page("/activity"), "Ann changed Ben&#39;s role. As an administrator.")
	})
}

// stranger is a browser without a session.
type stranger struct {
	h       *servertest.Household
	cookies []*http.Cookie
	seen    []string // the addresses that it asked for
}

func (s *stranger) do(method, path string, fields ...string) *httptest.ResponseRecorder {
	s.h.T.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r := httptest.NewRequestWithContext(s.h.T.Context(), method, path, strings.NewReader(form.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, c := range s.cookies {
		r.AddCookie(c)
	}
	s.seen = append(s.seen, path)
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, r)
	if set := w.Result().Cookies(); len(set) > 0 {
		s.cookies = set
	}
	return w
}

// lines is a slog.Handler's writer.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func TestAnAccountIsRemovedByItsOwner(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Contains(t, h.Page("/settings/account/remove"), "You&#39;re the only administrator")
		ben, err := h.Accounts.Create(t.Context(), "Ben", "the right password", accounts.Member, false)
		require.NoError(t, err)
		h.As(ben.ID)
		require.Contains(t, h.Page("/settings/account/remove"), "This permanently deletes")
		wrong := h.Submit("/settings/account/remove", http.StatusUnprocessableEntity, "password", "a wrong password")
		require.Contains(t, wrong.Body.String(), "That&#39;s not your password. Nothing was removed.")
		h.Submit("/settings/account/remove", http.StatusSeeOther, "password", "the right password")
		h.DemoUser = 0
		h.Restart()
		h.Call(http.MethodGet, "/listens", "", http.StatusUnauthorized)

		ann := h.User
		h.As(ann)
		h.Submit(fmt.Sprint("/settings/people/", h.Other("Dan"), "/remove"), http.StatusUnprocessableEntity,
			"name", "Ben")
		require.Contains(t, h.Page("/settings/people"), "Dan", "the wrong name was typed")
	})
}

// What is downloaded of one account can be imported into another.
func TestAnExportCanBeImported(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for i := range 60 {
			h.Heard(fmt.Sprint("Title <", i, ">"))
			time.Sleep(24 * time.Hour)
		}
		require.NoError(t, h.DB.SavePlaylist(t.Context(), h.User, "navidrome",
			library.Playlist{SourceID: "1", Name: "Evening"}, 0, []library.Track{{Title: "A", Artist: "B"}}))
		ben := h.Other("Ben")
		w := h.Do(http.MethodGet, "/settings/account/export", "", "")
		require.Equal(t, http.StatusOK, w.Code)
		require.Contains(t, w.Header().Get("Content-Disposition"), `attachment; filename=reprise-Ann-`)
		archive, err := zip.NewReader(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()))
		require.NoError(t, err)
		var names []string
		for _, f := range archive.File {
			names = append(names, f.Name)
		}
		require.Subset(t, names, []string{"README.txt", "listens.jsonl", "playlists/0001.jspf", "corrections.jsonl",
			"statistics/artists.csv", "manifest.json"})
		f, err := archive.Open("playlists/0001.jspf")
		require.NoError(t, err)
		b, err := io.ReadAll(f)
		require.NoError(t, err)
		require.JSONEq(t, `{"playlist":{"title":"Evening","annotation":"From navidrome","track":[
			{"title":"A","creator":"B"}]}}`, string(b))

		reader := imports.New(imports.Config{Files: imports.Folder{Path: t.TempDir()}, Store: h.DB,
			Bus: h.Bus, Log: h.Log})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer func() { cancel(); running.Wait() }()
		running.Go(func() { assert.NoError(t, reader.Run(ctx)) })
		_, err = reader.Receive(ctx, ben, imports.Sent{Connection: imports.Reprise, Name: "reprise.zip", Body: w.Body})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		synctest.Wait()
		all, err := h.DB.Imports(t.Context(), ben)
		require.NoError(t, err)
		require.Equal(t, imports.Done, all[0].State)
		require.Equal(t, []int{60, 0, 0}, []int{all[0].Added, all[0].Bad, all[0].Skipped})

		other := h.Do(http.MethodGet, fmt.Sprint("/api/v1/admin/users/", ben, "/export"), "", "")
		require.Equal(t, http.StatusOK, other.Code)
		h.As(ben)
		require.Contains(t, h.Page("/activity"), "Ann downloaded Ben&#39;s listens and playlists.")
		require.Equal(t, http.StatusForbidden, h.Do(http.MethodGet,
			fmt.Sprint("/settings/people/", h.User, "/export"), "",
			"").Code)
	})
}

// On the page of a person, an administrator gives another name and ends the sessions.
func TestAPersonIsRenamedAndSignedOut(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		cai, err := h.Accounts.Create(t.Context(), "Cai", servertest.Password, "member", false)
		require.NoError(t, err)
		theirs := h.Browser("192.0.2.3", servertest.Firefox, "Cai")
		_, err = h.Accounts.Create(t.Context(), "Dee", servertest.Password, "admin", false)
		require.NoError(t, err)
		h.Session = h.Browser("192.0.2.1", servertest.Firefox, "Dee").Cookies
		page := fmt.Sprint("/settings/people/", cai.ID)

		require.Contains(t, h.Submit(page+"/name", http.StatusConflict, "name", "bea").Body.String(),
			`id="name-problem"`, "the name is taken")
		h.Submit(page+"/name", http.StatusSeeOther, "name", "Kai")
		require.Contains(t, h.Page(page), "Cai is now called Kai, and signs in with that name.")
		require.True(t, theirs.IsSignedIn())
		h.Submit(page+"/signout", http.StatusSeeOther)
		require.False(t, theirs.IsSignedIn())
		after := h.Page(page)
		require.Contains(t, after, "isn&#39;t signed in anywhere.")
		require.NotContains(t, after, `id="sign-out"`)
		h.Browser("192.0.2.3", servertest.Firefox, "Kai") // with the same password
	})
}

// A club has more people than a page holds: they come in pages, and are found by a part of their name.
func TestPeopleComeInPages(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.NotContains(t, h.Page("/settings/people"), `id="search"`, "a household needs none")
		for n := range 119 {
			_, err := h.DB.AddUser(t.Context(), accounts.User{Name: fmt.Sprintf("Singer %03d", n), PasswordHash: "-",
				Role: accounts.Member, CreatedAt: time.Now()}, false)
			require.NoError(t, err)
		}
		first, second := h.Page("/settings/people"), h.Page("/settings/people?page=2")
		require.Equal(t, 100, strings.Count(first, `id="person-`))
		require.Equal(t, 20, strings.Count(second, `id="person-`))
		require.Contains(t, first, `id="search"`)
		require.Contains(t, first, `href="/settings/people?page=2"`)
		found := h.Page("/settings/people?q=sINGER+11")
		require.Equal(t, 9, strings.Count(found, `id="person-`))
		require.Contains(t, found, `value="sINGER 11"`)
		require.Contains(t, h.Page("/settings/people?q=%25"), "Nobody here has “")
		require.Contains(t, h.Page("/settings/people?page=2&q=singer"), `href="/settings/people?page=1&amp;q=singer"`)

		var names []string
		for next := any(""); next != nil; {
			page := h.Call(http.MethodGet, fmt.Sprint("/admin/users?limit=50&before=", next), "", http.StatusOK)
			for _, u := range page["users"].([]any) {
				names = append(names, u.(map[string]any)["name"].(string))
			}
			next = page["next"]
		}
		require.Len(t, names, 120)
		require.Equal(t, "Singer 118", names[119])
		page := h.Call(http.MethodGet, "/admin/users?q=singer+007", "", http.StatusOK)
		require.Len(t, page["users"], 1)
		require.Nil(t, page["next"])
		h.Call(http.MethodGet, "/admin/users?before=nonsense!", "", http.StatusBadRequest)
	})
}
