package navidrome

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/match"
	"reprise/internal/resilience"
)

// playsPerCall limits a call, because a whole call is repeated when its answer is lost.
const playsPerCall = 50

// notInLibrary is the meaning of a play whose song is not in the library.
var notInLibrary = resilience.Meaning{
	Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
	Advice: "This song is not in your library there.",
}

// play is a play with the id of its song.
type play struct {
	index int // in the submitted plays
	song  string
	at    time.Time
}

// Submit implements providers.ListenTaker. All songs are looked up before the first play is sent. Navidrome accepts
// many plays in one call. Other servers, such as supysonic and gonic, read only the first one and report success, so
// they get one call per play.
func (a *adapter) Submit(ctx context.Context, plays []library.StoredListen) ([]error, error) {
	outcomes := make([]error, len(plays))
	var found []play
	for i := range plays {
		song, err := a.songOf(ctx, &plays[i])
		switch {
		case err != nil:
			return nil, err
		case song == "":
			outcomes[i] = a.missing()
		default:
			found = append(found, play{i, song, plays[i].PlayedAt})
		}
	}
	if a.navidrome && len(found) > 0 {
		if err := a.scrobble(ctx, found...); err != nil {
			return nil, err
		}
		return outcomes, nil
	}
	for i, p := range found {
		err := a.scrobble(ctx, p)
		outcomes[p.index] = err
		if err == nil || resilience.IsItem(err) {
			continue
		}
		if i == 0 {
			return nil, err
		}
		for _, later := range found[i+1:] {
			outcomes[later.index] = err
		}
		return outcomes, err
	}
	return outcomes, nil
}

// scrobble sends plays in one call.
func (a *adapter) scrobble(ctx context.Context, plays ...play) error {
	params := url.Values{"submission": {"true"}}
	for _, p := range plays {
		params.Add("id", p.song)
		params.Add("time", strconv.FormatInt(p.at.UnixMilli(), 10))
	}
	_, err := a.write(ctx, "scrobble", params)
	return err
}

// songOf returns the id of the played song, or "" when it is not in the library.
func (a *adapter) songOf(ctx context.Context, p *library.StoredListen) (string, error) {
	t := p.Track
	t.SourceID = knownID(p.Sources)
	if id, asked := a.library[t]; asked {
		return id, nil
	}
	songs, err := a.Find(ctx, t)
	if err != nil {
		return "", err
	}
	id := ""
	if slices.ContainsFunc(songs, func(s library.Track) bool { return s.SourceID == t.SourceID }) {
		id = t.SourceID
	} else if s, ok := match.Sure(t, songs); ok {
		id = s.SourceID
	}
	a.library[t] = id
	return id, nil
}

// knownID returns the song's id if this server itself reported the play earlier, else "". It has to be looked up too,
// because a rebuilt library has other ids, and Navidrome accepts plays of unknown ids without an error.
func knownID(sources []library.Source) string {
	for _, s := range sources {
		if s.Connection == "navidrome" {
			id, _, _ := strings.Cut(s.SourceID, "@")
			return id
		}
	}
	return ""
}

// missing returns the item failure of a play whose song was not found.
func (a *adapter) missing() error {
	return &resilience.AnswerError{
		Endpoint: a.way.verb() + " /rest/search3", Status: http.StatusOK, Code: "not_in_library",
		Message: "no such song", Meaning: &notInLibrary,
	}
}
