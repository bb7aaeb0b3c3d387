package demo

import (
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

// rate has a person like a video, or takes that back.
func (h *household) rate(name string, track int, likes bool, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.people[name]
	is := func(l like) bool { return l.track == track }
	switch {
	case !likes:
		p.likes = slices.DeleteFunc(slices.Clone(p.likes), is)
	case !slices.ContainsFunc(p.likes, is):
		p.likes = append(p.likes, like{now.UnixMilli(), track})
	}
}

// rate sets what a person thinks of a video.
func (yt *youtube) rate(w http.ResponseWriter, r *http.Request, p *person) {
	if !mine(w, p) {
		return
	}
	id, rating := r.FormValue("id"), r.FormValue("rating")
	yt.home.mu.RLock()
	track, ok := yt.home.byID[id]
	yt.home.mu.RUnlock()
	switch {
	case rating != "like" && rating != "none":
		youtubeError(w, http.StatusBadRequest, "invalidRating", "The request contained an unexpected value for rating.")
	case !ok || yt.vanished(id) != "":
		youtubeError(w, http.StatusNotFound, "videoNotFound", "The video that you are trying to rate cannot be found.")
	default:
		yt.home.rate(p.name, track, rating == "like", yt.opts.Now())
		w.WriteHeader(http.StatusNoContent)
	}
}

// likesOf returns the tracks of a person's liked videos with when they were liked, the newest first.
func (h *household) likesOf(name string) (tracks []int, at []int64) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, l := range slices.Backward(h.people[name].likes) {
		tracks, at = append(tracks, l.track), append(at, l.at)
	}
	return tracks, at
}

// who returns "key" and the last characters of an API key instead of an account.
func (yt *youtube) who(r *http.Request) string {
	if key := r.Header.Get("X-Goog-Api-Key"); key != "" {
		return "key " + key[max(0, len(key)-4):]
	}
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
		refusal := yt.refused[""]
		yt.mu.Unlock()
		switch {
		case refusal == KeySpent:
			youtubeSpent(w)
		case !ok:
			youtubeError(w, http.StatusUnauthorized, "authError", "Invalid Credentials")
		case !slices.Contains(strings.Fields(a.grant.scope), youtubeScope),
			r.Method == http.MethodPost && !slices.Contains(strings.Fields(a.grant.scope), youtubeWrites):
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
	yt.mu.Lock()
	refusal, known := yt.refused[key]
	if i >= 0 {
		yt.used[i]++
	}
	yt.mu.Unlock()
	switch {
	case i < 0 && !known, refusal == KeyInvalid, mode == KeyInvalid && i == len(youtubeKeys)-1:
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
	case refusal == KeySpent, mode == KeysSpent, mode == KeySpent && i == 0:
		youtubeSpent(w)
	default:
		return true
	}
	return false
}

func youtubeSpent(w http.ResponseWriter) {
	youtubeError(w, http.StatusForbidden, "quotaExceeded", `The request cannot be completed because you have exceeded `+
		`your <a href="/youtube/v3/getting-started#quota">quota</a>.`)
}

// tagOf returns the ETag of an object, and answers that the object has not changed if the request has that ETag.
func tagOf(w http.ResponseWriter, r *http.Request, o object) (tag string, same bool) {
	tag = base62(fmt.Sprint(o)) // maps are printed in the order of their keys
	if same = strings.Trim(r.Header.Get("If-None-Match"), `"`) == tag; same {
		w.WriteHeader(http.StatusNotModified)
	}
	return tag, same
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
	if tag, same := tagOf(w, r, o); !same {
		o["etag"] = tag
		writeJSON(w, http.StatusOK, o)
	}
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
		privacy := "private"
		if l.unlisted {
			privacy = "unlisted"
		} else if l.public {
			privacy = "public"
		}
		return object{"kind": "youtube#playlist", "id": l.id, "etag": l.version(),
			"status": object{"privacyStatus": privacy},
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
	var added []int64
	l := yt.home.playlist(YouTube, r.FormValue("playlistId"))
	switch {
	case r.FormValue("playlistId") == "LL" && p != nil:
		tracks, added = yt.home.likesOf(p.name)
	case l == nil || !l.public && (p == nil || l.owner != p.name):
		youtubeError(w, http.StatusNotFound, "playlistNotFound",
			"The playlist identified with the request's <code>playlistId</code> parameter cannot be found.")
		return
	default:
		tracks = l.tracks
		added = slices.Repeat([]int64{l.changed.UnixMilli()}, len(tracks))
	}
	yt.list(w, r, "playlistItem", len(tracks), func(i int) object {
		title, channel := yt.named(tracks[i])
		song, _ := yt.home.song(tracks[i])
		id, privacy := song.videoID, "public"
		switch yt.vanished(id) {
		case "private":
			title, channel, privacy = "Private video", "", "private"
		case "deleted":
			title, channel, privacy = "Deleted video", "", "privacyStatusUnspecified"
		}
		return object{"kind": "youtube#playlistItem", "id": base62("row" + r.FormValue("playlistId") + id),
			"status": object{"privacyStatus": privacy},
			"snippet": object{
				"title":                  title,
				"publishedAt":            time.UnixMilli(added[i]).UTC().Format(time.RFC3339),
				"videoOwnerChannelTitle": channel,
				"position":               i,
				"resourceId":             object{"kind": "youtube#video", "videoId": id},
			},
			"contentDetails": object{"videoId": id}}
	})
}

func (yt *youtube) details(w http.ResponseWriter, r *http.Request, _ *person) {
	var known []int
	ids := strings.Split(r.FormValue("id"), ",")
	yt.mu.Lock()
	yt.asked = append(yt.asked, len(ids))
	yt.mu.Unlock()
	for _, id := range ids {
		yt.home.mu.RLock()
		track, ok := yt.home.byID[id]
		yt.home.mu.RUnlock()
		if ok && yt.vanished(id) == "" {
			known = append(known, track)
		}
	}
	yt.list(w, r, "video", len(known), func(i int) object {
		title, channel := yt.named(known[i])
		song, album := yt.home.song(known[i])
		id, d := song.videoID, song.duration.Round(time.Second)
		return object{
			"kind": "youtube#video",
			"id":   id,
			"snippet": object{"title": title, "channelTitle": channel, "publishedAt": "2014-11-07T09:30:12Z",
				"categoryId": "10", "tags": []string{album.genre}, "thumbnails": object{"high": object{
					"url": "https://i.ytimg.com/vi/" + id + "/hqdefault.jpg", "width": 480, "height": 360}}},
			"contentDetails": object{"duration": fmt.Sprintf("PT%dM%dS", int(d.Minutes()), int(d.Seconds())%60),
				"regionRestriction": object{"blocked": song.blocked}},
			"status": object{"uploadStatus": "processed", "privacyStatus": "public"},
			"statistics": object{"viewCount": strconv.Itoa(1000 * (known[i] + 1)),
				"likeCount": strconv.Itoa(10 * (known[i] + 1))},
		}
	})
}

// named returns the title of a track's video and the name of its channel.
func (yt *youtube) named(track int) (title, channel string) {
	t, a := yt.home.song(track)
	if track%3 == 0 && track < len(yt.home.cat.tracks) { // a video by the artist
		return a.artist + " - " + t.title + " (Official Video)", a.artist
	}
	return t.title, a.artist + " - Topic"
}
