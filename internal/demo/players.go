package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// The players of Alice that send what they play by themselves.
const (
	Jellyfin = "jellyfin"
	Phone    = "phone"
	Browser  = "browser"
)

// playerNames lists them.
var playerNames = []string{Jellyfin, Phone, Browser}

// PlayerMode is what is wrong with a player; see the page.
type PlayerMode string

// The modes of players.
const (
	Sends   PlayerMode = "sends"
	Unset   PlayerMode = "unset"   // its clock was never set
	Garbled PlayerMode = "garbled" // it sends what nobody can read
	Silent  PlayerMode = "silent"
)

// playerModes returns those of a player. A media server tells of now only.
func playerModes(player string) []PlayerMode {
	if player == Phone {
		return []PlayerMode{Sends, Unset, Garbled, Silent}
	}
	return []PlayerMode{Sends, Garbled, Silent}
}

// devices are the players with the secrets that Reprise gave them.
type devices struct {
	mu      sync.Mutex
	secrets map[string]string
	modes   map[string]PlayerMode
}

// Equip gives the players their secrets, by their names.
func (w *World) Equip(secrets map[string]string) {
	w.devices.mu.Lock()
	defer w.devices.mu.Unlock()
	w.devices.secrets, w.devices.modes = secrets, map[string]PlayerMode{}
}

// Break puts a player into a mode. It returns an error for an unknown one.
func (w *World) Break(player string, m PlayerMode) error {
	if !slices.Contains(playerNames, player) || !slices.Contains(playerModes(player), m) {
		return fmt.Errorf("no player %q has a mode %q", player, m)
	}
	w.devices.mu.Lock()
	defer w.devices.mu.Unlock()
	w.devices.modes[player] = m
	return nil
}

func (w *World) deviceOf(player string) (secret string, m PlayerMode) {
	w.devices.mu.Lock()
	defer w.devices.mu.Unlock()
	if m = w.devices.modes[player]; m == "" {
		m = Sends
	}
	return w.devices.secrets[player], m
}

const (
	songLasts = 200 * time.Second // a song of a player
	quickSong = time.Minute       // the same while the demo plays quickly: long enough to be a play
	songsWait = 20 * time.Second
)

// Players returns what has the players of an equipped world play one song after the other, and tell the server at an
// address of it, until a context ends. They begin one after the other.
func (w *World) Players(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		if w.opts.Live > 0 {
			w.playInto(ctx, address)
		}
		return nil
	}
}

func (w *World) playInto(ctx context.Context, address string) {
	var all sync.WaitGroup
	for i, name := range playerNames {
		all.Go(func() {
			for wait := time.Duration(i+1) * songsWait / 2; pause(ctx, wait); wait = songsWait {
				song, length := w.home.nextSong(), songLasts
				if w.quickly.Load() {
					length = quickSong
				}
				began := w.opts.Now()
				w.tell(ctx, address, name, song, began, false)
				heard := length * 3 / 5 // more than half of it, which makes it a play
				if !pause(ctx, heard) {
					return
				}
				w.tell(ctx, address, name, song, began, true)
				if !pause(ctx, length-heard) {
					return
				}
			}
		})
	}
	all.Wait()
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// nextSong picks a track at random.
func (h *household) nextSong() Play {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := h.pickLocked(false)
	return Play{Title: h.cat.tracks[id].title, Artist: h.cat.albumOf(id).artist}
}

// tell has a player say that a song has begun, or is done.
func (w *World) tell(ctx context.Context, address, player string, song Play, began time.Time, done bool) {
	secret, mode := w.deviceOf(player)
	if secret == "" || mode == Silent {
		return
	}
	if mode == Unset {
		began = time.Unix(0, 0).Add(time.Hour)
	}
	path, body := message(player, song, began, done)
	text, err := json.Marshal(body)
	if err != nil {
		return
	}
	if mode == Garbled {
		text = text[:len(text)/2]
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/p/"+secret+path,
		strings.NewReader(string(text)))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	if resp, err := http.DefaultClient.Do(req); err == nil { // else it is being stopped
		_ = resp.Body.Close()
	}
}

// message returns what a player sends, and where.
func message(player string, song Play, began time.Time, done bool) (path string, body any) {
	switch player {
	case Jellyfin:
		what, position := "PlaybackStart", time.Duration(0)
		if done {
			what, position = "PlaybackStop", songLasts
		}
		return "/jellyfin", object{"NotificationType": what, "ItemType": "Audio", "Name": song.Title,
			"Artist": song.Artist, "ItemId": song.Title, "RunTimeTicks": songLasts.Nanoseconds() / 100,
			"PlaybackPositionTicks": position.Nanoseconds() / 100, "DeviceName": "Living room",
			"NotificationUsername": "alice"}
	case Browser:
		what := "nowplaying"
		if done {
			what = "scrobble"
		}
		return "/webscrobbler", object{"eventName": what, "time": began.UnixMilli(), "data": object{"song": object{
			"parsed":    object{"track": song.Title, "artist": song.Artist, "duration": songLasts.Seconds()},
			"processed": object{}, "metadata": object{"startTimestamp": began.Unix()}}}}
	}
	listen := object{"track_metadata": object{"track_name": song.Title, "artist_name": song.Artist,
		"additional_info": object{"media_player": "Phone", "duration_ms": songLasts.Milliseconds()}}}
	kind := "playing_now"
	if done {
		kind, listen["listened_at"] = "single", began.Unix()
	}
	return "/1/submit-listens", object{"listen_type": kind, "payload": []object{listen}}
}
