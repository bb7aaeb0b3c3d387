package players_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/servertest"
)

// hook posts an event to the player's own path.
func (p player) hook(path, body string) {
	p.T.Helper()
	code, answer := p.send(http.MethodPost, "/p/"+p.secret+"/"+path, "", body)
	require.Equal(p.T, http.StatusOK, code, answer)
}

func jellyfin(what, item string, position time.Duration) string {
	return fmt.Sprintf(`{"NotificationType":%q,"UtcTimestamp":"2026-11-23T21:00:00Z","Name":"T\\\"%[2]s\\\"",
		"ItemId":%[2]q,"ItemType":"Audio",
		"RunTimeTicks":2150000000,"Album":"B","Artist":"A","PlaybackPositionTicks":%[3]d,
		"PlayedToCompletion":false,"DeviceName":"Phone","DeviceId":"d","NotificationUsername":"ada","UserId":"u"}`,
		what, item, position/100)
}

// Promise: What a media server tells becomes one play once half of it or four minutes were heard, which began when it
// began.
func TestAMediaServersEventsAreOnePlay(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "jellyfin")
		began := time.Now()
		p.hook("jellyfin", jellyfin("PlaybackStart", "one", 0))
		require.Len(t, h.Call(http.MethodGet, "/now-playing", "", http.StatusOK)["now_playing"], 1)
		time.Sleep(time.Minute)
		p.hook("jellyfin", jellyfin("PlaybackProgress", "one", time.Minute))
		require.Empty(t, p.listens(), "a minute of three and a half")
		h.Restart() // in the middle of it
		time.Sleep(time.Minute)
		p.hook("jellyfin", jellyfin("PlaybackProgress", "one", 2*time.Minute))
		require.Equal(t, []string{`T"one"`}, p.listens())
		p.hook("jellyfin", jellyfin("PlaybackStop", "one", 3*time.Minute))
		p.hook("jellyfin", jellyfin("PlaybackStop", "one", 3*time.Minute))
		require.Len(t, p.listens(), 1)
		listen := h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any)[0].(map[string]any)
		require.Equal(t, began.UTC().Format("2006-01-02T15:04:05.000Z"), listen["played_at"])
		require.Empty(t, h.Call(http.MethodGet, "/now-playing", "", http.StatusOK)["now_playing"])

		p.hook("jellyfin", jellyfin("PlaybackStart", "two", 0))
		time.Sleep(10 * time.Second)
		p.hook("jellyfin", jellyfin("PlaybackStop", "two", 10*time.Second))
		require.Len(t, p.listens(), 1, "it was skipped")
		p.hook("jellyfin", jellyfin("PlaybackStart", "three", 0))
		time.Sleep(10 * time.Second)
		p.hook("jellyfin", jellyfin("PlaybackStop", "three", 200*time.Second))
		require.Len(t, p.listens(), 1, "seeking is not hearing")
		p.hook("jellyfin", jellyfin("PlaybackStop", "four", 200*time.Second))
		require.Len(t, p.listens(), 2, "its start was not told")

		time.Sleep(time.Hour)
		p.hook("jellyfin", jellyfin("PlaybackStart", "one", 0))
		time.Sleep(3 * time.Minute)
		p.hook("jellyfin", jellyfin("PlaybackStop", "one", 3*time.Minute))
		require.Len(t, p.listens(), 3, "heard again")
	})
}

// Promise: Of a media server that several people use, a player takes the plays of the one that its address names.
func TestAMediaServersOtherPeopleAreLeftOut(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "any")
		p.hook("jellyfin?user=ben", jellyfin("PlaybackStop", "one", 3*time.Minute))
		require.Empty(t, p.listens())
		p.hook("jellyfin?user=Ada", jellyfin("PlaybackStop", "one", 3*time.Minute))
		require.Len(t, p.listens(), 1)
	})
}

func TestEachWebhookIsRead(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "any")
		now := time.Now().Unix()
		plex := func(event string, offset int) string {
			return fmt.Sprintf(`{"event":%q,"user":true,"owner":true,"Account":{"id":1,"title":"ada"},
				"Player":{"title":"Plexamp","uuid":"u"},"Metadata":{"librarySectionType":"artist","type":"track",
				"title":"Plex song","grandparentTitle":"Album artist","originalTitle":"A","parentTitle":"B",
				"ratingKey":"17","duration":215000,"viewOffset":%d}}`, event, offset)
		}
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		field, err := w.CreateFormField("payload")
		require.NoError(t, err)
		_, _ = field.Write([]byte(plex("media.scrobble", 194000)))
		require.NoError(t, w.Close())
		r := httptest.NewRequest(http.MethodPost, "/p/"+p.secret+"/plex", &form)
		r.Header.Set("Content-Type", w.FormDataContentType())
		answer := httptest.NewRecorder()
		p.ServeHTTP(answer, r)
		require.Equal(t, http.StatusOK, answer.Code)
		p.hook("plex", plex("media.stop", 200000))

		p.hook("tautulli", fmt.Sprintf(`{"action":"stop","user":"ada","player":"TV","media_type":"track",
			"title":"Tautulli song","artist":"","album_artist":"A","album":"B",
			"length":"215","played":"200","started":"%d",
			"mbid":""}`, now-200))
		p.hook("emby", `{"Title":"x","Event":"playback.stop","User":{"Name":"ada","Id":"1"},"Item":{"Id":"5",
			"Name":"Emby song","Type":"Audio",
			"Artists":["A","C"],"Album":"B","RunTimeTicks":2150000000},"Session":{"DeviceName":"TV"},
			"PlaybackInfo":{"PositionTicks":2000000000}}`)
		for _, event := range []string{"nowplaying", "scrobble"} {
			p.hook("webscrobbler", fmt.Sprintf(`{"eventName":%q,"time":%d,"data":{"song":{"processed":{"track":null},
				"parsed":{"track":"Browser song","artist":"A","album":"B","duration":215,"uniqueID":"x",
				"isPodcast":false},"metadata":{"startTimestamp":%d},"connector":{"id":"bandcamp","label":"Bandcamp"}},
				"currentlyPlaying":true}}`,
				event, now*1000, now-150))
		}
		p.hook("json", fmt.Sprintf(`{"event":"played","title":"Script song","artist":"A","at":"%d"}`, now-300))
		p.hook("json", `{"title":"Another script song","artist":"A","at":"2026-11-27T19:00:00Z"}`)
		require.ElementsMatch(t, []string{"Plex song", "Tautulli song", "Emby song", "Browser song", "Script song",
			"Another script song"}, p.listens())

		for _, loved := range []bool{true, false, true} {
			p.hook("webscrobbler", fmt.Sprintf(`{"eventName":"loved","time":1,"data":{"isLoved":%t,"song":{"parsed":{
				"track":"Browser song","artist":"A"}}}}`, loved))
			all, n, err := h.DB.Loves(t.Context(), library.LoveFilter{User: h.User, Score: library.Loved}, 0, 5)
			require.NoError(t, err)
			require.Equal(t, loved, n == 1 && all[0].Title == "Browser song", "%v", all)
		}
		p.hook("plex", `{"event":"media.scrobble","Metadata":{"type":"movie","title":"A film"}}`)
		p.hook("jellyfin", `{"NotificationType":"ItemAdded","ItemType":"Movie"}`)
		p.hook("jellyfin", `{"NotificationType":"PlaybackStop","ItemType":"AudioBook","Name":"A chapter","Artist":"A"}`)
		for _, kind := range []string{"Podcast", "tvshow", "movie", "channel", "app"} {
			p.hook("json", `{"event":"played","type":"`+kind+`","title":"An episode","artist":"A"}`)
		}
		p.hook("webscrobbler", `{"eventName":"scrobble","data":{"song":{"parsed":{"track":"An episode","artist":"A",
			"isPodcast":true}}}}`)
		require.Len(t, p.listens(), 6, "what is no music is left alone")
		for path, body := range map[string]string{"json": `{"event":"played","artist":"A"}`, "plex": "[", "emby": "7",
			"jellyfin": `"x"`, "tautulli": "", "webscrobbler": `{"data":[]}`} {
			code, _ := p.send(http.MethodPost, "/p/"+p.secret+"/"+path, "", body)
			require.Equal(t, http.StatusBadRequest, code, path)
		}
		code, _ := p.send(http.MethodGet, "/p/"+p.secret+"/plex", "", "")
		require.Equal(t, http.StatusMethodNotAllowed, code)
		require.Len(t, p.shown()["refused"], 7)
	})
}

func TestAWebhookIsSetUpOnPages(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		to := h.Submit("/players", http.StatusSeeOther, "name", "TV", "for", "tautulli").Header().Get("Location")
		made := h.Page(to)
		require.Contains(t, made, "/tautulli</code>")
		require.Contains(t, made, "{started_unixtime}")
		require.NotContains(t, made, "player-token", "it takes an address only")
		to = h.Submit("/players/player/secret", http.StatusSeeOther).Header().Get("Location")
		require.Contains(t, h.Page(to), "/tautulli</code>")
	})
}
