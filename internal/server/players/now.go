package players

import (
	"cmp"

	"github.com/labstack/echo/v4"

	"reprise/internal/players"
	"reprise/internal/server/core"
)

// NowPlaying is what a player or a connection plays.
type NowPlaying struct {
	Player     string    `json:"player" doc:"The id of the player that says so, or of the connection that it is read from."`
	Name       string    `json:"name" doc:"That of the player or the connection."`
	PlayedWith string    `json:"played_with" doc:"The device or the program that is named; may be empty."`
	Track      string    `json:"track"`
	Artist     string    `json:"artist"`
	Album      string    `json:"album"`
	DurationMS int64     `json:"duration_ms" minimum:"0" doc:"0 if it is not known."`
	Since      core.Time `json:"since"`
}

type nowPlayingAnswer struct {
	NowPlaying []NowPlaying `json:"now_playing"`
}

func (h *Handler) nowAPI(c echo.Context, _ *core.FeedToken) (nowPlayingAnswer, error) {
	all, err := h.playing(c)
	return nowPlayingAnswer{all}, err
}

// Hears returns what a person hears, the latest first, each with the name of the player or the connection.
func (h *Handler) Hears(c echo.Context) ([]players.Playing, error) {
	user := core.UserOf(c).ID
	label, err := h.core.Labels(c.Request().Context(), user)
	if err != nil {
		return nil, err
	}
	return core.ViewAll(h.desk.Now().Of(user), func(p players.Playing) players.Playing {
		p.Name = cmp.Or(p.Name, label(p.From))
		return p
	}), nil
}

// playing returns what a person hears, the latest first.
func (h *Handler) playing(c echo.Context) ([]NowPlaying, error) {
	all, err := h.Hears(c)
	return core.ViewAll(all, func(p players.Playing) NowPlaying {
		return NowPlaying{Player: string(p.From), Name: p.Name, PlayedWith: p.With,
			Track: p.Track.Title, Artist: p.Track.Artist, Album: p.Track.Album,
			DurationMS: p.Track.Duration.Milliseconds(), Since: core.Stamp(p.Since)}
	}), err
}
