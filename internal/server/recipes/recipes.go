// Package recipes answers for playlists that renew themselves from their person's history.
package recipes

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	made "reprise/internal/recipes"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Store keeps recipes.
type Store interface {
	made.Store
	Recipes(ctx context.Context, user int64) ([]made.Recipe, error)
	Recipe(ctx context.Context, user, id int64) (made.Recipe, error)
	SaveRecipe(context.Context, made.Recipe) (made.Recipe, error)
	DeleteRecipe(ctx context.Context, user, id int64) error
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	ConnectionPlaylists(ctx context.Context, user int64, conn library.ConnectionID) ([]library.StoredPlaylist, error)
}

// Handler answers for recipes.
type Handler struct {
	core  *core.Core
	store Store
	maker *made.Maker
}

// New returns a Handler.
func New(k *core.Core, store Store, log *slog.Logger) *Handler {
	return &Handler{core: k, store: store, maker: made.New(store, log)}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/playlists/recipes", h.kindsPage)
	g.GET("/playlists/recipes/new", h.newPage)
	g.POST("/playlists/recipes", h.saveForm)
	g.GET("/playlists/recipes/:id", h.onePage)
	g.POST("/playlists/recipes/:id", h.saveForm)
	g.GET("/playlists/recipes/:id/delete", h.deletePage)
	g.POST("/playlists/recipes/:id/delete", h.deleteForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	many := map[int]string{http.StatusConflict: ""}
	core.Get(a, "/recipes", h.list, core.Call{
		ID:      "listRecipes",
		Summary: "Playlists that renew themselves from your history",
		Answer:  "The recipes, in the order in which they were made.",
	})
	core.Post(a, "/recipes", h.addAPI, core.Call{
		ID:       "addRecipe",
		Summary:  "Make a playlist that renews itself from your history",
		Answer:   "The recipe. Its playlist is made at once.",
		Status:   http.StatusCreated,
		Refusals: many,
	})
	core.Post(a, "/recipes/preview", h.previewAPI, core.Call{
		ID:      "previewRecipe",
		Summary: "Which songs a recipe would choose now, and why",
		Answer:  "The songs. Nothing is stored.",
	})
	core.Get(a, "/recipes/{id}", h.oneAPI, core.Call{
		ID:      "getRecipe",
		Summary: "A recipe, with the songs that it chooses now, and why",
		Answer:  "The recipe.",
	})
	core.Put(a, "/recipes/{id}", h.changeAPI, core.Call{
		ID:      "changeRecipe",
		Summary: "Change a recipe",
		Answer:  "The recipe. Its playlist is renewed at once; what it was is kept as a version.",
	})
	core.Delete(a, "/recipes/{id}", h.deleteAPI, core.Call{
		ID:      "deleteRecipe",
		Summary: "Delete a recipe with its playlist; copies elsewhere stay",
		Answer:  "Deleted.",
	})
}

// RecipeFields are what a recipe asks for.
type RecipeFields struct {
	Name     string `json:"name" minLength:"1" maxLength:"200" doc:"Of the playlist."`
	Kind     string `json:"kind" enum:"RecipeKind" doc:"forgotten: loved or often heard, and not heard for 'months'. top: most heard in a year, in a season of it, or in the last twelve months. discovered: heard for the first time within 'months'. anniversary: heard on these days in earlier years. returned: by artists that you came back to within 'months'."`
	Months   int    `json:"months" required:"false" minimum:"0" maximum:"120"`
	Loved    bool   `json:"loved" required:"false" doc:"With 'forgotten': loved songs only, not those that you often heard."`
	Year     int    `json:"year" required:"false" minimum:"0" maximum:"9999" doc:"With 'top'; 0 for the last twelve months."`
	Season   string `json:"season" required:"false" enum:",winter,spring,summer,autumn" doc:"With 'year'. Winter is of the year in which it ends."`
	Songs    int    `json:"songs" minimum:"1" maximum:"500" doc:"At most."`
	Minutes  int    `json:"minutes" required:"false" minimum:"0" maximum:"1440" doc:"At most; 0 for any."`
	Library  string `json:"library" required:"false" doc:"The id of a connection: only songs that its library has, or that you heard there. Empty for all."`
	Disliked bool   `json:"without_disliked" required:"false" doc:"Without what you dislike, or anybody else here who shares their listening."`
	Every    string `json:"every" enum:"day,week,month" doc:"How often it is renewed, between four and five in the morning."`
}

// RecipeView is a recipe.
type RecipeView struct {
	ID string `json:"id"`
	RecipeFields
	Playlist *string        `json:"playlist" doc:"The id of its playlist; null before it is made."`
	Renewed  core.MaybeTime `json:"renewed"`
}

// RecipeSong is a song that a recipe chooses.
type RecipeSong struct {
	Track  string `json:"track"`
	Artist string `json:"artist"`
	Album  string `json:"album"`
	Why    string `json:"why"`
}

// recipe returns the recipe, without what its kind doesn't use.
func (f RecipeFields) recipe(user, id int64) made.Recipe {
	return only(made.Recipe{ID: id, User: user, Name: library.Name(f.Name), Kind: made.Kind(f.Kind), Months: f.Months,
		Loved: f.Loved, Year: f.Year, Season: f.Season, Songs: f.Songs, Minutes: f.Minutes,
		Library: library.ConnectionID(f.Library), Disliked: f.Disliked, Every: f.Every})
}

// only returns a recipe without what its kind doesn't use.
func only(r made.Recipe) made.Recipe {
	if r.Kind != made.Forgotten {
		r.Loved = false
	}
	if r.Kind != made.Top {
		r.Year, r.Season = 0, ""
	}
	if r.Kind == made.Top || r.Kind == made.Anniversary {
		r.Months = 0
	}
	return r
}

func fieldsOf(r made.Recipe) RecipeFields {
	return RecipeFields{Name: r.Name, Kind: string(r.Kind), Months: r.Months, Loved: r.Loved, Year: r.Year,
		Season: r.Season, Songs: r.Songs, Minutes: r.Minutes, Library: string(r.Library), Disliked: r.Disliked,
		Every: r.Every}
}

// lists returns the ids of the playlists of a person's recipes, by the recipes' ids.
func (h *Handler) lists(ctx context.Context, user int64) (map[string]string, error) {
	all, err := h.store.ConnectionPlaylists(ctx, user, library.Recipes)
	of := make(map[string]string, len(all))
	for _, l := range all {
		of[l.SourceID] = strconv.FormatInt(l.ID, 10)
	}
	return of, err
}

func (h *Handler) view(ctx context.Context, r made.Recipe) (RecipeView, error) {
	lists, err := h.lists(ctx, r.User)
	return viewOf(r, lists), err
}

func viewOf(r made.Recipe, lists map[string]string) RecipeView {
	id := strconv.FormatInt(r.ID, 10)
	return RecipeView{ID: id, RecipeFields: fieldsOf(r), Playlist: core.Text(lists[id]),
		Renewed: core.Moment(r.Renewed)}
}

type listRecipesAnswer struct {
	Recipes []RecipeView `json:"recipes"`
}

func (h *Handler) list(c echo.Context, _ *core.None) (out listRecipesAnswer, _ error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	all, err := h.store.Recipes(ctx, user)
	if err != nil {
		return out, err
	}
	lists, err := h.lists(ctx, user)
	out.Recipes = core.ViewAll(all, func(r made.Recipe) RecipeView { return viewOf(r, lists) })
	return out, err
}

type recipeRequest struct {
	core.IdempotencyKey
	Body RecipeFields
}

type changeRecipeRequest struct {
	core.ByID
	Body RecipeFields
}

// RecipeSongs are the songs that a recipe chooses now.
type RecipeSongs struct {
	Chosen []RecipeSong `json:"chosen"`
}

// RecipeWithSongs is a recipe with them.
type RecipeWithSongs struct {
	RecipeView
	RecipeSongs
}

func (h *Handler) addAPI(c echo.Context, in *recipeRequest) (out RecipeView, _ error) {
	return h.saveAPI(c, in.Body.recipe(core.UserOf(c).ID, 0))
}

func (h *Handler) changeAPI(c echo.Context, in *changeRecipeRequest) (out RecipeView, _ error) {
	id, err := core.Number(in.ID)
	if err != nil {
		return out, err
	}
	return h.saveAPI(c, in.Body.recipe(core.UserOf(c).ID, id))
}

func (h *Handler) saveAPI(c echo.Context, r made.Recipe) (out RecipeView, err error) {
	if r, err = h.save(c, r); err != nil {
		return out, err
	}
	return h.view(c.Request().Context(), r)
}

// wrong returns what is wrong with a recipe; the zero Text for nothing. It may keep a connection that is gone.
func (h *Handler) wrong(ctx context.Context, r made.Recipe) (words.Text, error) {
	if wrong := r.Check(); !wrong.IsZero() || r.Library == "" {
		return wrong, nil
	}
	all, err := h.store.UserConnections(ctx, r.User)
	if err != nil || slices.ContainsFunc(all, func(c library.Connection) bool { return c.ID == r.Library }) {
		return words.Text{}, err
	}
	if before, err := h.store.Recipe(ctx, r.User, r.ID); err == nil && before.Library == r.Library {
		return words.Text{}, nil
	}
	return words.New("recipes.wrong.library"), nil
}

// check refuses a recipe that can't be.
func (h *Handler) check(ctx context.Context, r made.Recipe) error {
	wrong, err := h.wrong(ctx, r)
	if err == nil && !wrong.IsZero() {
		err = core.Check(wrong)
	}
	return err
}

// save stores a recipe, and makes its playlist.
func (h *Handler) save(c echo.Context, r made.Recipe) (made.Recipe, error) {
	ctx := c.Request().Context()
	err := h.check(ctx, r)
	if err == nil {
		r, err = h.store.SaveRecipe(ctx, r)
	}
	if errors.Is(err, made.ErrTooMany) {
		err = &core.Refusal{Status: http.StatusConflict, Title: words.New("recipes.many.title"),
			Detail: words.New("recipes.many.text", "Most", made.Most)}
	}
	if err == nil {
		err = h.maker.Renew(ctx, r)
	}
	if err != nil {
		return r, err
	}
	return h.store.Recipe(ctx, r.User, r.ID)
}

func (h *Handler) songs(c echo.Context, r made.Recipe) ([]RecipeSong, error) {
	ctx := c.Request().Context()
	all, err := h.maker.Choose(ctx, r)
	zone := core.Zone(c)
	return core.ViewAll(all, func(s made.Chosen) RecipeSong {
		return RecipeSong{Track: s.Title, Artist: s.Artist, Album: s.Album, Why: r.Why(s.Song, zone).T(ctx)}
	}), err
}

func (h *Handler) previewAPI(c echo.Context, in *recipeRequest) (out RecipeSongs, _ error) {
	r := in.Body.recipe(core.UserOf(c).ID, 0)
	err := h.check(c.Request().Context(), r)
	if err == nil {
		out.Chosen, err = h.songs(c, r)
	}
	return out, err
}

// find returns the recipe that a request names.
func (h *Handler) find(c echo.Context) (r made.Recipe, err error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return r, err
	}
	return h.store.Recipe(c.Request().Context(), core.UserOf(c).ID, id)
}

func (h *Handler) oneAPI(c echo.Context, _ *core.ByID) (out RecipeWithSongs, _ error) {
	r, err := h.find(c)
	if err != nil {
		return out, err
	}
	if out.RecipeView, err = h.view(c.Request().Context(), r); err != nil {
		return out, err
	}
	out.Chosen, err = h.songs(c, r)
	return out, err
}

func (h *Handler) deleteAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	return out, h.delete(c)
}

func (h *Handler) delete(c echo.Context) error {
	r, err := h.find(c)
	if err != nil {
		return err
	}
	return h.store.DeleteRecipe(c.Request().Context(), core.UserOf(c).ID, r.ID)
}
