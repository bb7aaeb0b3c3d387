package demo

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// object is a JSON object that is written once.
type object = map[string]any

// writeJSON sends v, which can always be marshalled.
func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error: the client went first
}

// meta is what ListenBrainz knows about a track, already encoded: a page of a thousand listens consists of these.
type meta struct {
	msid    string
	json    []byte // of a listen from Spotify, or one that was submitted
	atHome  []byte // of a listen from Navidrome
	compare string // artist and title with "\x00" between them, for finding a submitted track again
}

// foreign holds the tracks that services know: those of the catalog, followed by those of [Song] and submitted ones.
type foreign struct {
	metas  []meta
	byName map[string]int
	byID   map[string]int // YouTube's
	added  []*added       // what is not in the catalog
}

// added is a track that is not in the catalog, with its album.
type added struct {
	track
	album album
}

func newForeign(c *catalog) foreign {
	f := foreign{byName: map[string]int{}, byID: map[string]int{}}
	for i := range c.tracks {
		t, a := &c.tracks[i], c.albumOf(i)
		m := meta{msid: t.recordingMSID, compare: a.artist + "\x00" + t.title}
		m.json = trackMetadata(c, i, object{
			"duration_ms": t.duration.Milliseconds(), "isrc": t.isrc, "music_service": "spotify.com",
			"tracknumber":    t.number,
			"origin_url":     "https://open.spotify.com/track/" + t.spotifyID,
			"spotify_id":     "https://open.spotify.com/track/" + t.spotifyID,
			"recording_msid": t.recordingMSID, "submission_client": "listenbrainz",
		})
		atHome := object{
			"duration_ms": t.duration.Milliseconds(), "isrc": t.isrc, "tracknumber": t.number,
			"recording_mbid": c.tagged(i),
			"recording_msid": t.recordingMSID, "submission_client": "navidrome",
			"submission_client_version": navidromeVersion,
		}
		if i%3 == 0 { // what the person sometimes plays it with
			atHome["media_player"] = "Feishin"
		}
		m.atHome = trackMetadata(c, i, atHome)
		f.byName[m.compare], f.byID[t.videoID] = len(f.metas), len(f.metas)
		f.metas = append(f.metas, m)
	}
	return f
}

func trackMetadata(c *catalog, id int, additional object) []byte {
	t, a := &c.tracks[id], c.albumOf(id)
	artist := artistMBID(a.artist)
	m := object{"artist_name": a.artist, "track_name": t.title, "release_name": a.title, "additional_info": additional}
	if !unmatched(id) {
		m["mbid_mapping"] = object{
			"recording_mbid": t.mbid, "recording_name": t.title, "release_mbid": uuid("release" + a.artist + a.title),
			"artist_mbids": []string{artist},
			"artists":      []object{{"artist_credit_name": a.artist, "artist_mbid": artist, "join_phrase": ""}},
		}
	}
	body, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return body
}

// listensPage is a page of a person's listens.
type listensPage struct {
	user           string
	page           []play
	metas          []meta
	oldest, latest int64 // of all listens
}

// write sends the page, newest first.
func (l listensPage) write(w http.ResponseWriter) {
	page := l.page
	b := make([]byte, 0, 256+1100*len(page))
	b = append(b, `{"payload":{"count":`...)
	b = strconv.AppendInt(b, int64(len(page)), 10)
	b = append(b, `,"latest_listen_ts":`...)
	b = strconv.AppendInt(b, l.latest, 10)
	b = append(b, `,"oldest_listen_ts":`...)
	b = strconv.AppendInt(b, l.oldest, 10)
	b = append(b, `,"user_id":"`...)
	b = append(b, l.user...)
	b = append(b, `","listens":[`...)
	for i := len(page) - 1; i >= 0; i-- {
		p := page[i]
		m := &l.metas[p.track]
		b = append(b, `{"inserted_at":`...)
		b = strconv.AppendInt(b, p.seconds()+240, 10)
		b = append(b, `,"listened_at":`...)
		b = strconv.AppendInt(b, p.seconds(), 10)
		b = append(b, `,"recording_msid":"`...)
		b = append(b, m.msid...)
		b = append(b, `","user_name":"`...)
		b = append(b, l.user...)
		b = append(b, `","track_metadata":`...)
		if p.home {
			b = append(b, m.atHome...)
		} else {
			b = append(b, m.json...)
		}
		b = append(b, '}')
		if i > 0 {
			b = append(b, ',')
		}
	}
	b = append(b, `]}}`...)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(b) // an error: the client went first
}
