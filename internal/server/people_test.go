package server

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
)

// An account is removed while a delivery of it is under way, with others that wait.
func TestARemovalCutsOffWhatIsUnderWay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		ann, ben := h.user, h.other("Ben")
		h.user = ben
		h.connect("spotify")
		h.connect("listenbrainz")
		h.forward(ben)
		h.heard("A", "B", "C", "D", "E")
		h.user = ann
		h.forward(ann)
		h.heard("X")
		h.far.hangs = true
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		defer func() { cancel(); running.Wait() }()
		running.Go(func() { assert.NoError(t, h.Deliveries.Run(ctx)) })
		running.Go(func() { assert.NoError(t, h.gone.Run(ctx)) })
		time.Sleep(3 * time.Second)
		synctest.Wait()

		path := fmt.Sprint("/admin/users/", ben)
		has := h.call(http.MethodGet, path, "", http.StatusOK)["has"].(map[string]any)
		require.EqualValues(t, 5, has["listens"])
		require.EqualValues(t, 2, has["connections"])
		require.EqualValues(t, 3, has["deliveries_waiting"])
		watching := h.Bus.Subscribe(ben)
		defer watching.Close()
		require.Equal(t, map[string]any{"previous_state": "present", "new_state": "removing"},
			h.call(http.MethodDelete, path, "", http.StatusAccepted))
		require.Equal(t, events.Access, (<-watching.C).Type, "open pages ask whether they may stay")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, h.far.cut, "the delivery under way")
		leaving, err := h.db.Leaving(t.Context())
		require.NoError(t, err)
		require.Empty(t, leaving)
		require.Equal(t, map[string]any{"previous_state": "absent", "new_state": "absent"},
			h.call(http.MethodDelete, path, "", http.StatusOK))
		counts, err := h.db.Counts(t.Context(), ben)
		require.NoError(t, err)
		require.Zero(t, counts)
		all, _, err := h.db.DeliveryCounts(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[delivery.State]int{delivery.Running: 1}, all, "Ann's delivery hangs on")
		require.EqualValues(t, 1, h.call(http.MethodGet, fmt.Sprint("/admin/users/", ann), "",
			http.StatusOK)["has"].(map[string]any)["listens"])
		require.Contains(t, h.page("/activity"), "Ann removed Ben&#39;s account.")
	})
}

// forward has a person's listens carried to ListenBrainz.
func (h *household) forward(user int64) {
	h.t.Helper()
	_, err := h.db.StartForwarding(h.t.Context(), delivery.Rule{User: user, Connection: "listenbrainz",
		Kind: delivery.SubmitListens, Batch: 2}, false)
	require.NoError(h.t, err)
}

func TestRolesChangeAndOneAdministratorStays(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		ann, ben := h.user, h.other("Ben")
		role := func(user int64, to string, status int) map[string]any {
			return h.call(http.MethodPatch, fmt.Sprint("/admin/users/", user), `{"role":"`+to+`"}`, status)
		}
		role(ann, "member", http.StatusConflict)
		role(ben, "king", http.StatusUnprocessableEntity)
		role(99, "admin", http.StatusNotFound)
		require.Contains(t, h.page(fmt.Sprint("/settings/people/", ann)), "You&#39;re the only administrator.")
		answer := role(ben, "admin", http.StatusOK)
		require.Equal(t, []any{"member", "admin", "Ben"},
			[]any{answer["previous_state"], answer["new_state"], answer["name"]})
		require.Equal(t, "admin", role(ben, "admin", http.StatusOK)["previous_state"])
		h.submit(fmt.Sprint("/settings/people/", ann, "/role"), http.StatusSeeOther, "role", "member")
		h.call(http.MethodGet, "/admin/users", "", http.StatusForbidden)
		h.as(ben)
		h.call(http.MethodGet, "/admin/users", "", http.StatusOK)
		require.Contains(t, h.page("/activity"), "Ann changed Ann&#39;s role. As a member.")
		h.as(ann)
		require.NotContains(t, h.page("/activity"), "Ann changed Ben&#39;s role.", "a member sees their own log")
		h.as(ben)
		require.Contains(t, h.page("/activity"), "Ann changed Ben&#39;s role. As an administrator.")
	})
}

// stranger is a browser without a session.
type stranger struct {
	h       *household
	cookies []*http.Cookie
	seen    []string // the addresses that it asked for
}

func (s *stranger) do(method, path string, fields ...string) *httptest.ResponseRecorder {
	s.h.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r := httptest.NewRequestWithContext(s.h.t.Context(), method, path, strings.NewReader(form.Encode()))
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
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		require.Contains(t, h.page("/settings/account/remove"), "You&#39;re the only administrator")
		ben, err := h.Accounts.Create(t.Context(), "Ben", "the right password", accounts.Member, false)
		require.NoError(t, err)
		h.as(ben.ID)
		require.Contains(t, h.page("/settings/account/remove"), "This permanently deletes")
		wrong := h.submit("/settings/account/remove", http.StatusUnprocessableEntity, "password", "a wrong password")
		require.Contains(t, wrong.Body.String(), "That&#39;s not your password. Nothing was removed.")
		h.submit("/settings/account/remove", http.StatusSeeOther, "password", "the right password")
		h.DemoUser = 0
		h.restart()
		h.call(http.MethodGet, "/listens", "", http.StatusUnauthorized)

		ann := h.user
		h.as(ann)
		h.submit(fmt.Sprint("/settings/people/", h.other("Dan"), "/remove"), http.StatusUnprocessableEntity,
			"name", "Ben")
		require.Contains(t, h.page("/settings/people"), "Dan", "the wrong name was typed")
	})
}

// What is downloaded of one account can be imported into another.
func TestAnExportCanBeImported(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		for i := range 60 {
			h.heard(fmt.Sprint("Title <", i, ">"))
			time.Sleep(24 * time.Hour)
		}
		require.NoError(t, h.db.SavePlaylist(t.Context(), h.user, "navidrome",
			library.Playlist{SourceID: "1", Name: "Evening"}, 0, []library.Track{{Title: "A", Artist: "B"}}))
		ben := h.other("Ben")
		w := h.do(http.MethodGet, "/settings/account/export", "", "")
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

		reader := imports.New(imports.Config{Dir: t.TempDir(), Store: h.db, Bus: h.Bus, Log: h.Log})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer func() { cancel(); running.Wait() }()
		running.Go(func() { assert.NoError(t, reader.Run(ctx)) })
		_, err = reader.Receive(ctx, ben, imports.Reprise, "reprise.zip", w.Body)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		synctest.Wait()
		all, err := h.db.Imports(t.Context(), ben)
		require.NoError(t, err)
		require.Equal(t, imports.Done, all[0].State)
		require.Equal(t, []int{60, 0, 0}, []int{all[0].Added, all[0].Bad, all[0].Skipped})

		other := h.do(http.MethodGet, fmt.Sprint("/api/v1/admin/users/", ben, "/export"), "", "")
		require.Equal(t, http.StatusOK, other.Code)
		h.as(ben)
		require.Contains(t, h.page("/activity"), "Ann downloaded Ben&#39;s listens and playlists.")
		require.Equal(t, http.StatusForbidden, h.do(http.MethodGet,
			fmt.Sprint("/settings/people/", h.user, "/export"), "",
			"").Code)
	})
}

// On the page of a person, an administrator gives another name and ends the sessions.
func TestAPersonIsRenamedAndSignedOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := public(t)
		cai, err := h.Accounts.Create(t.Context(), "Cai", password, "member", false)
		require.NoError(t, err)
		theirs := h.browser("192.0.2.3", firefox, "Cai")
		_, err = h.Accounts.Create(t.Context(), "Dee", password, "admin", false)
		require.NoError(t, err)
		h.session = h.browser("192.0.2.1", firefox, "Dee").cookies
		page := fmt.Sprint("/settings/people/", cai.ID)

		require.Contains(t, h.submit(page+"/name", http.StatusConflict, "name", "bea").Body.String(),
			`id="name-problem"`, "the name is taken")
		h.submit(page+"/name", http.StatusSeeOther, "name", "Kai")
		require.Contains(t, h.page(page), "Cai is now called Kai, and signs in with that name.")
		require.True(t, theirs.isSignedIn())
		h.submit(page+"/signout", http.StatusSeeOther)
		require.False(t, theirs.isSignedIn())
		after := h.page(page)
		require.Contains(t, after, "isn&#39;t signed in anywhere.")
		require.NotContains(t, after, `id="sign-out"`)
		h.browser("192.0.2.3", firefox, "Kai") // with the same password
	})
}

// A club has more people than a page holds: they come in pages, and are found by a part of their name.
func TestPeopleComeInPages(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		require.NotContains(t, h.page("/settings/people"), `id="search"`, "a household needs none")
		for n := range 119 {
			_, err := h.db.AddUser(t.Context(), accounts.User{Name: fmt.Sprintf("Singer %03d", n), PasswordHash: "-",
				Role: accounts.Member, CreatedAt: time.Now()}, false)
			require.NoError(t, err)
		}
		first, second := h.page("/settings/people"), h.page("/settings/people?page=2")
		require.Equal(t, 100, strings.Count(first, `id="person-`))
		require.Equal(t, 20, strings.Count(second, `id="person-`))
		require.Contains(t, first, `id="search"`)
		require.Contains(t, first, `href="/settings/people?page=2"`)
		found := h.page("/settings/people?q=sINGER+11")
		require.Equal(t, 9, strings.Count(found, `id="person-`))
		require.Contains(t, found, `value="sINGER 11"`)
		require.Contains(t, h.page("/settings/people?q=%25"), "Nobody here has “")
		require.Contains(t, h.page("/settings/people?page=2&q=singer"), `href="/settings/people?page=1&amp;q=singer"`)

		var names []string
		for next := any(""); next != nil; {
			page := h.call(http.MethodGet, fmt.Sprint("/admin/users?limit=50&before=", next), "", http.StatusOK)
			for _, u := range page["users"].([]any) {
				names = append(names, u.(map[string]any)["name"].(string))
			}
			next = page["next"]
		}
		require.Len(t, names, 120)
		require.Equal(t, "Singer 118", names[119])
		page := h.call(http.MethodGet, "/admin/users?q=singer+007", "", http.StatusOK)
		require.Len(t, page["users"], 1)
		require.Nil(t, page["next"])
		h.call(http.MethodGet, "/admin/users?before=nonsense!", "", http.StatusBadRequest)
	})
}
