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
	"reprise/web/ui"
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
		v := Music{Kind: kind, Name: uitest.Hostile, Artist: uitest.Hostile, ArtistID: 7,
			Album: core.Text(uitest.Hostile), MBID: core.Text("f6f2326f"), MBIDFrom: "MusicBrainz",
			PictureFrom: "Fanart.tv",
			Tags:        []string{},
			Sources:     []Fact{{Provider: "musicbrainz", DisplayName: "MusicBrainz"}}}
		uitest.Sound(t, func(l *words.Language) templ.Component {
			ctx := words.With(t.Context(), l)
			p := pageFor(ctx, v)
			p.Listens = latelyOf(ctx, rows(uitest.Hostile, time.Now()), v)
			p.Heard = heardView{Figures: []ui.Fact{{Label: "Listens", Value: ui.Name("1")}},
				Ranks: []ui.Named{{Text: "#1", URL: "/listening?span=all"}},
				Links: []MusicLink{{uitest.Hostile, "https://example.org"}},
				Over: ui.Bars{ID: "over", Label: "x", All: []ui.Column{{Title: "a", URL: "/listens", N: 1, Height: 100},
					{Title: "b", URL: "/listens"}}},
				Lists: []listView{{"tracks", "x", []ui.Item{{Title: ui.Named{Text: uitest.Hostile, URL: "/x"}}}}}}
			return musicArticle(p)
		})
	}
}

func TestMusicNamesLeadToTheirPages(t *testing.T) {
	t.Parallel()
	v := Music{Kind: library.KindTrack, Name: "Svefn-g-englar", Artist: "{album}", Album: core.Text("Ágætis byrjun"),
		ArtistID: 7, AlbumID: 8, MBID: core.Text("f6f2326f"), MBIDFrom: "MusicBrainz", PictureFrom: "Fanart.tv"}
	for l, want := range map[*words.Language]string{
		words.English: `Track by <a href="/music/artist/7">{album}</a>, from ` +
			`<a href="/music/album/8">Ágætis byrjun</a>`,
		words.German: `Titel von <a href="/music/artist/7">{album}</a>, aus ` +
			`<a href="/music/album/8">Ágætis byrjun</a>`,
	} {
		require.Contains(t, uitest.HTML(t, l, musicArticle(pageFor(words.With(t.Context(), l), v))), want)
	}
}

// Music has links to services that know it, and to the person's own server if that played it.
func TestMusicLeadsToWhereItIs(t *testing.T) {
	t.Parallel()
	played := func(from library.ConnectionID, id string) []library.StoredListen {
		return []library.StoredListen{{Sources: []library.Source{{Connection: from, SourceID: id}}}}
	}
	home := library.Connection{ID: "navidrome", Name: "At home",
		Credentials: library.Credentials{"url": "https://music.home/"}}
	track := Music{Kind: library.KindTrack, Name: `What "is"?`, Artist: "AC/DC"}
	require.Equal(t, []MusicLink{{"At home",
		"https://music.home/app/#/song?filter=%7B%22title%22%3A%22What+%5C%22is%5C%22%3F%22%7D"}},
		linksOf(track, played("navidrome", "7@1"), []library.Connection{home}))
	require.Empty(t, linksOf(track, played("spotify", "1:local:file"), []library.Connection{home}))
	require.Equal(t, []MusicLink{{"Spotify", "https://open.spotify.com/track/0VjIjW4GlUZAMYd2vXMi3b"}},
		linksOf(track, played("spotify", "1:0VjIjW4GlUZAMYd2vXMi3b"), nil))
	album := Music{Kind: library.KindAlbum, Name: "Back in Black", Artist: "AC/DC", MBID: core.Text("d3b8b7f6")}
	require.Equal(t, []MusicLink{{"MusicBrainz", "https://musicbrainz.org/release-group/d3b8b7f6"},
		{"ListenBrainz", "https://listenbrainz.org/album/d3b8b7f6/"},
		{"Last.fm", "https://www.last.fm/music/AC%2FDC/Back%20in%20Black"}},
		linksOf(album, nil, []library.Connection{{ID: "lastfm"}}))
}

func TestMusicShowsOnlyFactsWithAValue(t *testing.T) {
	t.Parallel()
	ctx := words.With(t.Context(), words.English)
	v := Music{Kind: library.KindArtist, Name: "Sigur Rós", Artist: "Sigur Rós", MBID: core.Text("f6f2326f"),
		MBIDFrom: "MusicBrainz", PictureFrom: "Fanart.tv", Sources: []Fact{{DisplayName: "MusicBrainz"}}}
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
	next := core.Moment(time.Date(2026, 11, 20, 21, 4, 11, 0, time.UTC))
	uitest.Sound(t, func(l *words.Language) templ.Component {
		return sourcesPart([]EnrichmentSource{{Provider: "musicbrainz", DisplayName: "MusicBrainz", State: "waiting",
			Message: uitest.Hostile + ".", NextAttemptAt: next, Total: 9, Asked: 4, Retry: true},
			{Provider: "fanarttv", DisplayName: "Fanart.tv", State: notSetUp, Message: "x", Missing: []string{"a.b"}}})
	})
}
