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
func (h *Handler) API(a *core.API) {
	core.Get(a, "/connections/{id}/songs", h.list, core.Call{
		ID:      "listSongQuestions",
		Summary: "Songs that Reprise isn't sure about there, and the person's choices; the open ones first",
		Answer:  "At most 2,000.",
	})
	core.Get(a, "/connections/{id}/songs/{song}", h.one, core.Call{
		ID:      "getSongQuestion",
		Summary: "One song, and the ones that could be it",
		Answer:  "The question and its answer.",
	})
	core.Put(a, "/connections/{id}/songs/{song}", h.answer, core.Call{
		ID:       "chooseSong",
		Summary:  "Choose which song it is, or say that it's none of them; what was waiting for it goes out",
		Answer:   "Remembered.",
		Refusals: map[int]string{http.StatusUnprocessableEntity: ""},
	})
	core.Delete(a, "/connections/{id}/songs/{song}", h.forget, core.Call{
		ID:      "forgetSong",
		Summary: "Forget the answer, and look for the song again",
		Answer:  "Forgotten.",
	})
}

// Path returns where a question is answered, on the pages and below /api/v1.
func Path(conn library.ConnectionID, id int64) string {
	return "/connections/" + string(conn) + "/songs/" + strconv.FormatInt(id, 10)
}

// SongQuestion is a question and its answer.
type SongQuestion struct {
	ID         string         `json:"id"`
	Connection string         `json:"connection"`
	Title      string         `json:"title"`
	Artist     string         `json:"artist"`
	Album      string         `json:"album" doc:"Empty if it is not known."`
	DurationMS int64          `json:"duration_ms" minimum:"0" doc:"0 if it is not known."`
	Answer     string         `json:"answer" enum:"open,chosen,none"` // open, chosen or none
	Chosen     *string        `json:"chosen" doc:"The id of the chosen song there."`
	Offered    []Song         `json:"offered" doc:"Those that could be it, the most likely first."`
	AskedAt    core.Time      `json:"asked_at"`
	AnsweredAt core.MaybeTime `json:"answered_at"`
	URL        string         `json:"-"`
}

// Song is a song that may be chosen.
type Song struct {
	ID         string `json:"id" doc:"At the service."`
	Title      string `json:"title"`
	Artist     string `json:"artist"`
	Album      string `json:"album"`
	DurationMS int64  `json:"duration_ms" minimum:"0"`
	Chosen     bool   `json:"-"`
}

func viewOf(q delivery.Question) SongQuestion {
	v := SongQuestion{ID: strconv.FormatInt(q.ID, 10), Connection: string(q.Connection), Title: q.Track.Title,
		Artist: q.Track.Artist, Album: q.Track.Album, DurationMS: q.Track.Duration.Milliseconds(), Answer: "open",
		Chosen: core.Text(q.Chosen), AskedAt: core.Stamp(q.AskedAt), AnsweredAt: core.Moment(q.AnsweredAt),
		Offered: []Song{}, URL: Path(q.Connection, q.ID)}
	if q.Answer != delivery.Unanswered {
		v.Answer = string(q.Answer)
	}
	for _, t := range q.Offered {
		v.Offered = append(v.Offered, Song{ID: t.SourceID, Title: t.Title, Artist: t.Artist, Album: t.Album,
			DurationMS: t.Duration.Milliseconds(), Chosen: t.SourceID == q.Chosen})
	}
	return v
}

// all returns the questions of the connection that a request names.
func (h *Handler) all(c echo.Context) (library.Connection, []SongQuestion, error) {
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

type listSongQuestionsAnswer struct {
	Songs []SongQuestion `json:"songs"`
}

func (h *Handler) list(c echo.Context, _ *core.ConnectionID) (out listSongQuestionsAnswer, _ error) {
	_, all, err := h.all(c)
	if err != nil {
		return out, err
	}
	return listSongQuestionsAnswer{Songs: all}, nil
}

type SongRequest struct {
	core.ConnectionID
	Song string `path:"song" doc:"The id of the question."`
}

func (h *Handler) one(c echo.Context, _ *SongRequest) (out SongQuestion, _ error) {
	q, err := h.named(c)
	if err != nil {
		return out, err
	}
	return viewOf(q), nil
}

type chooseSongRequest struct {
	SongRequest
	Body struct {
		Chosen string `json:"chosen" required:"false" doc:"The id of one of the offered songs."`
		None   bool   `json:"none" required:"false" doc:"None of them."`
	} `doc:"Either one."`
}

func (h *Handler) answer(c echo.Context, in *chooseSongRequest) (out SongQuestion, _ error) {
	if (in.Body.Chosen == "") != in.Body.None {
		return out, &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("problem.song.choose"),
			Detail: words.New("problem.song.choose_text")}
	}
	q, err := h.named(c)
	if err != nil {
		return out, err
	}
	ctx := c.Request().Context()
	if err := h.deliveries.AnswerSong(ctx, q.User, q.Connection, q.ID, in.Body.Chosen); err != nil {
		return out, err
	}
	if q, err = h.named(c); err != nil {
		return out, err
	}
	return viewOf(q), nil
}

func (h *Handler) forget(c echo.Context, _ *SongRequest) (out core.None, _ error) {
	q, err := h.named(c)
	if err == nil {
		err = h.deliveries.ForgetSong(c.Request().Context(), q.User, q.Connection, q.ID)
	}
	return out, err
}
