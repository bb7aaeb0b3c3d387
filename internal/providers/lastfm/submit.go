package lastfm

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const (
	scrobble   = "track.scrobble"
	nowPlaying = "track.updateNowPlaying"
)

// scrobbleBody is the answer to a scrobble, reduced to the fields that are used.
type scrobbleBody struct {
	Scrobbles struct {
		Attr struct {
			Accepted *code `json:"accepted"`
		} `json:"@attr"`
		Results many[result] `json:"scrobble"`
	} `json:"scrobbles"`
}

// result is the outcome of one play; its code is "0" when the play was accepted.
type result struct {
	Ignored struct {
		Code *code `json:"code"`
		Text text  `json:"#text"`
	} `json:"ignoredMessage"`
}

// code is a non-negative integer that may be sent as a string. Anything else decodes as -1, not as 0, which would mean
// that the play was accepted.
type code int

// UnmarshalJSON implements json.Unmarshaler.
func (c *code) UnmarshalJSON(b []byte) error {
	v, err := strconv.Atoi(string(bytes.Trim(b, `"`)))
	if err != nil {
		v = -1
	}
	*c = code(max(v, -1))
	return nil
}

// Submit implements providers.ListenTaker. Last.fm accepts a play that it already has and stores it once.
func (a *adapter) Submit(ctx context.Context, plays []library.StoredListen) ([]error, error) {
	if len(plays) == 0 {
		return nil, nil
	}
	var body scrobbleBody
	if err := a.signed(ctx, scrobble, scrobbles(plays), scrobbleTable, &body); err != nil {
		return nil, err
	}
	results := body.Scrobbles.Results
	if len(results) != len(plays) {
		return nil, providers.Broken(endpoint(scrobble), "another number of results than of plays")
	}
	outcomes, taken := make([]error, len(plays)), 0
	for i := range results {
		switch c := results[i].Ignored.Code; {
		case c == nil, *c < 0:
			return nil, providers.Broken(endpoint(scrobble), "a play without a result")
		case *c == 0, a.gnu != nil && *c == alreadyThere:
			taken++
		default:
			outcomes[i] = a.refused(strconv.Itoa(int(*c)), string(results[i].Ignored.Text))
		}
	}
	switch n := body.Scrobbles.Attr.Accepted; {
	case n != nil && *n < 0:
		return nil, providers.Broken(endpoint(scrobble), "a count that is none")
	case n != nil && int(*n) < taken && a.gnu == nil:
		// Last.fm does not say which ones it ignored, so each has to be sent by itself. It stores known plays once.
		return nil, a.refused(withoutReason, "")
	}
	return outcomes, nil
}

// playingTable is scrobbleTable for what is playing now, which nobody misses.
var playingTable = slices.Concat(rows(resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item,
	Scope: resilience.ScopeItem, Advice: words.New("lastfm.play")}, "3"), scrobbleTable)

// Playing implements providers.PlayingTaker.
func (a *adapter) Playing(ctx context.Context, t library.Track) error {
	params := url.Values{"artist": {t.Artist}, "track": {t.Title}}
	describe(t, params.Set)
	var answer struct{} // says nothing of use
	return a.signed(ctx, nowPlaying, params, playingTable, &answer)
}

// describe sets what is known of a track beside its names.
func describe(t library.Track, set func(name, value string)) {
	if t.Album != "" {
		set("album", t.Album)
	}
	if t.RecordingMBID != "" {
		set("mbid", t.RecordingMBID)
	}
	if seconds := int64(t.Duration / time.Second); seconds > 0 {
		set("duration", strconv.FormatInt(seconds, 10))
	}
}

// scrobbles returns the parameters for plays.
func scrobbles(plays []library.StoredListen) url.Values {
	params := url.Values{}
	for i := range plays {
		p := &plays[i]
		set := func(name, value string) { params.Set(name+"["+strconv.Itoa(i)+"]", value) }
		set("artist", p.Artist)
		set("track", p.Title)
		set("timestamp", strconv.FormatInt(p.PlayedAt.Unix(), 10))
		describe(p.Track, set)
	}
	return params
}

// refused returns the error of one ignored play. The daily limit ends at midnight UTC.
func (a *adapter) refused(code, words string) error {
	e := &resilience.AnswerError{Endpoint: endpoint(scrobble), Status: http.StatusOK, Code: code,
		Message: resilience.Excerpt(words)}
	if code == dailyLimit && a.gnu == nil {
		e.NotBefore = time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	}
	if a.gnu != nil {
		return gnuIgnoredTable.Apply(e)
	}
	return ignoredTable.Apply(e)
}
