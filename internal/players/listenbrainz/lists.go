package listenbrainz

import (
	"net/http"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/players"
)

type metadata struct {
	Title  string         `json:"track_name"`
	Artist string         `json:"artist_name"`
	Album  string         `json:"release_name,omitempty"`
	Info   map[string]any `json:"additional_info"`
}

type listed struct {
	ListenedAt int64    `json:"listened_at,omitempty"`
	InsertedAt int64    `json:"inserted_at,omitempty"`
	MSID       string   `json:"recording_msid,omitempty"`
	User       string   `json:"user_name"`
	Now        bool     `json:"playing_now,omitempty"`
	Metadata   metadata `json:"track_metadata"`
}

func metadataOf(t library.Track) metadata {
	m := metadata{Title: t.Title, Artist: t.Artist, Album: t.Album, Info: map[string]any{}}
	for name, value := range map[string]string{"isrc": t.ISRC, "recording_mbid": t.RecordingMBID} {
		if value != "" {
			m.Info[name] = value
		}
	}
	if t.Duration > 0 {
		m.Info["duration_ms"] = t.Duration.Milliseconds()
	}
	return m
}

// msid returns an id of a track's names in the form of a UUID: always the same for the same names.
func msid(t library.Track) string {
	h := library.NameHash(t.Artist, t.Title)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// listens answers with a page of listens, the newest first. The bounds are exclusive, as at ListenBrainz.
func (h *Handler) listens(w http.ResponseWriter, r *players.Request, p players.Player) error {
	q := r.URL.Query()
	count, err := strconv.Atoi(q.Get("count"))
	if err != nil || count < 1 {
		count = shownAtOnce
	}
	f := library.ListenFilter{User: p.User}
	if ts, err := strconv.ParseInt(q.Get("max_ts"), 10, 64); err == nil {
		f.To = time.Unix(ts, 0).UTC()
	}
	if ts, err := strconv.ParseInt(q.Get("min_ts"), 10, 64); err == nil {
		f.From = time.Unix(ts+1, 0).UTC()
	}
	page, _, err := h.store.FindListens(r.Context(), f, "", min(count, mostListens))
	if err != nil {
		return err
	}
	first, latest, err := h.store.HistoryOf(r.Context(), p.User)
	if err != nil {
		return err
	}
	payload := map[string]any{"count": len(page), "user_id": p.UserName, "oldest_listen_ts": seconds(first),
		"latest_listen_ts": seconds(latest)}
	all := make([]listed, len(page))
	for i, l := range page {
		all[i] = listed{ListenedAt: l.PlayedAt.Unix(), InsertedAt: l.PlayedAt.Unix(), MSID: msid(l.Track),
			User: p.UserName, Metadata: metadataOf(l.Track)}
	}
	payload["listens"] = all
	return answer(w, http.StatusOK, map[string]any{"payload": payload})
}

func (h *Handler) count(w http.ResponseWriter, r *players.Request, p players.Player) error {
	n, err := h.store.CountFound(r.Context(), library.ListenFilter{User: p.User})
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, map[string]any{"payload": map[string]int{"count": n}})
}

func (h *Handler) playing(w http.ResponseWriter, p players.Player) error {
	all := []listed{}
	for _, one := range h.desk.Now().Of(p.User) {
		all = append(all, listed{User: p.UserName, Now: true, Metadata: metadataOf(one.Track)})
		break // ListenBrainz knows one
	}
	return answer(w, http.StatusOK, map[string]any{"payload": map[string]any{"count": len(all), "user_id": p.UserName,
		"playing_now": true, "listens": all}})
}

// seconds returns a Unix time; 0 for the zero time.
func seconds(t time.Time) int64 { return max(t.Unix(), 0) }
