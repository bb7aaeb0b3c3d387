package players

import (
	"github.com/labstack/echo/v4"

	"reprise/internal/players"
	"reprise/internal/server/core"
)

// NowPlaying is what a player plays.
type NowPlaying struct {
	Player     string    `json:"player" doc:"The id of the player."`
	Name       string    `json:"name" doc:"That of the player."`
	PlayedWith string    `json:"played_with" doc:"The device or the program that the player names; may be empty."`
	Track      string    `json:"track"`
	Artist     string    `json:"artist"`
	Album      string    `json:"album"`
	DurationMS int64     `json:"duration_ms" minimum:"0" doc:"0 if the player does not say."`
	Since      core.Time `json:"since"`
}

type nowPlayingAnswer struct {
	NowPlaying []NowPlaying `json:"now_playing"`
}

func (h *Handler) nowAPI(c echo.Context, _ *core.FeedToken) (out nowPlayingAnswer, _ error) {
	return nowPlayingAnswer{h.playing(c)}, nil
}

func (h *Handler) playing(c echo.Context) []NowPlaying {
	return core.ViewAll(h.desk.Now().Of(core.UserOf(c).ID), func(p players.Playing) NowPlaying {
		return NowPlaying{Player: string(p.Player), Name: p.Name, PlayedWith: p.With, Track: p.Track.Title,
			Artist: p.Track.Artist, Album: p.Track.Album, DurationMS: p.Track.Duration.Milliseconds(),
			Since: core.Stamp(p.Since)}
	})
}
