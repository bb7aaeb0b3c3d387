package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/listening"
)

// counts returns how often a person has heard each artist, album or track, by name.
func counts(t *testing.T, s *Store, user int64, kind string) map[string]int {
	t.Helper()
	columns, err := s.Columns(t.Context(), user)
	require.NoError(t, err)
	music, err := s.Meanings(t.Context())
	require.NoError(t, err)
	a := listening.Count(columns, music, listening.Question{Span: listening.Span{Name: listening.All},
		Now: time.Now().UTC(), Most: 1000})
	rows := map[string][]listening.Row{library.KindArtist: a.Artists, library.KindAlbum: a.Albums,
		library.KindTrack: a.Tracks}[kind]
	var ids []uint32
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	names, err := s.Entities(t.Context(), ids)
	require.NoError(t, err)
	all := map[string]int{}
	for _, row := range rows {
		name := library.Heard{Entity: names[row.ID]}.Name()
		if kind != library.KindArtist {
			name += " by " + names[row.ID].Artist
		}
		require.Zero(t, all[name], name)
		all[name] = row.Listens
		m, err := s.Music(t.Context(), user, kind, int64(row.ID))
		require.NoError(t, err)
		require.Equal(t, row.Listens, m.Plays, "the page and the statistics")
		require.EqualValues(t, row.ID, m.ID)
	}
	return all
}

func undone(t *testing.T, s *Store, rules ...library.Correction) {
	t.Helper()
	for _, c := range rules {
		_, err := s.UndoRule(t.Context(), c.ID)
		require.NoError(t, err)
	}
}

func searched(t *testing.T, s *Store, user int64, text, kind string) (names []string) {
	t.Helper()
	found, err := s.Search(t.Context(), library.Search{User: user, Text: text, Kind: kind, Most: 9})
	require.NoError(t, err)
	for _, some := range [][]library.Heard{found.Artists, found.Albums, found.Tracks} {
		for _, h := range some {
			names = append(names, h.Name())
		}
	}
	return names
}

// Two merged spellings of an artist are one, also for later listens, and become two again as before.
func TestTwoSpellingsOfAnArtistAreMerged(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "spotify", heard(0, "The Beatles", "Help!", "Yesterday"),
		heard(10, "The Beatles", "Help!", "Help!"), heard(20, "The Beatles", "Revolver", "Taxman"))
	save(t, s, user, "lastfm", heard(500, "Beatles", "Help!", "Help!"), heard(510, "Beatles feat. Billy Preston", "",
		"Get Back"))
	artists, albums, tracks := counts(t, s, user, library.KindArtist), counts(t, s, user, library.KindAlbum),
		counts(t, s, user, library.KindTrack)
	require.Equal(t, map[string]int{"The Beatles": 3, "Beatles": 2, "Billy Preston": 1}, artists)
	require.Len(t, albums, 3)

	from, to := linksOf(t, s, "Beatles", "Help!", "Help!"), linksOf(t, s, "The Beatles", "Help!", "Help!")
	effect, err := s.MergeEffect(t.Context(), user, library.KindArtist, from.Artist, to.Artist)
	require.NoError(t, err)
	require.Equal(t, []any{"Beatles", 2, 1, 2, "The Beatles", 3}, []any{effect.From.Name(), effect.From.Plays,
		effect.Albums, effect.Tracks, effect.Into.Name(), effect.Into.Plays})
	rule, err := s.MergeMusic(t.Context(), user, library.KindArtist, from.Artist, to.Artist)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"The Beatles": 5, "Billy Preston": 1}, counts(t, s, user, library.KindArtist))
	require.Equal(t, map[string]int{"Help! by The Beatles": 3, "Revolver by The Beatles": 1},
		counts(t, s, user, library.KindAlbum))
	require.Equal(t, map[string]int{"Yesterday by The Beatles": 1, "Help! by The Beatles": 2,
		"Taxman by The Beatles": 1, "Get Back by The Beatles": 1}, counts(t, s, user, library.KindTrack))
	now := linksOf(t, s, "Beatles", "Help!", "Help!")
	require.Equal(t, []int64{to.Artist, to.Album, to.Track}, []int64{now.Artist, now.Album, now.Track})
	require.Equal(t, "The Beatles", now.ArtistName)
	m, err := s.Music(t.Context(), user, library.KindArtist, from.Artist)
	require.NoError(t, err)
	require.Equal(t, to.Artist, m.ID, "links to the old one lead to the new one")
	require.Equal(t, []string{"The Beatles"}, searched(t, s, user, "beatles", library.KindArtist))
	_, err = s.MergeMusic(t.Context(), user, library.KindArtist, from.Artist, to.Artist)
	require.ErrorIs(t, err, library.ErrUnchanged)

	save(t, s, user, "lastfm", heard(600, "Beatles", "Revolver", "Taxman"), heard(610, "Beatles", "", "Rain"))
	require.Equal(t, map[string]int{"The Beatles": 7, "Billy Preston": 1}, counts(t, s, user, library.KindArtist))
	require.Equal(t, 2, counts(t, s, user, library.KindTrack)["Taxman by The Beatles"])
	undone(t, s, rule)
	artists["Beatles"] += 2
	albums["Revolver by Beatles"], tracks["Taxman by Beatles"], tracks["Rain by Beatles"] = 1, 1, 1
	require.Equal(t, artists, counts(t, s, user, library.KindArtist))
	require.Equal(t, albums, counts(t, s, user, library.KindAlbum))
	require.Equal(t, tracks, counts(t, s, user, library.KindTrack))

	page, _, err := s.Corrections(t.Context(), user, "", 10)
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, []any{library.Merged, library.KindArtist, "Beatles", "The Beatles", 2, "Alice", false},
		[]any{page[0].Kind, page[0].About, page[0].Artist, page[0].Becomes, page[0].Listens, page[0].By,
			page[0].UndoneAt.IsZero()})
}

func TestAnotherTitleOfATrackIsMerged(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "spotify", heard(0, "Sigur Rós", "Untitled", "Vaka"),
		heard(10, "Sigur Ros & Co", "( )", "Untitled #1"))
	vaka := linksOf(t, s, "Sigur Rós", "Untitled", "Vaka")
	untitled := linksOf(t, s, "Sigur Ros & Co", "( )", "Untitled #1")
	track, err := s.MergeMusic(t.Context(), user, library.KindTrack, untitled.Track, vaka.Track)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"Vaka by Sigur Rós": 2}, counts(t, s, user, library.KindTrack))
	require.Equal(t, map[string]int{"Sigur Rós": 2}, counts(t, s, user, library.KindArtist), "with its artists")
	album, err := s.MergeMusic(t.Context(), user, library.KindAlbum, vaka.Album, untitled.Album)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"( ) by Sigur Ros & Co": 2}, counts(t, s, user, library.KindAlbum))
	require.Equal(t, "Vaka", linksOf(t, s, "Sigur Ros & Co", "( )", "Untitled #1").TrackName)
	require.Equal(t, "( )", linksOf(t, s, "Sigur Rós", "Untitled", "Vaka").AlbumName)
	undone(t, s, track, album)
	require.Equal(t, map[string]int{"Vaka by Sigur Rós": 1, "Untitled #1 by Sigur Ros & Co": 1},
		counts(t, s, user, library.KindTrack))
	require.Len(t, counts(t, s, user, library.KindAlbum), 2)
}

func TestARenamedArtistIsFoundByBothNames(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "lastfm", heard(0, "Prince", "1999", "Automatic"), heard(10, "Nobody", "", "Nothing"))
	before := linksOf(t, s, "Prince", "1999", "Automatic")
	artist, err := s.RenameMusic(t.Context(), user, library.KindArtist, before.Artist, "Love Symbol")
	require.NoError(t, err)
	track, err := s.RenameMusic(t.Context(), user, library.KindTrack, before.Track, "Mechanical")
	require.NoError(t, err)
	for text, want := range map[string][]string{"prince": {"Love Symbol"}, "love sym": {"Love Symbol"}} {
		require.Equal(t, want, searched(t, s, user, text, library.KindArtist), text)
	}
	for _, text := range []string{"automatic", "mechanical"} {
		require.Equal(t, []string{"Mechanical"}, searched(t, s, user, text, library.KindTrack), text)
	}
	require.Equal(t, map[string]int{"Mechanical by Love Symbol": 1, "Nothing by Nobody": 1},
		counts(t, s, user, library.KindTrack))
	now := linksOf(t, s, "Prince", "1999", "Automatic")
	require.Equal(t, []string{"Love Symbol", "Mechanical", ""}, []string{now.ArtistName, now.TrackName, now.AlbumName})
	_, err = s.RenameMusic(t.Context(), user, library.KindArtist, before.Artist, "NOBODY")
	require.ErrorIs(t, err, library.ErrNameTaken)
	_, err = s.RenameMusic(t.Context(), user, library.KindArtist, before.Artist, "Love Symbol")
	require.ErrorIs(t, err, library.ErrUnchanged)
	undone(t, s, artist, track)
	require.Equal(t, before, linksOf(t, s, "Prince", "1999", "Automatic"))
	require.Empty(t, searched(t, s, user, "love symbol", library.KindArtist))
}

// A name that means several artists counts for each, and what the rule has created is removed when it is undone.
func TestOneNameOfSeveralArtistsIsDivided(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "lastfm", heard(0, "Simon and Garfunkel", "", "Cecilia"), heard(10, "Paul Simon", "", "Graceland"))
	entities := number(t, s, "SELECT count(*) FROM entities")
	both := linksOf(t, s, "Simon and Garfunkel", "", "Cecilia")
	rule, err := s.DivideMusic(t.Context(), user, library.KindArtist, both.Artist,
		library.Division{Names: []string{"Paul Simon", "Art Garfunkel"}})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"Paul Simon": 2, "Art Garfunkel": 1}, counts(t, s, user, library.KindArtist))
	require.Equal(t, map[string]int{"Cecilia by Paul Simon": 1, "Graceland by Paul Simon": 1},
		counts(t, s, user, library.KindTrack))
	require.Equal(t, []string{"Art Garfunkel"}, searched(t, s, user, "garfunkel", library.KindArtist))
	undone(t, s, rule)
	require.Equal(t, map[string]int{"Simon and Garfunkel": 1, "Paul Simon": 1}, counts(t, s, user, library.KindArtist))
	require.Equal(t, entities, number(t, s, "SELECT count(*) FROM entities"))
	for _, names := range [][]string{nil, {"One"}, {"One", "ONE", ""}} {
		_, err = s.DivideMusic(t.Context(), user, library.KindArtist, both.Artist, library.Division{Names: names})
		require.ErrorIs(t, err, library.ErrUnchanged)
	}
}

// What a service has reported since a split, or another split needs, is there after an undo.
func TestAnUndoKeepsWhatIsHeardSince(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "lastfm", heard(0, "Simon and Garfunkel", "", "Cecilia"),
		heard(10, "Lee and Garfunkel", "", "One"), heard(20, "Paul Simon", "", "Graceland"))
	divide := func(name string, into ...string) library.Correction {
		rule, err := s.DivideMusic(t.Context(), user, library.KindArtist, linksOf(t, s, name, "", "").Artist,
			library.Division{Names: into})
		require.NoError(t, err)
		return rule
	}
	first := divide("Simon and Garfunkel", "Paul Simon", "Art Garfunkel")
	second := divide("Lee and Garfunkel", "Brenda Lee", "Art Garfunkel")
	undone(t, s, first)
	require.Equal(t, map[string]int{"Simon and Garfunkel": 1, "Paul Simon": 1, "Brenda Lee": 1, "Art Garfunkel": 1},
		counts(t, s, user, library.KindArtist))
	save(t, s, user, "spotify", heard(30, "Art Garfunkel", "", "All I Know"))
	_, err := s.Writer.Exec("UPDATE music_rules SET undone_at = 1 WHERE id = $1", first.ID)
	require.NoError(t, err)
	undone(t, s, second, first)
	require.Equal(t, 1, number(t, s, "SELECT undone_at FROM music_rules WHERE id = $1", first.ID), "once is enough")
	require.Equal(t, map[string]int{"Simon and Garfunkel": 1, "Lee and Garfunkel": 1, "Paul Simon": 1,
		"Art Garfunkel": 1}, counts(t, s, user, library.KindArtist))
	require.Equal(t, []string{"Art Garfunkel"}, searched(t, s, user, "art garfunkel", library.KindArtist))
	require.Empty(t, searched(t, s, user, "brenda lee", library.KindArtist), "no longer needed")
}

func TestTwoArtistsOfOneNameAreToldApart(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "lastfm", heard(0, "Nirvana", "Nevermind", "Lithium"),
		heard(10, "Nirvana", "All of Us", "Rainbow Chaser"), heard(20, "Nirvana", "", "Pentecost Hotel"))
	all := linksOf(t, s, "Nirvana", "All of Us", "Rainbow Chaser")
	hotel := linksOf(t, s, "Nirvana", "", "Pentecost Hotel")
	rule, err := s.DivideMusic(t.Context(), user, library.KindArtist, all.Artist,
		library.Division{Albums: []int64{all.Album}, Tracks: []int64{hotel.Track}, Name: "Nirvana (UK)"})
	require.NoError(t, err)
	require.Equal(t, 2, rule.Listens)
	save(t, s, user, "lastfm", heard(30, "Nirvana", "All of Us", "Tiny Goddess"), heard(40, "Nirvana", "", "Drain You"))
	require.Equal(t, map[string]int{"Nirvana": 2, "Nirvana (UK)": 3}, counts(t, s, user, library.KindArtist))
	require.Equal(t, map[string]int{"Nevermind by Nirvana": 1, "All of Us by Nirvana (UK)": 2},
		counts(t, s, user, library.KindAlbum))
	now := linksOf(t, s, "Nirvana", "All of Us", "Tiny Goddess")
	require.Equal(t, "Nirvana (UK)", now.ArtistName)
	_, err = s.DivideMusic(t.Context(), user, library.KindArtist, all.Artist,
		library.Division{Albums: []int64{all.Album}, Name: "Nirvana (Sweden)"})
	require.ErrorIs(t, err, library.ErrNotHere)
	undone(t, s, rule)
	require.Equal(t, map[string]int{"Nirvana": 5}, counts(t, s, user, library.KindArtist))
}

// An edition that was split off stays a separate album, whatever sources find about it, until that is undone.
func TestEditionsOfAnAlbumAreToldApart(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "lastfm", heard(0, "Queen", "Jazz", "Mustapha"),
		heard(10, "Queen", "Jazz (2011 Remaster)", "Jealousy"),
		heard(20, "Queen", "Jazz (2011 Remaster)", "Mustapha (2011 Remaster)"))
	jazz := linksOf(t, s, "Queen", "Jazz", "Mustapha")
	require.Equal(t, map[string]int{"Jazz by Queen": 3}, counts(t, s, user, library.KindAlbum))
	album, err := s.DivideMusic(t.Context(), user, library.KindAlbum, jazz.Album,
		library.Division{Titles: []string{"Jazz (2011 Remaster)"}})
	require.NoError(t, err)
	track, err := s.DivideMusic(t.Context(), user, library.KindTrack, jazz.Track,
		library.Division{Titles: []string{"Mustapha (2011 Remaster)"}})
	require.NoError(t, err)
	want := map[string]int{"Jazz by Queen": 1, "Jazz (2011 Remaster) by Queen": 2}
	require.Equal(t, want, counts(t, s, user, library.KindAlbum))
	require.Equal(t, map[string]int{"Mustapha by Queen": 1, "Mustapha (2011 Remaster) by Queen": 1,
		"Jealousy by Queen": 1}, counts(t, s, user, library.KindTrack))
	lookedThrough(t, s)
	other := linksOf(t, s, "Queen", "Jazz (2011 Remaster)", "Mustapha (2011 Remaster)")
	foundMBID(t, s, library.KindAlbum, oneMBID, jazz.Album, other.Album)
	require.Equal(t, want, counts(t, s, user, library.KindAlbum))
	for _, titles := range [][]string{{"Jazz"}, nil, {"Hot Space"}} {
		_, err := s.DivideMusic(t.Context(), user, library.KindAlbum, jazz.Album, library.Division{Titles: titles})
		require.Error(t, err)
	}
	undone(t, s, album, track)
	require.Equal(t, map[string]int{"Jazz by Queen": 3}, counts(t, s, user, library.KindAlbum))
}

// Entities that an MBID joined while a rule applied stay joined when the rule is undone.
func TestAnMBIDJoinsWhatARuleHasMerged(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "lastfm", heard(0, "Ye", "", "One"), heard(10, "Kanye West", "", "Two"),
		heard(20, "Jay-Z", "", "Six"))
	lookedThrough(t, s)
	ye, west, jay := linksOf(t, s, "Ye", "", ""), linksOf(t, s, "Kanye West", "", ""), linksOf(t, s, "Jay-Z", "", "")
	one, err := s.MergeMusic(t.Context(), user, library.KindArtist, west.Artist, ye.Artist)
	require.NoError(t, err)
	two, err := s.MergeMusic(t.Context(), user, library.KindArtist, ye.Artist, jay.Artist)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"Jay-Z": 3}, counts(t, s, user, library.KindArtist))
	foundMBID(t, s, library.KindArtist, oneMBID, west.Artist, ye.Artist)
	require.Equal(t, map[string]int{"Jay-Z": 3}, counts(t, s, user, library.KindArtist))
	undone(t, s, one)
	require.Equal(t, map[string]int{"Jay-Z": 3}, counts(t, s, user, library.KindArtist))
	undone(t, s, two)
	require.Equal(t, map[string]int{"Ye": 2, "Jay-Z": 1}, counts(t, s, user, library.KindArtist))
}
