package server

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/activity"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/providers"
)

// ImportStore is what pages and API read of imports, and of what they can fill.
type ImportStore interface {
	Imports(ctx context.Context, user int64) ([]imports.Import, error)
	Gaps(ctx context.Context, user int64, provider string) ([]library.Gap, error)
}

// importView is an import of a file.
type importView struct {
	ID          string   `json:"id"`
	Provider    string   `json:"provider"`
	DisplayName string   `json:"display_name"`
	Name        string   `json:"name"`
	State       string   `json:"state"`
	Rows        int      `json:"rows"`
	RowsTotal   int      `json:"rows_total"` // about
	Added       int      `json:"added"`
	Known       int      `json:"known"`
	Skipped     int      `json:"skipped"`
	Bad         int      `json:"bad"`
	BytesDone   int64    `json:"bytes_done"`
	BytesTotal  int64    `json:"bytes_total"`
	Problems    []string `json:"problems"`
	Reason      string   `json:"reason,omitempty"`
	CreatedAt   string   `json:"created_at"`
	EndedAt     *string  `json:"ended_at"`
	Open        bool     `json:"-"`
}

func (s *Server) viewImport(v imports.Import) importView {
	view := importView{ID: strconv.FormatInt(v.ID, 10), Provider: v.Provider, DisplayName: v.Provider, Name: v.Name, State: string(v.State), Rows: v.Rows,
		RowsTotal: v.AllRows(), Added: v.Added, Known: v.Known, Skipped: v.Skipped, Bad: v.Bad, BytesDone: v.BytesDone, BytesTotal: v.BytesAll,
		Problems: []string{}, Reason: v.Reason, CreatedAt: library.Stamp(v.CreatedAt), EndedAt: moment(v.EndedAt), Open: v.Open()}
	if p := s.Registry.Get(v.Provider); p != nil {
		view.DisplayName = p.DisplayName
	}
	if text := strings.TrimSuffix(v.Problems, "\n"); text != "" {
		view.Problems = strings.Split(text, "\n")
	}
	return view
}

// imports are a person's imports, of one provider or, with an empty name, of all.
func (s *Server) imports(ctx context.Context, user int64, provider string) ([]importView, error) {
	all, err := s.Store.Imports(ctx, user)
	views := []importView{}
	for _, v := range all {
		if provider == "" || v.Provider == provider {
			views = append(views, s.viewImport(v))
		}
	}
	return views, err
}

// sendWithin is how long a sender of a file may be silent.
const sendWithin = 30 * time.Second

// sending is the body of a request that may take as long as it makes progress.
type sending struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements io.Reader.
func (b *sending) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(sendWithin)) // where it cannot be set, there is none
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &problem{Status: http.StatusBadRequest, Title: "Not sent whole", Detail: "The file did not arrive whole, and nothing was imported. Please send it once more."}
	}
	return n, err
}

// receive takes in the file that a request carries: as its body, or in a form.
func (s *Server) receive(c echo.Context) (v imports.Import, err error) {
	r := c.Request()
	const form = 64 << 10 // what a form has around the file
	if r.ContentLength > imports.MaxFile+form {
		return v, imports.ErrTooLarge
	}
	r.Body = &sending{r.Body, http.NewResponseController(c.Response())}
	provider, user := c.QueryParam("provider"), userOf(c).ID
	defer func() {
		v.Provider = provider
		if err == nil {
			s.note(r.Context(), activity.Entry{User: user, Action: activity.Imported, Provider: provider, Subject: v.Name})
		}
	}()
	if kind, _, _ := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType)); kind != echo.MIMEMultipartForm {
		return s.Imports.Receive(r.Context(), user, provider, c.QueryParam("name"), r.Body)
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return v, httpProblem(http.StatusBadRequest)
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return v, &problem{Status: http.StatusUnprocessableEntity, Title: "No file", Detail: "Choose a file first."}
		}
		if err != nil {
			return v, errors.Join(httpProblem(http.StatusBadRequest), err)
		}
		switch {
		case part.FormName() == "provider":
			text, err := io.ReadAll(io.LimitReader(part, 100))
			if err != nil {
				return v, err
			}
			provider = string(text)
		case part.FormName() == "file" && part.FileName() != "":
			return s.Imports.Receive(r.Context(), user, provider, part.FileName(), part)
		}
	}
}

func (s *Server) importAPI(c echo.Context) error {
	v, err := s.receive(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, s.viewImport(v))
}

func (s *Server) importsAPI(c echo.Context) error {
	all, err := s.imports(c.Request().Context(), userOf(c).ID, "")
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"imports": all})
}

func (s *Server) cancelImport(c echo.Context) error {
	id, err := number(c.Param("id"))
	if err != nil {
		return err
	}
	return s.Imports.Cancel(c.Request().Context(), userOf(c).ID, id)
}

func (s *Server) cancelImportAPI(c echo.Context) error {
	if err := s.cancelImport(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// importsView is the page of imports.
type importsView struct {
	Readers  []readerView
	Imports  []importView
	Provider string // whose file was sent last
	Problem  string // with that
}

// readerView is a service whose export can be read.
type readerView struct{ Name, DisplayName, Expected string }

func (s *Server) importsPage(c echo.Context) error {
	return s.showImports(c, http.StatusOK, importsView{Provider: c.QueryParam("provider")})
}

func (s *Server) showImports(c echo.Context, status int, v importsView) (err error) {
	for _, p := range s.Registry.All() {
		if imports.Reads(p.Name) {
			v.Readers = append(v.Readers, readerView{p.Name, p.DisplayName, imports.Expected(p.Name)})
		}
	}
	if v.Imports, err = s.imports(c.Request().Context(), userOf(c).ID, ""); err != nil {
		return err
	}
	return s.render(c, status, "imports", "Import a file", v)
}

func (s *Server) importForm(c echo.Context) error {
	v, err := s.receive(c)
	if err != nil {
		p := s.problemOf(c, err)
		return s.showImports(c, p.Status, importsView{Provider: v.Provider, Problem: p.Detail})
	}
	s.sessions.Put(c.Request().Context(), flashKey, v.Name+" is being imported. You may close this page meanwhile.")
	return c.Redirect(http.StatusSeeOther, "/imports")
}

func (s *Server) cancelImportForm(c echo.Context) error {
	if err := s.cancelImport(c); err != nil && !errors.Is(err, library.ErrNotFound) { // it may have been forgotten in another tab
		return err
	}
	return c.Redirect(http.StatusSeeOther, s.cameFrom(c))
}

// importPart is what a connection's page says about imports.
type importPart struct {
	readerView
	Imports []importView
}

func (s *Server) importPart(ctx context.Context, user int64, p *providers.Provider) (*importPart, error) {
	if !imports.Reads(p.Name) {
		return nil, nil
	}
	all, err := s.imports(ctx, user, p.Name)
	return &importPart{readerView{p.Name, p.DisplayName, imports.Expected(p.Name)}, all[:min(len(all), 3)]}, err
}

// gapView is a stretch of time in which a connection was not read.
type gapView struct {
	From, To         string
	LostTo, FilledAt *string
	Recovered        int
	Filled           int
}

// gapsShown is how many gaps a connection's page tells of.
const gapsShown = 5

func (s *Server) gaps(ctx context.Context, user int64, provider string) ([]gapView, error) {
	all, err := s.Store.Gaps(ctx, user, provider)
	return viewAll(all[:min(len(all), gapsShown)], func(g library.Gap) gapView {
		return gapView{From: library.Stamp(g.From), To: library.Stamp(g.To), LostTo: moment(g.LostTo), FilledAt: moment(g.FilledAt), Recovered: g.Recovered, Filled: g.Filled}
	}), err
}

// takesFiles says whether a request may carry a whole file.
func takesFiles(c echo.Context) bool {
	return c.Request().Method == http.MethodPost && (c.Path() == "/imports" || c.Path() == "/api/v1/imports")
}
