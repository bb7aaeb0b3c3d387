package enginetest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func (u *Upstreams) listenBrainzLocked(req *http.Request, account string, body []byte) (*http.Response, error) {
	path, query := req.URL.Path, req.URL.Query()
	history := u.plays[place{listenBrainzHost, account}]
	switch {
	case path == "/1/submit-listens":
		return u.submitLocked(req, account, body)
	case path == "/1/validate-token":
		return jsonAnswer(req, map[string]any{"code": 200, "message": "Token valid.", "valid": account != "",
			"user_name": account}), nil
	case strings.HasSuffix(path, "/listen-count"):
		return jsonAnswer(req, map[string]any{"payload": map[string]any{"count": len(history)}}), nil
	case strings.HasSuffix(path, "/listens"):
		before, err := strconv.ParseInt(query.Get("max_ts"), 10, 64)
		if err != nil {
			before = 1 << 60
		}
		count, _ := strconv.Atoi(query.Get("count"))
		plays := history
		listens := []any{}
		for i := len(plays) - 1; i >= 0 && len(listens) < count; i-- {
			if at := plays[i].At.Unix(); at < before {
				listens = append(listens, map[string]any{"listened_at": at, "recording_msid": "msid-" + plays[i].Title,
					"track_metadata": map[string]any{"artist_name": "Sigur Rós", "track_name": plays[i].Title,
						"release_name": "Album"}})
			}
		}
		oldest := int64(0)
		if len(plays) > 0 {
			oldest = plays[0].At.Unix()
		}
		return jsonAnswer(req, map[string]any{"payload": map[string]any{"count": len(listens), "listens": listens,
			"oldest_listen_ts": oldest}}), nil
	case strings.Contains(path, "/playlists"):
		return jsonAnswer(req, map[string]any{"playlists": []any{}, "playlist_count": 0, "count": 0, "offset": 0}), nil
	}
	return Answer(req, 404, `{"code":404,"error":"Not found"}`), nil
}

func (u *Upstreams) submitLocked(req *http.Request, account string, body []byte) (*http.Response, error) {
	var call struct {
		Payload []struct {
			ListenedAt int64 `json:"listened_at"`
			Metadata   struct {
				Title string `json:"track_name"`
			} `json:"track_metadata"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(body, &call); err != nil || len(call.Payload) == 0 || len(call.Payload) > 1000 {
		return Answer(req, 400, `{"code":400,"error":"Invalid JSON document submitted."}`), nil
	}
	for _, l := range call.Payload {
		if u.refusals[l.Metadata.Title] {
			return Answer(req, 400, `{"code":400,"error":"JSON document contains an invalid listen."}`), nil
		}
	}
	for _, l := range call.Payload {
		u.taken = append(u.taken, l.Metadata.Title)
		u.playLocked(place{listenBrainzHost, account}, Play{l.Metadata.Title, time.Unix(l.ListenedAt, 0)})
	}
	return jsonAnswer(req, map[string]any{"status": "ok"}), nil
}

// Slow returns a fault of a ListenBrainz that is slow for one account.
func Slow(account string, d time.Duration) Fault {
	return func(req *http.Request) (*http.Response, error) {
		if req.Header.Get("Authorization") == "Token token-of-"+account {
			time.Sleep(d)
		}
		return nil, nil
	}
}
