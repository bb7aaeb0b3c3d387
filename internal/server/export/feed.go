package export

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/export"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
	"reprise/web/ui"
)

// inFeed is the number of listens in a feed.
const inFeed = 50

// news is a listen in a feed.
type news struct {
	id, url, title, text string
	at                   time.Time
}

// newest returns the user's newest listens.
func (h *Handler) newest(c echo.Context) ([]news, error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	page, _, err := h.store.FindListens(ctx, library.ListenFilter{User: user}, "", inFeed)
	if err != nil {
		return nil, err
	}
	rows, err := h.rows.Of(ctx, user, page)
	if err != nil {
		return nil, err
	}
	return core.ViewAll(rows, func(r music.Row) news { return h.news(ctx, r) }), nil
}

func (h *Handler) news(ctx context.Context, r music.Row) news {
	base := h.core.BaseURL()
	n := news{id: base + "/listens#listen-" + strconv.FormatInt(r.ID, 10), url: base + "/listens",
		title: r.Artist + " – " + r.Title, at: r.PlayedAt}
	if at := r.TrackPage(); at != "" {
		n.url = base + at
	}
	if r.Album != "" {
		n.text = r.Album
	}
	if len(r.From) > 0 {
		names := core.ViewAll(r.From, func(o ui.Origin) string { return o.Name })
		n.text = strings.TrimPrefix(n.text+" · "+words.T(ctx, "export.feed.from",
			"Services", strings.Join(names, ", ")), " · ")
	}
	n.text = unisolated.Replace(n.text)
	return n
}

// titleOf returns the title of the user's feed.
func titleOf(c echo.Context) string {
	return unisolated.Replace(words.T(c.Request().Context(), "export.feed.title", "Name", core.UserOf(c).Name))
}

// atom answers with the newest listens as an Atom feed.
func (h *Handler) atom(c echo.Context, _ *core.FeedToken) (out core.Sent[core.None], _ error) {
	all, err := h.newest(c)
	if err != nil {
		return out, err
	}
	u, base := core.UserOf(c), h.core.BaseURL()
	f := export.Feed{ID: base + "/api/v1/feed.atom#" + strconv.FormatInt(u.ID, 10), Title: titleOf(c),
		Language: words.From(c.Request().Context()).Code(), Author: u.Name, Home: base + "/listens",
		Updated: u.CreatedAt, Entries: core.ViewAll(all, func(n news) export.FeedEntry {
			return export.FeedEntry{ID: n.id, URL: n.url, Title: n.title, Summary: n.text, At: n.at}
		})}
	text, err := f.Atom()
	if err != nil {
		return out, err
	}
	return out, c.Blob(http.StatusOK, "application/atom+xml; charset=utf-8", text)
}

// jsonFeed is https://www.jsonfeed.org/version/1.1.
type jsonFeed struct {
	Version  string       `json:"version"`
	Title    string       `json:"title"`
	Home     string       `json:"home_page_url"`
	Language string       `json:"language"`
	Authors  []jsonAuthor `json:"authors"`
	Items    []jsonItem   `json:"items"`
}

type jsonAuthor struct {
	Name string `json:"name"`
}

type jsonItem struct {
	ID    string `json:"id"`
	URL   string `json:"url"`
	Title string `json:"title"`
	Text  string `json:"content_text"`
	At    string `json:"date_published"`
}

// json answers with the newest listens as a JSON feed.
func (h *Handler) json(c echo.Context, _ *core.FeedToken) (out core.Sent[core.None], _ error) {
	all, err := h.newest(c)
	if err != nil {
		return out, err
	}
	f := jsonFeed{Version: "https://jsonfeed.org/version/1.1", Title: titleOf(c), Home: h.core.BaseURL() + "/listens",
		Language: words.From(c.Request().Context()).Code(), Authors: []jsonAuthor{{core.UserOf(c).Name}},
		Items: core.ViewAll(all, func(n news) jsonItem {
			return jsonItem{ID: n.id, URL: n.url, Title: n.title, Text: n.text, At: library.Stamp(n.at)}
		})}
	c.Response().Header().Set(echo.HeaderContentType, "application/feed+json")
	c.Response().WriteHeader(http.StatusOK)
	return out, c.Echo().JSONSerializer.Serialize(c, f, "")
}
