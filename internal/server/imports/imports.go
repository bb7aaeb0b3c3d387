// Package imports answers for the imports of files.
package imports

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"reprise/internal/activity"
	"reprise/internal/imports"
	"reprise/internal/library"
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
	g.POST("/imports/:id/answers", h.explainForm)
	g.POST("/imports/:id/start", h.startForm)
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
		Description: "Send the file as the body, with its name in the query, or as the part `file` of a form, after " +
			"a part `provider`. Without a provider, Reprise recognises the file by its content. It checks the file " +
			"before it accepts it. With `preview`, and whenever the file leaves a `question` open, it first counts " +
			"what is in it; the import is `ready` then, and waits for its start. Duplicates are skipped as " +
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
	core.Patch(a, "/imports/{id}", h.explainAPI, core.Call{
		ID:       "explainImport",
		Summary:  "Say what a file that is ready doesn't say itself",
		Answer:   "Reprise looks at the file again.",
		Refusals: map[int]string{http.StatusConflict: "", http.StatusUnprocessableEntity: ""},
	})
	core.Post(a, "/imports/{id}/start", h.startAPI, core.Call{
		ID:       "startImport",
		Summary:  "Import a file that is ready",
		Answer:   "Reprise reads it when its turn comes.",
		Refusals: map[int]string{http.StatusConflict: "", http.StatusUnprocessableEntity: ""},
	})
	core.Delete(a, "/imports/{id}", h.cancelAPI, core.Call{
		ID:      "removeImport",
		Summary: "Cancel a running import, or forget one that has ended; its listens stay",
		Answer:  "Canceled, or forgotten.",
	})
}

// readers returns the names of what can be imported.
func (h *Handler) readers() (names []string) {
	for _, id := range imports.All() {
		names = append(names, string(id))
	}
	return names
}

// Import is an import of a file.
type Import struct {
	Connection  string          `json:"connection" doc:"Its provider, and from the second connection on, a number."`
	ID          string          `json:"id"`
	Provider    string          `json:"provider" doc:"Whose plays they are, as Reprise recognised it or you said."`
	What        string          `json:"what" doc:"What kind of file it is."`
	DisplayName string          `json:"display_name"`
	Name        string          `json:"name" doc:"The file's."`
	State       string          `json:"state" enum:"waiting,running,ready,done,failed,canceled"`
	Preview     bool            `json:"preview" doc:"Nothing is stored: added and known are what they would be."`
	Question    string          `json:"question" enum:",columns,time_zone,days,videos" doc:"What the file doesn't say; empty for nothing."`
	Answers     imports.Answers `json:"answers" doc:"What Reprise goes by."`
	Sample      [][]string      `json:"sample" doc:"The first rows of a table."`
	FirstAt     core.MaybeTime  `json:"first_at" doc:"When the earliest play began."`
	LastAt      core.MaybeTime  `json:"last_at" doc:"When the latest play began."`
	Rows        int             `json:"rows" minimum:"0" doc:"Read so far."`
	RowsTotal   int             `json:"rows_total" minimum:"0" doc:"About how many there are."`
	Added       int             `json:"added" minimum:"0" doc:"Listens that are new."`
	Known       int             `json:"known" minimum:"0" doc:"Plays that Reprise already had, from any source."`
	Skipped     int             `json:"skipped" minimum:"0" doc:"Rows that are no listens: podcasts, plays under 30 seconds."`
	Bad         int             `json:"bad" minimum:"0" doc:"Rows that Reprise could not read."`
	BytesDone   int64           `json:"bytes_done" minimum:"0"`
	BytesTotal  int64           `json:"bytes_total" minimum:"0" doc:"Unpacked."`
	Problems    []string        `json:"problems" doc:"The first of the bad rows."`
	Reason      string          `json:"reason,omitempty" doc:"Why it failed."`
	Trouble     string          `json:"trouble,omitempty" doc:"Why it waits and what to do, for example because the disk is full. It continues by itself."`
	CreatedAt   core.Time       `json:"created_at"`
	EndedAt     core.MaybeTime  `json:"ended_at"`
	After       string          `json:"-"` // the file that is read before this one, which waits for it
	Problem     string          `json:"-"` // with the answers, which are what was typed
	Open        bool            `json:"-"`
	Looked      bool            `json:"-"` // the preview has counted
}

func (h *Handler) view(ctx context.Context, v imports.Import, label func(library.ConnectionID) string) Import {
	view := Import{ID: strconv.FormatInt(v.ID, 10), Connection: string(v.Connection),
		Provider: v.Connection.Provider(), DisplayName: h.nameOf(ctx, v.Connection, label), Name: v.Name,
		State: string(v.State), Rows: v.Rows,
		RowsTotal: v.AllRows(), Added: v.Added, Known: v.Known, Skipped: v.Skipped, Bad: v.Bad,
		BytesDone: v.BytesDone, BytesTotal: v.BytesAll,
		Problems: []string{}, Reason: v.Reason.T(ctx), CreatedAt: core.Stamp(v.CreatedAt),
		EndedAt: core.Moment(v.EndedAt), Open: v.Open(), Looked: v.Looked(),
		What:    imports.What(v.Connection.Provider()).T(ctx),
		Preview: v.Preview, Question: string(v.Question), Answers: v.Answers, Sample: v.Sample,
		FirstAt: core.Moment(v.First), LastAt: core.Moment(v.Last), Trouble: h.runner.Trouble(v.ID).T(ctx)}
	if view.Sample == nil {
		view.Sample = [][]string{}
	}
	for _, why := range v.BadRows() {
		view.Problems = append(view.Problems, why.T(ctx))
	}
	return view
}

// ours is the name of this program, whose own exports can be imported too.
const ours = "Reprise"

// nameOf returns the name of the service that an import is from. A further connection has its own name, while that of
// the first one would be that of an account, or the address of a server, which a file need not come from.
func (h *Handler) nameOf(ctx context.Context, id library.ConnectionID, label func(library.ConnectionID) string) string {
	switch {
	case id == imports.Reprise:
		return ours
	case string(id) == id.Provider():
		return h.core.NameOf(ctx, id)
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
	views, before := []Import{}, ""
	for _, v := range slices.Backward(all) { // in the order in which they are read
		view := h.view(ctx, v, label)
		switch v.State {
		case imports.Waiting:
			view.After, before = before, v.Name
		case imports.Running:
			before = v.Name
		}
		if conn == "" || v.Connection == conn {
			views = append(views, view)
		}
	}
	slices.Reverse(views)
	return views, err
}

// receive stores the file that a request carries as its body or in a form.
func (h *Handler) receive(c echo.Context, sent imports.Sent) (v imports.Import, err error) {
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
	user := core.UserOf(c).ID
	defer func() {
		if v.Connection == "" {
			v.Connection = sent.Connection
		}
		if err == nil && !v.Preview {
			h.started(r.Context(), v)
		}
	}()
	if kind, _, _ := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType)); kind != echo.MIMEMultipartForm {
		sent.Body = h.core.Lasting(c, r.Body)
		return h.runner.Receive(r.Context(), user, sent)
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
			sent.Connection = library.ConnectionID(text)
			sent.Preview = sent.Preview && sent.Connection == "" // whose it is, is known
		case part.FormName() == "file" && part.FileName() != "":
			body.before = -1
			sent.Name, sent.Body = part.FileName(), h.core.Lasting(c, part)
			if v, err = h.runner.Receive(r.Context(), user, sent); errors.Is(err, io.ErrUnexpectedEOF) {
				err = cutOff
			}
			return v, err
		}
	}
}

// started notes that a person imports a file.
func (h *Handler) started(ctx context.Context, v imports.Import) {
	h.core.Note(ctx, activity.Entry{User: v.User, Action: activity.Imported, Connection: v.Connection, Subject: v.Name})
}

type importFileRequest struct {
	core.IdempotencyKey
	Provider string `query:"provider" doc:"Whose export it is; left out to have it recognised."`
	Name     string `query:"name" doc:"The file's name, for people."`
	Preview  bool   `query:"preview" doc:"Say first what is in it."`
	Zone     string `query:"time_zone" maxLength:"64" doc:"Where times were that name no zone, such as Europe/Berlin."`
	Days     string `query:"days" enum:"day_first,month_first" doc:"How dates such as 3/4/2026 are written."`
	Videos   string `query:"videos" enum:"music,all" doc:"Which videos of a watch history are listens: with music, what was played as music or on the channel of an artist."`
}

func (h *Handler) sendAPI(c echo.Context, in *importFileRequest) (out Import, _ error) {
	v, err := h.receive(c, imports.Sent{Connection: library.ConnectionID(in.Provider), Name: in.Name,
		Preview: in.Preview, Answers: imports.Answers{TimeZone: in.Zone, Days: in.Days, Videos: in.Videos},
		Zone: core.Zone(c).String()})
	if err != nil {
		return out, err
	}
	return h.one(c, v)
}

// one returns what a call answers about one import.
func (h *Handler) one(c echo.Context, v imports.Import) (out Import, _ error) {
	ctx := c.Request().Context()
	label, err := h.core.Labels(ctx, core.UserOf(c).ID)
	if err != nil {
		return out, err
	}
	return h.view(ctx, v, label), nil
}

type explainImportRequest struct {
	core.ByID
	Body imports.Answers
}

func (h *Handler) explainAPI(c echo.Context, in *explainImportRequest) (out Import, _ error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return out, err
	}
	v, err := h.runner.Explain(c.Request().Context(), core.UserOf(c).ID, id, in.Body)
	if err != nil {
		return out, err
	}
	return h.one(c, v)
}

type startImportRequest struct {
	core.ByID
	core.IdempotencyKey
}

func (h *Handler) startAPI(c echo.Context, _ *startImportRequest) (out Import, _ error) {
	v, err := h.start(c)
	if err != nil {
		return out, err
	}
	return h.one(c, v)
}

func (h *Handler) start(c echo.Context) (imports.Import, error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return imports.Import{}, err
	}
	v, err := h.runner.Start(c.Request().Context(), core.UserOf(c).ID, id)
	if err == nil {
		h.started(c.Request().Context(), v)
	}
	return v, err
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
