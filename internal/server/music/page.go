package music

import (
	"context"
	"net/url"

	"github.com/a-h/templ"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/words"
	"reprise/web/ui"
)

// pageView is the page of an artist, an album or a track.
type pageView struct {
	Name     string
	Lead     ui.Sentence // what it is
	Heard    heardView
	Picture  ui.Picture
	Listens  lately
	Facts    []ui.Fact
	Known    []ui.Fact // for the curious, with Sources
	Sources  ui.Grid
	NotAsked bool // no source has been asked about it
	Correct  correction
	Love     *ui.Action // nil except for a track
	Music
}

// largePicture is the size of the picture of a page, in pixels.
const largePicture = 240

func pageFor(ctx context.Context, v Music) pageView {
	p := pageView{Music: v, Name: v.Name, Lead: leadOf(ctx, v), NotAsked: len(v.Sources) == 0,
		Picture: ui.Picture{Portrait: v.Kind == library.KindArtist, Size: largePicture, Soon: true}}
	if v.Picture != nil {
		album := v.Name
		if v.Kind != library.KindAlbum {
			album = known(v.Album)
		}
		p.Picture.URL, p.Picture.Alt = *v.Picture, pictured(ctx, v.Portrait, v.Artist, album)
	}
	p.Facts, p.Known, p.Sources = factsOf(ctx, v), knownOf(ctx, v), sourcesOf(ctx, v)
	return p
}

// leadOf says what something is, with links to its artist and its album.
func leadOf(ctx context.Context, v Music) ui.Sentence {
	const artist, album = "{artist}", "{album}"
	s := ui.Sentence{Slots: map[string]ui.Named{
		artist: {Text: v.Artist, URL: pageOf(library.KindArtist, v.ArtistID)},
		album:  {Text: known(v.Album), URL: pageOf(library.KindAlbum, v.AlbumID)}}}
	switch {
	case v.Kind == library.KindArtist:
		s.Text = words.T(ctx, "music.artist")
	case v.Kind == library.KindAlbum:
		s.Text = words.T(ctx, "music.album", "Artist", artist)
	case known(v.Album) != "":
		s.Text = words.T(ctx, "music.track_of", "Artist", artist, "Album", album)
	default:
		s.Text = words.T(ctx, "music.track", "Artist", artist)
	}
	return s
}

// known returns a text that may be nil.
func known(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// factsOf returns what is known of something, each with where it is from.
func factsOf(ctx context.Context, v Music) (all []ui.Fact) {
	add := func(label string, value templ.Component, from string) {
		f := ui.Fact{Label: label, Value: value}
		if from != "" {
			f.Note = words.T(ctx, "music.from", "Source", from)
		}
		all = append(all, f)
	}
	if v.Released != nil {
		label := words.T(ctx, "music.released")
		if v.Kind == library.KindArtist {
			label = words.T(ctx, "music.since")
		}
		add(label, ui.Name(ui.PartDate(ctx, *v.Released)), v.ReleasedFrom)
	}
	if len(v.Tags) > 0 {
		add(words.T(ctx, "music.tags"), ui.Chips(tagChips(v.Tags)), v.TagsFrom)
	}
	if v.AlsoKnownAs != "" {
		add(words.T(ctx, "music.written_as"), ui.Name(v.AlsoKnownAs), v.AlsoFrom)
	}
	return all
}

// tagChips returns tags, each linked to the statistics filtered by it.
func tagChips(all []string) (chips []ui.Chip) {
	for _, tag := range all {
		chips = append(chips, ui.Chip{Label: tag, URL: "/listening?" + url.Values{"span": {listening.All},
			"tag": {tag}}.Encode()})
	}
	return chips
}

// knownOf returns what helps to find out where a fact is from.
func knownOf(ctx context.Context, v Music) (all []ui.Fact) {
	if v.MBID != nil {
		f := ui.Fact{Label: words.T(ctx, "music.mbid"), Value: mbid(v.Kind, *v.MBID)}
		if v.MBIDFrom == "" {
			f.Note = words.T(ctx, "music.from_listen")
		}
		all = append(all, f)
	}
	if v.PictureFrom != "" {
		all = append(all, ui.Fact{Label: words.T(ctx, "music.picture"), Value: ui.Name(v.PictureFrom)})
	}
	return all
}

// musicBrainzKind returns what MusicBrainz calls a kind of music.
func musicBrainzKind(kind string) string {
	switch kind {
	case library.KindArtist:
		return "artist"
	case library.KindAlbum:
		return "release-group"
	}
	return "recording"
}

// sourcesOf returns the table of what each source said.
func sourcesOf(ctx context.Context, v Music) ui.Grid {
	g := ui.Grid{Columns: []string{words.T(ctx, "music.source"), words.T(ctx, "music.answer"),
		words.T(ctx, "music.asked"), words.T(ctx, "music.next")}}
	for _, s := range v.Sources {
		asked, next := templ.Component(ui.Name("–")), ui.Name(words.T(ctx, "music.when_known"))
		if !s.AskedAt.IsZero() {
			asked = ui.Time(s.AskedAt.Time, ui.Ago)
		}
		if !s.NextAt.IsZero() {
			next = ui.Time(s.NextAt.Time, ui.Until)
		}
		g.Rows = append(g.Rows, ui.Line{Cells: []templ.Component{ui.Name(s.DisplayName),
			templ.Join(ui.Name(answerOf(ctx, s)), ui.Details(s.Detail)), asked, next}})
	}
	return g
}

// answerOf says what a source said.
func answerOf(ctx context.Context, s Fact) string {
	switch {
	case s.AskedAt.IsZero():
		return words.T(ctx, "music.not_asked")
	case s.State == string(enrich.Done):
		return words.T(ctx, "music.found")
	case s.State == string(enrich.NotThere):
		return words.T(ctx, "music.not_found")
	case s.Detail != "":
		return words.T(ctx, "music.no_answer")
	}
	return words.T(ctx, "music.asked_again")
}
