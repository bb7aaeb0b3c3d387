package lastfm

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience"
)

const scrobble = "track.scrobble"

// scrobbleBody is the answer to a scrobble; only what is used is named.
type scrobbleBody struct {
	Scrobbles struct {
		Attr struct {
			Accepted *code `json:"accepted"`
		} `json:"@attr"`
		Results resultsOf `json:"scrobble"`
	} `json:"scrobbles"`
}

// result says what became of one play; the code is "0" when it was taken.
type result struct {
	Ignored struct {
		Code *code `json:"code"`
		Text text  `json:"#text"`
	} `json:"ignoredMessage"`
}

// resultsOf is a list of results. Last.fm sends a single result without a list around it.
type resultsOf []result

// UnmarshalJSON implements json.Unmarshaler.
func (r *resultsOf) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		b = listOf(b)
	}
	return json.Unmarshal(b, (*[]result)(r))
}

// code is a whole number from 0 that may be written as a text. What is neither is -1 and never 0: a play counts as
// taken only when Last.fm says so.
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

// Submit implements providers.ListenTaker. A play that Last.fm has already is taken once more and kept once.
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
		return nil, broken(scrobble, "another number of results than of plays")
	}
	outcomes, taken := make([]error, len(plays)), 0
	for i := range results {
		switch c := results[i].Ignored.Code; {
		case c == nil, *c < 0:
			return nil, broken(scrobble, "a play without a result")
		case *c == 0:
			taken++
		default:
			outcomes[i] = refused(strconv.Itoa(int(*c)), string(results[i].Ignored.Text))
		}
	}
	switch n := body.Scrobbles.Attr.Accepted; {
	case n != nil && *n < 0:
		return nil, broken(scrobble, "a count that is none")
	case n != nil && int(*n) < taken:
		// Which of them it ignored it does not say, so each has to be sent by itself; those that it has are kept once.
		return nil, refused(withoutReason, "")
	}
	return outcomes, nil
}

// scrobbles are the parameters that carry plays.
func scrobbles(plays []library.StoredListen) url.Values {
	params := url.Values{}
	for i := range plays {
		p := &plays[i]
		set := func(name, value string) { params.Set(name+"["+strconv.Itoa(i)+"]", value) }
		set("artist", p.Artist)
		set("track", p.Title)
		set("timestamp", strconv.FormatInt(p.PlayedAt.Unix(), 10))
		if p.Album != "" {
			set("album", p.Album)
		}
		if p.RecordingMBID != "" {
			set("mbid", p.RecordingMBID)
		}
		if seconds := int64(p.Duration / time.Second); seconds > 0 {
			set("duration", strconv.FormatInt(seconds, 10))
		}
	}
	return params
}

// refused is the failure of one play that Last.fm ignores. The daily limit ends with the day of UTC.
func refused(code, words string) error {
	e := &resilience.AnswerError{Endpoint: endpoint(scrobble), Status: http.StatusOK, Code: code,
		Message: resilience.Excerpt(words)}
	if code == dailyLimit {
		e.NotBefore = time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	}
	return ignoredTable.Apply(e)
}
