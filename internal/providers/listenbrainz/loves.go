package listenbrainz

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/words"
)

const (
	feedbackRoute = "/1/feedback/user/{name}/get-feedback"
	loveRoute     = "/1/feedback/recording-feedback"
	lookupRoute   = "/1/metadata/lookup/"

	lovesPerPage = 1000 // the most that ListenBrainz returns
)

// The prefixes of the ids of recordings: of MusicBrainz, and of ListenBrainz' own for what MusicBrainz doesn't know.
const (
	byMBID = "mbid:"
	byMSID = "msid:"
)

// feedback is what a user thinks of a recording.
type feedback struct {
	Created  int64  `json:"created"` // Unix seconds
	MBID     string `json:"recording_mbid"`
	MSID     string `json:"recording_msid"`
	Score    int    `json:"score"`
	Metadata struct {
		Artist string `json:"artist_name"`
		Title  string `json:"track_name"`
	} `json:"track_metadata"`
}

func (f *feedback) plain() library.Love {
	v := library.Love{Title: f.Metadata.Title, Artist: f.Metadata.Artist, RecordingMBID: f.MBID, Score: f.Score,
		SourceID: byMBID + f.MBID}
	if f.MBID == "" {
		v.SourceID = byMSID + f.MSID
	}
	if f.Created > 0 {
		v.At = time.Unix(f.Created, 0).UTC()
	}
	return v
}

// Loves implements providers.LoveSource. Recordings whose names ListenBrainz doesn't know have none.
func (a *adapter) Loves(ctx context.Context) iter.Seq2[providers.LovePage, error] {
	return func(yield func(providers.LovePage, error) bool) {
		for offset := 0; ; {
			answer, err := a.getUser(ctx, feedbackRoute, url.Values{"count": {strconv.Itoa(lovesPerPage)},
				"offset": {strconv.Itoa(offset)}, "metadata": {"true"}})
			var body struct {
				Feedback []feedback `json:"feedback"`
				Total    int        `json:"total_count"`
			}
			if err == nil {
				err = providers.DecodeJSON(answer, &body)
			}
			if err == nil && (body.Feedback == nil || len(body.Feedback) == 0 && offset < body.Total) {
				err = providers.Broken(endpoint(feedbackRoute), "no list of recordings")
			}
			if a.server.own && lacking(err) {
				err = providers.ErrNotOffered
			}
			if err != nil {
				yield(providers.LovePage{}, err)
				return
			}
			p := providers.LovePage{Total: body.Total}
			for _, f := range body.Feedback {
				p.Loves = append(p.Loves, f.plain())
			}
			offset += len(body.Feedback)
			if !yield(p, nil) || offset >= body.Total {
				return
			}
		}
	}
}

// loveTable is table for what a user thinks of a recording.
var loveTable = append(table[:len(table):len(table)],
	providers.Row{Status: http.StatusBadRequest, Meaning: onItem(words.New("listenbrainz.no_recording", service...))},
	providers.Row{Status: http.StatusNotFound, Meaning: ourMistake},
	providers.Row{Status: http.StatusGone, Meaning: ourMistake},
	providers.Row{Status: http.StatusUnprocessableEntity, Meaning: ourMistake},
)

// Love implements providers.LoveTaker. ListenBrainz knows recordings by their ids only, so the id of one that has none
// is looked up by its names.
func (a *adapter) Love(ctx context.Context, v library.Love) (id string, err error) {
	switch id = v.SourceID; {
	case id != "":
	case mbidForm.MatchString(v.RecordingMBID):
		id = byMBID + v.RecordingMBID
	default:
		found, err := a.lookUp(ctx, v.Artist, v.Title)
		if err == nil && found.SourceID == "" {
			err = a.refusal(loveRoute, "no such recording", words.New("listenbrainz.no_recording", service...))
		}
		if err != nil {
			return "", err
		}
		id = byMBID + found.SourceID
	}
	body := struct {
		MBID  string `json:"recording_mbid,omitempty"`
		MSID  string `json:"recording_msid,omitempty"`
		Score int    `json:"score"`
	}{Score: v.Score}
	if msid, own := strings.CutPrefix(id, byMSID); own {
		body.MSID = msid
	} else {
		body.MBID = strings.TrimPrefix(id, byMBID)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	return id, offered(a.change(ctx, loveRoute, loveRoute, text, loveTable))
}
