package listening_test

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/comparing"
	"reprise/internal/delivery"
	"reprise/internal/playrules"
	"reprise/internal/resilience/transport"
	"reprise/internal/resilience/turns"
	"reprise/internal/server/servertest"
)

// road carries the requests of one server to another one.
type road struct {
	to     http.Handler
	down   bool
	change func(w *httptest.ResponseRecorder, r *http.Request) // what the other one answers
	asked  []string
}

func (r *road) RoundTrip(req *http.Request) (*http.Response, error) {
	r.asked = append(r.asked, req.URL.String())
	if r.down {
		return nil, errors.New("connection refused")
	}
	in := req.Clone(req.Context())
	in.Host, in.RequestURI, in.RemoteAddr = req.URL.Host, req.URL.RequestURI(), "203.0.113.9:1"
	w := httptest.NewRecorder()
	r.to.ServeHTTP(w, in)
	if r.change != nil {
		r.change(w, req)
	}
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

// twoServers returns the servers of Ann and of Zoe, and the way from Zoe's to Ann's.
func twoServers(t *testing.T) (ann, zoe *servertest.Household, way *road) {
	t.Helper()
	ann, zoe = servertest.New(t, delivery.Options{}), servertest.New(t, delivery.Options{})
	ann.Config.Reach.BaseURL, zoe.Config.Reach.BaseURL = "https://ann.example.org/music", "https://zoe.example.org"
	way = &road{to: ann}
	zoe.Config.Comparing = &comparing.Client{
		HTTP: transport.NewClient(&transport.Transport{Base: way, Turns: turns.New()})}
	ann.Restart()
	zoe.Restart()
	return ann, zoe, way
}

// linkFor has Ann make a link by the form, and returns it with the path of its page.
func linkFor(h *servertest.Household, name string) (link, page string) {
	h.T.Helper()
	w := h.Submit("/listening/common/links", http.StatusSeeOther, "name", name, "days", "30")
	page = strings.TrimPrefix(w.Header().Get("Location"), "/music")
	_, rest, ok := strings.Cut(mainOf(h, page), `id="compare-link">`)
	require.True(h.T, ok)
	link, _, _ = strings.Cut(rest, "<")
	return link, page
}

// says requires that a page says some things.
func says(h *servertest.Household, path string, all ...string) {
	h.T.Helper()
	read := html.UnescapeString(plain(mainOf(h, path)))
	for _, one := range all {
		require.Contains(h.T, read, one)
	}
}

// Ann and Zoe each have a server. Ann makes a link for Zoe, who pastes it and sees what they share, until Ann takes the
// link back.
//
// Promise: Two people with servers of their own compare by a link, and nothing is left of it when it is taken back.
func TestTwoServersSeeWhatTheyShare(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) { // it is 1 January 2000
		ann, zoe, way := twoServers(t)
		_, err := ann.DB.SavePlayRule(t.Context(), playrules.Rule{User: ann.User, Name: "Private",
			Kind: playrules.Withhold, Artist: "Guilty"})
		require.NoError(t, err)
		plays(ann, ann.User, "Air", "1998-01-05", "1999-12-20")
		plays(ann, ann.User, "Björk", "1999-05-02", "1999-05-03", "1999-05-04")
		plays(ann, ann.User, "Only Ann", often("1999-03-01", 6)...)
		plays(ann, ann.User, "Guilty", often("1999-05-01", 6)...)
		plays(zoe, zoe.User, "Air", "1998-02-05", "1999-12-21")
		plays(zoe, zoe.User, "BJORK", "1999-05-30", "1999-06-01")
		plays(zoe, zoe.User, "Guilty", "1999-05-30")

		link, page := linkFor(ann, "Zoe")
		require.Regexp(t, `^https://ann\.example\.org/music/compare/[A-Z2-7]{26}#[A-Z2-7]{26}$`, link)
		says(ann, page, "Link for Zoe", "It has never been used.", "The link works until 31 January 2000.")
		ann.Submit("/listening/common/links", http.StatusConflict, "name", "zoe", "days", "30") // pressed twice
		says(ann, "/listening/common", "Zoe")

		w := zoe.Submit("/listening/common/apart", http.StatusSeeOther, "link", "  "+link+"\n")
		at := w.Header().Get("Location")
		require.Len(t, way.asked, 1)
		_, key, _ := strings.Cut(link, "#")
		require.NotContains(t, way.asked[0], key, "the key is never sent")
		says(zoe, at, "You and Ann", "Last read from ann.example.org:", "You both found BJORK in May 1999.",
			"80% of what you played is by artists that Ann heard too 4 of 5 listens",
			"45% of what Ann played is by artists that you heard too 5 of 11 listens", "You: 2, Ann: 3",
			"Might be for you", "Only Ann")
		require.NotContains(t, plain(mainOf(zoe, at)), "Guilty")
		require.Len(t, way.asked, 1, "what was just read is shown again")
		says(zoe, "/listening/common", "You and Ann On ann.example.org")
		says(ann, page, "Last used:")

		same := zoe.Submit("/listening/common/apart", http.StatusSeeOther, "link", link)
		require.Equal(t, at, same.Header().Get("Location"), "the same link is the same comparison")
		all := zoe.Call(http.MethodGet, "/comparisons", "", http.StatusOK)["comparisons"].([]any)
		require.Len(t, all, 1)
		id := all[0].(map[string]any)["id"].(string)
		v := zoe.Call(http.MethodGet, "/comparisons/"+id, "", http.StatusOK)
		require.Equal(t, []string{"BJORK 2:3", "Air 2:2"}, rowsOf(v["artists"]))
		require.Equal(t, []string{"BJORK 2:3"}, rowsOf(v["found"]))
		require.Equal(t, []string{"Only Ann 0:6"}, rowsOf(v["unheard"]))
		require.Equal(t, map[string]any{"listens": 5.0, "shared": 4.0, "percent": 80.0}, v["yours"])

		plays(ann, ann.User, "Air", "1999-12-29", "1999-12-30")
		time.Sleep(2 * time.Hour)
		says(zoe, at, "7 of 13 listens")

		ann.Submit(page+"/delete", http.StatusSeeOther)
		ann.Submit(page+"/delete", http.StatusSeeOther) // in another tab
		require.NotContains(t, plain(mainOf(ann, "/listening/common")), "Zoe")
		zoe.Submit(at+"/again", http.StatusSeeOther)
		says(zoe, at, "This link was taken back. Ask for a new one.")
		require.NotContains(t, plain(mainOf(zoe, at)), "BJORK")
		v = zoe.Call(http.MethodGet, "/comparisons/"+id, "", http.StatusOK)
		require.Empty(t, v["artists"])
		require.Equal(t, "gone", v["comparison"].(map[string]any)["problem"])
		zoe.Submit(at+"/delete", http.StatusSeeOther)
		require.NotContains(t, plain(mainOf(zoe, "/listening/common")), "Ann")
		require.Equal(t, http.StatusNotFound, zoe.Do(http.MethodGet, at, "", "").Code)
		says(ann, "/activity", "Ann created a link to compare for Zoe.", "Ann took back the link to compare for Zoe.")
	})
}

// While the other server is away, the last comparison stays with its date. Its link ends it.
func TestALinkToCompareExpires(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		ann, zoe, way := twoServers(t)
		for _, h := range []*servertest.Household{ann, zoe} {
			plays(h, h.User, "Air", "1998-01-05", "1999-12-20")
		}
		link, _ := linkFor(ann, "Zoe")
		at := zoe.Submit("/listening/common/apart", http.StatusSeeOther, "link", link).Header().Get("Location")
		way.down = true
		time.Sleep(24 * time.Hour)
		says(zoe, at, "sent no answer that Reprise can use",
			"Last read from ann.example.org: 1 January 2000, 00:00 UTC", "Air")
		asked := len(way.asked)
		says(zoe, at, "Air")
		require.Len(t, way.asked, asked, "a server that is away is left alone for a while")
		zoe.Submit(at+"/again", http.StatusSeeOther)
		require.Len(t, way.asked, asked+1)
		way.down = false
		zoe.Submit(at+"/again", http.StatusSeeOther)
		require.NotContains(t, plain(mainOf(zoe, at)), "no answer")

		time.Sleep(30 * 24 * time.Hour)
		asked = len(way.asked)
		says(zoe, at, "This link has expired. Ask for a new one.")
		require.NotContains(t, plain(mainOf(zoe, at)), "Air")
		require.Len(t, way.asked, asked)
		require.NoError(t, zoe.DB.Tidy(t.Context()))
		v, err := zoe.DB.Comparisons(t.Context(), zoe.User)
		require.NoError(t, err)
		require.Empty(t, v[0].Document)
		says(ann, "/listening/common", "expired")
		w := zoe.Submit("/listening/common/apart", http.StatusUnprocessableEntity, "link", link)
		require.Contains(t, w.Body.String(), "This link has expired.")
		again, _ := linkFor(ann, "Zoe") // the expired one is not in the way
		require.NotEqual(t, link, again)
	})
}

// What stands between the two servers can't invent an answer, give an old one again, or fill the memory.
func TestOnlyASignedAnswerIsShown(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		ann, zoe, way := twoServers(t)
		plays(ann, ann.User, "Air", "1998-01-05", "1999-12-20")
		plays(zoe, zoe.User, "Air", "1998-01-05", "1999-12-20")
		link, _ := linkFor(ann, "Zoe")
		old := httptest.NewRecorder()
		way.change = func(w *httptest.ResponseRecorder, _ *http.Request) { *old = *w }
		at := zoe.Submit("/listening/common/apart", http.StatusSeeOther, "link", link).Header().Get("Location")
		body := old.Body.String()
		answer := func(w *httptest.ResponseRecorder, status int, body string, headers ...string) {
			signature := w.Header().Get(comparing.Signature)
			*w = *httptest.NewRecorder()
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set(comparing.Signature, signature)
			for i := 0; i+1 < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(status)
			_, _ = w.WriteString(body)
		}
		for name, one := range map[string]struct {
			change func(w *httptest.ResponseRecorder, r *http.Request)
			says   string
		}{
			"changed": {func(w *httptest.ResponseRecorder, _ *http.Request) {
				answer(w, http.StatusOK, strings.ReplaceAll(w.Body.String(), "Air", "Earth"))
			}, "isn't signed with the key of this link"},
			"old": {func(w *httptest.ResponseRecorder, _ *http.Request) {
				answer(w, http.StatusOK, body, comparing.Signature, old.Header().Get(comparing.Signature))
			}, "isn't signed with the key of this link"},
			"unsigned": {func(w *httptest.ResponseRecorder, _ *http.Request) {
				answer(w, http.StatusOK, w.Body.String(), comparing.Signature, "")
			}, "No Reprise that can compare answers at ann.example.org."},
			"huge": {func(w *httptest.ResponseRecorder, _ *http.Request) {
				answer(w, http.StatusOK, `{"format":1,"name":"`+strings.Repeat("A", 2<<20)+`"}`)
			}, "No Reprise that can compare answers"},
			"another Reprise": {func(w *httptest.ResponseRecorder, _ *http.Request) {
				answer(w, http.StatusNotFound, `{}`)
			}, "Its version may be too old"},
			"trouble": {func(w *httptest.ResponseRecorder, _ *http.Request) {
				answer(w, http.StatusBadGateway, `{}`)
			}, "sent no answer that Reprise can use"},
			"newer": {func(w *httptest.ResponseRecorder, r *http.Request) {
				_, key, _ := strings.Cut(link, "#")
				text := `{"format":2}`
				answer(w, http.StatusOK, text, comparing.Signature,
					comparing.Sign(key, r.URL.Query().Get("nonce"), []byte(text)))
			}, "is newer than this one"},
			"elsewhere": {func(w *httptest.ResponseRecorder, _ *http.Request) {
				answer(w, http.StatusFound, `{}`, "Location", "https://evil.example.org/compare/")
			}, "leads to another address now"},
		} {
			way.change = one.change
			asked := len(way.asked)
			zoe.Submit(at+"/again", http.StatusSeeOther)
			require.Len(t, way.asked, asked+1, name)
			says(zoe, at, one.says, "Air")
			require.NotContains(t, plain(mainOf(zoe, at)), "Earth", name)
		}
		way.change = nil
		zoe.Submit(at+"/again", http.StatusSeeOther)
		require.NotContains(t, mainOf(zoe, at), "notice-apart")
	})
}

// A link that can't be used says why, and nothing is kept of it.
func TestALinkToCompareIsRefused(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		ann, zoe, way := twoServers(t)
		link, _ := linkFor(ann, "Zoe")
		own, _ := linkFor(zoe, "Ann")
		refused := func(h *servertest.Household, link, why string) {
			t.Helper()
			w := h.Submit("/listening/common/apart", http.StatusUnprocessableEntity, "link", link)
			require.Contains(t, html.UnescapeString(servertest.Text(w)), why)
			require.Contains(t, w.Body.String(), html.EscapeString(link), "it need not be typed again")
			body := fmt.Sprintf(`{"link":%q}`, link)
			p := h.Call(http.MethodPost, "/comparisons", body, http.StatusUnprocessableEntity)
			require.Contains(t, p["detail"], why)
		}
		start, _, _ := strings.Cut(link, "#")
		refused(zoe, "hello", "This is no link to compare.")
		refused(zoe, start, "goes on after a “#”")
		refused(zoe, own, "This is your own link.")
		refused(zoe, strings.Replace(link, "https", "ftp", 1), "http")
		refused(zoe, strings.Replace(link, "https://", "https://ann:secret@", 1), "")
		require.Empty(t, way.asked)
		zoe.As(zoe.Other("Max"))
		refused(zoe, own, "This link leads to this very server.")
		zoe.As(zoe.User)
		other := start[:len(start)-1] + "A"
		if other == start {
			other = start[:len(start)-1] + "B"
		}
		refused(zoe, other+"#"+strings.Repeat("A", 26), "This link was taken back.")
		refused(zoe, start+"#"+strings.Repeat("A", 26), "isn't signed with the key of this link")
		require.Empty(t, zoe.Call(http.MethodGet, "/comparisons", "", http.StatusOK)["comparisons"])

		made := ann.Call(http.MethodPost, "/comparison-links", `{"name":"Max","expires_at":"2000-02-01T00:00:00Z"}`,
			http.StatusCreated)
		require.Contains(t, made["url"], "https://ann.example.org/music/compare/")
		ann.Call(http.MethodPost, "/comparison-links", `{"name":"Eve","expires_at":"1999-02-01T00:00:00Z"}`,
			http.StatusUnprocessableEntity)
		require.Len(t, ann.Call(http.MethodGet, "/comparison-links", "", http.StatusOK)["links"], 2)
		ann.Call(http.MethodDelete, "/comparison-links/"+made["id"].(string), "", http.StatusNoContent)
		ann.Call(http.MethodDelete, "/comparison-links/"+made["id"].(string), "", http.StatusNotFound)
		added := zoe.Call(http.MethodPost, "/comparisons", fmt.Sprintf(`{"link":%q}`, link), http.StatusCreated)
		says(zoe, "/listening/common/apart/"+added["id"].(string), "You have no listens yet")
		zoe.As(zoe.Other("Eve"))
		require.Equal(t, http.StatusNotFound,
			zoe.Do(http.MethodGet, "/listening/common/apart/"+added["id"].(string), "", "").Code)
		zoe.As(zoe.User)
		zoe.Call(http.MethodDelete, "/comparisons/"+added["id"].(string), "", http.StatusNoContent)

		path := strings.TrimPrefix(start, "https://ann.example.org")
		browser := ann.Knock(http.MethodGet, path, "Accept", "text/html")
		require.Contains(t, servertest.Text(browser), "Somebody wants to compare what you both hear.")
	})
}
