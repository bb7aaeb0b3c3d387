package music

import (
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui/uitest"
)

// rows are listens of one artist, one for each time.
func rows(artist string, times ...time.Time) (all []Row) {
	for i, at := range times {
		all = append(all, Row{StoredListen: library.StoredListen{ID: int64(i + 1), Listen: library.Listen{
			Track: library.Track{Title: "Svefn-g-englar", Artist: artist}, PlayedAt: at}},
			Links: enrich.Links{Artist: 7, Track: 9}})
	}
	return all
}

func TestMusicPageIsSound(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{library.KindArtist, library.KindAlbum, library.KindTrack} {
		v := view{Kind: kind, Name: uitest.Hostile, Artist: uitest.Hostile, ArtistID: 7,
			Album: core.Text(uitest.Hostile), MBID: core.Text("f6f2326f"), MBIDFrom: "MusicBrainz",
			PictureFrom: "Fanart.tv",
			Tags:        []string{},
			Sources:     []toldView{{Provider: "musicbrainz", DisplayName: "MusicBrainz"}}}
		uitest.Sound(t, func(l *words.Language) templ.Component {
			ctx := words.With(t.Context(), l)
			p := pageFor(ctx, v)
			p.Listens = latelyOf(ctx, rows(uitest.Hostile, time.Now()), uitest.Hostile, 1, false)
			return musicArticle(p)
		})
	}
}

func TestMusicNamesLeadToTheirPages(t *testing.T) {
	t.Parallel()
	v := view{Kind: library.KindTrack, Name: "Svefn-g-englar", Artist: "{album}", Album: core.Text("Ágætis byrjun"),
		ArtistID: 7, AlbumID: 8, MBID: core.Text("f6f2326f"), MBIDFrom: "MusicBrainz", PictureFrom: "Fanart.tv"}
	for l, want := range map[*words.Language][2]string{
		words.English: {`Track by <a href="/music/artist/7">{album}</a>, from ` +
			`<a href="/music/album/8">Ágætis byrjun</a>`,
			`Your listens by {album}`},
		words.German: {`Titel von <a href="/music/artist/7">{album}</a>, aus ` +
			`<a href="/music/album/8">Ágætis byrjun</a>`,
			`Deine Wiedergaben von {album}`},
	} {
		ctx := words.With(t.Context(), l)
		p := pageFor(ctx, v)
		p.Listens = latelyOf(ctx, rows("{album}", time.Now()), "{album}", 12, false)
		html := uitest.HTML(t, l, musicArticle(p))
		require.Contains(t, html, want[0])
		require.Contains(t, html, want[1])
		require.Contains(t, html, `href="/listens?artist=%7Balbum%7D"`)
	}
}

func TestMusicShowsOnlyFactsWithAValue(t *testing.T) {
	t.Parallel()
	ctx := words.With(t.Context(), words.English)
	v := view{Kind: library.KindArtist, Name: "Sigur Rós", Artist: "Sigur Rós", MBID: core.Text("f6f2326f"),
		MBIDFrom: "MusicBrainz", PictureFrom: "Fanart.tv", Sources: []toldView{{DisplayName: "MusicBrainz"}}}
	p := pageFor(ctx, v)
	require.Empty(t, p.Facts)
	require.Len(t, p.Known, 2)
	for _, f := range p.Known {
		require.Empty(t, f.Note, "the label says it already")
		require.NotEmpty(t, uitest.HTML(t, words.English, f.Value))
	}
	require.Regexp(t, `<details id="told-details">.*MusicBrainz ID.*Sources.*</details>`,
		uitest.HTML(t, words.English, musicArticle(p)))
}

func TestSourcesOfFactsAreSound(t *testing.T) {
	t.Parallel()
	next := "2026-11-20T21:04:11Z"
	uitest.Sound(t, func(l *words.Language) templ.Component {
		return sourcesPart([]SourceView{{Provider: "musicbrainz", DisplayName: "MusicBrainz", State: "waiting",
			Message: uitest.Hostile + ".", NextAttemptAt: &next, Total: 9, Asked: 4, Retry: true},
			{Provider: "fanarttv", DisplayName: "Fanart.tv", State: notSetUp, Message: "x", Missing: []string{"a.b"}}})
	})
}
