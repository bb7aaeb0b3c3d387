package playlists

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/versions"
	"reprise/internal/words"
)

// VersionStore is what this package reads of earlier versions of playlists.
type VersionStore interface {
	Playlist(ctx context.Context, user, id int64) (library.StoredPlaylist, []library.Track, error)
	Versions(ctx context.Context, user, playlist int64) ([]library.PlaylistVersion, error)
	Version(ctx context.Context, user, playlist int64, number int) (library.PlaylistVersion, []library.Track, error)
	PinVersion(ctx context.Context, user, playlist int64, number int, pinned bool) error
}

// historyPages adds the routes of the pages.
func (h *Handler) historyPages(g *echo.Group) {
	g.GET("/playlists/:id/history", h.historyPage)
	g.GET("/playlists/:id/history/:number", h.versionPage)
	g.POST("/playlists/:id/history/:number/pin", h.pinForm)
	g.GET("/playlists/:id/history/:number/restore/:connection", h.restorePage)
	g.POST("/playlists/:id/history/:number/restore/:connection", h.restoreForm)
}

// historyAPI adds the routes of the API.
func (h *Handler) historyAPI(a *core.API) {
	core.Get(a, "/playlists/{id}/versions", h.versions, core.Call{
		ID:      "listPlaylistVersions",
		Summary: "What a playlist was like earlier, the latest first",
		Answer: "The versions. Each was kept when Reprise found the playlist changed; the oldest ones go when there " +
			"are more than 300 that are not pinned.",
	})
	core.Get(a, "/playlists/{id}/versions/{number}", h.versionAPI, core.Call{
		ID:      "getPlaylistVersion",
		Summary: "An earlier version of a playlist with its tracks, and what has changed since",
		Answer:  "The version.",
	})
	core.Patch(a, "/playlists/{id}/versions/{number}", h.pinAPI, core.Call{
		ID:      "pinPlaylistVersion",
		Summary: "Keep a version for good, or no longer",
		Answer:  "The version.",
	})
	core.Post(a, "/playlists/{id}/versions/{number}/restore/{connection}", h.restoreAPI, core.Call{
		ID:      "restorePlaylistVersion",
		Summary: "Write an earlier version of a playlist to a provider",
		Description: "At the provider that it comes from, the playlist becomes what it was. Another one gets a " +
			"playlist with the name and the date of the version.",
		Answer: "Stored. Reprise writes it as soon as the provider allows.",
		Status: http.StatusAccepted,
		Refusals: map[int]string{
			http.StatusUnprocessableEntity: "",
			http.StatusTooManyRequests:     "Too much is waiting already; see Retry-After (seconds).",
		},
	})
}

// Version is what a playlist was like earlier.
type Version struct {
	Number     int       `json:"number" minimum:"1"`
	Name       string    `json:"name" doc:"Of the playlist then."`
	TrackCount int       `json:"track_count" minimum:"0"`
	Since      core.Time `json:"since" doc:"When it was read like that for the first time."`
	Until      core.Time `json:"until" doc:"When it was found changed."`
	Came       int       `json:"came" minimum:"0" doc:"How many tracks came with the change that ended it."`
	Went       int       `json:"went" minimum:"0"`
	Moved      int       `json:"moved" minimum:"0"`
	Lost       int       `json:"lost" minimum:"0" doc:"How many tracks the provider may have removed with that change, without its person. They are among those that went, or are still in the playlist and can't be played."`
	Taken      bool      `json:"taken" doc:"The provider says that it doesn't offer them any more; false if nothing tells who removed them."`
	Pinned     bool      `json:"pinned" doc:"It is kept for good."`
	Bytes      int       `json:"bytes" minimum:"0" doc:"What keeping it takes."`
}

func viewVersion(v library.PlaylistVersion) Version {
	return Version{Number: v.Number, Name: v.Name, TrackCount: v.TrackCount, Since: core.Stamp(v.Since),
		Until: core.Stamp(v.Until), Came: v.Came, Went: v.Went, Moved: v.Moved, Lost: v.Lost.Songs, Taken: v.Lost.Taken,
		Pinned: v.Pinned, Bytes: v.Bytes}
}

type listVersionsAnswer struct {
	Versions []Version `json:"versions"`
}

func (h *Handler) versions(c echo.Context, _ *core.ByID) (out listVersionsAnswer, _ error) {
	_, id, err := h.one(c)
	if err != nil {
		return out, err
	}
	all, err := h.store.Versions(c.Request().Context(), core.UserOf(c).ID, id)
	return listVersionsAnswer{core.ViewAll(all, viewVersion)}, err
}

// found is a version that a request names.
type found struct {
	list   Playlist
	id     int64 // of the playlist
	at     library.PlaylistVersion
	tracks []library.Track
}

// version returns the version that a request names.
func (h *Handler) version(c echo.Context) (v found, err error) {
	number, err := core.Number(c.Param("number"))
	if err != nil {
		return v, err
	}
	if v.list, v.id, err = h.one(c); err != nil {
		return v, err
	}
	v.at, v.tracks, err = h.store.Version(c.Request().Context(), core.UserOf(c).ID, v.id,
		int(min(number, math.MaxInt32)))
	return v, err
}

// changes returns what differs between a version and another one, from the earlier to the later. With 0 in place of a
// number, the other one is what the playlist is like now.
func (h *Handler) changes(c echo.Context, v found, with int) (versions.Changes, error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	var other []library.Track
	var err error
	if with == 0 {
		_, other, err = h.store.Playlist(ctx, user, v.id)
	} else {
		_, other, err = h.store.Version(ctx, user, v.id, with)
	}
	if with != 0 && with < v.at.Number {
		return versions.Between(other, v.tracks), err
	}
	return versions.Between(v.tracks, other), err
}

// ByVersion names a version of a playlist.
type ByVersion struct {
	core.ByID
	Number int `path:"number" minimum:"1"`
}

type getVersionRequest struct {
	ByVersion
	With int `query:"with" minimum:"0" doc:"The number of the version to compare it with; left out, what the playlist is like now."`
}

type getVersionAnswer struct {
	Version
	Tracks     []ListedTrack `json:"tracks"`
	LostTracks []LostTrack   `json:"lost_tracks" doc:"Those that were lost when it ended."`
	Changes    struct {
		Came  []ListedTrack `json:"came"`
		Went  []ListedTrack `json:"went"`
		Moved []ListedTrack `json:"moved" doc:"Those that stayed, in another order; as few as possible."`
	} `json:"changes" doc:"From the earlier of both to the later."`
}

func (h *Handler) versionAPI(c echo.Context, in *getVersionRequest) (out getVersionAnswer, _ error) {
	v, err := h.version(c)
	if err != nil {
		return out, err
	}
	changes, err := h.changes(c, v, in.With)
	if err != nil {
		return out, err
	}
	all, err := h.store.Versions(c.Request().Context(), core.UserOf(c).ID, v.id)
	if err != nil {
		return out, err
	}
	lost, err := h.lost(c, v, next(all, v.at.Number))
	if err != nil {
		return out, err
	}
	out.Version, out.Tracks, out.LostTracks = viewVersion(v.at), core.ViewAll(v.tracks, viewListed), lost.view()
	out.Changes.Came = core.ViewAll(changes.Came, viewListed)
	out.Changes.Went = core.ViewAll(changes.Went, viewListed)
	out.Changes.Moved = core.ViewAll(changes.Moved, viewListed)
	return out, nil
}

type pinVersionRequest struct {
	ByVersion
	Body struct {
		Pinned bool `json:"pinned"`
	}
}

func (h *Handler) pinAPI(c echo.Context, in *pinVersionRequest) (out Version, _ error) {
	v, err := h.pin(c, in.Body.Pinned)
	return viewVersion(v), err
}

// pin keeps the version that a request names for good, or no longer.
func (h *Handler) pin(c echo.Context, pinned bool) (library.PlaylistVersion, error) {
	v, err := h.version(c)
	if err == nil {
		err = h.store.PinVersion(c.Request().Context(), core.UserOf(c).ID, v.id, v.at.Number, pinned)
	}
	v.at.Pinned = pinned
	return v.at, err
}

func (h *Handler) pinForm(c echo.Context) error {
	pinned := c.FormValue("pinned") == "yes"
	v, err := h.pin(c, pinned)
	if err != nil {
		return err
	}
	said := words.New("playlists.history.unpinned")
	if pinned {
		said = words.New("playlists.history.pinned")
	}
	return h.core.Done(c, pathOfVersion(c.Param("id"), v.Number), said)
}

func pathOfVersion(playlist string, number int) string {
	return "/playlists/" + playlist + "/history/" + strconv.Itoa(number)
}

type restoreVersionRequest struct {
	ByVersion
	core.Target
	core.IdempotencyKey
}

func (h *Handler) restoreAPI(c echo.Context, _ *restoreVersionRequest) (out Copy, _ error) {
	v, to, err := h.target(c)
	if err == nil {
		err = h.restore(c, v, to)
	}
	if err != nil {
		return out, err
	}
	return h.copies.ofVersion(c.Request().Context(), v, to)
}

// target returns the version and the connection that a request names, if the version can be written there.
func (h *Handler) target(c echo.Context) (v found, to library.Connection, err error) {
	conn, _, err := h.core.ConnectionIn(c, "connection")
	if err != nil {
		return v, to, err
	}
	if v, err = h.version(c); err != nil {
		return v, to, err
	}
	all, err := h.targets(c.Request().Context(), core.UserOf(c).ID)
	i := slices.IndexFunc(all, func(c library.Connection) bool { return c.ID == conn })
	if err == nil && i < 0 {
		err = delivery.ErrNotTaken
	}
	if err != nil {
		return v, to, err
	}
	return v, all[i], nil
}

// targets returns a user's connections that take playlists.
func (h *Handler) targets(ctx context.Context, user int64) ([]library.Connection, error) {
	all, err := h.store.UserConnections(ctx, user)
	return slices.DeleteFunc(all, func(c library.Connection) bool {
		p := h.core.Registry.Get(c.Provider())
		return p == nil || !p.TakesPlaylists(c.Credentials)
	}), err
}

func (h *Handler) restore(c echo.Context, v found, to library.Connection) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	if err := h.copies.deliveries.Restore(ctx, user, v.id, v.at.Number, to.ID); err != nil {
		return err
	}
	if err := h.teller.DecidedLosses(ctx, user, library.ConnectionID(v.list.Connection)); err != nil {
		h.core.Log.Warn("a notification stays until the playlist is read again", "err", err)
	}
	return nil
}

// restorePage asks before a playlist is replaced where it comes from.
func (h *Handler) restorePage(c echo.Context) error {
	v, to, err := h.target(c)
	if err != nil {
		return err
	}
	changes, err := h.changes(c, v, 0)
	if err != nil {
		return err
	}
	ctx, at := c.Request().Context(), pathOfVersion(v.list.ID, v.at.Number)
	came, went, moved := changes.Counts()
	day := words.Day(v.at.Until.In(core.Zone(c)))
	facts := []string{words.T(ctx, "playlists.history.ask_tracks", "Count", v.at.TrackCount)}
	if v.at.Name != v.list.Name {
		facts = append(facts, words.T(ctx, "playlists.history.ask_name", "Name", v.at.Name))
	}
	if came+went+moved > 0 {
		facts = append(facts, words.T(ctx, "playlists.history.ask_since", "Changes", changed(ctx, came, went, moved)))
	}
	return h.core.Confirm(c, core.Confirmation{
		Title: words.T(ctx, "playlists.history.ask_title", "List", v.list.Name, "Day", day),
		Lead:  words.T(ctx, "playlists.history.ask_lead", "Name", h.copies.label(to)), Facts: facts,
		Action: at + "/restore/" + string(to.ID), Button: words.T(ctx, "playlists.history.ask_button"), Warn: true,
		Back: at})
}

func (h *Handler) restoreForm(c echo.Context) error {
	v, to, err := h.target(c)
	if err == nil {
		err = h.restore(c, v, to)
	}
	if err != nil {
		return err
	}
	return h.core.Done(c, pathOfVersion(v.list.ID, v.at.Number),
		words.New("playlists.history.restoring", "Name", h.copies.label(to)))
}

// restored returns what has become of a version that was written to connections. It leaves out the others.
func (h *Handler) restored(ctx context.Context, v found, targets []library.Connection) (all []Copy, err error) {
	for _, to := range targets {
		one, err := h.copies.ofVersion(ctx, v, to)
		if err != nil {
			return nil, err
		}
		if one.Enabled {
			all = append(all, one)
		}
	}
	return all, nil
}
