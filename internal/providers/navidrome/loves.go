package navidrome

import (
	"context"
	"iter"
	"net/url"
	"slices"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Loves implements providers.LoveSource with the starred songs, which the Subsonic API returns at once.
func (a *adapter) Loves(ctx context.Context) iter.Seq2[providers.LovePage, error] {
	return func(yield func(providers.LovePage, error) bool) {
		songs, err := a.starred(ctx)
		if err != nil {
			yield(providers.LovePage{}, err)
			return
		}
		p := providers.LovePage{Total: len(songs)}
		for _, s := range songs {
			t := s.track()
			p.Loves = append(p.Loves, library.Love{Title: t.Title, Artist: t.Artist, RecordingMBID: t.RecordingMBID,
				Score: library.Loved, At: s.Starred.Time, SourceID: t.SourceID})
		}
		slices.SortStableFunc(p.Loves, func(a, b library.Love) int { return b.At.Compare(a.At) })
		yield(p, nil)
	}
}

func (a *adapter) starred(ctx context.Context) ([]song, error) {
	r, err := a.ask(ctx, "getStarred2", nil)
	if err == nil && r.Starred2 == nil {
		err = r.lacks("starred2")
	}
	if err != nil {
		return nil, err
	}
	return r.Starred2.Song, nil
}

// starless is the meaning of a refusal of one song.
var starless = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
	Advice: words.New("delivery.song.missing")}

// Love implements providers.LoveTaker with a star. The track has the SourceID of a song. Some servers, such as
// supysonic, refuse to set a star that is there already, and to take one that is not.
func (a *adapter) Love(ctx context.Context, v library.Love) (string, error) {
	if err := a.ready(ctx); err != nil {
		return "", whole(err)
	}
	method := "star"
	if v.Score != library.Loved {
		method = "unstar"
	}
	_, err := a.write(ctx, method, url.Values{"id": {v.SourceID}})
	if refused(err, codeNotFound) {
		return "", meaning(err, starless)
	}
	if refused(err, codeGeneric) {
		songs, e := a.starred(ctx)
		has := slices.ContainsFunc(songs, func(s song) bool { return string(s.ID) == v.SourceID })
		if e == nil && has == (v.Score == library.Loved) {
			err = nil
		}
	}
	return v.SourceID, err
}
