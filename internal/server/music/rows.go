package music

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/art"
	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// LinkStore finds the pages and pictures of the music in listens.
type LinkStore interface {
	Links(ctx context.Context, tracks []library.Track) ([]enrich.Links, error)
	IsChosen(picture string) bool
	ChosenPicture(ctx context.Context, name string) ([]byte, error)
	// Loved returns which of some tracks a person loves.
	Loved(ctx context.Context, user int64, tracks []library.Track) ([]bool, error)
	Outages(ctx context.Context, user int64) ([]library.Outage, error)
}

// Rows makes rows of listens.
type Rows struct {
	core  *core.Core
	store LinkStore
	art   *art.Cache
}

// NewRows returns Rows. pictures may be nil: rows have none then.
func NewRows(k *core.Core, store LinkStore, pictures *art.Cache) *Rows {
	return &Rows{core: k, store: store, art: pictures}
}

// Row is a listen on a page, with its picture and the pages of its music.
type Row struct {
	library.StoredListen
	Links enrich.Links
	From  []ui.Origin // the connections that reported it
	Loved bool
	Stand string // for which connection it stands in; empty for none
}

// Of returns the rows of a user's listens.
func (r *Rows) Of(ctx context.Context, user int64, page []library.StoredListen) ([]Row, error) {
	label, err := r.core.Labels(ctx, user)
	if err != nil {
		return nil, err
	}
	tracks := core.ViewAll(page, func(l library.StoredListen) library.Track { return l.Track })
	links, err := r.Links(ctx, tracks...)
	if err != nil {
		return nil, err
	}
	loved, err := r.store.Loved(ctx, user, tracks)
	if err != nil {
		return nil, err
	}
	outages, err := r.store.Outages(ctx, user)
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(page))
	for i, l := range page {
		rows[i] = Row{StoredListen: l, Links: links[i], Loved: loved[i], Stand: standsIn(ctx, outages, l, label)}
		for _, s := range l.Sources {
			from := ui.Origin{Provider: s.Connection.Provider(), Name: label(s.Connection)}
			if !slices.Contains(rows[i].From, from) {
				rows[i].From = append(rows[i].From, from)
			}
		}
	}
	return rows, nil
}

// standsIn says for the plays of which connections a listen stands in; empty for none.
func standsIn(ctx context.Context, all []library.Outage, l library.StoredListen,
	label func(library.ConnectionID) string) string {
	var said []words.Text
	for _, o := range all {
		switch {
		case !o.Filled(l):
		case o.To.IsZero():
			said = append(said, words.New("listens.in_place.since", "Name", label(o.Connection), "From",
				words.Day(o.From)))
		default:
			var from, to any = o.From, o.To
			if o.To.Sub(o.From) > 2*24*time.Hour {
				from, to = words.Day(o.From), words.Day(o.To)
			}
			said = append(said, words.New("listens.in_place.between", "Name", label(o.Connection), "From", from, "To",
				to))
		}
	}
	return words.Join(said...).T(ctx)
}

// StandsIn says for the plays of which of a user's connections a listen stands in; empty for none.
func (r *Rows) StandsIn(ctx context.Context, user int64, l library.StoredListen,
	label func(library.ConnectionID) string) (string, error) {
	outages, err := r.store.Outages(ctx, user)
	return standsIn(ctx, outages, l, label), err
}

// Listen is a listen in the API.
type Listen struct {
	library.ListenRecord
	StandsInFor []library.OutageRecord `json:"stands_in_for" doc:"The connections that weren't read at that time and have not reported it, where all that did had their plays before, too."`
}

// Listens returns listens of a user as the API has them.
func (r *Rows) Listens(ctx context.Context, user int64, page ...library.StoredListen) ([]Listen, error) {
	outages, err := r.store.Outages(ctx, user)
	return core.ViewAll(page, func(l library.StoredListen) Listen {
		v := Listen{ListenRecord: l.Record(), StandsInFor: []library.OutageRecord{}}
		for _, o := range outages {
			if o.Filled(l) {
				v.StandsInFor = append(v.StandsInFor, o.Record())
			}
		}
		return v
	}), err
}

// Items returns listens as rows of a list.
func Items(ctx context.Context, rows []Row) []ui.Item {
	return core.ViewAll(rows, func(r Row) ui.Item {
		picture := r.Picture(ctx)
		i := ui.Item{ID: "listen-" + strconv.FormatInt(r.ID, 10), Picture: &picture,
			Title:   ui.Named{Text: cmp.Or(r.Links.TrackName, r.Title), URL: r.TrackPage()},
			Credits: creditsOf(r),
			From:    r.From, Stand: r.Stand, At: r.PlayedAt, AtURL: "/listens/" + strconv.FormatInt(r.ID, 10)}
		if r.Album != "" {
			i.By = append(i.By, ui.Named{Text: cmp.Or(r.Links.AlbumName, r.Album),
				URL: pageOf(library.KindAlbum, r.Links.Album)})
		}
		if r.Loved {
			i.Loved = words.T(ctx, "loves.marked")
		}
		if r.Approximate {
			i.About = words.T(ctx, "listens.about")
		}
		return i
	})
}

// creditsOf returns the artists of a listen as written, each linked, followed by those whose names the text lacks.
func creditsOf(r Row) (all []ui.Named) {
	if len(r.Links.Credits) < 2 {
		return []ui.Named{{Text: cmp.Or(r.Links.ArtistName, r.Artist),
			URL: pageOf(library.KindArtist, r.Links.Artist)}}
	}
	rest, others := r.Artist, []ui.Named(nil)
	if r.Links.ArtistName != "" { // the first one is renamed
		rest = ""
		all = append(all, ui.Named{Text: r.Links.ArtistName, URL: pageOf(library.KindArtist, r.Links.Artist)})
		r.Links.Credits = r.Links.Credits[1:]
	}
	for _, c := range r.Links.Credits {
		url := pageOf(library.KindArtist, c.ID)
		i := strings.Index(rest, c.Name)
		if i < 0 || c.Name == "" {
			others = append(others, ui.Named{Text: c.Name, URL: url})
			continue
		}
		if i > 0 {
			all = append(all, ui.Named{Text: rest[:i]})
		}
		all = append(all, ui.Named{Text: c.Name, URL: url})
		rest = rest[i+len(c.Name):]
	}
	if len(all) == 0 { // the text has none of the names
		all, rest, others = []ui.Named{{Text: r.Artist, URL: pageOf(library.KindArtist, r.Links.Artist)}}, "",
			others[1:]
	}
	if rest != "" {
		all = append(all, ui.Named{Text: rest})
	}
	for _, other := range others {
		all = append(all, ui.Named{Text: " · "}, other)
	}
	return all
}

// Picture returns the picture of a listen.
func (r Row) Picture(ctx context.Context) ui.Picture {
	p := ui.Picture{Portrait: r.Links.Portrait}
	if r.Links.Picture != "" {
		p.URL, p.Alt = "/art/"+r.Links.Picture, pictured(ctx, r.Links.Portrait, r.Artist, r.Album)
	}
	return p
}

// TrackPage returns the address of the page of a listen's track; empty without one.
func (r Row) TrackPage() string { return pageOf(library.KindTrack, r.Links.Track) }

// pageOf returns the address of the page of an artist, an album or a track; empty without one.
func pageOf(kind string, id int64) string {
	if id == 0 {
		return ""
	}
	return "/music/" + kind + "/" + strconv.FormatInt(id, 10)
}

// pictured says what a picture shows: an artist, or the cover of an album, whose title may be missing.
func pictured(ctx context.Context, portrait bool, artist, album string) string {
	switch {
	case portrait:
		return artist
	case album != "":
		return words.T(ctx, "listens.cover_of", "Album", album)
	}
	return words.T(ctx, "listens.cover")
}

// Links returns where tracks lead, with the pictures that can be shown.
func (r *Rows) Links(ctx context.Context, tracks ...library.Track) ([]enrich.Links, error) {
	links, err := r.store.Links(ctx, tracks)
	for i := range links {
		links[i].Picture = r.shown(links[i].Picture)
	}
	return links, err
}

// ReadPicture returns a picture named in Links and its media type, or library.ErrNotFound if it no longer exists.
func (r *Rows) ReadPicture(ctx context.Context, name string) (picture []byte, kind string, err error) {
	err = fs.ErrNotExist
	if r.art != nil {
		picture, kind, err = r.art.Read(name)
	}
	if errors.Is(err, fs.ErrNotExist) { // pictures that administrators have chosen are not cached
		picture, err = r.store.ChosenPicture(ctx, name)
		kind = "image/jpeg"
	}
	return picture, kind, err
}

// SendPicture answers with a picture named in Links.
func (r *Rows) SendPicture(c echo.Context, name string) error {
	b, kind, err := r.ReadPicture(c.Request().Context(), name)
	if errors.Is(err, library.ErrNotFound) {
		return core.HTTPProblem(http.StatusNotFound)
	}
	if err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set("Cache-Control", "private, max-age=31536000, immutable")
	header.Set("ETag", `"`+name+`"`)
	header.Set(echo.HeaderContentType, kind)
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(b))
	return nil
}

// shown returns the name of a picture; empty if the cache does not hold it any more.
func (r *Rows) shown(picture string) string {
	if picture != "" && (r.art != nil && r.art.Has(picture) || r.store.IsChosen(picture)) {
		return picture
	}
	return ""
}
