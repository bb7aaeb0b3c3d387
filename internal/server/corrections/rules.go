package corrections

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
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

// rulesAPI adds the calls for artists, albums and tracks.
func (h *Handler) rulesAPI(a *core.API) {
	a = a.With(core.MustBeAdmin)
	conflict := map[int]string{http.StatusConflict: ""}
	for name, kind := range kinds {
		one, called := "/"+name+"/{id}", strings.ToUpper(kind[:1])+kind[1:]
		an := articles[kind] + kind
		core.Patch(a, one, h.renameAPI(kind), core.Call{
			ID:      "rename" + called,
			Summary: "Give " + an + " another name, for the whole household; administrators only",
			Description: "Search finds the old name as well. 409 if it already has this name, or another artist " +
				"has it.",
			Answer: "The correction.",
		})
		core.Post(a, one+"/merge", h.mergeAPI(kind), core.Call{
			ID:      "merge" + called,
			Summary: "Merge " + an + " into another one, for the whole household; administrators only",
			Description: "This also applies to what services report later, and links to the merged one lead to the " +
				"other one. 409 if they are already merged.",
			Answer: "What has changed.",
		})
		if kind == library.KindArtist {
			core.Post(a, one+"/split", h.divideArtist, core.Call{
				ID:      "divideArtist",
				Summary: "Split an artist into several, for the whole household; administrators only",
				Answer:  "The correction.",
			})
		} else {
			core.Post(a, one+"/split", h.divideTitles(kind), core.Call{
				ID:      "divide" + called,
				Summary: "Split some titles off " + an + ", for the whole household; administrators only",
				Answer:  "The correction.",
			})
		}
		core.Put(a, one+"/picture", h.pictureAPI(kind), core.Call{
			ID:          "picture" + called,
			Summary:     "Choose the picture of " + an + ", for the whole household; administrators only",
			Description: "The body is a JPEG, PNG, WebP or GIF file. 409 if that is already the picture.",
			Answer:      "The correction.",
			Takes:       map[string]*huma.Schema{"image/*": core.File()},
			Refusals:    map[int]string{http.StatusRequestEntityTooLarge: ""},
		})
		core.Delete(a, one+"/picture", h.automaticAPI(kind), core.Call{
			ID:       "automaticPictureOf" + called,
			Summary:  "Use the automatic picture of " + an + " again; administrators only",
			Answer:   "The automatic one is back.",
			Refusals: conflict,
		})
	}
}

// articles are those before the kinds of music.
var articles = map[string]string{library.KindArtist: "an ", library.KindAlbum: "an ", library.KindTrack: "a "}

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

type renameRequest struct {
	core.ByID
	Body Renaming
}

// Renaming is another name.
type Renaming struct {
	Name string `json:"name" minLength:"1" maxLength:"500"`
}

func (h *Handler) renameAPI(kind string) core.Handle[renameRequest, Correction] {
	return func(c echo.Context, in *renameRequest) (out Correction, _ error) {
		made, err := h.rename(c, kind, in.Body.Name)
		return View(made), err
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

type mergeRequest struct {
	core.ByID
	Body Merging
}

// Merging says what something is merged into.
type Merging struct {
	Into   string `json:"into" doc:"The id of the one to keep."`
	DryRun bool   `json:"dry_run" required:"false" doc:"Only say what would change."`
}

// Merged is what a merge has changed, or would change.
type Merged struct {
	Listens    int         `json:"listens" minimum:"0" doc:"Your listens that now count for the other one."`
	Albums     int         `json:"albums" minimum:"0" doc:"Albums that move with an artist."`
	Tracks     int         `json:"tracks" minimum:"0" doc:"Tracks that move with an artist."`
	Correction *Correction `json:"correction"`
}

func (h *Handler) mergeAPI(kind string) core.Handle[mergeRequest, Merged] {
	return func(c echo.Context, in *mergeRequest) (out Merged, _ error) {
		v, err := h.effect(c, kind, in.Body.Into)
		if err != nil {
			return out, err
		}
		out = Merged{Listens: v.From.Plays, Albums: v.Albums, Tracks: v.Tracks}
		if !in.Body.DryRun {
			made, err := h.merge(c, kind, in.Body.Into)
			if err != nil {
				return out, err
			}
			out.Correction = new(View(made))
		}
		return out, nil
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

type divideArtistRequest struct {
	core.ByID
	Body ArtistDivision `doc:"Either 'names', or 'name' with 'albums', 'tracks' or both."`
}

// ArtistDivision says how an artist is split.
type ArtistDivision struct {
	Names  []string `json:"names" required:"false" maxItems:"20" doc:"The artists that one name means."`
	Albums []string `json:"albums" required:"false" maxItems:"1000" doc:"Ids of that artist's albums."`
	Tracks []string `json:"tracks" required:"false" maxItems:"1000" doc:"Ids of that artist's tracks."`
	Name   string   `json:"name" required:"false" maxLength:"500" doc:"The name of the other artist."`
}

func (h *Handler) divideArtist(c echo.Context, in *divideArtistRequest) (Correction, error) {
	made, err := h.divide(c, library.KindArtist, division{Names: in.Body.Names, Albums: in.Body.Albums,
		Tracks: in.Body.Tracks, Name: in.Body.Name})
	return View(made), err
}

type divideTitlesRequest struct {
	core.ByID
	Body TitleDivision
}

// TitleDivision says what is split off an album or a track.
type TitleDivision struct {
	Titles []string `json:"titles" minItems:"1" maxItems:"1000" doc:"The titles to split off, exactly as services write them."`
}

func (h *Handler) divideTitles(kind string) core.Handle[divideTitlesRequest, Correction] {
	return func(c echo.Context, in *divideTitlesRequest) (Correction, error) {
		made, err := h.divide(c, kind, division{Titles: in.Body.Titles})
		return View(made), err
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
