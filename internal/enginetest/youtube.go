package enginetest

import (
	"context"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
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
	"spent": `{"error":{"code":403,"message":"You have exceeded your quota.",
		"errors":[{"domain":"youtube.quota","reason":"quotaExceeded"}]}}`,
	"invalid": `{"error":{"code":400,"message":"API key not valid.",
		"errors":[{"domain":"global","reason":"badRequest"}],"details":[{"reason":"API_KEY_INVALID"}]}}`,
}

// youtubeWorld is the state of the simulated YouTube.
type youtubeWorld struct {
	refused map[string]string // by key: why
	spent   bool              // the quota of the client id's project is
	liked   map[string][]string
	lists   []youtubeList
	gone    map[string]string // by video: "private" or "deleted"
	asked   []int             // how many videos each call of /videos named
}

type youtubeList struct {
	owner, id, privacy string
	videos             []string
}

// SpendProject makes YouTube refuse every call in a person's name, because the quota of the client id's project is
// used up; false ends that.
func (u *Upstreams) SpendProject(spent bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.youtube.spent = spent
}

// SetYouTubePlaylist gives an account a playlist at YouTube, "public", "unlisted" or "private", with these videos.
func (u *Upstreams) SetYouTubePlaylist(account, id, privacy string, videos ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	w := &u.youtube
	w.lists = slices.DeleteFunc(w.lists, func(l youtubeList) bool { return l.id == id })
	w.lists = append(w.lists, youtubeList{account, id, privacy, videos})
}

// Vanish makes a video "private" or "deleted" at YouTube; empty brings it back.
func (u *Upstreams) Vanish(video, how string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.youtube.gone == nil {
		u.youtube.gone = map[string]string{}
	}
	u.youtube.gone[video] = how
}

// VideosAsked returns how many videos each call for videos named, in the order of the calls.
func (u *Upstreams) VideosAsked() []int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.youtube.asked)
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
	key := req.Header.Get("X-Goog-Api-Key")
	refusal := googleRefusals[u.youtube.refused[key]]
	if key == "" && u.youtube.spent {
		refusal = googleRefusals["spent"]
	}
	if refusal != "" {
		status := 403
		if !strings.Contains(refusal, "403") {
			status = 400
		}
		return Answer(req, status, refusal), nil
	}
	query := req.URL.Query()
	if account == "" || key != "" && query.Get("mine") != "" {
		return Answer(req, 401, `{"error":{"code":401,"errors":[{"reason":"authError"}]}}`), nil
	}
	if key != "" {
		account = ""
	}
	items, path := []any{}, strings.TrimPrefix(req.URL.Path, "/youtube/v3")
	total, next := 0, ""
	switch path {
	case "/channels":
		items = append(items, map[string]any{"id": "UC" + account, "snippet": map[string]any{"title": account}})
	case "/playlists":
		for _, l := range u.youtube.lists {
			if l.owner == account {
				items = append(items, map[string]any{"id": l.id, "etag": fmt.Sprint(l.videos),
					"snippet": map[string]any{"title": l.id}, "status": map[string]any{"privacyStatus": l.privacy},
					"contentDetails": map[string]any{"itemCount": len(l.videos)}})
			}
		}
	case "/playlistItems":
		videos, ok := u.videosLocked(query.Get("playlistId"), account)
		if !ok {
			return Answer(req, 404, `{"error":{"code":404,"errors":[{"reason":"playlistNotFound"}]}}`), nil
		}
		from, _ := strconv.Atoi(query.Get("pageToken"))
		to := min(from+50, len(videos))
		if to < len(videos) {
			next = strconv.Itoa(to)
		}
		total = len(videos)
		for _, id := range videos[from:to] {
			items = append(items, u.placeLocked(id))
		}
	case "/videos":
		ids := strings.Split(query.Get("id"), ",")
		u.youtube.asked = append(u.youtube.asked, len(ids))
		for _, id := range ids {
			if u.youtube.gone[id] == "" {
				items = append(items, youtubeVideo(id))
			}
		}
	}
	answer := map[string]any{"items": items, "pageInfo": map[string]any{"totalResults": max(total, len(items))}}
	if next != "" {
		answer["nextPageToken"] = next
	}
	b, _ := json.Marshal(answer) // maps of plain values
	answer["etag"] = fmt.Sprintf("%x", md5.Sum(b))
	return jsonAnswer(req, answer), nil
}

// videosLocked returns the videos of a playlist, and whether the account may see it; empty means anybody.
func (u *Upstreams) videosLocked(list, account string) (videos []string, ok bool) {
	if list == "LL" {
		for _, title := range slices.Backward(u.youtube.liked[account]) {
			videos = append(videos, "video-"+title)
		}
		return videos, account != ""
	}
	for _, l := range u.youtube.lists {
		if l.id == list && (l.privacy != "private" || l.owner == account) {
			return l.videos, true
		}
	}
	return nil, false
}

func (u *Upstreams) placeLocked(id string) map[string]any {
	snippet := map[string]any{"title": strings.TrimPrefix(id, "video-"),
		"videoOwnerChannelTitle": "Sigur Rós - Topic"}
	privacy := "public"
	switch u.youtube.gone[id] {
	case "private":
		snippet, privacy = map[string]any{"title": "Private video"}, "private"
	case "deleted":
		snippet, privacy = map[string]any{"title": "Deleted video"}, "privacyStatusUnspecified"
	}
	return map[string]any{"snippet": snippet, "contentDetails": map[string]any{"videoId": id},
		"status": map[string]any{"privacyStatus": privacy}}
}

func youtubeVideo(id string) map[string]any {
	return map[string]any{"id": id,
		"snippet": map[string]any{"title": strings.TrimPrefix(id, "video-"), "channelTitle": "Sigur Rós - Topic",
			"publishedAt": "1999-06-12T00:00:00Z", "categoryId": "10", "tags": []string{"post-rock", "Iceland"},
			"thumbnails": map[string]any{"high": map[string]any{"url": "https://i.ytimg.com/vi/" + id + "/hq.jpg",
				"width": 480}}},
		"contentDetails": map[string]any{"duration": "PT3M",
			"regionRestriction": map[string]any{"blocked": []string{"DE"}}},
		"status":     map[string]any{"privacyStatus": "public", "uploadStatus": "processed"},
		"statistics": map[string]any{"viewCount": "1234567", "likeCount": "2345"}}
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
