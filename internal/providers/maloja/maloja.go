// Package maloja reads the scrobbles of a person's own Maloja, by its own API, and sends listens there, by the part of
// ListenBrainz' API that it has.
package maloja

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/listenbrainz"
	"reprise/internal/words"
)

const (
	scrobblesRoute = "/apis/mlj_1/scrobbles"
	countRoute     = "/apis/mlj_1/numscrobbles"
	dayLayout      = "2006/01/02"
	perPage        = 1000 // Maloja has no limit of its own; an answer has about 300 KB then
)

// Describe returns the description of Maloja.
func Describe() providers.Description {
	return listenbrainz.DescribeCompatible(providers.Description{
		Name: "maloja", DisplayName: "Maloja", Icon: "M3 19V6l5 7 4-7 4 7 5-7v13h-3v-5l-2 3-4-6-4 6-2-3v5z",
		Purpose:   words.New("service.purpose_own"),
		Endpoints: []string{http.MethodGet + " " + scrobblesRoute, http.MethodGet + " " + countRoute},
		Keeps:     true,
		Tables: providers.Tables{Reading: "It counts and lists by days of its own time zone, which it doesn't tell, " +
			"so a month is read with a day before and after it, and compared play by play."},
		Takes: providers.Takes{Repeat: "It has one scrobble for each second, and ignores the same one again."},
	}, words.New("maloja.field.token_help"), open, "https://github.com/krateng/maloja/blob/master/API.md")
}

type adapter struct{ *listenbrainz.Compatible }

func open(c *listenbrainz.Compatible) providers.Adapter { return &adapter{c} }

// Prove implements providers.Adapter. Besides the key, it tries to read.
func (a *adapter) Prove(ctx context.Context) (providers.Account, error) {
	account, err := a.Account(ctx)
	if err == nil {
		_, err = a.scrobbles(ctx, library.Span{}, 0, 1)
	}
	return account, err
}

// scrobble is one play, reduced to what is used. Maloja has at most one in each second.
type scrobble struct {
	Time  int64 `json:"time"` // Unix seconds
	Track struct {
		Artists []string `json:"artists"`
		Title   string   `json:"title"`
		Album   *struct {
			Title string `json:"albumtitle"`
		} `json:"album"`
		Length int64 `json:"length"` // seconds; 0 when it is unknown
	} `json:"track"`
	Origin string `json:"origin"` // "client:" and the name of an API key, "import:…", "generic"
}

// scrobbles reads one page, counted from 0, of all scrobbles or of a span of time, and at most two days around it:
// Maloja knows no smaller unit than days, of a time zone that it doesn't tell.
func (a *adapter) scrobbles(ctx context.Context, span library.Span, number, most int) ([]scrobble, error) {
	var body struct {
		List []scrobble `json:"list"`
	}
	query := url.Values{"page": {strconv.Itoa(number)}, "perpage": {strconv.Itoa(most)}}
	if !span.After.IsZero() && !span.Before.IsZero() {
		query.Set("from", span.After.UTC().AddDate(0, 0, -1).Format(dayLayout))
		query.Set("to", span.Before.UTC().AddDate(0, 0, 1).Format(dayLayout))
	}
	err := a.Get(ctx, scrobblesRoute, query, &body)
	if err == nil && body.List == nil {
		err = providers.Broken(http.MethodGet+" "+scrobblesRoute, "no list of scrobbles")
	}
	return body.List, err
}

func (s *scrobble) usable() bool {
	return s.Time > 0 && s.Track.Title != "" && len(s.Track.Artists) > 0 && s.Track.Artists[0] != ""
}

func (s *scrobble) plain() library.Listen {
	client, _ := strings.CutPrefix(s.Origin, "client:")
	if client == s.Origin {
		client = ""
	}
	l := library.Listen{
		Track:    library.Track{Title: s.Track.Title, Duration: time.Duration(max(s.Track.Length, 0)) * time.Second},
		SourceID: strconv.FormatInt(s.Time, 10), PlayedAt: time.Unix(s.Time, 0).UTC(),
		Player: library.PlayedWith("", client),
	}
	l.Artist, l.Artists = library.Credited(s.Track.Artists)
	if s.Track.Album != nil {
		l.Album = s.Track.Album.Title
	}
	return l
}

// Listens implements providers.ListenSource.
func (a *adapter) Listens(ctx context.Context, span library.Span) iter.Seq2[providers.ListenPage, error] {
	endpoint, total := http.MethodGet+" "+scrobblesRoute, -1
	return providers.ByNumber(ctx, span, endpoint,
		func(ctx context.Context, number int) (page providers.ListenPage, more bool, err error) {
			all, err := a.scrobbles(ctx, span, number, perPage)
			if err == nil && total < 0 {
				total, err = a.count(ctx, span)
			}
			if err != nil {
				return page, false, err
			}
			page.Total = total
			for i := range all {
				if v := &all[i]; v.usable() {
					page.Listens = append(page.Listens, v.plain())
				}
			}
			if len(page.Listens) == 0 && len(all) > 0 {
				return page, false, providers.Broken(endpoint, "scrobbles without a time or a name")
			}
			page.Oldest = providers.OldestOf(page.Listens)
			return page, len(all) >= perPage, nil
		})
}

// count returns the number of all scrobbles, or 0 for a part of them. It makes a call only for a whole history.
func (a *adapter) count(ctx context.Context, span library.Span) (int, error) {
	if !span.After.IsZero() {
		return 0, nil
	}
	return a.amount(ctx, nil)
}

// CountBetween implements providers.Historian. Maloja counts days of a time zone that it doesn't tell, so that only
// reading tells what is of a time. One that has scrobbles of a day before there was any ignores such bounds.
func (a *adapter) CountBetween(ctx context.Context, _, _ time.Time) (int, error) {
	n, err := a.amount(ctx, url.Values{"in": {"1960/01/01"}})
	if err == nil && n > 0 {
		err = providers.ErrNotOffered
	}
	if err != nil {
		return 0, err
	}
	return -1, nil
}

// amount returns a number of scrobbles.
func (a *adapter) amount(ctx context.Context, query url.Values) (int, error) {
	var body struct {
		Amount int `json:"amount"`
	}
	if err := a.Get(ctx, countRoute, query, &body); err != nil {
		return 0, err
	}
	if body.Amount < 0 {
		return 0, providers.Broken(http.MethodGet+" "+countRoute, "a number of scrobbles below 0")
	}
	return body.Amount, nil
}
