package years

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/server/reviews"
	"reprise/internal/words"
	"reprise/web/ui"
)

// openPath is the path of links to years.
const openPath = "/year/"

// Open adds the routes for anybody who has a link. They ignore sessions.
func (h *Handler) Open(e *echo.Echo) {
	g := e.Group(openPath+":code", core.Visitors(), core.Unreferred)
	g.GET("", h.openPage)
	g.GET("/card.svg", h.openCard)
	g.GET("/card.png", h.openCard)
}

// linked counts the year of the link with the code in an address, and returns the parts it shows.
func (h *Handler) linked(c echo.Context) (story, shown, error) {
	ctx := c.Request().Context()
	link, err := h.store.ShareByHash(ctx, library.ShareYear, accounts.HashToken(c.Param("code")))
	if errors.Is(err, library.ErrNotFound) {
		return story{}, nil, &core.Refusal{Status: http.StatusNotFound, Title: words.New("problem.year.gone"),
			Detail: words.New("problem.year.gone_text")}
	}
	if err != nil {
		return story{}, nil, err
	}
	zone, ok := words.ZoneNamed(link.Zone)
	if !ok {
		zone = time.UTC
	}
	year, err := strconv.Atoi(link.Subject)
	if err != nil {
		return story{}, nil, err
	}
	s, err := h.story(ctx, link.User, year, time.Now().In(zone))
	return s, showing(link.Parts), err
}

func (h *Handler) openPage(c echo.Context) error {
	s, show, err := h.linked(c)
	if err != nil {
		return err
	}
	at := openPath + c.Param("code") + "/card"
	return h.showOpen(c, s, show, cardView{Light: at + ".svg?theme=light", Dark: at + ".svg?theme=dark"},
		h.core.BaseURL()+at+".png")
}

// showOpen answers with the page for others. preview is the address of a picture for link previews; empty for none.
func (h *Handler) showOpen(c echo.Context, s story, show shown, card cardView, preview string) error {
	ctx := c.Request().Context()
	v := s.view(ctx, show, false)
	v.Prizes = v.unlisted() // lists already start with the others
	v.Card = card
	v.Card.Alt = s.contentOf(ctx, show, reviews.Look{}).About
	meta := []ui.Meta{{Name: "og:title", Content: v.Title}, {Name: "og:type", Content: "website"},
		{Name: "og:description", Content: v.Card.Alt}}
	if preview != "" {
		meta = append(meta, ui.Meta{Name: "og:image", Content: preview},
			ui.Meta{Name: "og:image:width", Content: "1200"}, ui.Meta{Name: "og:image:height", Content: "630"},
			ui.Meta{Name: "og:image:alt", Content: v.Card.Alt},
			ui.Meta{Name: "twitter:card", Content: "summary_large_image"})
	}
	return h.core.ShowOpen(c, v.Title, meta, openYear(v))
}

func (h *Handler) openCard(c echo.Context) error {
	s, show, err := h.linked(c)
	if err != nil {
		return err
	}
	return h.sendCard(c, s, show)
}

// preview shows the user what others would see.
func (h *Handler) preview(c echo.Context) error {
	s, err := h.requested(c)
	if err != nil {
		return err
	}
	show := ticked(c)
	return h.showOpen(c, s, show, cardOf(s.year, show), "")
}

// cardOf returns the addresses of the user's own card.
func cardOf(year int, show shown) cardView {
	at := "/api/v1/stats/years/" + strconv.Itoa(year) + "/card.svg?show=" + strings.Join(show.list(), ",")
	return cardView{Light: at + "&theme=light", Dark: at + "&theme=dark"}
}

// errNothing refuses a link that shows nothing.
func errNothing() error {
	return &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("problem.year.title"),
		Detail: words.New("problem.year.nothing")}
}

// keep stores the parts that a link shows. If there is no link yet or a new one is wanted, it creates one.
func (h *Handler) keep(c echo.Context, show shown, another bool) (l library.Share, made bool, err error) {
	zone := core.Zone(c)
	year, err := yearOf(c, time.Now().In(zone))
	if err != nil {
		return l, false, err
	}
	if len(show.list()) == 0 {
		return l, false, errNothing()
	}
	ctx := c.Request().Context()
	l = library.Share{User: core.UserOf(c).ID, Kind: library.ShareYear, Subject: strconv.Itoa(year), Parts: show.list(),
		Zone: zone.String()}
	if l, made, err = core.KeepShare(ctx, h.store, l, another); made && err == nil {
		h.core.Note(ctx, activity.Entry{Action: activity.YearShared, User: l.User, Subject: l.Subject})
	}
	return l, made, err
}

// takeBack removes the link to a year.
func (h *Handler) takeBack(c echo.Context) error {
	year, err := yearOf(c, time.Now().In(core.Zone(c)))
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	if err = h.store.DeleteShare(ctx, user, library.ShareYear, strconv.Itoa(year)); err == nil {
		h.core.Note(ctx, activity.Entry{Action: activity.YearUnshared, User: user, Subject: strconv.Itoa(year)})
	}
	return err
}

// address returns the address of the link with a code; empty where the code is not known.
func (h *Handler) address(code string) string {
	if code == "" {
		return ""
	}
	return h.core.BaseURL() + openPath + code
}

// YearLink is a link in the API.
type YearLink struct {
	Year   int       `json:"year"`
	Parts  []string  `json:"parts" enum:"numbers,artists,albums,tracks,months"`
	MadeAt core.Time `json:"made_at"`
	URL    *string   `json:"url" doc:"The address; null if the server's secret key was lost since the link was created."`
}

func (h *Handler) viewLink(l library.Share) YearLink {
	year, _ := strconv.Atoi(l.Subject) // ours
	return YearLink{year, showing(l.Parts).list(), core.Stamp(l.MadeAt), core.Text(h.address(l.Code))}
}

func (h *Handler) linkAPI(c echo.Context, _ *core.OfYear) (out YearLink, _ error) {
	year, err := yearOf(c, time.Now().In(core.Zone(c)))
	if err != nil {
		return out, err
	}
	l, err := h.store.Share(c.Request().Context(), core.UserOf(c).ID, library.ShareYear, strconv.Itoa(year))
	if err != nil {
		return out, err
	}
	return h.viewLink(l), nil
}

type shareYearRequest struct {
	core.OfYear
	Body struct {
		Parts []string `json:"parts" enum:"numbers,artists,albums,tracks,months"`
		New   bool     `json:"new" required:"false" doc:"Whether another link replaces the present one."`
	}
}

func (h *Handler) keepLinkAPI(c echo.Context, in *shareYearRequest) (out YearLink, _ error) {
	body := in.Body
	show := showing(body.Parts)
	if len(body.Parts) > len(parts) || len(show) < len(body.Parts) {
		return out, errNothing()
	}
	l, _, err := h.keep(c, show, body.New)
	if err != nil {
		return out, err
	}
	return h.viewLink(l), nil
}

func (h *Handler) takeBackAPI(c echo.Context, _ *core.OfYear) (out core.None, _ error) {
	return out, h.takeBack(c)
}

func (h *Handler) linkForm(c echo.Context) error {
	l, made, err := h.keep(c, ticked(c), c.FormValue("new") == "yes")
	if err != nil {
		return err
	}
	said := words.New("year.share.changed")
	if made {
		said = words.New("year.share.made")
	}
	return h.core.Done(c, "/listening/years/"+l.Subject+"#share", said)
}

func (h *Handler) takeBackForm(c echo.Context) error {
	// It may have been taken back in another tab.
	if err := h.takeBack(c); err != nil && !errors.Is(err, library.ErrNotFound) {
		return err
	}
	return h.core.Done(c, "/listening/years/"+c.Param("year")+"#share", words.New("year.share.gone"))
}
