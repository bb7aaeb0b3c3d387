package listenbrainz

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/players"
)

// love stores what a person thinks of a recording:
// https://listenbrainz.readthedocs.io/en/latest/users/api/recordings.html
func (h *Handler) love(w http.ResponseWriter, r *players.Request, p players.Player) error {
	body, err := r.Read(smallBody)
	if err != nil {
		return err
	}
	var in struct {
		MBID  text `json:"recording_mbid"`
		MSID  text `json:"recording_msid"`
		Score *int `json:"score"`
	}
	if json.Unmarshal(body, &in) != nil || in.Score == nil || *in.Score < library.Hated || *in.Score > library.Loved {
		return unread("It has no score of -1, 0 or 1.")
	}
	if in.MBID == "" && in.MSID == "" {
		return unread("It has neither a recording_mbid nor a recording_msid.")
	}
	t, err := h.store.TrackByMBID(r.Context(), strings.ToLower(string(in.MBID)))
	if errors.Is(err, library.ErrNotFound) && in.MSID != "" {
		t, err = h.store.TrackNamed(r.Context(), func(t library.Track) bool { return msid(t) == string(in.MSID) })
	}
	if errors.Is(err, library.ErrNotFound) {
		h.desk.LeftAlone(r, p, players.NotHeard)
		return ok(w) // as at ListenBrainz, which knows all recordings; its names are needed to keep it
	}
	if err != nil {
		return err
	}
	err = h.store.SaveLove(r.Context(), p.User, library.Love{Title: t.Title, Artist: t.Artist,
		RecordingMBID: t.RecordingMBID, Score: *in.Score, At: time.Now()})
	if err != nil {
		return err
	}
	return ok(w)
}

// loves answers with a page of what a person thinks of recordings, the latest first.
func (h *Handler) loves(w http.ResponseWriter, r *players.Request, p players.Player) error {
	q := r.URL.Query()
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(q.Get(name)); err == nil {
			return n
		}
		return otherwise
	}
	offset, count := max(number("offset", 0), 0), min(max(number("count", shownAtOnce), 1), mostListens)
	of := library.LoveFilter{User: p.User, Score: number("score", 0)}
	all, total, err := h.store.Loves(r.Context(), of, offset, count)
	if err != nil {
		return err
	}
	type feedback struct {
		Created  int64             `json:"created"`
		MBID     *string           `json:"recording_mbid"`
		MSID     string            `json:"recording_msid"`
		Score    int               `json:"score"`
		Metadata map[string]string `json:"track_metadata"`
		User     string            `json:"user_id"`
	}
	each := make([]feedback, len(all))
	for i, v := range all {
		each[i] = feedback{Created: v.At.Unix(), MSID: msid(library.Track{Title: v.Title, Artist: v.Artist}),
			Score: v.Score, User: p.UserName,
			Metadata: map[string]string{"artist_name": v.Artist, "track_name": v.Title}}
		if v.RecordingMBID != "" {
			each[i].MBID = &all[i].RecordingMBID
		}
	}
	return answer(w, http.StatusOK, map[string]any{"feedback": each, "count": len(each), "total_count": total,
		"offset": offset})
}

// latest says when the latest play of this player began, so that a program which imports sends what is later.
func (h *Handler) latest(w http.ResponseWriter, r *players.Request, p players.Player) error {
	found, _, err := h.store.FindListens(r.Context(), library.ListenFilter{User: p.User, Source: p.ID}, "", 1)
	if err != nil {
		return err
	}
	at := int64(0)
	if len(found) > 0 {
		at = found[0].PlayedAt.Unix()
	}
	return answer(w, http.StatusOK, map[string]any{"musicbrainz_id": p.UserName, "latest_import": at})
}
