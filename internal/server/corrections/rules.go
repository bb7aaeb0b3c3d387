package corrections

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// RuleStore reads and corrects artists, albums and tracks, which belong to the whole household.
type RuleStore interface {
	Music(ctx context.Context, user int64, kind string, id int64) (enrich.Music, error)
	Search(context.Context, library.Search) (library.Found, error)
	Works(ctx context.Context, user, artist int64) (albums, tracks []library.Heard, err error)
	Written(ctx context.Context, user int64, kind string, id int64) ([]library.Writing, error)
	MergeEffect(ctx context.Context, user int64, kind string, from, to int64) (library.Effect, error)
	MergeMusic(ctx context.Context, user int64, kind string, from, to int64) (library.Correction, error)
	RenameMusic(ctx context.Context, user int64, kind string, id int64, name string) (library.Correction, error)
	DivideMusic(ctx context.Context, user int64, kind string, id int64, d library.Division) (library.Correction, error)
	RuleExists(ctx context.Context, id int64) (bool, error)
	UndoRule(ctx context.Context, id int64) (library.Correction, error)
}

// kinds maps the names in the addresses of the API to kinds of music.
var kinds = map[string]string{"artists": library.KindArtist, "albums": library.KindAlbum, "tracks": library.KindTrack}

// rulesAPI adds the routes of the API for artists, albums and tracks.
func (h *Handler) rulesAPI(g *echo.Group) {
	for name, kind := range kinds {
		one := "/" + name + "/:id"
		g.PATCH(one, h.renameAPI(kind), core.MustBeAdmin)
		g.POST(one+"/merge", h.mergeAPI(kind), core.MustBeAdmin)
		g.POST(one+"/split", h.divideAPI(kind), core.MustBeAdmin)
		g.PUT(one+"/picture", h.pictureAPI(kind), core.MustBeAdmin)
		g.DELETE(one+"/picture", h.automaticAPI(kind), core.MustBeAdmin)
	}
}

// refused turns an error of the store into a refusal.
func refused(err error, why words.Text) error {
	switch {
	case errors.Is(err, library.ErrNameTaken):
		return &core.Refusal{Status: http.StatusConflict, Title: words.New("rules.problem.taken"),
			Detail: words.New("rules.problem.taken_text")}
	case errors.Is(err, library.ErrNotHere):
		return core.Check(words.New("rules.problem.not_here"))
	}
	return unchanged(err, why)
}

// longestName is the maximum length of a name, in bytes.
const longestName = 500

// cleanName returns a name as it is stored, or a refusal if it is empty or too long.
func cleanName(text string) (string, error) {
	name := library.Name(strings.TrimSpace(text))
	if name == "" || len(name) > longestName {
		return "", core.Check(words.New("rules.problem.name", "Most", longestName))
	}
	return name, nil
}

func (h *Handler) rename(c echo.Context, kind, text string) (made library.Correction, err error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return made, err
	}
	name, err := cleanName(text)
	if err != nil {
		return made, err
	}
	made, err = h.store.RenameMusic(c.Request().Context(), core.UserOf(c).ID, kind, id, name)
	return made, refused(err, words.New("rules.problem.called"))
}

func (h *Handler) renameAPI(kind string) echo.HandlerFunc {
	return func(c echo.Context) error {
		in, err := core.Body[struct {
			Name string `json:"name"`
		}](c)
		if err != nil {
			return err
		}
		made, err := h.rename(c, kind, in.Name)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, View(made))
	}
}

func (h *Handler) merge(c echo.Context, kind, into string) (made library.Correction, err error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return made, err
	}
	to, err := core.Number(into)
	if err != nil {
		return made, err
	}
	made, err = h.store.MergeMusic(c.Request().Context(), core.UserOf(c).ID, kind, id, to)
	return made, refused(err, words.New("rules.problem.same"))
}

// effect returns what a merge would change.
func (h *Handler) effect(c echo.Context, kind, into string) (v library.Effect, err error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return v, err
	}
	to, err := core.Number(into)
	if err != nil {
		return v, err
	}
	v, err = h.store.MergeEffect(c.Request().Context(), core.UserOf(c).ID, kind, id, to)
	return v, refused(err, words.New("rules.problem.same"))
}

func (h *Handler) mergeAPI(kind string) echo.HandlerFunc {
	return func(c echo.Context) error {
		in, err := core.Body[struct {
			Into   string `json:"into"`
			DryRun bool   `json:"dry_run"`
		}](c)
		if err != nil {
			return err
		}
		v, err := h.effect(c, kind, in.Into)
		if err != nil {
			return err
		}
		answer := map[string]any{"listens": v.From.Plays, "albums": v.Albums, "tracks": v.Tracks, "correction": nil}
		if !in.DryRun {
			made, err := h.merge(c, kind, in.Into)
			if err != nil {
				return err
			}
			answer["correction"] = View(made)
		}
		return c.JSON(http.StatusOK, answer)
	}
}

// division is the body of a call that splits.
type division struct {
	Names  []string `json:"names"`
	Albums []string `json:"albums"`
	Tracks []string `json:"tracks"`
	Name   string   `json:"name"`
	Titles []string `json:"titles"`
}

// mostNames caps the artists that one name may mean.
const mostNames = 20

// divisionOf checks how a call splits an artist, an album or a track. The result has one form filled in.
func divisionOf(kind string, in division) (d library.Division, err error) {
	some := len(in.Albums)+len(in.Tracks) > 0
	if len(in.Names) > mostNames || len(in.Albums)+len(in.Tracks)+len(in.Titles) > mostIDs {
		return d, core.Check(words.New("rules.problem.most", "Names", mostNames, "Most", mostIDs))
	}
	if kind != library.KindArtist {
		if len(in.Titles) == 0 || len(in.Names) > 0 || some {
			return d, core.Check(words.New("rules.problem.titles"))
		}
		d.Titles = in.Titles
		return d, nil
	}
	if len(in.Titles) > 0 || some == (len(in.Names) > 0) {
		return d, core.Check(words.New("rules.problem.forms"))
	}
	if !some {
		for _, text := range in.Names {
			name, err := cleanName(text)
			if err != nil {
				return d, err
			}
			d.Names = append(d.Names, name)
		}
		return d, nil
	}
	for _, texts := range []struct {
		from []string
		to   *[]int64
	}{{in.Albums, &d.Albums}, {in.Tracks, &d.Tracks}} {
		for _, text := range texts.from {
			id, err := core.Number(text)
			if err != nil {
				return d, err
			}
			*texts.to = append(*texts.to, id)
		}
	}
	d.Name, err = cleanName(in.Name)
	return d, err
}

func (h *Handler) divide(c echo.Context, kind string, in division) (made library.Correction, err error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return made, err
	}
	d, err := divisionOf(kind, in)
	if err != nil {
		return made, err
	}
	made, err = h.store.DivideMusic(c.Request().Context(), core.UserOf(c).ID, kind, id, d)
	return made, refused(err, words.Each("rules.problem.all.", kind))
}

func (h *Handler) divideAPI(kind string) echo.HandlerFunc {
	return func(c echo.Context) error {
		in, err := core.Body[division](c)
		if err != nil {
			return err
		}
		made, err := h.divide(c, kind, in)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, View(made))
	}
}

// undoRule undoes a rule if the user is an administrator. Members get a refusal that says who can undo it.
func (h *Handler) undoRule(c echo.Context, id int64) (library.Correction, error) {
	ctx := c.Request().Context()
	if !core.Administers(c) {
		there, err := h.store.RuleExists(ctx, id)
		if err == nil && there {
			err = &core.Refusal{Status: http.StatusForbidden, Title: words.New("problem.admin.title"),
				Detail: words.New("rules.problem.member")}
		} else if err == nil {
			err = library.ErrNotFound
		}
		return library.Correction{}, err
	}
	return h.store.UndoRule(ctx, id)
}
