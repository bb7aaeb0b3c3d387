package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// like is a video that a person has liked.
type like struct {
	at    int64 // Unix milliseconds
	track int
}

// like adds a liked video of that person now, of a track that they had not liked.
func (h *household) like(name string, now time.Time) Play {
	h.mu.Lock()
	defer h.mu.Unlock()
	p, id := h.people[name], h.pickLocked(false)
	for range len(h.cat.tracks) {
		if !slices.ContainsFunc(p.likes, func(l like) bool { return l.track == id }) {
			break
		}
		id = (id + 1) % len(h.cat.tracks)
	}
	p.likes = append(p.likes, like{now.UnixMilli(), id})
	return h.told(name, id, now.UnixMilli())
}

// likesOf returns the tracks of a person's liked videos, the newest first.
func (h *household) likesOf(name string) []int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	p := h.people[name]
	tracks := make([]int, 0, len(p.likes))
	for i := len(p.likes) - 1; i >= 0; i-- {
		tracks = append(tracks, p.likes[i].track)
	}
	return tracks
}

// videoID returns the id of a track's video.
func (yt *youtube) videoID(track int) string {
	return base62("youtube" + yt.home.cat.tracks[track].mbid)[:11]
}

func (yt *youtube) who(r *http.Request) string {
	t, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	yt.mu.Lock()
	defer yt.mu.Unlock()
	if a, ok := yt.access[t]; ok {
		return a.grant.account
	}
	if g := yt.grants[r.PostFormValue("refresh_token")]; g != nil {
		return g.account
	}
	return ""
}

func (yt *youtube) refuse(w http.ResponseWriter, m Mode) {
	if m == Unavailable {
		youtubeError(w, http.StatusServiceUnavailable, "backendError", "Backend Error")
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(yt.opts.RetryAfter/time.Second)))
	youtubeError(w, http.StatusTooManyRequests, "tooManyRequests", "Too many requests, please try again later.")
}

func youtubeError(w http.ResponseWriter, status int, reason, message string) {
	writeJSON(w, status, object{"error": object{"code": status, "message": message,
		"errors": []object{{"message": message, "domain": "youtube", "reason": reason}}}})
}

// api serves calls with a good access token or API key. The person is nil for a key.
func (yt *youtube) api(serve func(http.ResponseWriter, *http.Request, *person)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if key := r.Header.Get("X-Goog-Api-Key"); key != "" {
			if yt.keyAllows(w, key) {
				serve(w, r, nil)
			}
			return
		}
		t, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		yt.mu.Lock()
		a, ok := yt.access[t]
		ok = ok && !a.grant.dead && yt.opts.Now().Before(a.expires)
		yt.mu.Unlock()
		switch {
		case !ok:
			youtubeError(w, http.StatusUnauthorized, "authError", "Invalid Credentials")
		case a.grant.scope != youtubeScope:
			youtubeError(w, http.StatusForbidden, "insufficientPermissions",
				"Request had insufficient authentication scopes.")
		default:
			serve(w, r, yt.home.person(a.grant.account))
		}
	}
}

// keyAllows reports whether a key may be used, and answers the call if not.
func (yt *youtube) keyAllows(w http.ResponseWriter, key string) bool {
	i := slices.Index(youtubeKeys, key)
	mode, _ := yt.current()
	if i >= 0 {
		yt.mu.Lock()
		yt.used[i]++
		yt.mu.Unlock()
	}
	switch {
	case i < 0, mode == KeyInvalid && i == len(youtubeKeys)-1:
		writeJSON(w, http.StatusBadRequest, object{
			"error": object{
				"code":    400,
				"message": "API key not valid. Please pass a valid API key.",
				"status":  "INVALID_ARGUMENT",
				"errors": []object{
					{
						"message": "API key not valid. Please pass a valid API key.",
						"domain":  "global",
						"reason":  "badRequest",
					},
				},
				"details": []object{
					{
						"@type":  "type.googleapis.com/google.rpc.ErrorInfo",
						"reason": "API_KEY_INVALID",
						"domain": "googleapis.com",
					},
				},
			},
		})
	case mode == KeysSpent, mode == KeySpent && i == 0:
		youtubeError(w, http.StatusForbidden, "quotaExceeded",
			`The request cannot be completed because you have exceeded your `+
				`<a href="/youtube/v3/getting-started#quota">quota</a>.`)
	default:
		return true
	}
	return false
}

// answerTagged sends a list with its ETag, or answers that it has not changed.
func answerTagged(w http.ResponseWriter, r *http.Request, o object) {
	body, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(body)
	o["etag"] = hex.EncodeToString(sum[:10])
	if r.Header.Get("If-None-Match") == o["etag"] {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	writeJSON(w, http.StatusOK, o)
}

// list answers with a page of a list of n items.
func (yt *youtube) list(w http.ResponseWriter, r *http.Request, kind string, n int, item func(int) object) {
	limit := min(max(queryInt(r, "maxResults", 5), 1), 50)
	from := 0
	if token := r.FormValue("pageToken"); token != "" {
		if _, err := fmt.Sscanf(token, "P%d", &from); err != nil || from < 0 || from > n {
			youtubeError(w, http.StatusBadRequest, "invalidPageToken", "The request specifies an invalid page token.")
			return
		}
	}
	items := []object{}
	for i := from; i < min(n, from+limit); i++ {
		items = append(items, item(i))
	}
	o := object{
		"kind":     "youtube#" + kind + "ListResponse",
		"items":    items,
		"pageInfo": object{"totalResults": n, "resultsPerPage": limit},
	}
	if from+limit < n {
		o["nextPageToken"] = fmt.Sprintf("P%d", from+limit)
	}
	answerTagged(w, r, o)
}

// mine reports whether a call is for a person, and answers 401 if it has a key only.
func mine(w http.ResponseWriter, p *person) bool {
	if p == nil {
		youtubeError(w, http.StatusUnauthorized, "authorizationRequired",
			"The request uses the mine parameter but is not properly authorized.")
	}
	return p != nil
}

func (yt *youtube) channels(w http.ResponseWriter, r *http.Request, p *person) {
	if mine(w, p) {
		yt.list(w, r, "channel", 1, func(int) object {
			return object{
				"kind":    "youtube#channel",
				"id":      "UC" + base62("channel"+p.name),
				"snippet": object{"title": p.display},
			}
		})
	}
}

func (yt *youtube) playlists(w http.ResponseWriter, r *http.Request, p *person) {
	if !mine(w, p) {
		return
	}
	lists := yt.home.playlistsOf(YouTube, p.name)
	yt.list(w, r, "playlist", len(lists), func(i int) object {
		l := lists[i]
		return object{"kind": "youtube#playlist", "id": l.id, "etag": base62(l.id + l.changed.String()),
			"snippet": object{
				"title":       l.name,
				"description": l.description,
				"publishedAt": l.changed.UTC().Format(time.RFC3339),
			},
			"contentDetails": object{"itemCount": len(l.tracks)}}
	})
}

func (yt *youtube) items(w http.ResponseWriter, r *http.Request, p *person) {
	var tracks []int
	l := yt.home.playlist(YouTube, r.FormValue("playlistId"))
	switch {
	case r.FormValue("playlistId") == "LL" && p != nil:
		tracks = yt.home.likesOf(p.name)
	case l == nil || !l.public && (p == nil || l.owner != p.name):
		youtubeError(w, http.StatusNotFound, "playlistNotFound",
			"The playlist identified with the request's <code>playlistId</code> parameter cannot be found.")
		return
	default:
		tracks = l.tracks
	}
	yt.list(w, r, "playlistItem", len(tracks), func(i int) object {
		title, channel := yt.named(tracks[i])
		id := yt.videoID(tracks[i])
		return object{"kind": "youtube#playlistItem", "id": base62("row" + r.FormValue("playlistId") + id),
			"snippet": object{
				"title":                  title,
				"videoOwnerChannelTitle": channel,
				"position":               i,
				"resourceId":             object{"kind": "youtube#video", "videoId": id},
			},
			"contentDetails": object{"videoId": id}}
	})
}

func (yt *youtube) details(w http.ResponseWriter, r *http.Request, _ *person) {
	var known []int
	for id := range strings.SplitSeq(r.FormValue("id"), ",") {
		if track, ok := yt.videos[id]; ok {
			known = append(known, track)
		}
	}
	yt.list(w, r, "video", len(known), func(i int) object {
		id := yt.videoID(known[i])
		title, channel := yt.named(known[i])
		d := yt.home.cat.tracks[known[i]].duration.Round(time.Second)
		return object{
			"kind": "youtube#video",
			"id":   id,
			"snippet": object{"title": title, "channelTitle": channel, "publishedAt": "2014-11-07T09:30:12Z",
				"categoryId": "10", "thumbnails": object{"high": object{
					"url": "https://i.ytimg.com/vi/" + id + "/hqdefault.jpg", "width": 480, "height": 360}}},
			"contentDetails": object{"duration": fmt.Sprintf("PT%dM%dS", int(d.Minutes()), int(d.Seconds())%60)},
			"status":         object{"uploadStatus": "processed", "privacyStatus": "public"},
			"statistics": object{"viewCount": strconv.Itoa(1000 * (known[i] + 1)),
				"likeCount": strconv.Itoa(10 * (known[i] + 1))},
		}
	})
}

// named returns the title of a track's video and the name of its channel.
func (yt *youtube) named(track int) (title, channel string) {
	t, artist := &yt.home.cat.tracks[track], yt.home.cat.albumOf(track).artist
	if track%3 == 0 { // a video by the artist
		return artist + " - " + t.title + " (Official Video)", artist
	}
	return t.title, artist + " - Topic"
}
