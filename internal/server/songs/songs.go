// Package songs answers for the questions which song of a library one of a person's songs is.
package songs

import (
	"context"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Store is what this package reads.
type Store interface {
	Question(ctx context.Context, user int64, conn library.ConnectionID, id int64) (delivery.Question, error)
	AllQuestions(ctx context.Context, user int64, conn library.ConnectionID) ([]delivery.Question, error)
	Connection(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error)
}

// Handler answers for questions about songs.
type Handler struct {
	core       *core.Core
	store      Store
	deliveries *delivery.Deliveries
}

// New returns a Handler.
func New(k *core.Core, store Store, d *delivery.Deliveries) *Handler {
	return &Handler{core: k, store: store, deliveries: d}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/connections/:id/songs", h.listPage)
	g.GET("/connections/:id/songs/:song", h.page)
	g.POST("/connections/:id/songs/:song", h.form)
}

// API adds the routes of the API.
func (h *Handler) API(g *echo.Group) {
	g.GET("/connections/:id/songs", h.list)
	g.GET("/connections/:id/songs/:song", h.one)
	g.PUT("/connections/:id/songs/:song", h.answer)
	g.DELETE("/connections/:id/songs/:song", h.forget)
}

// Path returns where a question is answered, on the pages and below /api/v1.
func Path(conn library.ConnectionID, id int64) string {
	return "/connections/" + string(conn) + "/songs/" + strconv.FormatInt(id, 10)
}

// view is a question and its answer.
type view struct {
	ID         string     `json:"id"`
	Connection string     `json:"connection"`
	Title      string     `json:"title"`
	Artist     string     `json:"artist"`
	Album      string     `json:"album"`
	DurationMS int64      `json:"duration_ms"`
	Answer     string     `json:"answer"` // open, chosen or none
	Chosen     *string    `json:"chosen"`
	Offered    []songView `json:"offered"`
	AskedAt    string     `json:"asked_at"`
	AnsweredAt *string    `json:"answered_at"`
	URL        string     `json:"-"`
}

// songView is a song that may be chosen.
type songView struct {
	ID         string `json:"id"` // at the service
	Title      string `json:"title"`
	Artist     string `json:"artist"`
	Album      string `json:"album"`
	DurationMS int64  `json:"duration_ms"`
	Chosen     bool   `json:"-"`
}

func viewOf(q delivery.Question) view {
	v := view{ID: strconv.FormatInt(q.ID, 10), Connection: string(q.Connection), Title: q.Track.Title,
		Artist: q.Track.Artist, Album: q.Track.Album, DurationMS: q.Track.Duration.Milliseconds(), Answer: "open",
		Chosen: core.Text(q.Chosen), AskedAt: library.Stamp(q.AskedAt), AnsweredAt: core.Moment(q.AnsweredAt),
		Offered: []songView{}, URL: Path(q.Connection, q.ID)}
	if q.Answer != delivery.Unanswered {
		v.Answer = string(q.Answer)
	}
	for _, t := range q.Offered {
		v.Offered = append(v.Offered, songView{ID: t.SourceID, Title: t.Title, Artist: t.Artist, Album: t.Album,
			DurationMS: t.Duration.Milliseconds(), Chosen: t.SourceID == q.Chosen})
	}
	return v
}

// all returns the questions of the connection that a request names.
func (h *Handler) all(c echo.Context) (library.Connection, []view, error) {
	conn, _, err := h.core.ConnectionIn(c, "id")
	if err != nil {
		return library.Connection{}, nil, err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	kept, err := h.store.Connection(ctx, user, conn)
	if err != nil {
		return kept, nil, err
	}
	all, err := h.store.AllQuestions(ctx, user, conn)
	return kept, core.ViewAll(all, viewOf), err
}

// named returns the question that a request names.
func (h *Handler) named(c echo.Context) (q delivery.Question, err error) {
	conn, _, err := h.core.ConnectionIn(c, "id")
	if err != nil {
		return q, err
	}
	id, err := core.Number(c.Param("song"))
	if err != nil {
		return q, err
	}
	return h.store.Question(c.Request().Context(), core.UserOf(c).ID, conn, id)
}

func (h *Handler) list(c echo.Context) error {
	_, all, err := h.all(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"songs": all})
}

func (h *Handler) one(c echo.Context) error {
	q, err := h.named(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, viewOf(q))
}

func (h *Handler) answer(c echo.Context) error {
	in, err := core.Body[struct {
		Chosen string `json:"chosen"`
		None   bool   `json:"none"`
	}](c)
	if err == nil && (in.Chosen == "") != in.None {
		err = &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("problem.song.choose"),
			Detail: words.New("problem.song.choose_text")}
	}
	if err != nil {
		return err
	}
	q, err := h.named(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := h.deliveries.AnswerSong(ctx, q.User, q.Connection, q.ID, in.Chosen); err != nil {
		return err
	}
	if q, err = h.named(c); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, viewOf(q))
}

func (h *Handler) forget(c echo.Context) error {
	q, err := h.named(c)
	if err == nil {
		err = h.deliveries.ForgetSong(c.Request().Context(), q.User, q.Connection, q.ID)
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
