package corrections

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
)

// change is what a call changes of a listen, or what it adds. Absent fields stay as they are.
type change struct {
	Track    *string `json:"track" required:"false" minLength:"1" nullable:"false"`
	Artist   *string `json:"artist" required:"false" minLength:"1" nullable:"false"`
	Album    *string `json:"album" required:"false" nullable:"false"`
	PlayedAt *string `json:"played_at" required:"false" format:"date-time" nullable:"false"`
	Length   *int64  `json:"-"` // of one that is added
}

// changeOf returns what a call changes. A listen has a title, an artist and a time.
func changeOf(in change) (v library.Change, err error) {
	clean := func(text *string) *string {
		if text == nil {
			return nil
		}
		name := library.Name(strings.TrimSpace(*text))
		return &name
	}
	v = library.Change{Title: clean(in.Track), Artist: clean(in.Artist), Album: clean(in.Album)}
	if v.Title != nil && *v.Title == "" || v.Artist != nil && *v.Artist == "" {
		return v, core.Check(words.New("corrections.problem.names"))
	}
	if in.PlayedAt != nil {
		at, err := time.Parse(time.RFC3339, *in.PlayedAt)
		if err != nil {
			return v, core.NotATime("played_at")
		}
		at = at.UTC().Truncate(time.Millisecond)
		if !(&library.Listen{PlayedAt: at}).Clean(time.Now()) {
			return v, core.Check(words.New("corrections.problem.time"))
		}
		v.PlayedAt = &at
	}
	return v, nil
}

// unchanged returns the refusal of a correction that changes nothing.
func unchanged(err error, why words.Text) error {
	if errors.Is(err, library.ErrUnchanged) {
		return &core.Refusal{Status: http.StatusConflict, Title: words.New("corrections.problem.unchanged"),
			Detail: why}
	}
	return err
}

func (h *Handler) edit(c echo.Context, in change) (library.Correction, error) {
	var none library.Correction
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return none, err
	}
	v, err := changeOf(in)
	if err != nil {
		return none, err
	}
	made, err := h.store.EditListen(c.Request().Context(), core.UserOf(c).ID, id, v)
	return made, unchanged(err, words.New("corrections.problem.same"))
}

// add adds a listen by hand. If it is there already, the error is library.ErrUnchanged, with its number.
func (h *Handler) add(c echo.Context, in change) (made library.Correction, id int64, err error) {
	v, err := changeOf(in)
	if err != nil {
		return made, 0, err
	}
	if v.Title == nil || v.Artist == nil || v.PlayedAt == nil {
		return made, 0, core.Check(words.New("corrections.problem.needed"))
	}
	l := library.Listen{Track: library.Track{Title: *v.Title, Artist: *v.Artist}, PlayedAt: *v.PlayedAt}
	if v.Album != nil {
		l.Album = *v.Album
	}
	if in.Length != nil {
		l.Duration = time.Duration(*in.Length) * time.Millisecond
	}
	l.Clean(time.Now())
	return h.store.AddListen(c.Request().Context(), core.UserOf(c).ID, l)
}

func (h *Handler) split(c echo.Context) (library.Correction, error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return library.Correction{}, err
	}
	made, err := h.store.SplitListen(c.Request().Context(), core.UserOf(c).ID, id)
	return made, unchanged(err, words.New("corrections.problem.one_source"))
}

type editListenRequest struct {
	core.ByID
	Body change
}

// CorrectedListen is a listen after a correction.
type CorrectedListen struct {
	Listen     music.Listen `json:"listen"`
	Correction Correction   `json:"correction"`
}

func (h *Handler) editAPI(c echo.Context, in *editListenRequest) (out CorrectedListen, _ error) {
	made, err := h.edit(c, in.Body)
	if err != nil {
		return out, err
	}
	id, err := core.Number(in.ID)
	if err != nil {
		return out, err
	}
	out.Correction = View(made)
	out.Listen, err = h.listen(c, id)
	return out, err
}

// listen returns a listen of the user as the API has it.
func (h *Handler) listen(c echo.Context, id int64) (one music.Listen, err error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	l, _, err := h.store.OneListen(ctx, user, id)
	if err != nil {
		return one, err
	}
	all, err := h.rows.Listens(ctx, user, l)
	if err != nil {
		return one, err
	}
	return all[0], nil
}

type addListenRequest struct {
	core.IdempotencyKey
	Body struct {
		Track    string  `json:"track" minLength:"1"`
		Artist   string  `json:"artist" minLength:"1"`
		Album    *string `json:"album" required:"false" nullable:"false"`
		PlayedAt string  `json:"played_at" format:"date-time"`
		Length   *int64  `json:"duration_ms" required:"false" minimum:"0" nullable:"false"`
	}
}

// AddedListen is a listen that was added by hand, or was there.
type AddedListen struct {
	Created    bool         `json:"created" doc:"False if the listen was there already."`
	Listen     music.Listen `json:"listen"`
	Correction *Correction  `json:"correction"`
}

func (h *Handler) addAPI(c echo.Context, in *addListenRequest) (out core.Answer[AddedListen], _ error) {
	made, id, err := h.add(c, change{Track: &in.Body.Track, Artist: &in.Body.Artist, Album: in.Body.Album,
		PlayedAt: &in.Body.PlayedAt, Length: in.Body.Length})
	there := errors.Is(err, library.ErrUnchanged)
	if err != nil && !there {
		return out, err
	}
	out = core.Answer[AddedListen]{Status: http.StatusOK}
	if !there {
		out = core.Answer[AddedListen]{Status: http.StatusCreated, Body: AddedListen{Created: true,
			Correction: new(View(made))}}
	}
	out.Body.Listen, err = h.listen(c, id)
	return out, err
}

func (h *Handler) splitAPI(c echo.Context, _ *core.ByID) (out Correction, _ error) {
	made, err := h.split(c)
	if err != nil {
		return out, err
	}
	return View(made), nil
}

// why says why each further source of a listen is one of the same play.
func why(ctx context.Context, told []library.Told, label func(library.ConnectionID) string) (all []string) {
	for i, v := range told {
		if i == 0 {
			continue
		}
		gap := v.At.Sub(told[0].At)
		from, first := label(v.Connection), label(told[0].Connection)
		switch n := int(gap.Round(time.Second) / time.Second); {
		case n == 0:
			all = append(all, words.T(ctx, "corrections.why_same", "Name", from, "First", first))
		case n < 120:
			all = append(all, words.T(ctx, "corrections.why_seconds", "Name", from, "First", first, "Count", n))
		default:
			all = append(all, words.T(ctx, "corrections.why_minutes", "Name", from, "First", first,
				"Count", int(gap.Round(time.Minute)/time.Minute)))
		}
	}
	return all
}

// addressOf returns the address of the page of a listen.
func addressOf(id int64) string { return "/listens/" + strconv.FormatInt(id, 10) }
