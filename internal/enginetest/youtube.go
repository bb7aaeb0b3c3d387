package enginetest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
)

const youtubeHost = "www.googleapis.com"

// YouTubeKeys are the API keys of every engine.
var YouTubeKeys = []resilience.PoolKey{{Secret: "youtube-key-aaaa"}, {Secret: "youtube-key-bbbb"},
	{Secret: "youtube-key-cccc"}}

// googleRefusals are the answers to a request with a spent key, and with an invalid one.
var googleRefusals = map[string]string{
	"spent":   `{"error":{"code":403,"message":"You have exceeded your quota.","errors":[{"domain":"youtube.quota","reason":"quotaExceeded"}]}}`,
	"invalid": `{"error":{"code":400,"message":"API key not valid.","errors":[{"domain":"global","reason":"badRequest"}],"details":[{"reason":"API_KEY_INVALID"}]}}`,
}

// youtubeWorld is the state of the simulated YouTube.
type youtubeWorld struct {
	refused map[string]string // by key: why
	liked   map[string][]string
}

// RefuseKey makes YouTube refuse a key, as "spent" or "invalid"; empty makes it accept the key again.
func (u *Upstreams) RefuseKey(key resilience.PoolKey, why string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.youtube.refused == nil {
		u.youtube.refused = map[string]string{}
	}
	u.youtube.refused[string(key.Secret)] = why
}

// Like adds a new video to those that an account likes at YouTube.
func (u *Upstreams) Like(account, title string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.youtube.liked == nil {
		u.youtube.liked = map[string][]string{}
	}
	u.youtube.liked[account] = append(u.youtube.liked[account], title)
}

// KeyCalls returns the last four characters of the key of each request to YouTube that carried one, in their order.
func (u *Upstreams) KeyCalls() (keys []string) {
	for _, c := range u.Calls("youtube") {
		if strings.HasPrefix(c.Account, "key ") {
			keys = append(keys, c.Account[len(c.Account)-4:])
		}
	}
	return keys
}

func (u *Upstreams) youtubeLocked(req *http.Request, account string) (*http.Response, error) {
	if refusal := googleRefusals[u.youtube.refused[req.Header.Get("X-Goog-Api-Key")]]; refusal != "" {
		status := 403
		if !strings.Contains(refusal, "403") {
			status = 400
		}
		return Answer(req, status, refusal), nil
	}
	if account == "" {
		return Answer(req, 401, `{"error":{"code":401,"errors":[{"reason":"authError"}]}}`), nil
	}
	items, path := []any{}, strings.TrimPrefix(req.URL.Path, "/youtube/v3")
	switch path {
	case "/channels":
		items = append(items, map[string]any{"id": "UC" + account, "snippet": map[string]any{"title": account}})
	case "/playlistItems":
		for _, title := range slices.Backward(u.youtube.liked[account]) {
			items = append(items, map[string]any{"snippet": map[string]any{"title": title,
				"videoOwnerChannelTitle": "Sigur Rós - Topic"},
				"contentDetails": map[string]any{"videoId": "video-" + title}})
		}
	case "/videos":
		for id := range strings.SplitSeq(req.URL.Query().Get("id"), ",") {
			items = append(items, map[string]any{"id": id, "contentDetails": map[string]any{"duration": "PT3M"}})
		}
	}
	return jsonAnswer(req, map[string]any{"etag": fmt.Sprint(path, len(items)), "items": items,
		"pageInfo": map[string]any{"totalResults": len(items)}}), nil
}

// NewYouTube returns YouTube with these keys and further settings, as the server's wiring does.
func (e *Engine) NewYouTube(keys []resilience.PoolKey, settings ...string) *providers.Provider {
	waits, err := e.Store.Cooldowns(context.Background())
	require.NoError(e.t, err)
	pool := resilience.NewKeyPool("youtube", keys, resilience.Options{})
	pool.Restore(waits)
	d := registry.Describe("youtube")
	keyed := resilience.NewClient(&resilience.KeyTransport{Base: e.Client.Transport, Pool: pool, Put: d.Pool.Put,
		Advice: d.Pool.Advice, Spent: d.Pool.Spent, Save: e.Store.SaveCooldowns})
	in := providers.Installation{Client: e.Client, Keyed: keyed, Keys: pool}
	return providertest.NewIn(in, d, append(settings, "client_id", "client")...)
}

// ConnectYouTube connects the user's account at Google by a new consent.
func (e *Engine) ConnectYouTube(up *Upstreams, user int64, account string) error {
	access, refresh := up.Consent(account)
	grant := oauth.Grant{Credentials: oauth.Credentials(&oauth2.Token{AccessToken: access, RefreshToken: refresh}),
		AuthorizedAt: time.Now()}
	_, err := e.Connections.ConnectOAuth(context.Background(), e.Registry.Get("youtube"), user, grant)
	return err
}
