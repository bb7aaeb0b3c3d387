package webhooks

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/players"
)

// text is a string, or a number that identifies something; anything else counts as none.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(strings.TrimSpace(s))
	} else if n := (number{}); n.UnmarshalJSON(b) == nil && n.known {
		*t = text(b)
	}
	return nil
}

// number is a number, also one that is written as a string.
type number struct {
	value float64
	known bool
}

func (n *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `" `), 64)
	if err == nil && f >= 0 && f < 1e18 {
		*n = number{f, true}
	}
	return nil
}

// of returns the duration of so many units; negative if the number is not known.
func (n number) of(unit time.Duration) time.Duration {
	if !n.known {
		return -1
	}
	return time.Duration(min(n.value*float64(unit), float64(1<<62)))
}

// length returns the duration of a track; 0 if it is not known.
func (n number) length(unit time.Duration) time.Duration { return max(n.of(unit), 0) }

// tick is the unit of times at Jellyfin and Emby.
const tick = 100 * time.Nanosecond

// jellyfin reads what Jellyfin's webhook plug-in sends as "Generic" with all properties:
// https://github.com/jellyfin/jellyfin-plugin-webhook
func jellyfin(body []byte) (string, []players.Event, error) {
	var in struct {
		Type     text   `json:"NotificationType"`
		ItemType text   `json:"ItemType"`
		Name     text   `json:"Name"`
		Artist   text   `json:"Artist"`
		Album    text   `json:"Album"`
		Item     text   `json:"ItemId"`
		Length   number `json:"RunTimeTicks"`
		Position number `json:"PlaybackPositionTicks"`
		Paused   any    `json:"IsPaused"`
		Device   text   `json:"DeviceName"`
		DeviceID text   `json:"DeviceId"`
		User     text   `json:"NotificationUsername"`
		UserID   text   `json:"UserId"`
		MBID     text   `json:"Provider_musicbrainzrecording"`
	}
	if err := decode(body, &in); err != nil {
		return "", nil, err
	}
	what, known := map[text]players.What{"PlaybackStart": players.Started, "PlaybackProgress": players.Continued,
		"PlaybackStop": players.Stopped}[in.Type]
	if !known || in.ItemType != "Audio" {
		return string(in.User), nil, nil
	}
	if paused := in.Paused == true || in.Paused == "True" || in.Paused == "true"; paused && what == players.Continued {
		what = players.Halted
	}
	e := players.Event{What: what, Position: in.Position.of(tick), Heard: -1,
		Item: players.ItemOf("jellyfin", string(cmp.Or(in.UserID, in.User)), string(cmp.Or(in.DeviceID, in.Device)),
			string(cmp.Or(in.Item, in.Artist+" "+in.Name))),
		Play: players.Play{Player: string(in.Device), Track: library.Track{Title: unescaped(in.Name),
			Artist: unescaped(in.Artist), Album: unescaped(in.Album), Duration: in.Length.length(tick),
			RecordingMBID: string(in.MBID)}}}
	return string(in.User), []players.Event{e}, nil
}

// unescaped takes away the backslash that the plug-in writes before each quote.
func unescaped(t text) string { return strings.ReplaceAll(string(t), `\"`, `"`) }

// plex reads what Plex sends to a webhook: https://support.plex.tv/articles/115002267687-webhooks/
func plex(body []byte) (string, []players.Event, error) {
	var in struct {
		Event   text
		Account struct{ ID, Title text }
		Player  struct{ UUID, Title text }
		Data    struct {
			Type        text   `json:"type"`
			Title       text   `json:"title"`
			TrackArtist text   `json:"originalTitle"`
			AlbumArtist text   `json:"grandparentTitle"`
			Album       text   `json:"parentTitle"`
			Key         text   `json:"ratingKey"`
			Length      number `json:"duration"`
			Position    number `json:"viewOffset"`
		} `json:"Metadata"`
	}
	if err := decode(body, &in); err != nil {
		return "", nil, err
	}
	what, known := map[text]players.What{"media.play": players.Started, "media.resume": players.Continued,
		"media.pause": players.Halted, "media.stop": players.Stopped, "media.scrobble": players.Scrobbled}[in.Event]
	if !known || in.Data.Type != "track" {
		return string(in.Account.Title), nil, nil
	}
	e := players.Event{What: what, Position: in.Data.Position.of(time.Millisecond), Heard: -1,
		Item: players.ItemOf("plex", string(in.Account.ID), string(in.Player.UUID), string(in.Data.Key)),
		Play: players.Play{Player: string(in.Player.Title), Track: library.Track{Title: string(in.Data.Title),
			Artist: string(cmp.Or(in.Data.TrackArtist, in.Data.AlbumArtist)), Album: string(in.Data.Album),
			Duration: in.Data.Length.length(time.Millisecond)}}}
	return string(in.Account.Title), []players.Event{e}, nil
}

// tautulli reads the body that the page of players asks people to paste.
func tautulli(body []byte) (string, []players.Event, error) {
	var in struct {
		Action, User, Player, Title, Artist, Album, MBID text
		MediaType                                        text `json:"media_type"`
		AlbumArtist                                      text `json:"album_artist"`
		Length, Played, Started                          number
	}
	if err := decode(body, &in); err != nil {
		return "", nil, err
	}
	what, known := map[text]players.What{"play": players.Started, "resume": players.Continued, "pause": players.Halted,
		"stop": players.Stopped, "watched": players.Scrobbled}[in.Action]
	if !known || in.MediaType != "track" {
		return string(in.User), nil, nil
	}
	e := players.Event{What: what, Position: -1, Heard: -1,
		Item: players.ItemOf("tautulli", string(in.User), string(in.Player), string(in.Artist), string(in.Title)),
		Play: players.Play{At: in.Started.time(), Player: string(in.Player), Track: library.Track{
			Title: string(in.Title), Artist: string(cmp.Or(in.Artist, in.AlbumArtist)), Album: string(in.Album),
			Duration: in.Length.length(time.Second), RecordingMBID: string(in.MBID)}}}
	if what == players.Stopped {
		e.Heard = in.Played.of(time.Second)
	}
	return string(in.User), []players.Event{e}, nil
}

// time returns a Unix time; zero if it is not known.
func (n number) time() time.Time {
	if !n.known || n.value < 1 {
		return time.Time{}
	}
	return time.UnixMilli(int64(n.value * 1000)).UTC()
}

// emby reads what Emby sends to a webhook.
func emby(body []byte) (string, []players.Event, error) {
	var in struct {
		Event text
		User  struct{ Name, ID text }
		Item  struct {
			ID, Name, Type, Album, AlbumArtist text
			Artists                            []string
			RunTimeTicks                       number
		}
		Session      struct{ DeviceName, DeviceID text }
		PlaybackInfo struct{ PositionTicks number }
	}
	if err := decode(body, &in); err != nil {
		return "", nil, err
	}
	what, known := map[text]players.What{"playback.start": players.Started, "playback.unpause": players.Continued,
		"playback.pause": players.Halted, "playback.stop": players.Stopped}[in.Event]
	if !known || in.Item.Type != "Audio" {
		return string(in.User.Name), nil, nil
	}
	e := players.Event{What: what, Position: in.PlaybackInfo.PositionTicks.of(tick), Heard: -1,
		Item: players.ItemOf("emby", string(in.User.ID), string(cmp.Or(in.Session.DeviceID, in.Session.DeviceName)),
			string(in.Item.ID)),
		Play: players.Play{Player: string(in.Session.DeviceName), Track: library.Track{Title: string(in.Item.Name),
			Artist: cmp.Or(strings.Join(in.Item.Artists, ", "), string(in.Item.AlbumArtist)),
			Album:  string(in.Item.Album), Duration: in.Item.RunTimeTicks.length(tick)}}}
	return string(in.User.Name), []players.Event{e}, nil
}

// song is a song of Web Scrobbler.
type song struct {
	Processed, Parsed struct {
		Track, Artist, Album text
		Duration             number
		UniqueID             text
		IsPodcast            bool
	}
	Metadata  struct{ StartTimestamp number }
	Connector struct{ ID, Label text }
}

// webScrobbler reads what the browser extension Web Scrobbler sends to a webhook:
// https://github.com/web-scrobbler/web-scrobbler
func webScrobbler(body []byte) (string, []players.Event, error) {
	var in struct {
		EventName text
		Data      struct {
			Song    *song
			Songs   []song
			IsLoved bool
		}
	}
	if err := decode(body, &in); err != nil {
		return "", nil, err
	}
	what, known := map[text]players.What{"nowplaying": players.Started, "resumedplaying": players.Continued,
		"paused": players.Halted, "scrobble": players.Scrobbled, "loved": players.Unloved}[in.EventName]
	if in.EventName == "loved" && in.Data.IsLoved {
		what = players.Loved
	}
	if !known {
		return "", nil, nil
	}
	songs := in.Data.Songs
	if len(songs) == 0 && in.Data.Song != nil {
		songs = []song{*in.Data.Song}
	}
	var all []players.Event
	for _, s := range songs {
		if s.Parsed.IsPodcast {
			continue
		}
		title := cmp.Or(s.Processed.Track, s.Parsed.Track)
		artist := cmp.Or(s.Processed.Artist, s.Parsed.Artist)
		length := s.Processed.Duration
		if !length.known {
			length = s.Parsed.Duration
		}
		all = append(all, players.Event{What: what, Position: -1, Heard: -1,
			Item: players.ItemOf("webscrobbler", string(s.Connector.ID), string(s.Parsed.UniqueID), string(artist),
				string(title)),
			Play: players.Play{At: s.Metadata.StartTimestamp.time(), Player: string(s.Connector.Label),
				Track: library.Track{Title: string(title), Artist: string(artist),
					Album: string(cmp.Or(s.Processed.Album, s.Parsed.Album)), Duration: length.length(time.Second)}}})
	}
	return "", all, nil
}

// musical are the types of what counts as music in the form of scripts: those of Home Assistant's media_content_type,
// which also has movie, tvshow, season, episode, video, channel, podcast, image, url, game and app.
var musical = []string{"", "music", "track", "song", "playlist", "album", "artist"}

// plain reads the form of scripts, such as those of Home Assistant; docs/players.md describes it.
func plain(body []byte) (string, []players.Event, error) {
	var in struct {
		Event, Type, Artist, Title, Album, Player, User, MBID text
		Length, Position                                      number
		At                                                    text
	}
	if err := decode(body, &in); err != nil {
		return "", nil, err
	}
	what, known := map[text]players.What{"": players.Scrobbled, "played": players.Scrobbled, "start": players.Started,
		"resume": players.Continued, "pause": players.Halted, "stop": players.Stopped}[in.Event]
	if !known {
		return "", nil, unread("event is none of start, pause, resume, stop and played.")
	}
	if !slices.Contains(musical, strings.ToLower(string(in.Type))) {
		return string(in.User), nil, nil
	}
	e := players.Event{What: what, Position: in.Position.of(time.Second), Heard: -1,
		Item: players.ItemOf("json", string(in.User), string(in.Player), string(in.Artist), string(in.Title)),
		Play: players.Play{Player: string(in.Player), Track: library.Track{Title: string(in.Title),
			Artist: string(in.Artist), Album: string(in.Album), Duration: in.Length.length(time.Second),
			RecordingMBID: string(in.MBID)}}}
	if in.At != "" {
		at, err := time.Parse(time.RFC3339, string(in.At))
		if seconds := (number{}); err != nil {
			_ = seconds.UnmarshalJSON([]byte(in.At))
			if at = seconds.time(); at.IsZero() {
				return "", nil, unread("at is no time such as 2026-11-27T20:00:00Z, and no Unix time.")
			}
		}
		e.Play.At = at
	}
	return string(in.User), []players.Event{e}, nil
}
