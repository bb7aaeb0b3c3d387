package navidrome

import (
	"context"
	"net/url"
	"strings"
	"time"

	"reprise/internal/library"
)

// playing is a song that somebody plays.
type playing struct {
	song
	Username   text   `json:"username"`
	MinutesAgo number `json:"minutesAgo"` // since it began; whole minutes
	PlayerName text   `json:"playerName"`
}

// forgotten is how long after its beginning a song of unknown length is taken to have ended.
const forgotten = 10 * time.Minute

// left returns how long the song still plays; 0 if it has ended.
func (p *playing) left() time.Duration {
	length := p.Duration.seconds()
	if length <= 0 {
		length = forgotten
	}
	return max(length-time.Duration(p.MinutesAgo)*time.Minute, 0)
}

// NowPlaying implements providers.PlayingSource. The server tells what everybody plays; the song of the account that
// began last counts.
func (a *adapter) NowPlaying(ctx context.Context) (p library.Playing, err error) {
	r, err := a.ask(ctx, "getNowPlaying", nil)
	if err != nil || r.NowPlaying == nil { // some servers leave out an empty list
		return p, err
	}
	latest := -1
	all := r.NowPlaying.Entry
	for i := range all {
		ours := strings.HasPrefix(string(all[i].PlayerName), clientName) // what Playing has told it
		if ours || string(all[i].Username) != a.user || all[i].left() == 0 || !all[i].music() {
			continue
		}
		if latest < 0 || all[i].MinutesAgo < all[latest].MinutesAgo {
			latest = i
		}
	}
	if latest < 0 {
		return p, nil
	}
	one := &all[latest]
	return library.Playing{Track: one.track(), With: library.Name(string(one.PlayerName)), Left: one.left()}, nil
}

// Playing implements providers.PlayingTaker.
func (a *adapter) Playing(ctx context.Context, t library.Track) error {
	_, err := a.write(ctx, "scrobble", url.Values{"submission": {"false"}, "id": {t.SourceID}})
	return err
}
