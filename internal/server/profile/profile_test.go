package profile_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/server/servertest"
)

// someone is a person whose profile strangers look at.
type someone struct {
	*servertest.Household
}

func setup(t *testing.T) someone {
	t.Helper()
	return someone{servertest.New(t, delivery.Options{})}
}

// hear stores a play of a track at a time ago.
func (h someone) hear(user int64, artist, album, title string, ago time.Duration) {
	h.T.Helper()
	at := time.Now().Add(-ago).Truncate(time.Second)
	l := library.Listen{Track: library.Track{Title: title, Artist: artist, Album: album, Duration: 4 * time.Minute},
		SourceID: fmt.Sprint(title, at.Unix()), PlayedAt: at}
	_, err := h.DB.SaveListens(h.T.Context(), library.Intake{User: user, Connection: "spotify",
		Listens: []library.Listen{l}})
	require.NoError(h.T, err)
}

// plays notes that something is playing.
func (h someone) plays(user int64, artist, title string) {
	h.Config.Playing.Begins(user, "spotify", library.Playing{Track: library.Track{Title: title, Artist: artist},
		With: "Kitchen speaker", Left: time.Hour})
}

// publish makes the profile show some parts, and returns the path of its address.
func (h someone) publish(body string) (path string) {
	h.T.Helper()
	v := h.Call(http.MethodPut, "/profile", body, http.StatusOK)
	path, ok := strings.CutPrefix(v["url"].(string), "http://127.0.0.1:8420")
	require.True(h.T, ok)
	require.Regexp(h.T, `^/profile/\w{26}$`, path)
	return path
}

// open returns the answer to a stranger. It requires that the answer is fit for strangers: it sets no cookie, and keeps
// its address out of search engines and referrers.
func (h someone) open(path string) *httptest.ResponseRecorder {
	h.T.Helper()
	owner := h.Session
	h.Session = nil
	defer func() { h.Session = owner }()
	time.Sleep(2 * time.Second) // to stay within the limit on requests per address
	w := h.Knock(http.MethodGet, path)
	require.Empty(h.T, w.Result().Cookies(), path)
	require.Contains(h.T, w.Header().Get("X-Robots-Tag"), "noindex", path)
	require.Equal(h.T, "no-referrer", w.Header().Get("Referrer-Policy"), path)
	return w
}

// faces are the forms of a profile.
var faces = []string{"", "/card.svg", "/card.png", "/badge.svg", "/feed.atom"}

// traces has the words that show that a part is there, by its name in the API. They appear nowhere else.
var traces = map[string][]string{
	"now":     {"Playing now", "Vespertine"},
	"numbers": {"artists</span>", "listens</span>"},
	"artists": {"Top artists"},
	"albums":  {"Top albums"},
	"tracks":  {"Top tracks"},
	"latest":  {"Latest listens"},
	"loved":   {"Loved tracks", "Beloved"},
}

// filled returns somebody who has something to show in each part.
func filled(t *testing.T) someone {
	t.Helper()
	h := setup(t)
	for i := range 25 { // more than the latest listens
		h.hear(h.User, "Sigur Rós", "Takk", "Hoppípolla", time.Duration(40+i)*time.Hour)
	}
	for i := range 20 {
		h.hear(h.User, "Amiina", "Kurr", "Fresh", time.Duration(1+i)*time.Hour)
	}
	h.plays(h.User, "Björk", "Vespertine")
	require.NoError(t, h.DB.SaveLove(t.Context(), h.User, library.Love{Title: "Beloved", Artist: "Múm", Score: 1,
		At: time.Now()}))
	require.NoError(t, h.DB.SaveLove(t.Context(), h.User, library.Love{Title: "Despised", Artist: "Múm", Score: -1,
		At: time.Now()}))
	return h
}

func TestThereIsNoProfileUntilItsPersonMakesOne(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := filled(t)
		require.Equal(t, false, h.Call(http.MethodGet, "/profile", "", http.StatusOK)["public"])
		h.Call(http.MethodDelete, "/profile", "", http.StatusNotFound)
		page := h.Page("/settings/profile")
		require.Contains(t, page, "You have no public profile.")
		require.NotContains(t, page, `"/profile/`)
		for _, face := range faces {
			for _, code := range []string{"x", "1", accounts.HashToken("")} {
				w := h.open("/profile/" + code + face)
				require.Equal(t, http.StatusNotFound, w.Code, face)
				require.Contains(t, servertest.Text(w), "It has been deleted or replaced", face)
			}
		}
		for _, body := range []string{`{"parts":[]}`, `{"parts":["now"],"name":"` + strings.Repeat("x", 65) + `"}`,
			`{"parts":["devices"]}`, `{"parts":["now"],"span":"ever"}`} {
			status, _ := h.Ask(http.MethodPut, "/api/v1/profile", body)
			require.GreaterOrEqual(t, status, 400, body)
		}
		h.Submit("/settings/profile", http.StatusUnprocessableEntity, "name", "Ann")
		require.Nil(t, h.Call(http.MethodGet, "/profile", "", http.StatusOK)["url"])
	})
}

// With each part alone, and with all but that one, what isn't chosen is on neither page, card, badge nor feed.
func TestAProfileShowsExactlyWhatWasChosen(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := filled(t)
		all := []string{"now", "numbers", "artists", "albums", "tracks", "latest", "loved"}
		require.Len(t, traces, len(all))
		for _, part := range all {
			path := h.publish(`{"parts":["` + part + `"]}`)
			page := servertest.Text(h.open(path))
			card := servertest.Text(h.open(path + "/card.svg"))
			for _, other := range all {
				for _, trace := range traces[other] {
					require.Equal(t, other == part, strings.Contains(page, trace), "%q alone, %q", part, trace)
				}
			}
			for trace, parts := range map[string]string{"Vespertine": "now", "Björk": "now", "Beloved": "loved",
				"Amiina": "artists albums tracks latest", "Sigur": "artists albums tracks",
				"Takk": "albums", "Kurr": "albums latest", "Hoppípolla": "tracks", "Fresh": "tracks latest"} {
				fits := strings.Contains(" "+parts+" ", " "+part+" ")
				require.Equal(t, fits, strings.Contains(page, trace), "%q alone on the page, %q", part, trace)
				if !fits {
					require.NotContains(t, card, trace, part)
				}
			}
			badge, feed := h.open(path+"/badge.svg"), h.open(path+"/feed.atom")
			require.Equal(t, part == "now" || part == "latest", badge.Code == http.StatusOK, part)
			require.Equal(t, part == "latest", feed.Code == http.StatusOK, part)
			require.Equal(t, part == "now", strings.Contains(badge.Body.String(), "Vespertine"), part)
			for _, w := range []*httptest.ResponseRecorder{badge, feed} {
				require.Equal(t, part == "latest", strings.Contains(w.Body.String(), "Fresh"), part)
			}
			require.NotContains(t, feed.Body.String(), "Vespertine", part)
		}
		for _, part := range all {
			var rest []string
			for _, other := range all {
				if other != part {
					rest = append(rest, `"`+other+`"`)
				}
			}
			page := servertest.Text(h.open(h.publish(`{"parts":[` + strings.Join(rest, ",") + `]}`)))
			for _, other := range all {
				require.Equal(t, other != part, strings.Contains(page, traces[other][0]), "without %q, %q", part, other)
			}
		}
	})
}

func TestNothingPrivateIsOnAProfile(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := filled(t)
		path := h.publish(`{"parts":["now","numbers","artists","albums","tracks","latest","loved"],"span":"12-months"}`)
		w := h.open(path)
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		page := servertest.Text(w)
		require.Contains(t, page, "The last 12 months")
		require.Contains(t, page, `<meta name="robots" content="noindex`)
		require.Contains(t, page, `content="http://127.0.0.1:8420`+path+`/card.png"`)
		for _, not := range []string{"Ann", "Despised", "Kitchen speaker", "spotify", "Spotify", "/art/", "/logout"} {
			require.NotContains(t, page, not)
		}
		for _, href := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			require.Regexp(t, `^(/static/|/manifest\.webmanifest|#main|/$|/help|`+path+`/feed\.atom)`, href[1])
		}
		h.Page("/")
		require.Equal(t, page, servertest.Text(h.Knock(http.MethodGet, path)), "a session changes nothing")
		require.Contains(t, servertest.Text(h.open(h.publish(`{"parts":["now"],"name":" Anna "}`))), "<h1>Anna")
		require.Contains(t, h.open(path+"/card.svg").Header().Get("Cache-Control"), "private")
		require.Equal(t, "image/png", h.open(path+"/card.png").Header().Get("Content-Type"))
	})
}

// Plays that a rule keeps from being sent anywhere are neither shown nor counted. Plays that it keeps from some
// services only are shown.
func TestWhatRulesWithholdIsNowhere(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := setup(t)
		for _, r := range []playrules.Rule{{Name: "Guilty", Artist: "guilty"},
			{Name: "Partly", Artist: "partly", To: []library.ConnectionID{"lastfm"}}} {
			r.User, r.Kind = h.User, playrules.Withhold
			_, err := h.DB.SavePlayRule(t.Context(), r)
			require.NoError(t, err)
		}
		h.hear(h.User, "Amiina", "Kurr", "Fresh", 50*24*time.Hour) // in columns that are stored
		for i := range 9 {
			h.hear(h.User, "Guilty Pleasure", "Sins", "Vice", time.Duration(1+i)*9*24*time.Hour)
		}
		h.hear(h.User, "Guilty Pleasure", "Sins", "Vice", time.Minute)
		h.hear(h.User, "Amiina", "Kurr", "Fresh", 2*time.Hour)
		h.hear(h.User, "Partly", "Half", "Either", 3*time.Hour)
		for _, title := range []string{"Vice", "Secret"} {
			require.NoError(t, h.DB.SaveLove(t.Context(), h.User, library.Love{Title: title, Artist: "Guilty Pleasure",
				Score: 1, At: time.Now()}))
		}
		require.NoError(t, h.DB.BuildColumns(t.Context()))
		path := h.publish(`{"parts":["now","numbers","artists","albums","tracks","latest","loved"],"span":"12-months"}`)
		h.plays(h.User, "Guilty Pleasure", "Vice")
		for range 2 { // first with newly built columns, then with stored ones
			for _, face := range faces {
				w := h.open(path + face)
				require.Equal(t, http.StatusOK, w.Code, face)
				for _, not := range []string{"Guilty", "Vice", "Sins", "Secret", "Playing now", "Loved tracks"} {
					require.NotContains(t, w.Body.String(), not, face)
				}
			}
		}
		page := servertest.Text(h.open(path))
		require.Contains(t, page, "<strong>3</strong><span>listens</span>")
		require.Contains(t, page, "<strong>2</strong><span>artists</span>")
		require.Contains(t, page, "Partly")
		h.plays(h.User, "Partly", "Either")
		require.Contains(t, servertest.Text(h.open(path+"/badge.svg")), "Playing now")

		rules, err := h.DB.PlayRules(t.Context(), h.User)
		require.NoError(t, err)
		require.NoError(t, h.DB.DeletePlayRule(t.Context(), h.User, rules[0].ID))
		require.Contains(t, servertest.Text(h.open(path)), "Guilty", "the person has changed their mind")
	})
}

func TestAnAddressCanBeTakenBack(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := filled(t)
		made := h.Submit("/settings/profile", http.StatusSeeOther, "name", "Anna", "artists", "yes", "latest", "yes")
		require.Equal(t, "/settings/profile", made.Header().Get("Location"))
		page := h.Page("/settings/profile")
		require.Contains(t, page, "Your profile is public now.")
		address := regexp.MustCompile(`http://127\.0\.0\.1:8420(/profile/\w{26})<`).FindStringSubmatch(page)
		require.NotNil(t, address, page)
		first := address[1]
		require.Contains(t, page, "&lt;img src=&#34;http://127.0.0.1:8420"+first+"/badge.svg&#34;")
		require.Contains(t, page, "[![What I&#39;m listening to](http://127.0.0.1:8420"+first+"/badge.svg)]")
		kept, err := h.DB.Share(t.Context(), h.User, library.ShareProfile, "")
		require.NoError(t, err)
		require.Equal(t, accounts.HashToken(first[len("/profile/"):]), kept.Hash, "it is found by its hash")
		for _, face := range faces {
			require.Equal(t, http.StatusOK, h.open(first+face).Code, face)
			require.Equal(t, http.StatusNotFound, h.open(first+"X"+face).Code, face)
			require.Equal(t, http.StatusNotFound, h.open("/profile/"+kept.Hash+face).Code, face)
		}
		preview := servertest.Text(h.Knock(http.MethodGet,
			"/settings/profile/preview?name=Anna&artists=yes&latest=yes"))
		main := regexp.MustCompile(`(?s)<main.*?</main>`)
		seen := regexp.MustCompile(`<p class="facts"><a href="[^"]*/feed.atom">[^<]*</a></p>`).ReplaceAllString(
			main.FindString(servertest.Text(h.open(first))), "")
		require.Equal(t, main.FindString(preview), seen, "the preview is exact")

		h.Submit("/settings/profile", http.StatusSeeOther, "tracks", "yes")
		require.Contains(t, h.Page("/settings/profile"), "The profile now shows what you chose.")
		require.NotContains(t, servertest.Text(h.open(first)), "Anna", "the same address")
		h.Submit("/settings/profile", http.StatusSeeOther, "now", "yes", "latest", "yes", "new", "yes")
		require.Contains(t, h.Page("/settings/profile"), "The profile has a new address.")
		for _, face := range faces {
			w := h.open(first + face)
			require.Equal(t, http.StatusNotFound, w.Code, face)
			require.Contains(t, servertest.Text(w), "It has been deleted or replaced")
			require.Equal(t, "no-store", w.Header().Get("Cache-Control"), face)
			require.Equal(t, "same-origin", w.Header().Get("Cross-Origin-Resource-Policy"), face)
		}
		second := strings.TrimPrefix(h.Call(http.MethodGet, "/profile", "", http.StatusOK)["url"].(string),
			"http://127.0.0.1:8420")

		ann, ben := h.User, h.Other("Ben")
		h.As(ben)
		require.Equal(t, false, h.Call(http.MethodGet, "/profile", "", http.StatusOK)["public"])
		h.Call(http.MethodDelete, "/profile", "", http.StatusNotFound)
		h.Submit("/settings/profile/delete", http.StatusSeeOther)
		require.Equal(t, http.StatusOK, h.open(second).Code, "somebody else cannot take it back")
		other := h.publish(`{"parts":["now","latest","artists"],"name":"Ben"}`)
		require.NotContains(t, servertest.Text(h.open(other)), "Amiina", "each shows their own")
		require.Contains(t, servertest.Text(h.open(other)), "nothing to see here yet")
		require.Contains(t, servertest.Text(h.open(other+"/badge.svg")), "Ben")

		h.As(ann)
		h.Submit("/settings/profile/delete", http.StatusSeeOther)
		require.Contains(t, h.Page("/settings/profile"), "Your profile is no longer public.")
		for _, face := range faces {
			require.Equal(t, http.StatusNotFound, h.open(second+face).Code, face)
		}
		require.Equal(t, http.StatusOK, h.open(other).Code)
		third := h.publish(`{"parts":["latest"]}`)
		require.Equal(t, true, h.Call(http.MethodGet, "/profile", "", http.StatusOK)["public"])
		h.Call(http.MethodDelete, "/profile", "", http.StatusNoContent)
		require.Equal(t, http.StatusNotFound, h.open(third).Code)
		log := h.Page("/activity")
		require.Equal(t, 3, strings.Count(log, "created an address for their public profile."))
		require.Contains(t, log, "deleted the address of their public profile.")
		_, err = h.Gone.Begin(t.Context(), ben)
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, h.open(other).Code, "its person is being removed")
	})
}

// A card and a badge can have the same content, and are two pictures.
func TestABadgeIsNoCard(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := filled(t)
		path := h.publish(`{"name":"Ann","parts":["latest"],"span":"30-days"}`)
		card := h.open(path + "/card.svg")
		badge := h.open(path + "/badge.svg")
		require.Contains(t, card.Body.String(), `width="1200"`)
		require.Contains(t, badge.Body.String(), `width="360"`)
		require.NotEqual(t, card.Header().Get("ETag"), badge.Header().Get("ETag"))
	})
}
