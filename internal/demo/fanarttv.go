package demo

import (
	"context"
	"image/jpeg"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// FanartTVServer is where the simulated Fanart.tv is.
type FanartTVServer struct {
	URL  string   // without /v3
	Keys []string // a project's API keys
	ft   *fanartTV
}

// keyCalls returns how many requests came with each of Keys.
func (s FanartTVServer) keyCalls() []int {
	s.ft.mu.Lock()
	defer s.ft.mu.Unlock()
	return slices.Clone(s.ft.used)
}

var fanartKeys = []string{"simulated-fanart-key-one-0001", "simulated-fanart-key-two-0002"}

type fanartTV struct {
	*gate
	artists, groups map[string]*album // by MBID

	mu   sync.Mutex
	used []int // requests by key
}

func (w *World) startFanartTV(ctx context.Context) error {
	ft := &fanartTV{artists: map[string]*album{}, groups: map[string]*album{}, used: make([]int, len(fanartKeys))}
	for i := range w.home.cat.albums {
		a := &w.home.cat.albums[i]
		ft.artists[artistMBID(a.artist)], ft.groups[a.groupMBID()] = a, a
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v3/music/{mbid}", ft.api(ft.artist))
	mux.HandleFunc("GET /v3/music/albums/{mbid}", ft.api(ft.group))
	mux.HandleFunc("GET /fanart/music/{mbid}/{kind}/{file}", drawPicture)
	ft.gate = w.newGate(ctx, rules{
		who:    func(*http.Request) string { return "" },
		refuse: ft.refuse,
		next:   mux.ServeHTTP,
		lacks:  []Mode{Revoked},
	}, KeySpent, KeyInvalid)
	base, err := w.serve(ctx, FanartTV, ft.gate)
	w.FanartTV = FanartTVServer{URL: base, Keys: fanartKeys, ft: ft}
	return err
}

func (ft *fanartTV) refuse(w http.ResponseWriter, m Mode) {
	if m == Unavailable {
		fanartError(w, http.StatusServiceUnavailable, "Service unavailable")
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(ft.opts.RetryAfter/time.Second)))
	fanartError(w, http.StatusTooManyRequests, "Rate limit exceeded")
}

func fanartError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, object{"status": "error", "error message": message})
}

// api serves a call that has the key of a project. What serve returns is the answer; nil when there is no art.
func (ft *fanartTV) api(serve func(mbid, base string) object) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Api-Key")
		if key == "" {
			key = r.FormValue("api_key")
		}
		i := slices.Index(fanartKeys, key)
		if i >= 0 {
			ft.mu.Lock()
			ft.used[i]++
			ft.mu.Unlock()
		}
		mode, _ := ft.current()
		switch {
		case i < 0, mode == KeyInvalid && i == len(fanartKeys)-1:
			fanartError(w, http.StatusUnauthorized, "Invalid API key")
		case mode == KeySpent && i == 0:
			ft.refuse(w, RateLimited)
		default:
			mbid := r.PathValue("mbid")
			if o := serve(mbid, "http://"+r.Host+"/fanart/music/"+mbid); o != nil {
				writeJSON(w, http.StatusOK, o)
				return
			}
			fanartError(w, http.StatusNotFound, "Not found")
		}
	}
}

// pictured says whether somebody has given a picture of that kind.
func pictured(kind, mbid string) bool {
	lacking := uint64(6) // one in so many
	if kind == "albumcover" {
		lacking = 20
	}
	return digest(kind+mbid)%lacking != 0
}

// pictures are those of a kind, the best liked not the first.
func pictures(kind, mbid, base string) []object {
	if !pictured(kind, mbid) {
		return nil
	}
	var all []object
	for n, likes := range []string{"3", "12"} {
		all = append(all, object{
			"id":    strconv.FormatUint(digest(kind+mbid)%100000+uint64(n), 10),
			"url":   base + "/" + kind + "/" + strconv.Itoa(n+1) + ".jpg",
			"likes": likes,
		})
	}
	return all
}

func (ft *fanartTV) artist(mbid, base string) object {
	a := ft.artists[mbid]
	if a == nil {
		return nil
	}
	o := object{
		"name":        a.artist,
		"mbid_id":     mbid,
		"albums":      object{},
		"hdmusiclogo": []object{{"id": "1", "url": base + "/hdmusiclogo/1.jpg", "likes": "7"}},
	}
	for _, kind := range []string{"artistthumb", "artistbackground"} {
		if all := pictures(kind, mbid, base); all != nil {
			o[kind] = all
		}
	}
	return o
}

func (ft *fanartTV) group(mbid, base string) object {
	a := ft.groups[mbid]
	if a == nil || !pictured("albumcover", mbid) {
		return nil
	}
	return object{
		"name":    a.artist,
		"mbid_id": artistMBID(a.artist),
		"albums":  object{mbid: object{"albumcover": pictures("albumcover", mbid, base)}},
	}
}

// drawPicture answers with a picture that depends on its address alone, not on the host.
func drawPicture(w http.ResponseWriter, r *http.Request) {
	width := pictureHeight
	if r.PathValue("kind") == "artistbackground" {
		width = pictureHeight * 3 / 2
	}
	w.Header().Set("Content-Type", "image/jpeg")
	drawn := paint(r.URL.Path, width, pictureHeight)
	_ = jpeg.Encode(w, drawn, &jpeg.Options{Quality: 84}) // fails only if the client is gone
}
