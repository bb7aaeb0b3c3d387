package players

import (
	"cmp"
	"context"
	"slices"

	"reprise/internal/players"
	"reprise/internal/words"
	"reprise/web/ui"
)

// way is a program that people set up, in the words of its own settings.
type way struct {
	Name  string // of its sentences, and in addresses
	Label string // its own name; empty for what has none
	Kind  players.Kind
	// Address is what it takes as an address below where players come in, such as "/1/".
	Address string
	Own     bool   // it takes an address only, which has the secret in it
	Body    string // what it is to send; empty for programs that know
	// Config is what goes into its file of settings, with {address}, {user} and {token}; empty for none.
	Config string
	At     string // the provider that people connect to read from the same server; empty for none
}

// tautulliBody has the parameters of Tautulli's notifications:
// https://github.com/Tautulli/Tautulli/blob/master/plexpy/common.py
const tautulliBody = `{"action":"{action}","user":"{username}","player":"{player}","media_type":"{media_type}",` +
	`"title":"{track_name}","artist":"{track_artist}","album_artist":"{artist_name}","album":"{album_name}",` +
	`"length":"{duration_sec}","played":"{progress_duration_sec}","started":"{started_unixtime}",` +
	`"mbid":"{musicbrainz_id}"}`

// plainBody is what a script sends, with names of Home Assistant's.
const plainBody = `{"event":"start","title":"{{ state_attr(player, 'media_title') }}",` +
	`"artist":"{{ state_attr(player, 'media_artist') }}","album":"{{ state_attr(player, 'media_album_name') }}",` +
	`"length":{{ state_attr(player, 'media_duration') or 0 }},"player":"{{ state_attr(player, 'friendly_name') }}"}`

// mpdConfig is a section of mpdscribble.conf.
const mpdConfig = "[reprise]\nurl = {address}\nusername = {user}\npassword = {token}"

// ways are the programs to choose from, the commonest first.
var ways = []way{
	{Name: "navidrome", Label: "Navidrome", Kind: players.ListenBrainz, Address: "/1/", At: "navidrome"},
	{Name: "jellyfin", Label: "Jellyfin", Kind: players.Jellyfin, Address: "/jellyfin", Own: true},
	{Name: "plex", Label: "Plex", Kind: players.Plex, Address: "/plex", Own: true},
	{Name: "music_assistant", Label: "Music Assistant", Kind: players.ListenBrainz},
	{Name: "web_scrobbler", Label: "Web Scrobbler", Kind: players.ListenBrainz, Address: "/1/submit-listens"},
	{Name: "pano", Label: "Pano Scrobbler", Kind: players.ListenBrainz, Address: "/"},
	{Name: "foobar2000", Label: "foobar2000", Kind: players.ListenBrainz, Address: "/"},
	{Name: "mpd", Label: "MPD", Kind: players.AudioScrobbler, Address: "/", Config: mpdConfig},
	{Name: "tautulli", Label: "Tautulli", Kind: players.Tautulli, Address: "/tautulli", Own: true, Body: tautulliBody},
	{Name: "emby", Label: "Emby", Kind: players.Emby, Address: "/emby", Own: true},
	{Name: "home_assistant", Label: "Home Assistant", Kind: players.JSON, Address: "/json", Own: true, Body: plainBody},
	{Name: "lastfm", Kind: players.LastFM, Address: "/2.0/"},
	{Name: "old", Kind: players.AudioScrobbler, Address: "/"},
	{Name: "any", Kind: players.Any, Address: "/1/"},
}

func (w way) label(ctx context.Context) string {
	if w.Label == "" {
		return words.Each("players.called.", w.Name).T(ctx)
	}
	return w.Label
}

// title returns the title of the form that adds a player.
func (w way) title(ctx context.Context) string {
	if w.Label == "" { // what it is called in the list is no name
		return words.T(ctx, "players.add")
	}
	return words.T(ctx, "players.add_one", "Name", w.Label)
}

// first returns what a player is called at first.
func (w way) first(ctx context.Context) string {
	return cmp.Or(w.Label, words.T(ctx, "listening.player"))
}

// entries are the programs to choose from.
func entries(ctx context.Context) (all []ui.Entry) {
	for _, w := range ways {
		all = append(all, ui.Entry{Label: w.label(ctx), URL: listPath + "/add?for=" + w.Name,
			Lead: words.Each("players.about.", w.Name).T(ctx)})
	}
	return all
}

func wayOf(name string) way {
	i := slices.IndexFunc(ways, func(w way) bool { return w.Name == name })
	if i < 0 {
		i = len(ways) - 1
	}
	return ways[i]
}
