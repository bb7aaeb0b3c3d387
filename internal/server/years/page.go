package years

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// pageOf returns the address of the page of a year.
func pageOf(year int) string { return "/listening/years/" + strconv.Itoa(year) }

// pageView is a person's page of a year.
type pageView struct {
	yearView
	Year  string
	Next  []ui.Action // if nothing was heard
	Share shareView
}

// shareView is the part of the page with the link.
type shareView struct {
	On      bool
	Said    string // what it shows
	Address string // of the link; empty where it is not known
	Boxes   []ui.Field
	Since   library.Share
}

// linkPage leads those who reload the answer to the form of the link, or copy its address, to the link.
func (h *Handler) linkPage(c echo.Context) error {
	year, err := yearOf(c, time.Now().In(core.Zone(c)))
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, pageOf(year)+"#share")
}

// page answers with the page of a year.
func (h *Handler) page(c echo.Context) error {
	s, err := h.requested(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	v := pageView{yearView: s.view(ctx, everything(), true), Year: strconv.Itoa(s.year)}
	if v.Empty != "" {
		v.Next = []ui.Action{{Label: words.T(ctx, "year.others"), URL: "/listening/years", Main: true}}
		return h.core.Show(c, http.StatusOK, v.Title, yearPage(v))
	}
	if err := h.pictures(ctx, &v.yearView); err != nil {
		return err
	}
	if v.From, err = h.sources(c, s); err != nil {
		return err
	}
	v.Card = cardOf(s.year, everything())
	v.Card.Alt, v.Card.Theme = s.contentOf(ctx, everything(), look{}).About, core.UserOf(c).Theme
	if v.Share, err = h.shared(c, s.year); err != nil {
		return err
	}
	return h.core.Show(c, http.StatusOK, v.Title, yearPage(v))
}

// storyPage answers with a year that shows one thing on each screen.
func (h *Handler) storyPage(c echo.Context) error {
	s, err := h.requested(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	v := s.view(ctx, everything(), true)
	if v.Empty != "" {
		return c.Redirect(http.StatusSeeOther, pageOf(s.year))
	}
	if err := h.pictures(ctx, &v); err != nil {
		return err
	}
	return h.core.ShowAlone(c, v.Title, screens(v, pageOf(s.year)))
}

// pictures fills in the pictures of the rows and the prizes.
func (h *Handler) pictures(ctx context.Context, v *yearView) error {
	var tracks []library.Track
	for _, list := range v.Lists {
		for _, r := range list.Rows {
			tracks = append(tracks, musicOf(r.Entity))
		}
	}
	links, err := h.rows.Links(ctx, tracks...)
	if err != nil {
		return err
	}
	first, i := map[string]string{}, 0
	for _, list := range v.Lists {
		for n := range list.Rows {
			list.Rows[n].Picture = links[i].Picture
			if n == 0 {
				first[list.ID] = links[i].Picture
			}
			i++
		}
	}
	for n, p := range v.Prizes {
		picture, listed := first[p.Kind+"s"]
		if !listed { // its kind has only one
			alone, err := h.rows.Links(ctx, musicOf(p.Entity))
			if err != nil {
				return err
			}
			picture = alone[0].Picture
		}
		v.Prizes[n].Picture = picture
	}
	return nil
}

// musicOf returns a track by which the picture of an artist, an album or a track is found.
func musicOf(e library.Entity) library.Track {
	if e.Kind == library.KindAlbum {
		return library.Track{Artist: e.Artist, Album: e.Title}
	}
	return library.Track{Artist: e.Artist, Album: e.Album}
}

// sources returns how much of the year each source reported; nothing if there is only one.
func (h *Handler) sources(c echo.Context, s story) (all []sourceView, err error) {
	ctx := c.Request().Context()
	if len(s.found.Sources) < 2 {
		return nil, nil
	}
	label, err := h.core.Labels(ctx, core.UserOf(c).ID)
	if err != nil {
		return nil, err
	}
	for _, one := range s.found.Sources {
		all = append(all, sourceView{label(one.Connection), words.T(ctx, "year.reported", "Count", one.Listens,
			"Percent", one.Listens*100/s.found.Totals.Listens, "Only", words.From(ctx).Number(one.Only))})
	}
	return all, nil
}

// shared returns the part of the page about the link.
func (h *Handler) shared(c echo.Context, year int) (v shareView, err error) {
	ctx := c.Request().Context()
	show := showing([]string{numbers, artists})
	v.Since, err = h.store.Share(ctx, core.UserOf(c).ID, library.ShareYear, strconv.Itoa(year))
	switch {
	case err == nil:
		v.On, show = true, showing(v.Since.Parts)
		v.Said, v.Address = show.labels(ctx), h.address(v.Since.Code)
	case !errors.Is(err, library.ErrNotFound):
		return v, err
	}
	for _, name := range parts {
		v.Boxes = append(v.Boxes, ui.Field{Name: name, Type: "checkbox", Checked: show[name],
			Label: words.Each("year.part.", name).T(ctx)})
	}
	return v, nil
}

// list shows the years that have listens.
func (h *Handler) list(c echo.Context) error {
	ctx := c.Request().Context()
	all, err := h.all(c)
	if err != nil {
		return err
	}
	highest := 1
	for _, y := range all {
		highest = max(highest, y.Listens)
	}
	rows := core.ViewAll(all, func(y counted) ui.Item {
		return ui.Item{Title: ui.Named{Text: strconv.Itoa(y.Year), URL: pageOf(y.Year)},
			Aside: bar(words.From(ctx).Number(y.Listens), words.T(ctx, "listening.count", "Count", y.Listens),
				y.Listens*100/highest)}
	})
	return h.core.Show(c, http.StatusOK, words.T(ctx, "year.years"), yearsPage(rows))
}

// items returns rows of a list for the page.
func (v listView) items(pictured bool) []ui.Item {
	return core.ViewAll(v.Rows, func(r rowView) ui.Item {
		i := ui.Item{Title: ui.Named{Text: r.Name, URL: r.URL}, Note: r.Note, Aside: bar(r.N, r.Said, r.Part)}
		if r.By != "" {
			i.By = []ui.Named{{Text: r.By}}
		}
		if pictured {
			i.Picture = &ui.Picture{URL: artOf(r.Picture), Portrait: r.Entity.Kind == library.KindArtist}
		}
		return i
	})
}

// artOf returns the address of a picture; empty for none.
func artOf(picture string) string {
	if picture == "" {
		return ""
	}
	return "/art/" + picture
}

// monthBars returns the chart of the months, each named with its top artist.
func monthBars(ctx context.Context, all []monthView) ui.Bars {
	b := ui.Bars{ID: "months", Label: words.T(ctx, "year.months")}
	for _, m := range all {
		c := ui.Column{Title: ui.WithColon(ctx, m.Month) + m.Said, URL: m.URL, N: m.Listens, Height: m.Part}
		if m.Leader != "" {
			c.Title += " · " + m.Leader + ", " + m.Note
		}
		b.All, b.Axis = append(b.All, c), append(b.Axis, m.Short)
	}
	return b
}

// YearRow is an artist, an album or a track in the API.
type YearRow struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Artist  string `json:"artist"`
	Listens int    `json:"listens"`
	Seconds int64  `json:"seconds"`
}

func (s *story) json(r listening.Row) YearRow {
	e := s.names[r.ID]
	v := YearRow{strconv.FormatUint(uint64(r.ID), 10), e.Title, e.Artist, r.Listens, int64(r.Time.Seconds())}
	if e.Kind == library.KindArtist {
		v.Name = e.Artist
	}
	return v
}
