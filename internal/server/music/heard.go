package music

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// HeardMusic is an artist, an album or a track, with what the user has heard of it.
type HeardMusic struct {
	Music
	Seconds      int64          `json:"seconds" doc:"How long it was heard."`
	Estimated    int            `json:"estimated" doc:"Listens of unknown length, taken to be as long as the others."`
	FirstHeardAt core.MaybeTime `json:"first_heard_at"`
	Rank         int            `json:"rank" minimum:"1" doc:"Among those of its kind, by listens."`
	YearRank     *int           `json:"year_rank" doc:"The same of this year; null if not heard this year."`
	TopTracks    []RankedMusic  `json:"top_tracks"`
	TopAlbums    []RankedMusic  `json:"top_albums"`
	Over         []MusicPiece   `json:"over" doc:"The listens over time."`
	Links        []MusicLink    `json:"links" doc:"Links to other services."`

	now    time.Time // in the reader's zone
	unit   string    // of Over
	first  library.StoredListen
	newest []library.StoredListen
}

// RankedMusic is an album or a track in a list.
type RankedMusic struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Artist  string `json:"artist"`
	Listens int    `json:"listens"`

	entity library.Entity
}

// MusicPiece is how much was heard in a part of the time.
type MusicPiece struct {
	Date    string `json:"date" format:"date" doc:"The first day of the period."`
	Listens int    `json:"listens"`

	from time.Time
}

// MusicLink is a link to another service.
type MusicLink struct {
	Name string `json:"name" doc:"The service."`
	URL  string `json:"url"`
}

// filter selects the listens of an artist, an album or a track.
func (v *Music) filter(user int64) (f library.ListenFilter, in listening.Filter) {
	n, _ := strconv.ParseUint(v.ID, 10, 32)
	f, id := library.ListenFilter{User: user}, uint32(n)
	switch v.Kind {
	case library.KindArtist:
		f.ArtistID, in.Artist = id, id
	case library.KindAlbum:
		f.AlbumID, in.Album = id, id
	default:
		f.TrackID, in.Track = id, id
	}
	return f, in
}

// heard counts what the user has heard of an artist, an album or a track.
func (h *Handler) heard(c echo.Context, v Music) (HeardMusic, error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	all := HeardMusic{Music: v, now: time.Now().In(core.Zone(c)),
		TopTracks: []RankedMusic{}, TopAlbums: []RankedMusic{},
		Over: []MusicPiece{}, Links: []MusicLink{}}
	f, filter := v.filter(user)
	columns, err := h.store.Columns(ctx, user)
	if err != nil {
		return all, err
	}
	music, err := h.store.Meanings(ctx)
	if err != nil {
		return all, err
	}
	a := listening.Count(columns, music, listening.Question{Span: listening.Span{Name: listening.All},
		Filter: filter, Now: all.now, Bare: true})
	year, err := listening.NewSpan(listening.Year, all.now)
	if err != nil {
		return all, err
	}
	rank := listening.RankOf(columns, music, filter, year)
	all.Plays, all.Seconds, all.Estimated = a.Totals.Listens, int64(a.Totals.Time/time.Second), a.Totals.Guessed
	all.FirstHeardAt, all.LastHeardAt, all.Rank = core.Moment(a.First), core.Moment(a.Last), rank.Ever
	if rank.In > 0 {
		all.YearRank = &rank.In
	}
	for _, p := range a.Over {
		all.Over = append(all.Over, MusicPiece{p.From.Format(time.DateOnly), p.Listens, p.From})
	}
	all.unit = a.Unit
	if err := h.tops(ctx, &all, a); err != nil {
		return all, err
	}
	if all.newest, _, err = h.store.FindListens(ctx, f, "", newest); err != nil {
		return all, err
	}
	earliest, _, err := h.store.LaterListens(ctx, f, library.Cursor{At: a.First.Add(-time.Second), Filter: f}.Text(), 1)
	if err != nil {
		return all, err
	}
	if len(earliest) > 0 {
		all.first = earliest[0]
	}
	connections, err := h.store.UserConnections(ctx, user)
	all.Links = linksOf(v, all.newest, connections)
	return all, err
}

// tops fills in the top tracks and albums: those of an artist, the tracks of an album, or the albums of a track.
func (h *Handler) tops(ctx context.Context, all *HeardMusic, a listening.Answer) error {
	albums, tracks := a.Albums, a.Tracks
	switch all.Kind {
	case library.KindAlbum:
		albums = nil
	case library.KindTrack:
		tracks = nil
	}
	var ids []uint32
	for _, rows := range [][]listening.Row{albums, tracks} {
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
	}
	names, err := h.store.Entities(ctx, ids)
	if err != nil {
		return err
	}
	view := func(r listening.Row) RankedMusic {
		e := names[r.ID]
		return RankedMusic{strconv.FormatUint(uint64(r.ID), 10), e.Title, e.Artist, r.Listens, e}
	}
	all.TopAlbums, all.TopTracks = core.ViewAll(albums, view), core.ViewAll(tracks, view)
	return nil
}

// heardAPI returns the handler for artists, albums or tracks in the API.
func (h *Handler) heardAPI(kind string) core.Handle[core.ByID, HeardMusic] {
	return func(c echo.Context, _ *core.ByID) (out HeardMusic, _ error) {
		v, err := h.known(c, kind)
		if err != nil {
			return out, err
		}
		return h.heard(c, v)
	}
}

// linksOf returns links to services that know the music by its ID, and to the user's services, where it is found by
// name.
func linksOf(v Music, newest []library.StoredListen, connections []library.Connection) (all []MusicLink) {
	add := func(name, address string) { all = append(all, MusicLink{name, address}) }
	if v.MBID != nil {
		kind := musicBrainzKind(v.Kind)
		add("MusicBrainz", "https://musicbrainz.org/"+kind+"/"+*v.MBID)
		switch v.Kind {
		case library.KindArtist:
			add("ListenBrainz", "https://listenbrainz.org/artist/"+*v.MBID+"/")
		case library.KindAlbum:
			add("ListenBrainz", "https://listenbrainz.org/album/"+*v.MBID+"/")
		default:
			add("ListenBrainz", "https://listenbrainz.org/track/"+*v.MBID+"/")
		}
	}
	if id := spotifyID(v.Kind, newest); id != "" {
		add("Spotify", "https://open.spotify.com/track/"+id)
	}
	for _, c := range connections {
		switch c.ID.Provider() {
		case "lastfm":
			add("Last.fm", "https://www.last.fm/music/"+lastFMPath(v))
		case "navidrome":
			if base := c.Credentials["url"]; strings.HasPrefix(base, "http") && from(newest, c.ID) {
				add(navidromeName(c), strings.TrimRight(base, "/")+navidromePath(v))
			}
		}
	}
	return all
}

// spotifyID returns Spotify's ID of a track, taken from the sources of its listens.
func spotifyID(kind string, newest []library.StoredListen) string {
	if kind != library.KindTrack {
		return ""
	}
	for _, l := range newest {
		for _, s := range l.Sources {
			_, id, ok := strings.Cut(s.SourceID, ":")
			if ok && s.Connection.Provider() == "spotify" && len(id) == 22 && !strings.ContainsAny(id, "/:?#") {
				return id
			}
		}
	}
	return ""
}

// from reports whether a connection reported one of the listens, which means that it has the music.
func from(newest []library.StoredListen, id library.ConnectionID) bool {
	for _, l := range newest {
		for _, s := range l.Sources {
			if s.Connection == id {
				return true
			}
		}
	}
	return false
}

// lastFMPath returns the path of a page of Last.fm, which has one for every name.
func lastFMPath(v Music) string {
	path := url.PathEscape(v.Artist)
	switch v.Kind {
	case library.KindAlbum:
		path += "/" + url.PathEscape(v.Name)
	case library.KindTrack:
		path += "/_/" + url.PathEscape(v.Name)
	}
	return path
}

// navidromePath returns the path of a list in Navidrome's web interface, filtered by name.
func navidromePath(v Music) string {
	list, field := "artist", "name"
	switch v.Kind {
	case library.KindAlbum:
		list = "album/all"
	case library.KindTrack:
		list, field = "song", "title"
	}
	filter := `{"` + field + `":` + strconv.Quote(v.Name) + "}"
	return "/app/#/" + list + "?filter=" + url.QueryEscape(filter)
}

// navidromeName returns the name of a Navidrome server.
func navidromeName(c library.Connection) string {
	if c.Name != "" {
		return c.Name
	}
	return "Navidrome"
}

// heardView is what was heard of something, on its page.
type heardView struct {
	Figures []ui.Fact  // how much was heard, and when
	Ranks   []ui.Named // among others of its kind, with the addresses of their lists
	Over    ui.Bars
	Lists   []listView
	Links   []MusicLink
}

// listView is a list with its title.
type listView struct {
	ID, Title string
	Items     []ui.Item
}

// page returns what was heard in words.
func (h *Handler) page(ctx context.Context, all HeardMusic) (v heardView, err error) {
	v.Links, v.Figures, v.Ranks = all.Links, all.figures(ctx), all.ranks(ctx)
	v.Over = all.bars(ctx)
	for _, one := range []struct {
		id, title, kind string
		rows            []RankedMusic
	}{{"tracks", words.T(ctx, "listening.top_tracks"), library.KindTrack, all.TopTracks},
		{"albums", words.T(ctx, "listening.top_albums"), library.KindAlbum, all.TopAlbums}} {
		if len(one.rows) == 0 {
			continue
		}
		items, err := h.items(ctx, one.kind, one.rows, all.Artist)
		if err != nil {
			return v, err
		}
		v.Lists = append(v.Lists, listView{one.id, one.title, items})
	}
	return v, nil
}

// figures returns how much was heard and when, each with the address of its listens.
func (all *HeardMusic) figures(ctx context.Context) (figures []ui.Fact) {
	l := words.From(ctx)
	add := func(label, text, address string) {
		figures = append(figures, ui.Fact{Label: label, Value: ui.Linked(ui.Named{Text: text, URL: address})})
	}
	add(words.T(ctx, "music.plays"), l.Number(all.Plays), "/listens?"+all.Kind+"="+all.ID)
	add(words.T(ctx, "music.time"), Length(ctx, time.Duration(all.Seconds)*time.Second), "")
	if all.first.PlayedAt.IsZero() || len(all.newest) == 0 {
		return figures
	}
	on := func(label string, of library.StoredListen) {
		add(label, l.Day(of.PlayedAt.In(all.now.Location())), "/listens/"+strconv.FormatInt(of.ID, 10))
	}
	on(words.T(ctx, "music.first"), all.first)
	if last := all.newest[0]; last.ID != all.first.ID {
		on(words.T(ctx, "music.last"), last)
	}
	return figures
}

// ranks returns the places among others of its kind, this year and ever.
func (all *HeardMusic) ranks(ctx context.Context) (ranks []ui.Named) {
	l := words.From(ctx)
	if all.YearRank != nil {
		ranks = append(ranks, ui.Named{URL: "/listening?" + url.Values{"span": {listening.Year},
			"at": {all.now.Format(time.DateOnly)}}.Encode(),
			Text: words.Each("music.year_rank.", all.Kind, "Rank", l.Number(*all.YearRank)).T(ctx)})
	}
	return append(ranks, ui.Named{URL: "/listening?span=" + listening.All,
		Text: words.Each("music.rank.", all.Kind, "Rank", l.Number(all.Rank)).T(ctx)})
}

// bars returns the chart of listens over time. Each bar links to its listens.
func (all *HeardMusic) bars(ctx context.Context) ui.Bars {
	b := ui.Bars{ID: "over", Label: words.T(ctx, "listening.over")}
	if len(all.Over) == 0 {
		return b
	}
	highest := 1
	for _, p := range all.Over {
		highest = max(highest, p.Listens)
	}
	for _, p := range all.Over {
		span, err := listening.NewSpan(all.unit, p.from)
		if err != nil {
			return ui.Bars{}
		}
		b.All = append(b.All, ui.Column{N: p.Listens, Height: p.Listens * 100 / highest,
			URL:   "/listens?" + url.Values{all.Kind: {all.ID}, "span": {all.unit}, "at": {p.Date}}.Encode(),
			Title: words.T(ctx, "listening.piece", "When", SpanName(ctx, span), "Count", p.Listens)})
	}
	for _, i := range ui.Marks(len(all.Over)) {
		b.Axis = append(b.Axis, ShortName(ctx, all.unit, all.Over[i].from))
	}
	return b
}

// items returns a list of albums or tracks. It leaves out the artist's name if it is artist.
func (h *Handler) items(ctx context.Context, kind string, rows []RankedMusic, artist string) ([]ui.Item, error) {
	links, err := h.rows.Links(ctx, core.ViewAll(rows, func(r RankedMusic) library.Track {
		if kind == library.KindAlbum {
			return library.Track{Artist: r.Artist, Album: r.Name}
		}
		return library.Track{Artist: r.Artist, Album: r.entity.Album}
	})...)
	if err != nil {
		return nil, err
	}
	items := make([]ui.Item, len(rows))
	for i, r := range rows {
		picture := ui.Picture{Portrait: links[i].Portrait}
		if links[i].Picture != "" {
			picture.URL = "/art/" + links[i].Picture
		}
		items[i] = ui.Item{Picture: &picture, Title: ui.Named{Text: r.Name, URL: "/music/" + kind + "/" + r.ID},
			Aside: ui.ShareOf(ui.Share{N: words.From(ctx).Number(r.Listens), Part: r.Listens * 100 / rows[0].Listens,
				Label: words.T(ctx, "listening.count", "Count", r.Listens),
				URL:   "/listens?" + kind + "=" + r.ID})}
		if r.Artist != artist {
			items[i].By = []ui.Named{{Text: r.Artist}}
		}
	}
	return items, nil
}
