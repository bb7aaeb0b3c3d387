package demo

import (
	"net/http"
	"slices"
	"time"
)

// said is what a program says is playing.
type said struct {
	play
	program string
}

// getNowPlaying answers with what was said to be playing by each person, and with the latest play, for as long as the
// track lasts.
func (nd *navidrome) getNowPlaying(*http.Request, *person) (object, *subsonicError) {
	nd.home.mu.RLock()
	all, who := []said{}, []string{}
	for _, p := range nd.home.people {
		own := slices.Clone(p.said)
		if n := len(p.scrobbles); n > 0 {
			own = append(own, said{play{at: p.scrobbles[n-1].at * 1000, track: p.scrobbles[n-1].track}, "NavidromeUI"})
		}
		all, who = append(all, own...), append(who, slices.Repeat([]string{p.name}, len(own))...)
	}
	nd.home.mu.RUnlock()
	entries := []object{}
	for i, one := range all {
		t, _ := nd.home.song(int(one.track))
		since := time.Duration(nd.opts.Now().UnixMilli()-one.at) * time.Millisecond
		if since >= 0 && since < t.duration {
			o := nd.song(int(one.track), count{})
			o["username"], o["minutesAgo"], o["playerId"] = who[i], int(since.Minutes()), i+1
			o["playerName"] = one.program + " [demo]"
			entries = append(entries, o)
		}
	}
	return object{"nowPlaying": object{"entry": entries}}, nil
}
