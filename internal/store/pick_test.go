package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// Any filter selects the same listens, in pages back and forth, as checking each listen does.
func TestAnyFilterSelectsWhatFitsIt(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connect(t, s, user, "lastfm")
	random := rand.New(rand.NewPCG(3, 4))
	base := time.Date(2024, 10, 20, 0, 0, 0, 0, time.UTC)
	const artists = 5
	var earlier []library.Listen
	for page := range 8 {
		from := []library.ConnectionID{"spotify", "lastfm"}[page%2]
		player := []string{"", "Rhythmbox", "Strawberry"}
		plays := make([]library.Listen, 40)
		for i := range plays {
			at := base.Add(time.Duration(random.IntN(200*24*3600*1000)) * time.Millisecond)
			name := fmt.Sprint("Artist ", random.IntN(artists))
			if i%7 == 0 {
				name += fmt.Sprint(" feat. Guest ", random.IntN(2))
			}
			plays[i] = library.Listen{PlayedAt: at, SourceID: fmt.Sprint(from, at.UnixMilli()), Track: library.Track{
				Title: fmt.Sprint("Song ", random.IntN(9)), Artist: name, Album: fmt.Sprint("Album ", random.IntN(3))},
				Player: player[random.IntN(3)]}
		}
		if page > 5 { // another service reports what was reported before
			for i, l := range earlier {
				plays[i] = l
				plays[i].PlayedAt, plays[i].Player = l.PlayedAt.Add(time.Second), player[random.IntN(3)]
				plays[i].SourceID = fmt.Sprint(from, plays[i].PlayedAt.UnixMilli())
			}
		}
		earlier = plays
		save(t, s, user, from, plays...)
	}
	all := everything(t, s, user)
	slices.Reverse(all)
	tracks := make([]library.Track, len(all))
	for i, l := range all {
		tracks[i] = l.Track
	}
	links, err := s.Links(t.Context(), tracks)
	require.NoError(t, err)
	music, err := s.Meanings(t.Context())
	require.NoError(t, err)
	spelt := map[string]uint32{}
	for _, l := range all {
		var id uint32
		require.NoError(t, s.Reader.QueryRow("SELECT spelling_id FROM listens WHERE id = $1", l.ID).Scan(&id))
		spelt[plain(l.Track)] = id
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	for range 60 {
		one := random.IntN(len(all))
		f := library.ListenFilter{User: user}
		switch random.IntN(5) {
		case 0:
			f.ArtistID = uint32(links[one].Artist)
		case 1:
			f.AlbumID = uint32(links[one].Album)
		case 2:
			f.TrackID = uint32(links[one].Track)
		case 3:
			f.Artist = all[one].Artist
		}
		if random.IntN(2) == 0 {
			f.Source = []library.ConnectionID{"spotify", "lastfm", "navidrome"}[random.IntN(3)]
		}
		if random.IntN(2) == 0 {
			f.Player = []string{"Rhythmbox", "Strawberry", "VLC"}[random.IntN(3)]
		}
		if random.IntN(3) == 0 {
			f.Hours, f.Weekdays, f.Zone = 0xff<<random.IntN(20)&0xffffff, uint8(1+random.IntN(127)), "Europe/Berlin"
		}
		if random.IntN(3) == 0 { // a bound within the second of a listen
			f.From = all[one].PlayedAt.Add(time.Duration(random.IntN(3)-1) * time.Millisecond)
		}
		if random.IntN(3) == 0 {
			f.To = all[random.IntN(len(all))].PlayedAt.Add(time.Duration(random.IntN(3)-1) * time.Millisecond)
		}
		var want []int64
		for i, l := range all {
			people, _, _ := music.Of(spelt[plain(l.Track)])
			at := l.PlayedAt.In(berlin)
			if (f.ArtistID == 0 || slices.Contains(people, f.ArtistID)) &&
				(f.AlbumID == 0 || int64(f.AlbumID) == links[i].Album) &&
				(f.TrackID == 0 || int64(f.TrackID) == links[i].Track) &&
				(f.Artist == "" || f.Artist == l.Artist) &&
				(f.Source == "" && f.Player == "" || slices.ContainsFunc(l.Sources, func(o library.Source) bool {
					return (f.Source == "" || o.Connection == f.Source) && (f.Player == "" || o.Player == f.Player)
				})) &&
				(f.Hours == 0 || f.Hours&(1<<at.Hour()) != 0 && f.Weekdays&(1<<((at.Weekday()+6)%7)) != 0) &&
				(f.From.IsZero() || !l.PlayedAt.Before(f.From)) && (f.To.IsZero() || l.PlayedAt.Before(f.To)) {
				want = append(want, l.ID)
			}
		}
		n, err := s.CountFound(t.Context(), f)
		require.NoError(t, err)
		require.Equal(t, len(want), n, "%+v", f)
		var got []int64
		var oldest library.StoredListen
		for next := ""; ; {
			page, more, err := s.FindListens(t.Context(), f, next, 1+random.IntN(9))
			require.NoError(t, err)
			for _, l := range page {
				got, oldest = append(got, l.ID), l
			}
			if next = more; next == "" {
				break
			}
		}
		require.Equal(t, want, got, "%+v", f)
		if len(want) == 0 {
			continue
		}
		back := []int64{oldest.ID}
		for more := true; more; {
			var page []library.StoredListen
			page, more, err = s.LaterListens(t.Context(), f, f.After(oldest).Text(), 1+random.IntN(9))
			require.NoError(t, err)
			for _, l := range slices.Backward(page) {
				back, oldest = append(back, l.ID), l
			}
		}
		slices.Reverse(back)
		require.Equal(t, want, back, "%+v", f)
	}
}

// plain returns a track with nothing but its names.
func plain(t library.Track) string { return t.Title + "/" + t.Artist + "/" + t.Album }

// A tag selects listens whose artist, album or track has it.
func TestAListenIsFoundByATag(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "spotify", by(0, "One", "Air"), by(10, "Two", "Moby"))
	air := linksOf(t, s, "Air", "", "").Artist
	_, err := s.Writer.Exec(`INSERT INTO enrichment (entity_id, source, state, tags, due_at)
		VALUES ($1, 'x', 'done', $2, 0)`, air, "french\nelectronic")
	require.NoError(t, err)
	for tag, n := range map[string]int{"electronic": 1, "rock": 0} {
		found, err := s.CountFound(t.Context(), library.ListenFilter{User: user, Tag: tag})
		require.NoError(t, err)
		require.Equal(t, n, found)
	}
}
