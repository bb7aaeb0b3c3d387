package librefm_test

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/librefm"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
)

var (
	geoff  = library.Credentials{"username": "Geoff", "password": "a password"}
	newest = time.Date(2026, 11, 20, 21, 0, 0, 0, time.UTC)
)

// gnuFM is a server with n plays, one each minute, the latest at newest. It knows no from and to, and says nothing of
// pages.
type gnuFM struct {
	n       int
	bounded bool   // unlike GNU FM, it knows them
	session string // the one that it accepts; a new one with each signing in
	signIns int
	taken   map[string]bool
	asked   []string // hosts
}

func start(n int) *gnuFM { return &gnuFM{n: n, taken: map[string]bool{}} }

func hashed(text string) string { sum := md5.Sum([]byte(text)); return hex.EncodeToString(sum[:]) }

type object = map[string]any

func (g *gnuFM) answer(r *http.Request) (int, http.Header, string) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	form, _ := url.ParseQuery(string(body))
	g.asked = append(g.asked, r.URL.Host+r.URL.Path)
	text, _ := json.Marshal(g.call(form))
	return http.StatusOK, http.Header{"Content-Type": {"text/javascript"}}, string(text)
}

func (g *gnuFM) call(form url.Values) any {
	method := form.Get("method")
	if method == "auth.getMobileSession" {
		if form.Get("authToken") != hashed(strings.ToLower(form.Get("username"))+hashed("a password")) {
			return object{"error": 4, "message": "Invalid authentication token supplied"}
		}
		g.signIns++
		g.session = fmt.Sprintf("%032d", g.signIns)
		return object{"session": object{"name": "geoff", "key": g.session, "subscriber": 0}}
	}
	if form.Get("sk") != g.session || g.session == "" {
		return object{"error": object{"#text": "Invalid session key - Please re-authenticate", "code": "9"}}
	}
	switch method {
	case "user.getRecentTracks":
		return g.recent(form)
	case "track.updateNowPlaying":
		return object{"nowplaying": object{}}
	}
	return g.scrobbled(form)
}

func (g *gnuFM) recent(form url.Values) any {
	if g.n == 0 {
		return object{"error": object{"#text": "Invalid resource specified", "code": "7"}}
	}
	page, _ := strconv.Atoi(form.Get("page"))
	limit, _ := strconv.Atoi(form.Get("limit"))
	if to, _ := strconv.ParseInt(form.Get("to"), 10, 64); g.bounded && to > 0 && to <= newest.Unix()-60*int64(g.n) {
		return object{"error": object{"#text": "Invalid resource specified", "code": "7"}}
	}
	tracks := []object{}
	for i := (page - 1) * limit; i < min(page*limit, g.n); i++ {
		at := newest.Add(-time.Duration(i) * time.Minute)
		tracks = append(tracks, object{"artist": object{"#text": "Björk", "mbid": ""}, "mbid": "",
			"name": fmt.Sprint("Song ", g.n-i), "album": object{"#text": "Post", "mbid": ""}, "streamable": "",
			"date": object{"#text": at.Format("02 Jan 2006 15:04") + " GMT", "uts": strconv.FormatInt(at.Unix(), 10)}})
	}
	return object{"recenttracks": object{"track": tracks, "@attr": object{"user": "geoff"}}}
}

func (g *gnuFM) scrobbled(form url.Values) any {
	all, accepted := []object{}, 0
	for i := 0; form.Has(fmt.Sprintf("artist[%d]", i)); i++ {
		play, code := fmt.Sprint(form.Get(fmt.Sprintf("track[%d]", i)), form.Get(fmt.Sprintf("timestamp[%d]", i))), "0"
		switch at, _ := strconv.ParseInt(form.Get(fmt.Sprintf("timestamp[%d]", i)), 10, 64); {
		case at < 1009000000:
			code = "4"
		case g.taken[play]:
			code = "91"
		default:
			g.taken[play] = true
			accepted++
		}
		all = append(all, object{"ignoredMessage": object{"#text": "", "code": code}})
	}
	var scrobble any = all
	if len(all) == 1 {
		scrobble = all[0]
	}
	return object{"scrobbles": object{"scrobble": scrobble, "@attr": object{"accepted": strconv.Itoa(accepted),
		"ignored": strconv.Itoa(len(all) - accepted)}}}
}

func open(g *gnuFM, cred library.Credentials) providers.Adapter {
	return providertest.New(librefm.Describe()).Open(providertest.Call(providertest.Respond(g.answer)), cred)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	aboutTheCall := map[int]resilience.Meaning{}
	for _, status := range []int{400, 404, 410, 422} {
		aboutTheCall[status] = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Contract,
			Scope: resilience.ScopeStream}
	}
	signedIn := library.Credentials{"username": "Geoff", "password": "a password", "user": "geoff",
		"session_key": "the session"}
	far := func(r *http.Request) (int, http.Header, string) {
		g := start(3)
		g.session = "the session"
		return g.answer(r)
	}
	providertest.Run(t, providertest.Suite{
		Provider: providertest.New(librefm.Describe()), Credentials: signedIn, Secrets: []string{"the session"},
		Prove: providertest.Capability{Healthy: far}, Listens: providertest.Capability{Healthy: far},
		Submit: providertest.Capability{Healthy: far, Statuses: aboutTheCall},
	})
}

func TestDescription(t *testing.T) {
	t.Parallel()
	providertest.Describes(t, librefm.Describe())
}

func TestLibreFMItselfOrAnotherServer(t *testing.T) {
	t.Parallel()
	for typed, asked := range map[string]string{"": "libre.fm/2.0/", "https://libre.fm/": "libre.fm/2.0/",
		"fm.example.org/music/2.0/": "fm.example.org/music/2.0/"} {
		want := providers.Account{ID: "libre.fm#geoff", Name: "geoff"}
		if strings.HasPrefix(typed, "fm.") {
			want.ID, want.Label = "fm.example.org#geoff", "fm.example.org"
		}
		g, cred := start(1), library.Credentials{"username": " Geoff ", "password": "a password", "url": typed}
		account, err := open(g, cred).Prove(t.Context())
		require.NoError(t, err)
		require.Equal(t, g.session, account.Learned["session_key"])
		require.Equal(t, want.Label != "", account.Learned["url"] == "https://fm.example.org/music")
		account.Learned = nil
		require.Equal(t, want, account)
		require.Equal(t, []string{asked}, g.asked)
	}
}

func TestAWrongPassword(t *testing.T) {
	t.Parallel()
	_, err := open(start(1), library.Credentials{"username": "Geoff", "password": "another"}).Prove(t.Context())
	require.Equal(t, resilience.Auth, resilience.VerdictOf(err).Category)
	var refused *resilience.AnswerError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "The server rejected the username or the password.", refused.Advice().String())
	require.NotContains(t, err.Error(), "another")
}

func TestAWholeHistoryIsRead(t *testing.T) {
	t.Parallel()
	g := start(1001)
	seen := map[string]bool{}
	for page, err := range open(g, geoff).(providers.ListenSource).Listens(t.Context(), library.Span{}) {
		require.NoError(t, err)
		for _, l := range page.Listens {
			require.False(t, seen[l.SourceID])
			seen[l.SourceID] = true
		}
	}
	require.Len(t, seen, 1001)
	require.Equal(t, 1, g.signIns, "it signs in when it has no session")
}

func TestAPersonWithoutPlays(t *testing.T) {
	t.Parallel()
	for range open(start(0), geoff).(providers.ListenSource).Listens(t.Context(), library.Span{}) {
		t.Fatal("a page, or an error")
	}
}

func TestASessionThatEndedIsRenewed(t *testing.T) {
	t.Parallel()
	g := start(1)
	a := open(g, library.Credentials{"username": "Geoff", "password": "a password", "user": "geoff",
		"session_key": "an old one"})
	require.NoError(t, a.(providers.PlayingTaker).Playing(t.Context(), library.Track{Title: "Jóga", Artist: "Björk"}))
	require.Equal(t, 1, g.signIns)
}

func TestARepeatIsNoFailure(t *testing.T) {
	t.Parallel()
	a := open(start(0), geoff).(providers.ListenTaker)
	plays := []library.StoredListen{
		{Listen: library.Listen{Track: library.Track{Title: "Jóga", Artist: "Björk"}, PlayedAt: newest}},
		{Listen: library.Listen{Track: library.Track{Title: "Jóga", Artist: "Björk"}, PlayedAt: time.Unix(1e9, 0)}},
	}
	for range 2 {
		outcomes, err := a.Submit(t.Context(), plays)
		require.NoError(t, err)
		require.NoError(t, outcomes[0])
		require.Equal(t, resilience.ScopeItem, resilience.VerdictOf(outcomes[1]).Scope, "older than the server accepts")
	}
}

// What ignores the bounds of a time can't be compared, nor can what has nothing; reading tells what others have.
func TestWhetherATimeCanBeAskedFor(t *testing.T) {
	t.Parallel()
	for g, can := range map[*gnuFM]bool{start(500): false, {bounded: true}: false, {n: 500, bounded: true}: true} {
		n, err := open(g, geoff).(providers.Historian).CountBetween(t.Context(), newest.AddDate(0, -1, 0), newest)
		if can {
			require.NoError(t, err)
			require.Equal(t, -1, n)
		} else {
			require.ErrorIs(t, err, providers.ErrNotOffered)
		}
	}
}
