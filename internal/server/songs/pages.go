package songs

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/words"
)

// pageView is the page of one question.
type pageView struct {
	Song  view
	Place string // what people read for the connection
	All   string // address of all its questions
}

// listView is the page of all questions of a connection.
type listView struct {
	Place    string
	Back     string
	Open     []view
	Answered []answeredView
}

// answeredView is an answered question.
type answeredView struct {
	view
	Is *songView // nil for none of them
}

func (h *Handler) place(c library.Connection) string {
	return c.Label(h.core.Registry.Get(c.Provider()).DisplayName)
}

func (h *Handler) listPage(c echo.Context) error {
	conn, all, err := h.all(c)
	if err != nil {
		return err
	}
	v := listView{Place: h.place(conn), Back: "/connections/" + string(conn.ID)}
	for _, q := range all {
		if q.AnsweredAt == nil {
			v.Open = append(v.Open, q)
			continue
		}
		a := answeredView{view: q}
		for i := range q.Offered {
			if q.Offered[i].Chosen {
				a.Is = &q.Offered[i]
			}
		}
		v.Answered = append(v.Answered, a)
	}
	return h.core.Render(c, http.StatusOK, "songs", "Songs", v)
}

func (h *Handler) page(c echo.Context) error {
	q, err := h.named(c)
	if err != nil {
		return err
	}
	conn, err := h.store.Connection(c.Request().Context(), q.User, q.Connection)
	if err != nil {
		return err
	}
	v := pageView{Song: viewOf(q), Place: h.place(conn), All: "/connections/" + string(q.Connection) + "/songs"}
	return h.core.Render(c, http.StatusOK, "song", "Which song is it?", v)
}

// form keeps the answer that a person gave on the page.
func (h *Handler) form(c echo.Context) error {
	q, err := h.named(c)
	if err != nil {
		return err
	}
	ctx, said := c.Request().Context(), "Remembered. What waited for it goes out again now."
	switch song, do := c.FormValue("song"), c.FormValue("do"); {
	case song != "":
		err = h.deliveries.AnswerSong(ctx, q.User, q.Connection, q.ID, song)
	case do == "none":
		said = "Remembered: it is none of these."
		err = h.deliveries.AnswerSong(ctx, q.User, q.Connection, q.ID, "")
	case do == "forget":
		said = "Forgotten. The song is looked for again now."
		err = h.deliveries.ForgetSong(ctx, q.User, q.Connection, q.ID)
	default:
		err = delivery.ErrNotOffered
	}
	if err != nil {
		return err
	}
	return h.core.Done(c, "/deliveries", words.Plain(said))
}
