package demo

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

const callback = "http://127.0.0.1:8420/connect/spotify/callback"

func (b bundle) oauth() *oauth2.Config {
	return &oauth2.Config{
		ClientID: b.Spotify.ClientID, RedirectURL: callback,
		Scopes: []string{"user-read-recently-played", "user-read-currently-playing", "playlist-read-private",
			"playlist-read-collaborative"},
		// Found out by trying, as by default, a refused code would be sent twice.
		Endpoint: oauth2.Endpoint{
			AuthURL:   b.Spotify.AuthURL,
			TokenURL:  b.Spotify.TokenURL,
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
}

// agree posts the consent form as a browser would and returns the parameters of the callback.
func (b bundle) agree(verifier, account, decision string) url.Values {
	b.t.Helper()
	u := b.oauth().AuthCodeURL("state-1", oauth2.S256ChallengeOption(verifier))
	_, query, _ := strings.Cut(u, "?")
	form := query + "&decision=" + decision
	if account != "" {
		form += "&account=" + account
	}
	r := b.do(http.MethodPost, b.Spotify.AuthURL, "", form)
	require.Equal(b.t, http.StatusSeeOther, r.status, r.body)
	to, err := url.Parse(r.header.Get("Location"))
	require.NoError(b.t, err)
	require.True(b.t, strings.HasPrefix(to.String(), callback+"?"), to.String())
	require.Equal(b.t, "state-1", to.Query().Get("state"))
	return to.Query()
}

func (b bundle) connect(account string) *oauth2.Token {
	b.t.Helper()
	verifier := oauth2.GenerateVerifier()
	token, err := b.exchange(b.agree(verifier, account, "agree").Get("code"), verifier)
	require.NoError(b.t, err)
	return token
}

func (b bundle) exchange(code, verifier string) (*oauth2.Token, error) {
	ctx := contextWith(b)
	return b.oauth().Exchange(ctx, code, oauth2.VerifierOption(verifier))
}

func (b bundle) refresh(token string) (*oauth2.Token, error) {
	return b.oauth().TokenSource(contextWith(b), &oauth2.Token{RefreshToken: token}).Token()
}

func (b bundle) me(token string) reply {
	b.t.Helper()
	return b.get(b.Spotify.URL+"/v1/me", "Bearer "+token)
}

type recent struct {
	Items []struct {
		Track struct {
			ID, Name    string
			DurationMS  int `json:"duration_ms"`
			Artists     []struct{ Name string }
			Album       struct{ Name string }
			ExternalIDs struct{ ISRC string } `json:"external_ids"`
		}
		PlayedAt time.Time `json:"played_at"`
	}
	Next    string
	Cursors *struct{ After, Before string }
}

func (b bundle) recent(token, query string) recent {
	b.t.Helper()
	return parse[recent](b, b.get(b.Spotify.URL+"/v1/me/player/recently-played?"+query, "Bearer "+token), 200)
}

func TestConsentAndTokens(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	u := b.oauth().AuthCodeURL("state-1", oauth2.S256ChallengeOption("verifier"))
	r := b.get(u, "")
	require.Equal(t, 200, r.status)
	require.Contains(t, r.body, "See what you have recently played")
	require.Contains(t, r.body, "Signed in as <strong>Alice</strong>")
	require.Contains(t, r.body, `value="alice" checked`)
	require.Contains(t, r.body, `name="state" value="state-1"`)
	require.Contains(t, b.get(b.Spotify.URL+"/consent.css", "").header.Get("Content-Type"), "text/css")

	token := b.connect("")
	require.Equal(t, "Bearer", token.TokenType)
	require.InDelta(t, 3600, token.ExpiresIn, 1)
	require.NotEmpty(t, token.RefreshToken)
	require.Equal(t, "alice", parse[struct{ ID string }](b, b.me(token.AccessToken), 200).ID)
	require.Len(t, b.recent(token.AccessToken, "limit=50").Items, 50)
	require.Equal(t, "bob", parse[struct{ ID string }](b, b.me(b.connect(Bob).AccessToken), 200).ID)
	require.Equal(t, "access_denied", b.agree("v", "", "cancel").Get("error"))
}

func TestConsentRefusesAWrongRequest(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	good := url.Values{
		"client_id": {b.Spotify.ClientID}, "redirect_uri": {callback}, "response_type": {"code"},
		"scope":          {"playlist-read-private"},
		"code_challenge": {"x"}, "code_challenge_method": {"S256"},
	}
	for name, c := range map[string]struct{ field, value, shown, redirected string }{
		"client":             {"client_id", "other", "INVALID_CLIENT: Invalid client", ""},
		"no redirect":        {"redirect_uri", "", "INVALID_CLIENT: Invalid redirect URI", ""},
		"localhost":          {"redirect_uri", "http://localhost:8420/cb", "INVALID_CLIENT: Insecure redirect URI", ""},
		"response type":      {"response_type", "token", "", "unsupported_response_type"},
		"no challenge":       {"code_challenge", "", "", "invalid_request"},
		"plain challenge":    {"code_challenge_method", "plain", "", "invalid_request"},
		"a scope of its own": {"scope", "everything", "", "invalid_scope"},
	} {
		t.Run(name, func(t *testing.T) {
			q := url.Values{c.field: {c.value}}
			for k, v := range good {
				if k != c.field {
					q[k] = v
				}
			}
			for _, r := range []reply{
				b.get(b.Spotify.AuthURL+"?"+q.Encode(), ""),
				b.do(http.MethodPost, b.Spotify.AuthURL, "", q.Encode()+"&decision=agree"),
			} {
				if c.shown != "" {
					require.Equal(t, 400, r.status)
					require.Contains(t, r.body, c.shown)
					continue
				}
				require.Equal(t, http.StatusSeeOther, r.status)
				require.Contains(t, r.header.Get("Location"), "error="+c.redirected)
			}
		})
	}
	good.Set("redirect_uri", "https://music.example.org/cb?keep=1")
	require.Contains(t,
		b.do(http.MethodPost, b.Spotify.AuthURL, "", good.Encode()+"&decision=agree").header.Get("Location"), "keep=1")
}

func TestCodesAreSingleUseAndBound(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	code := b.agree("right-verifier", "", "agree").Get("code")
	_, err := b.exchange(code, "right-verifier")
	require.NoError(t, err)
	_, err = b.exchange(code, "right-verifier")
	require.ErrorContains(t, err, "invalid_grant")
	_, err = b.exchange(b.agree("right-verifier", "", "agree").Get("code"), "wrong")
	require.ErrorContains(t, err, "code_verifier was incorrect")
	r := b.do(http.MethodPost, b.Spotify.TokenURL, "", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {b.Spotify.ClientID}, "redirect_uri": {callback + "2"},
		"code_verifier": {"right-verifier"}, "code": {b.agree("right-verifier", "", "agree").Get("code")},
	}.Encode())
	require.Contains(t, r.body, "Invalid redirect URI")
	r = b.do(http.MethodPost, b.Spotify.TokenURL, "", "grant_type=refresh_token&client_id=other")
	require.Equal(t, "invalid_client", parse[struct{ Error string }](b, r, 400).Error)
	r = b.do(http.MethodPost, b.Spotify.TokenURL, "", "grant_type=password&client_id="+b.Spotify.ClientID)
	require.Equal(t, "unsupported_grant_type", parse[struct{ Error string }](b, r, 400).Error)
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	first := b.connect("").RefreshToken
	post := func(token string) string {
		r := b.do(http.MethodPost, b.Spotify.TokenURL, "",
			"grant_type=refresh_token&client_id="+b.Spotify.ClientID+"&refresh_token="+token)
		return parse[struct {
			Refresh string `json:"refresh_token"`
		}](b, r, 200).Refresh
	}
	require.Empty(t, post(first), "the first answer has none: the old one is kept")
	second := post(first)
	require.NotEmpty(t, second)
	require.Empty(t, post(first), "good until its successor was used: the answer may have been lost")
	require.NotEmpty(t, post(second))
	_, err := b.refresh(first)
	require.ErrorContains(t, err, "invalid_grant")
}

func TestAccessTokensExpire(t *testing.T) {
	t.Parallel()
	now := make(chan time.Time, 1)
	now <- friday
	clock := func() time.Time { v := <-now; now <- v; return v }
	b := setup(t, Options{Now: clock, TokenLife: time.Hour})
	token := b.connect("")
	require.Equal(t, 200, b.me(token.AccessToken).status)
	<-now
	now <- friday.Add(time.Hour)
	r := b.me(token.AccessToken)
	require.Equal(t, 401, r.status)
	require.Contains(t, r.body, "The access token expired")
	renewed, err := b.refresh(token.RefreshToken)
	require.NoError(t, err)
	require.Equal(t, 200, b.me(renewed.AccessToken).status)
}

func TestRevokedIsForGoodAndANewConsentHeals(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	old := b.connect("")
	b.switchTo(Spotify, Revoked)
	require.Equal(t, 401, b.me(old.AccessToken).status)
	r := b.do(http.MethodPost, b.Spotify.TokenURL, "",
		"grant_type=refresh_token&client_id="+b.Spotify.ClientID+"&refresh_token="+old.RefreshToken)
	require.Equal(t, 400, r.status)
	require.JSONEq(t, `{"error":"invalid_grant"}`, r.body)

	b.switchTo(Spotify, Normal)
	require.Equal(t, 401, b.me(old.AccessToken).status, "the switch alone brings nothing back")
	b.switchTo(Spotify, Revoked)

	fresh := b.connect("")
	require.Equal(t, Normal, b.mode(Spotify))
	require.Equal(t, 200, b.me(fresh.AccessToken).status)
	require.Equal(t, 401, b.me(old.AccessToken).status)
	_, err := b.refresh(old.RefreshToken)
	require.Error(t, err)
	_, err = b.refresh(fresh.RefreshToken)
	require.NoError(t, err)
}

func TestWrongAccount(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	b.switchTo(Spotify, WrongAccount)
	require.Contains(t, b.get(b.oauth().AuthCodeURL("s", oauth2.S256ChallengeOption("v")), "").body,
		"Signed in as <strong>Bob</strong>")
	require.Equal(t, "bob", parse[struct{ ID string }](b, b.me(b.connect("").AccessToken), 200).ID)
	require.Equal(t, "alice", parse[struct{ ID string }](b, b.me(b.connect(Alice).AccessToken), 200).ID)
}

func TestSpotifyFailuresLeaveTheConsentPage(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	b.switchTo(Spotify, RateLimited)
	require.Equal(t, 429, b.me(b.connect("").AccessToken).status, "the API is limited, the token endpoint is not")
	b.switchTo(Spotify, Unavailable)
	_, err := b.exchange(b.agree("v", "", "agree").Get("code"), "v")
	require.ErrorContains(t, err, "503")
}

func TestRecentlyPlayed(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	token := b.Spotify.Authorize(Alice, "user-read-recently-played").AccessToken
	all := b.recent(token, "limit=50")
	require.Len(t, all.Items, 50)
	require.Empty(t, all.Next)
	for i, it := range all.Items[1:] {
		require.True(t, it.PlayedAt.Before(all.Items[i].PlayedAt))
	}
	first := b.recent(token, "")
	require.Equal(t, all.Items[:20], first.Items)
	next := parse[recent](b, b.get(first.Next, "Bearer "+token), 200)
	require.Equal(t, all.Items[20:40], next.Items)

	cursor := itoa(all.Items[7].PlayedAt.UnixMilli())
	require.Equal(t, all.Items[:7], b.recent(token, "limit=50&after="+cursor).Items)
	require.Equal(t, all.Items[8:], b.recent(token, "limit=50&before="+cursor).Items)
	require.Nil(t, b.recent(token, "after="+itoa(friday.UnixMilli())).Cursors)
	for _, q := range []string{"limit=51", "limit=0", "after=x", "after=1&before=2"} {
		require.Equal(t, 400, b.get(b.Spotify.URL+"/v1/me/player/recently-played?"+q, "Bearer "+token).status, q)
	}
	for range 3 {
		b.Play()
	}
	later := b.recent(token, "limit=50").Items
	require.Len(t, later, 50)
	require.Equal(t, all.Items[:47], later[3:])

	without := b.Spotify.Authorize(Alice).AccessToken
	r := b.get(b.Spotify.URL+"/v1/me/player/recently-played", "Bearer "+without)
	require.Equal(t, 403, r.status)
	require.Contains(t, r.body, "Insufficient client scope")
}

func TestSpotifyPlaylists(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	auth := "Bearer " + b.Spotify.Authorize(Alice, "playlist-read-private").AccessToken
	type list struct {
		Total int
		Next  string
		Items []struct {
			ID, Name   string
			SnapshotID string `json:"snapshot_id"`
			Items      struct{ Total int }
			Owner      struct{ ID string }
		}
	}
	lists := parse[list](b, b.get(b.Spotify.URL+"/v1/me/playlists?limit=2", auth), 200)
	require.Equal(t, 5, lists.Total)
	require.Len(t, lists.Items, 2)
	require.NotEmpty(t, lists.Items[0].SnapshotID)
	lists = parse[list](b, b.get(b.Spotify.URL+"/v1/me/playlists?limit=50", auth), 200)
	require.Empty(t, lists.Next)

	type rows struct {
		Total int
		Next  string
		Items []struct {
			Item *struct {
				ID, Name string
				IsLocal  bool `json:"is_local"`
			}
		}
	}
	for _, l := range lists.Items {
		at := b.Spotify.URL + "/v1/playlists/" + l.ID
		require.Equal(t, 403, b.get(at+"/tracks", auth).status)
		if l.Owner.ID == Spotify {
			require.Equal(t, 403, b.get(at+"/items", auth).status, "closed to apps")
			continue
		}
		n, gone, local := 0, 0, 0
		for next := at + "/items?limit=100"; next != ""; {
			r := parse[rows](b, b.get(next, auth), 200)
			require.Equal(t, l.Items.Total, r.Total)
			for _, it := range r.Items {
				n++
				if it.Item == nil {
					gone++
				} else if it.Item.IsLocal {
					local++
				}
			}
			next = r.Next
		}
		require.Equal(t, l.Items.Total, n, l.Name)
		if l.Name == "Road trip" {
			require.Equal(t, []int{1, 1}, []int{gone, local})
		}
	}
	require.Equal(t, 404, b.get(b.Spotify.URL+"/v1/playlists/none/items", auth).status)
	require.Equal(t, 401, b.get(b.Spotify.URL+"/v1/me/playlists", "").status)
}
