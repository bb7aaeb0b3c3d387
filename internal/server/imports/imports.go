// Package imports answers for the imports of files.
package imports

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"reprise/internal/activity"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Store is what this package reads.
type Store interface {
	Imports(ctx context.Context, user int64) ([]imports.Import, error)
}

// Handler answers for the imports of files.
type Handler struct {
	core   *core.Core
	store  Store
	runner *imports.Runner
}

// New returns a Handler.
func New(k *core.Core, store Store, runner *imports.Runner) *Handler {
	return &Handler{core: k, store: store, runner: runner}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/imports", h.page)
	g.POST("/imports", h.sendForm)
	g.POST("/imports/:id/cancel", h.cancelForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/imports", h.list, core.Call{
		ID:      "listImports",
		Summary: "The latest 50 imports of files, newest first",
		Answer: "Reprise reads one person's files one after another. People take turns, so nobody waits for the " +
			"end of somebody else's file.",
	})
	core.Post(a, "/imports", h.sendAPI, core.Call{
		ID:      "importFile",
		Summary: "Import an export file of a service",
		Description: "Send the file as the body, with its provider and name in the query, or as the part `file` of " +
			"a form, after a part `provider`. Reprise checks it before it accepts it. Duplicates are skipped as " +
			"everywhere, so importing the same file twice adds nothing.",
		Answer: "Accepted. Reprise reads it when its turn comes.",
		Status: http.StatusCreated,
		Takes: map[string]*huma.Schema{"application/octet-stream": {Type: huma.TypeString,
			Format: "binary", Description: "At most 2 GiB."}, echo.MIMEMultipartForm: {
			Type: huma.TypeObject, Required: []string{"file"}, Properties: map[string]*huma.Schema{
				"provider": {Type: huma.TypeString, Enum: core.Enum(h.readers()...)}, "file": core.File()}}},
		Choices: map[string][]string{"provider": h.readers()},
		Refusals: map[int]string{
			http.StatusConflict:              "",
			http.StatusRequestEntityTooLarge: "",
			http.StatusUnprocessableEntity:   "",
			http.StatusInsufficientStorage:   "",
		},
	})
	core.Delete(a, "/imports/{id}", h.cancelAPI, core.Call{
		ID:      "removeImport",
		Summary: "Cancel a running import, or forget one that has ended; its listens stay",
		Answer:  "Canceled, or forgotten.",
	})
}

// readers returns the names of the providers whose exports can be imported.
func (h *Handler) readers() (names []string) {
	for _, p := range h.core.Registry.All() {
		if imports.Reads(p.Name) {
			names = append(names, p.Name)
		}
	}
	return append(names, string(imports.Reprise))
}

// Import is an import of a file.
type Import struct {
	Connection  string         `json:"connection" doc:"Its provider, and from the second connection on, a number."`
	ID          string         `json:"id"`
	Provider    string         `json:"provider"`
	DisplayName string         `json:"display_name"`
	Name        string         `json:"name" doc:"The file's."`
	State       string         `json:"state" enum:"waiting,running,done,failed,canceled"`
	Rows        int            `json:"rows" minimum:"0" doc:"Read so far."`
	RowsTotal   int            `json:"rows_total" minimum:"0" doc:"About how many there are."`
	Added       int            `json:"added" minimum:"0" doc:"Listens that are new."`
	Known       int            `json:"known" minimum:"0" doc:"Plays that Reprise already had, from any source."`
	Skipped     int            `json:"skipped" minimum:"0" doc:"Rows that are no listens: podcasts, plays under 30 seconds."`
	Bad         int            `json:"bad" minimum:"0" doc:"Rows that Reprise could not read."`
	BytesDone   int64          `json:"bytes_done" minimum:"0"`
	BytesTotal  int64          `json:"bytes_total" minimum:"0" doc:"Unpacked."`
	Problems    []string       `json:"problems" doc:"The first of the bad rows."`
	Reason      string         `json:"reason,omitempty" doc:"Why it failed."`
	Trouble     string         `json:"trouble,omitempty" doc:"Why it waits and what to do, for example because the disk is full. It continues by itself."`
	CreatedAt   core.Time      `json:"created_at"`
	EndedAt     core.MaybeTime `json:"ended_at"`
	Open        bool           `json:"-"`
}

func (h *Handler) view(ctx context.Context, v imports.Import, label func(library.ConnectionID) string) Import {
	view := Import{ID: strconv.FormatInt(v.ID, 10), Connection: string(v.Connection),
		Provider: v.Connection.Provider(), DisplayName: nameOf(v.Connection, label), Name: v.Name,
		State: string(v.State), Rows: v.Rows,
		RowsTotal: v.AllRows(), Added: v.Added, Known: v.Known, Skipped: v.Skipped, Bad: v.Bad,
		BytesDone: v.BytesDone, BytesTotal: v.BytesAll,
		Problems: []string{}, Reason: v.Reason.T(ctx), CreatedAt: core.Stamp(v.CreatedAt),
		EndedAt: core.Moment(v.EndedAt), Open: v.Open(), Trouble: h.runner.Trouble(v.ID).T(ctx)}
	for _, why := range v.BadRows() {
		view.Problems = append(view.Problems, why.T(ctx))
	}
	return view
}

// ours is the name of this program, whose own exports can be imported too.
const ours = "Reprise"

// nameOf returns the name of the service that an import is from.
func nameOf(id library.ConnectionID, label func(library.ConnectionID) string) string {
	if id == imports.Reprise {
		return ours
	}
	return label(id)
}

// all returns a user's imports from a provider, or from all if the name is empty.
func (h *Handler) all(ctx context.Context, user int64, conn library.ConnectionID) ([]Import, error) {
	label, err := h.core.Labels(ctx, user)
	if err != nil {
		return nil, err
	}
	all, err := h.store.Imports(ctx, user)
	views := []Import{}
	for _, v := range all {
		if conn == "" || v.Connection == conn {
			views = append(views, h.view(ctx, v, label))
		}
	}
	return views, err
}

// receive stores the file that a request carries as its body or in a form.
func (h *Handler) receive(c echo.Context) (v imports.Import, err error) {
	r := c.Request()
	const form = 64 << 10 // the most that a form adds to the file
	if r.ContentLength > imports.MaxFile+form {
		return v, imports.ErrTooLarge
	}
	if err := h.runner.Room(r.ContentLength); err != nil {
		return v, err
	}
	body := &sending{r.Body, http.NewResponseController(c.Response()), -1}
	r.Body = body
	id, user := library.ConnectionID(c.QueryParam("provider")), core.UserOf(c).ID
	defer func() {
		v.Connection = id
		if err == nil {
			h.core.Note(r.Context(), activity.Entry{User: user, Action: activity.Imported, Connection: id,
				Subject: v.Name})
		}
	}()
	if kind, _, _ := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType)); kind != echo.MIMEMultipartForm {
		return h.runner.Receive(r.Context(), user, id, c.QueryParam("name"), h.core.Lasting(c, r.Body))
	}
	body.before = form
	parts, err := r.MultipartReader()
	if err != nil {
		return v, core.HTTPProblem(http.StatusBadRequest)
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return v, &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("import.no_file"),
				Detail: words.New("import.choose")}
		}
		if err != nil {
			return v, errors.Join(core.HTTPProblem(http.StatusBadRequest), err)
		}
		switch {
		case part.FormName() == "provider":
			text, err := io.ReadAll(io.LimitReader(part, 100))
			if err != nil {
				return v, err
			}
			id = library.ConnectionID(text)
		case part.FormName() == "file" && part.FileName() != "":
			body.before = -1
			return h.runner.Receive(r.Context(), user, id, part.FileName(), h.core.Lasting(c, part))
		}
	}
}

type importFileRequest struct {
	core.IdempotencyKey
	Provider string `query:"provider" doc:"Whose export it is."`
	Name     string `query:"name" doc:"The file's name, for people."`
}

func (h *Handler) sendAPI(c echo.Context, _ *importFileRequest) (out Import, _ error) {
	v, err := h.receive(c)
	if err != nil {
		return out, err
	}
	label, err := h.core.Labels(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return out, err
	}
	return h.view(c.Request().Context(), v, label), nil
}

type listImportsAnswer struct {
	Imports []Import `json:"imports"`
}

func (h *Handler) list(c echo.Context, _ *core.None) (out listImportsAnswer, _ error) {
	all, err := h.all(c.Request().Context(), core.UserOf(c).ID, "")
	if err != nil {
		return out, err
	}
	return listImportsAnswer{Imports: all}, nil
}

func (h *Handler) cancel(c echo.Context) error {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return err
	}
	return h.runner.Cancel(c.Request().Context(), core.UserOf(c).ID, id)
}

func (h *Handler) cancelAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	return out, h.cancel(c)
}

// importsView is the page of imports.
type importsView struct {
	Readers  []readerView
	Imports  []Import
	Provider string // of the file that was sent last
	Problem  string // with that file
}

// readerView is a service whose export can be imported.
type readerView struct{ Name, DisplayName, Expected string }

func (h *Handler) page(c echo.Context) error {
	return h.show(c, http.StatusOK, importsView{Provider: c.QueryParam("provider")})
}

func (h *Handler) show(c echo.Context, status int, v importsView) (err error) {
	for _, p := range h.core.Registry.All() {
		if imports.Reads(p.Name) {
			v.Readers = append(v.Readers, readerView{p.Name, p.DisplayName,
				imports.Expected(p.Name).T(c.Request().Context())})
		}
	}
	v.Readers = append(v.Readers, readerView{imports.Reprise, ours,
		imports.Expected(imports.Reprise).T(c.Request().Context())})
	if v.Imports, err = h.all(c.Request().Context(), core.UserOf(c).ID, ""); err != nil {
		return err
	}
	return h.core.Show(c, status, words.T(c.Request().Context(), "import.title"), importsPage(v))
}

func (h *Handler) sendForm(c echo.Context) error {
	v, err := h.receive(c)
	if err != nil {
		p := h.core.Problem(c, err)
		return h.show(c, p.Status, importsView{Provider: v.Connection.Provider(), Problem: p.Detail})
	}
	return h.core.Done(c, "/imports", words.New("import.started", "File", v.Name))
}

func (h *Handler) cancelForm(c echo.Context) error {
	// it may have been removed in another tab
	if err := h.cancel(c); err != nil && !errors.Is(err, library.ErrNotFound) {
		return err
	}
	return c.Redirect(http.StatusSeeOther, h.core.CameFrom(c))
}

// Part is the part of a connection's page about imports.
type Part struct {
	readerView
	Imports []Import
}

// Part returns what the page of a connection shows of its imports; nil if its service has no export to read.
func (h *Handler) Part(ctx context.Context, c library.Connection, p *providers.Provider) (*Part, error) {
	if !imports.Reads(p.Name) {
		return nil, nil
	}
	all, err := h.all(ctx, c.User, c.ID)
	reader := readerView{string(c.ID), c.Label(p.DisplayName), imports.Expected(p.Name).T(ctx)}
	return &Part{reader, all[:min(len(all), 3)]}, err
}
