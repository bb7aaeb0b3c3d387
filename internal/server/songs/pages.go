package songs

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/words"
	"reprise/web/ui"
)

// listView is the page of all questions of a connection.
type listView struct {
	Head           ui.Heading
	Open, Answered []ui.Item
}

// pageView is the page of one question.
type pageView struct {
	Head    ui.Heading
	Song    ui.Item // the person's own
	Offered []offeredView
	Answers []answerView // that name no song
}

// offeredView is a song that may be chosen.
type offeredView struct {
	Song   ui.Item
	Choose ui.Action
}

// answerView is an answer that names no song.
type answerView struct {
	Do   ui.Action
	Help string
	Said string // said before At, if it was the answer
	At   time.Time
}

func (h *Handler) place(c library.Connection) string {
	return c.Label(h.core.Registry.Get(c.Provider()).DisplayName)
}

func (h *Handler) listPage(c echo.Context) error {
	conn, all, err := h.all(c)
	if err != nil {
		return err
	}
	v := listOf(c.Request().Context(), h.place(conn), "/connections/"+string(conn.ID), all)
	return h.core.Show(c, http.StatusOK, v.Head.Title, listSongs(v))
}

// listOf returns the page of all questions of a connection, whose own page is at back.
func listOf(ctx context.Context, place, back string, all []SongQuestion) listView {
	v := listView{Head: ui.Heading{Title: words.T(ctx, "songs.title", "Name", place), Back: back, BackTo: place,
		Lead: words.T(ctx, "songs.lead")}}
	for _, q := range all {
		item := ui.Item{Title: ui.Named{Text: q.Title, URL: q.URL}, By: named(q.Artist)}
		if q.AnsweredAt.IsZero() {
			item.Note = words.T(ctx, "songs.could_be", "Count", len(q.Offered))
			v.Open = append(v.Open, item)
			continue
		}
		item.Note = answerWords(ctx, q)
		v.Answered = append(v.Answered, item)
	}
	return v
}

// answerWords says how a question was answered.
func answerWords(ctx context.Context, q SongQuestion) string {
	for _, o := range q.Offered {
		switch {
		case o.Chosen && o.Album != "":
			return words.T(ctx, "songs.is_on", "Title", o.Title, "Artist", o.Artist, "Album", o.Album)
		case o.Chosen:
			return words.T(ctx, "songs.is", "Title", o.Title, "Artist", o.Artist)
		}
	}
	return words.T(ctx, "songs.is_none")
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
	v := pageOf(c.Request().Context(), h.place(conn), viewOf(q))
	return h.core.Show(c, http.StatusOK, v.Head.Title, oneSong(v))
}

// pageOf returns the page of a question about a library, which people know as place.
func pageOf(ctx context.Context, place string, q SongQuestion) pageView {
	v := pageView{Head: ui.Heading{Title: words.T(ctx, "songs.which"), Back: "/connections/" + q.Connection + "/songs",
		BackTo: words.T(ctx, "songs.title", "Name", place),
		Lead:   words.T(ctx, "songs.choose", "Count", len(q.Offered), "Name", place)},
		Song: ui.Item{Title: ui.Named{Text: q.Title}, By: named(q.Artist, q.Album, length(q.DurationMS))}}
	at := q.AnsweredAt.Time
	for i, o := range q.Offered {
		id := "song-" + strconv.Itoa(i)
		item := ui.Item{ID: id, Title: ui.Named{Text: o.Title}, By: named(o.Artist, o.Album, length(o.DurationMS))}
		if o.Chosen {
			item.About, item.At = words.T(ctx, "songs.chosen"), at
		}
		v.Offered = append(v.Offered, offeredView{Song: item, Choose: ui.Action{Label: words.T(ctx, "songs.this"),
			Post: q.URL, Fields: []ui.Hidden{{Name: "song", Value: o.ID}}, Main: !o.Chosen, DescribedBy: id}})
	}
	none := answerView{Do: answer(words.T(ctx, "songs.none"), q, "none"), Help: words.T(ctx, "songs.none_help")}
	if q.Answer == string(delivery.NoneOfThem) {
		none.Said, none.At = words.T(ctx, "songs.none_chosen"), at
	}
	v.Answers = append(v.Answers, none)
	if !q.AnsweredAt.IsZero() {
		v.Answers = append(v.Answers, answerView{Do: answer(words.T(ctx, "songs.again"), q, "forget"),
			Help: words.T(ctx, "songs.again_help")})
	}
	return v
}

// answer is the button of an answer that names no song.
func answer(label string, q SongQuestion, do string) ui.Action {
	return ui.Action{Label: label, Post: q.URL, Fields: []ui.Hidden{{Name: "do", Value: do}}, DescribedBy: "help-" + do}
}

// named returns names without a page; those that are not known are left out.
func named(all ...string) (names []ui.Named) {
	for _, text := range all {
		if text != "" {
			names = append(names, ui.Named{Text: text})
		}
	}
	return names
}

// length returns minutes and seconds; empty if it is not known.
func length(ms int64) string {
	if ms <= 0 {
		return ""
	}
	return ui.Length(time.Duration(ms) * time.Millisecond)
}

// form keeps the answer that a person gave on the page.
func (h *Handler) form(c echo.Context) error {
	q, err := h.named(c)
	if err != nil {
		return err
	}
	ctx, said := c.Request().Context(), words.New("songs.remembered")
	switch song, do := c.FormValue("song"), c.FormValue("do"); {
	case song != "":
		err = h.deliveries.AnswerSong(ctx, q.User, q.Connection, q.ID, song)
	case do == "none":
		said = words.New("songs.remembered_none")
		err = h.deliveries.AnswerSong(ctx, q.User, q.Connection, q.ID, "")
	case do == "forget":
		said = words.New("songs.forgotten")
		err = h.deliveries.ForgetSong(ctx, q.User, q.Connection, q.ID)
	default:
		err = delivery.ErrNotOffered
	}
	if err != nil {
		return err
	}
	return h.core.Done(c, "/deliveries", said)
}
