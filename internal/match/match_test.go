package match

import (
	"testing"
	"time"

	"reprise/internal/library"

	"github.com/stretchr/testify/require"
)

// song is a track with its length in seconds; 0 is unknown.
func song(title, artist, album string, seconds float64) library.Track {
	return library.Track{Title: title, Artist: artist, Album: album,
		Duration: time.Duration(seconds * float64(time.Second))}
}

// withISRC and withMBID give a track an identifier.
func withISRC(t library.Track, isrc string) library.Track { t.ISRC = isrc; return t }
func withMBID(t library.Track, mbid string) library.Track { t.RecordingMBID = mbid; return t }

const (
	isrc = "GBAYE0601498"
	mbid = "b1a9c0e9-d987-4042-ae91-78d6a3267d69"
)

// pairs are a track of a playlist and the only candidate for it.
var pairs = []struct {
	want, candidate library.Track
	how             How
}{
	// The same identifier.
	{withISRC(song("Yesterday", "The Beatles", "Help!", 125), isrc),
		withISRC(song("Yesterday", "The Beatles", "1", 127), isrc), ByISRC},
	{withISRC(song("Yesterday", "The Beatles", "", 0), "gb-aye-06-01498"),
		withISRC(song("Yesterday - Remastered 2009", "Beatles", "", 300), isrc), ByISRC},
	{withISRC(song("東京", "椎名林檎", "", 200), isrc), withISRC(song("Tokyo", "Ringo Sheena", "", 200), isrc), ByISRC},
	{withISRC(song("Für Elise", "Beethoven", "", 170), isrc),
		withISRC(song("Bagatelle in A Minor, WoO 59, \"Für Elise\": Poco moto", "Lang Lang", "", 170), isrc), ByISRC},
	{withISRC(song("Hurt", "Johnny Cash", "", 216), isrc), withISRC(song("Hurrt", "Cash, Johnny", "", 216), isrc),
		ByISRC},
	{withISRC(song("", "", "", 0), isrc), withISRC(song("Yesterday", "The Beatles", "", 125), isrc), ByISRC},
	{withMBID(song("Teardrop", "Massive Attack", "Mezzanine", 330), mbid),
		withMBID(song("Teardrop", "Massive Attack feat. Elizabeth Fraser", "Collected", 330),
			"B1A9C0E9-D987-4042-AE91-78D6A3267D69"), ByMBID},
	{withISRC(withMBID(song("Teardrop", "Massive Attack", "", 330), mbid), isrc),
		withISRC(withMBID(song("Teardrop", "Massive Attack", "", 330), mbid), "GBAAA9800322"), ByMBID},
	// The same identifier on something else.
	{withISRC(song("Yesterday", "The Beatles", "", 125), isrc),
		withISRC(song("Hey Jude", "The Beatles", "", 125), isrc), ByNothing},
	{withMBID(song("Yesterday", "The Beatles", "", 125), mbid),
		withMBID(song("Smoke on the Water", "Deep Purple", "", 340), mbid), ByNothing},
	{withISRC(song("Yesterday", "The Beatles", "", 125), isrc),
		withISRC(song("東京", "The Rolling Stones", "", 125), isrc), ByNothing},
	// No identifiers at all.
	{withISRC(song("Yesterday", "The Beatles", "Help!", 125), "unknown"),
		withISRC(song("Hey Jude", "The Beatles", "1", 425), "unknown"), ByNothing},
	{withMBID(song("Yesterday", "The Beatles", "", 125), "00000000-0000-0000-0000-000000000000"),
		withMBID(song("Let It Be", "The Beatles", "", 243), "00000000-0000-0000-0000-000000000000"), ByNothing},

	// Spelt in another way.
	{song("Svefn-g-englar", "Sigur Rós", "Ágætis byrjun", 604),
		song("SVEFN G ENGLAR", "sigur ros", "Agaetis Byrjun", 602), ByName},
	{song("Heroes", "David Bowie", "Heroes", 370), song("\"Heroes\" - 2017 Remaster", "David Bowie",
		"“Heroes” (2017 Remaster)", 371), ByName},
	{song("Heroes - Remastered 2017", "David Bowie", "", 370),
		song("Heroes [2017 Digital Remaster]", "David Bowie", "Best of Bowie", 368), ByName},
	{song("Don't Stop", "Fleetwood Mac", "Rumours", 193),
		song("Don’t Stop (2004 Remaster)", "FLEETWOOD MAC", "Rumours (Deluxe Edition)", 193.6), ByName},
	{song("Another Brick in the Wall, Pt. 2", "Pink Floyd", "The Wall", 239),
		song("Another Brick In The Wall (Part II)", "Pink Floyd", "The Wall", 238), ByName},
	{song("Shine On You Crazy Diamond, Parts 6-9", "Pink Floyd", "", 742),
		song("Shine On You Crazy Diamond (Pts. VI-IX)", "Pink Floyd", "", 744), ByName},
	{song("Rock 'n' Roll", "Led Zeppelin", "", 220), song("Rock and Roll - Remaster", "Led Zeppelin", "", 220), ByName},
	{song("The Sound of Silence", "Simon & Garfunkel", "", 185),
		song("Sound of Silence", "Simon and Garfunkel", "", 186), ByName},
	{song("Losing My Religion", "R.E.M.", "", 268), song("Losing My Religion", "REM", "", 268), ByName},
	{song("TiK ToK", "Ke$ha", "", 199), song("TIK TOK", "Kesha", "", 199), ByName},
	{song("So What", "P!nk", "", 215), song("So What (Explicit)", "Pink", "", 215), ByName},
	{song("Æterna", "Mø", "", 180), song("Aeterna", "MO", "", 180), ByName},
	{song("Straße", "Die Ärzte", "", 180), song("Strasse", "Die Arzte", "", 180), ByName},
	{song("Ｌｅｍｏｎ（Ｒｅｍａｓｔｅｒｅｄ）", "米津玄師", "", 255), song("Lemon", "米津玄師", "", 255), ByName},
	{song("ﾊﾟﾌﾟﾘｶ", "米津玄師", "", 200), song("パプリカ", "米津玄師", "", 200), ByName},
	{song("Группа крови", "Кино", "", 285), song("ГРУППА КРОВИ", "КИНО", "", 286), ByName},
	{song("Ёлка", "Ляпис Трубецкой", "", 200), song("Елка", "Ляпис Трубецкой", "", 200), ByName},
	{song("???", "!!!", "", 200), song("???", "!!!", "", 200), ByName},
	{song("Live Forever", "Oasis", "", 276), song("Live Forever (Remastered)", "Oasis", "", 276), ByName},
	{song("Live", "Lenny Kravitz", "", 222), song("Live - Remastered", "Lenny Kravitz", "", 222), ByName},
	{song("Song (Live)", "Ann", "", 200), song("Song - Live", "Ann", "", 200), ByName},
	{song("Creep (Acoustic Version)", "Radiohead", "", 259), song("Creep - Acoustic", "Radiohead", "", 259), ByName},
	{song("Let It Go (From \"Frozen\")", "Idina Menzel", "", 224),
		song("Let It Go", "Idina Menzel", "Frozen (Original Motion Picture Soundtrack)", 224), ByName},

	{song("Titanium", "Ann", "Titanium - Single", 245), song("Titanium", "Ann", "Metals", 245), ByName},
	{song("Alive (Live 1992) [2011 Remaster]", "Pearl Jam", "", 340), song("Alive - Live 1992", "Pearl Jam", "", 340),
		ByName},
	{song("Alive - Live 1992 / Remastered 2011", "Pearl Jam", "", 340),
		song("Alive (Live 1992)", "Pearl Jam", "", 340), ByName},
	{song("Here Comes: The Sun", "Ann", "", 200), song("Here Comes (The Sun)", "Ann", "", 200), ByName},
	{song("Violet", "Hole", "Live Through This", 204), song("Violet", "Hole", "Hits", 204), ByName},

	// Artists joined, ordered and credited in another way.
	{song("Under Pressure", "Queen & David Bowie", "", 248), song("Under Pressure", "David Bowie; Queen", "", 246),
		ByName},
	{song("Crazy in Love (feat. JAY-Z)", "Beyoncé, JAY-Z", "", 236),
		song("Crazy In Love", "Beyonce feat. Jay Z", "", 236), ByName},
	{song("Crazy in Love (feat. JAY-Z)", "Beyoncé", "", 236), song("Crazy In Love", "Beyoncé", "", 236), ByName},
	{song("Dickes B ft. Black Kappa", "Seeed", "", 240), song("Dickes B", "Seeed", "", 240), ByName},
	{song("Nothing", "Ann und Ben", "", 200), song("Nothing", "Ben/Ann", "", 200), ByName},
	{song("First Love", "Utada Hikaru", "", 258), song("First Love", "Hikaru Utada", "", 258), ByName},
	{song("Thunderstruck", "AC/DC", "", 292), song("Thunderstruck", "ACDC", "", 292), ByName},
	{song("EARFQUAKE", "Tyler, The Creator", "", 190), song("Earfquake", "Tyler the Creator", "", 190), ByName},
	{song("Old Town Road", "Lil Nas X", "", 113), song("Old Town Road", "Lil Nas X feat. Billy Ray Cyrus", "", 113),
		ByName},
	{song("Under Pressure", "Queen & David Bowie", "", 248), song("Under Pressure", "Queen", "", 248), ByScore},
	{song("Purple Rain", "Prince", "Purple Rain", 521),
		song("Purple Rain", "Prince & The Revolution", "Purple Rain (Deluxe)", 521), ByScore},
	{song("Song (feat. Ann)", "Zoe", "", 200), song("Song (feat. Ben)", "Zoe", "", 200), ByNothing},

	// A length that is unknown.
	{song("Yesterday", "The Beatles", "Help!", 0), song("Yesterday", "The Beatles", "Help! (Remastered)", 125), ByName},
	{song("Yesterday", "The Beatles", "", 0), song("Yesterday", "The Beatles", "Help!", 125), ByName},
	{song("Yesterday", "The Beatles", "1", 0), song("Yesterday", "The Beatles", "Help!", 125), ByName},
	{song("Yestreday", "The Beatles", "", 0), song("Yesterday", "The Beatles", "Help!", 125), ByNothing},
	// A length that differs.
	{song("Yesterday", "The Beatles", "Help!", 125), song("Yesterday", "The Beatles", "Help!", 128), ByName},
	{song("Yesterday", "The Beatles", "Help!", 125), song("Yesterday", "The Beatles", "1", 134), ByName},
	{song("Yesterday", "The Beatles", "Help!", 125), song("Yesterday", "The Beatles", "Help!", 136), ByNothing},
	{song("Echoes", "Pink Floyd", "Meddle", 1412), song("Echoes", "Pink Floyd", "Meddle", 1450), ByName},
	{song("Echoes", "Pink Floyd", "Meddle", 1412), song("Echoes", "Pink Floyd", "Echoes", 990), ByNothing},

	// Typing errors and shortened titles.
	{song("Smells Like Teen Spirit", "Nirvana", "Nevermind", 301), song("Smels Like Teen Spirit", "Nirvana", "", 301),
		ByScore},
	{song("Bohemian Rhapsody", "Queen", "", 354), song("Bohemain Rhapsody", "Queen", "A Night at the Opera", 356),
		ByScore},
	{song("Enter Sandman", "Metallica", "Metallica", 331), song("Enter Sandman", "Metalica", "Metallica", 331),
		ByScore},
	{song("(I Can't Get No) Satisfaction", "The Rolling Stones", "", 222),
		song("Satisfaction", "Rolling Stones", "", 223), ByScore},
	{song("Breathe (In the Air)", "Pink Floyd", "", 169), song("Breathe", "Pink Floyd", "", 169), ByScore},
	{song("A Forest (Live)", "The Cure", "Concert", 400), song("A Forest (Live in Paris)", "The Cure", "Paris", 401),
		ByScore},
	{song("Theme of Colour and Light", "Ann", "", 200), song("Theme of Color and Light", "Ann", "", 200), ByScore},
	{song("Everybody Wants to Rule the World", "Tears for Fears", "Hits", 251),
		song("Everybody Wants to Rule World", "Tears for Fears", "Hits", 251), ByScore},
	{song("Get Lucky", "Daft Punk, Ann", "RAM", 248), song("Get Lucky", "Daft Punk, Ben", "RAM", 248), ByScore},
	{song("Get Lucky", "Daft Punk, Ann", "", 248), song("Get Lucky", "Daft Punk, Ben", "", 248), ByNothing},
	// Not by the length of another.
	{song("Bohemian Rhapsody", "Queen", "", 354), song("Bohemain Rhapsody", "Queen", "", 363), ByNothing},
	{song("(I Can't Get No) Satisfaction", "The Rolling Stones", "", 222),
		song("Satisfaction", "Rolling Stones", "", 229), ByNothing},

	// Other versions, of other lengths and of the same.
	{song("Creep", "Radiohead", "Pablo Honey", 238), song("Creep (Acoustic)", "Radiohead", "My Iron Lung", 259),
		ByNothing},
	{song("Creep", "Radiohead", "Pablo Honey", 238), song("Creep (Acoustic)", "Radiohead", "Pablo Honey", 238),
		ByNothing},
	{song("Wonderwall", "Oasis", "", 258), song("Wonderwall - Live", "Oasis", "", 262), ByNothing},
	{song("Wonderwall", "Oasis", "Morning Glory", 258),
		song("Wonderwall", "Oasis", "Familiar to Millions (Live)", 258), ByNothing},
	{song("Wonderwall", "Oasis", "", 258), song("Wonderwall Live", "Oasis", "", 258), ByNothing},
	{song("Wonderwall", "Oasis", "", 258), song("Wonderwall (Karaoke Version)", "Oasis", "", 258), ByNothing},
	{song("Wonderwall", "Oasis", "", 258), song("Wonderwall", "Oasis Karaoke", "", 258), ByNothing},
	{song("Wonderwall", "Oasis", "", 258), song("Wonderwall (Originally Performed by Oasis)",
		"Party Tyme Karaoke, Oasis", "", 258), ByNothing},
	{song("Accordion", "Madvillain", "Madvillainy", 118),
		song("Accordion", "Madvillain", "Madvillainy Instrumentals", 118), ByNothing},
	{song("Stan", "Eminem", "", 404), song("Stan (Instrumental)", "Eminem", "", 404), ByNothing},
	{song("Lemon", "米津玄師", "", 255), song("Lemon（カラオケ）", "米津玄師", "", 255), ByNothing},
	{song("Blue Monday", "New Order", "", 448), song("Blue Monday (Remix)", "New Order", "", 448), ByNothing},
	{song("Silence (Tiësto Remix)", "Delerium", "", 270), song("Silence (Fade Remix)", "Delerium", "", 270), ByNothing},
	{song("Silence (Radio Edit)", "Delerium", "Silence", 240),
		song("Silence (Extended Mix)", "Delerium", "Silence", 240), ByNothing},
	{song("Love Story", "Taylor Swift", "Fearless", 235),
		song("Love Story (Taylor's Version)", "Taylor Swift", "Fearless (Taylor's Version)", 235), ByNothing},
	{song("Angels", "The xx", "", 170), song("Angels (Demo)", "The xx", "", 170), ByNothing},
	{song("Breathe", "Pink Floyd", "", 169), song("Breathe (Reprise)", "Pink Floyd", "", 169), ByNothing},
	{song("A Forest (Live in Rome)", "The Cure", "", 400), song("A Forest (Live in Paris)", "The Cure", "", 400),
		ByNothing},
	{song("Alive (Live 1992)", "Pearl Jam", "", 340), song("Alive (Live 1995)", "Pearl Jam", "", 340), ByNothing},
	{song("Alive (Live 1992 / Remastered 2011)", "Pearl Jam", "", 340),
		song("Alive (Live 1995 / Remastered 2011)", "Pearl Jam", "", 340), ByNothing},
	// Versions that only one side names, on the same album and of the same length.
	{song("Folsom Prison Blues - Live at Folsom State Prison", "Johnny Cash", "At Folsom Prison", 162),
		song("Folsom Prison Blues", "Johnny Cash", "At Folsom Prison", 163), ByScore},
	{song("Folsom Prison Blues - Live at Folsom State Prison", "Johnny Cash", "At Folsom Prison", 162),
		song("Folsom Prison Blues", "Johnny Cash", "At Folsom Prison", 170), ByNothing},
	{song("Folsom Prison Blues - Live at Folsom State Prison", "Johnny Cash", "At Folsom Prison", 162),
		song("Folsom Prison Blues", "Johnny Cash", "At Folsom Prison", 166), ByNothing},
	{song("Silence (Live)", "Delerium", "Silence", 240), song("Silence (Radio Edit)", "Delerium", "Silence", 240),
		ByNothing},
	{song("About a Girl - Live", "Nirvana", "MTV Unplugged in New York", 217),
		song("About a Girl", "Nirvana", "MTV Unplugged In New York", 217), ByScore},
	{song("Silence - Radio Edit", "Delerium", "Silence", 240), song("Silence", "Delerium", "Silence - EP", 240),
		ByScore},

	// Somebody else's, or another title of the same artists.
	{song("Hallelujah", "Leonard Cohen", "", 278), song("Hallelujah", "Jeff Buckley", "", 278), ByNothing},
	{song("Hurt", "Nine Inch Nails", "", 216), song("Hurt", "Johnny Cash", "", 216), ByNothing},
	{song("Hello", "Adele", "25", 295), song("Hello", "", "25", 295), ByNothing},
	{song("Heaven", "Sade", "", 200), song("Heaven", "Wade", "", 200), ByNothing},
	{song("Bohemian Rhapsody", "Queen", "", 354), song("Bohemian Rhapsody", "Queen Tribute Band", "", 354), ByNothing},
	{song("Bohemian Rhapsody", "Queen", "", 354), song("Bohemian Rhapsody", "Queens", "", 354), ByNothing},
	{song("Bohemian Rhapsody", "Queen", "Hits", 354), song("Bohemian Rhapsody", "Queens", "Hits", 354), ByNothing},
	{song("The Long and Beautiful Road to Dinner", "Ann", "", 200),
		song("The Long and Beautiful Road to Winter", "Ann", "", 200), ByNothing},
	{song("Theme from the Long Way Home to You and Me", "Ann", "Hits", 200),
		song("Theme from the Long Way Home to My You and Me", "Ann", "Gold", 200), ByNothing},
	{song("Lover", "Taylor Swift", "", 221), song("Loved", "Taylor Swift", "", 221), ByNothing},
	{song("Angel", "Robbie Williams", "", 265), song("Angels", "Robbie Williams", "", 265), ByNothing},
	{song("1999", "Prince", "Hits", 219), song("1989", "Prince", "Hits", 219), ByNothing},
	{song("Another Brick in the Wall, Pt. 1", "Pink Floyd", "The Wall", 239),
		song("Another Brick in the Wall, Pt. 2", "Pink Floyd", "The Wall", 239), ByNothing},
	{song("Another Brick in the Wall", "Pink Floyd", "The Wall", 239),
		song("Another Brick in the Wall (Part Two)", "Pink Floyd", "The Wall", 239), ByNothing},
	{song("Paranoid", "Black Sabbath", "", 170), song("Paranoid Android", "Black Sabbath", "", 170), ByNothing},
	{song("Love Is All", "Ann", "Love", 200), song("All Is Love", "Ann", "Love", 200), ByNothing},
	{song("Love Me", "Ann", "Love", 200), song("Love Me Not", "Ann", "Love", 200), ByNothing},
	{song("Intro", "The xx", "xx", 127), song("Outro", "The xx", "xx", 127), ByNothing},
	{song("Prelude and Fugue in C major from the Well-Tempered Clavier", "Glenn Gould", "Bach", 120),
		song("Prelude and Fugue in C minor from the Well-Tempered Clavier", "Glenn Gould", "Bach", 120), ByNothing},
	{song("Symphony No. 5 in C minor, Op. 67: I. Allegro con brio", "Carlos Kleiber", "Beethoven", 440),
		song("Symphony No. 7 in C minor, Op. 67: I. Allegro con brio", "Carlos Kleiber", "Beethoven",
			440), ByNothing},
	{song("Sonata in A: Andante grazioso con variazioni e molto espressivo", "Ann", "Bach", 440),
		song("Sonata in D: Andante grazioso con variazioni e molto espressivo", "Ann", "Bach", 440), ByNothing},
	{song("かき", "椎名林檎", "", 200), song("がき", "椎名林檎", "", 200), ByNothing},
	{song("丸の内サディスティック", "椎名林檎", "", 234), song("歌舞伎町の女王", "椎名林檎", "", 234), ByNothing},
	{song("Кукушка", "Кино", "", 398), song("Звезда по имени Солнце", "Кино", "", 398), ByNothing},
	{song("!!!", "X", "", 100), song("???", "X", "", 100), ByNothing},
	{song("", "The Beatles", "Help!", 125), song("", "The Beatles", "Help!", 125), ByNothing},
	{song("Zeds", "Zeds Dead", "Zeds", 200), song("In the Beginning", "Zeds Dead", "Zeds", 200), ByNothing},
}

func TestAPairIsRecognisedByWhatItHasInCommon(t *testing.T) {
	t.Parallel()
	for _, p := range pairs {
		name := p.want.Title + " by " + p.want.Artist + " = " + p.candidate.Title + " by " + p.candidate.Artist
		t.Run(name, func(t *testing.T) {
			for _, pair := range [][2]library.Track{{p.want, p.candidate}, {p.candidate, p.want}} {
				got := Choose(pair[0], pair[1:])
				require.Equal(t, p.how, got.How, "score %.3f", likeness(recordingOf(pair[0]), recordingOf(pair[1])))
				require.Equal(t, pair[0], got.Track)
				switch p.how {
				case ByNothing:
					require.Equal(t, Result{Track: pair[0]}, got)
				case ByScore:
					require.Equal(t, pair[1], got.Found)
					require.GreaterOrEqual(t, got.Score, scoreFloor)
					require.Less(t, got.Score, 1.0)
				default:
					require.Equal(t, pair[1], got.Found)
					require.Equal(t, 1.0, got.Score)
				}
			}
		})
	}
}

func TestATitleIsTakenApart(t *testing.T) {
	t.Parallel()
	got := readTitle("The Song, Pt. 2 (The Sun) [feat. Ann] - Live in Rome / Remastered 2011")
	require.Equal(t, title{
		name: []string{"song", "part", "2", "the", "sun"}, main: []string{"song", "part", "2"}, told: []string{"live",
			"rome"},
		plain: "songpart2thesunliverome", version: live, guests: []string{"ann"},
	}, got)
}

func TestTheBestOfSeveralIsChosen(t *testing.T) {
	t.Parallel()
	yesterday := song("Yesterday", "The Beatles", "Help!", 125)
	cases := map[string]struct {
		want       library.Track
		candidates []library.Track
		found      int // -1 for none
		how        How
	}{
		"nobody offers anything": {yesterday, nil, -1, ByNothing},
		"the identifier before the name": {withISRC(yesterday, isrc),
			[]library.Track{yesterday, withISRC(song("Yesterday", "Beatles", "1", 128), isrc)}, 1, ByISRC},
		"the ISRC before the MusicBrainz id": {withISRC(withMBID(yesterday, mbid), isrc),
			[]library.Track{withMBID(yesterday, mbid), withISRC(yesterday, isrc)}, 1, ByISRC},
		"an identifier on the same album": {withISRC(yesterday, isrc),
			[]library.Track{withISRC(song("Yesterday", "The Beatles", "1", 125), isrc),
				withISRC(yesterday, isrc)}, 1, ByISRC},
		"a wrong identifier, and the name": {withISRC(yesterday, isrc),
			[]library.Track{withISRC(song("Hey Jude", "The Beatles", "Help!", 125), isrc), yesterday}, 1, ByName},
		"the plain one before a remix": {yesterday,
			[]library.Track{song("Yesterday (Remix)", "The Beatles", "Help!", 125), yesterday}, 1, ByName},
		"the live one for a live one": {song("Yesterday - Live", "The Beatles", "", 125),
			[]library.Track{yesterday, song("Yesterday (Live)", "The Beatles", "", 125)}, 1, ByName},
		"the same album": {yesterday,
			[]library.Track{song("Yesterday", "The Beatles", "1", 125),
				song("Yesterday", "The Beatles", "Help! (Deluxe Edition)", 127)}, 1, ByName},
		"the same album, called a single": {song("Titanium", "Ann", "Titanium - Single", 245),
			[]library.Track{song("Titanium", "Ann", "Hits", 245),
				song("Titanium", "Ann", "Titanium", 245)}, 1, ByName},
		"the first of equals": {yesterday,
			[]library.Track{song("Yesterday", "The Beatles", "1", 125),
				song("Yesterday", "The Beatles", "Blue", 125)}, 0, ByName},
		"the exact one before a like one": {yesterday,
			[]library.Track{song("Yesterdays", "The Beatles", "Help!", 125),
				song("Yesterday", "The Beatles", "1", 128)}, 1, ByName},
		"one of the same length before another": {song("Yesterday", "The Beatles", "", 125),
			[]library.Track{song("Yesterday", "The Beatles", "", 130),
				song("Yesterday", "The Beatles", "", 126)}, 1, ByName},
		"like ones of one recording": {song("Bohemain Rhapsody", "Queen", "", 354),
			[]library.Track{song("Bohemian Rhapsody", "Queen", "Hits", 355),
				song("Bohemian Rhapsody", "Queen", "Opera", 354)}, 0, ByScore},
		"like ones, one of them on the album": {song("Bohemain Rhapsody", "Queen", "Opera", 354),
			[]library.Track{song("Bohemian Rhapsody", "Queen", "Hits", 354),
				song("Bohemian Rhapsody", "Queen", "Opera", 354)}, 1, ByScore},
		"two titles that are equally like": {song("Wonderful Mornings", "Ann", "", 200),
			[]library.Track{song("Wonderful Morning", "Ann", "", 200),
				song("Wonderful Mornins", "Ann", "", 200)}, -1, ByNothing},
		"two titles, one a little more like": {song("Wonderful Mornings", "Ann", "", 200),
			[]library.Track{song("Wonderful Morning", "Ann", "", 200),
				song("Wonderful Mornins", "Ann", "", 204)}, -1, ByNothing},
		"two titles, one on the album": {song("Wonderful Mornings", "Ann", "A", 200),
			[]library.Track{song("Wonderful Morning", "Ann", "B", 200),
				song("Wonderful Mornins", "Ann", "A", 200)}, 1, ByScore},
		"two titles, one of them far less like": {song("Wonderful Mornings", "Ann", "A", 200),
			[]library.Track{song("Wonderful Morning", "Ann", "B", 206),
				song("Wonderful Mornins", "Ann", "A", 200)}, 1, ByScore},
		"identifiers of odd lengths": {withISRC(yesterday, isrc),
			[]library.Track{withISRC(song("Yesterday", "The Beatles", "1", 300), isrc),
				withISRC(song("Yesterday", "The Beatles", "Help!", 400), isrc)}, 1, ByISRC},
		"two lengths around the wanted": {song("Yesterday", "The Beatles", "", 240),
			[]library.Track{song("Yesterday", "The Beatles", "", 232),
				song("Yesterday", "The Beatles", "", 248)}, -1, ByNothing},
		"two lengths, none wanted": {song("Yesterday", "The Beatles", "", 0),
			[]library.Track{song("Yesterday", "The Beatles", "1", 125),
				song("Yesterday", "The Beatles", "2", 185)}, -1, ByNothing},
		"two lengths, one on the album": {song("Yesterday", "The Beatles", "2", 0),
			[]library.Track{song("Yesterday", "The Beatles", "1", 125),
				song("Yesterday", "The Beatles", "2", 185)}, 1, ByName},
		"two lengths on one album": {song("Yesterday", "The Beatles", "1", 0),
			[]library.Track{song("Yesterday", "The Beatles", "1", 125),
				song("Yesterday", "The Beatles", "1", 185)}, -1, ByNothing},
		"two concerts for one of no name": {song("Yesterday (Live)", "The Beatles", "", 125),
			[]library.Track{song("Yesterday (Live in Rome)", "The Beatles", "", 125),
				song("Yesterday (Live in Paris)", "The Beatles", "", 126)}, -1, ByNothing},
		"other people's only": {yesterday,
			[]library.Track{song("Yesterday", "Ray Charles", "Help!", 125),
				song("Yesterday", "Marvin Gaye", "", 125)}, -1, ByNothing},
		"among thirty that are not":               {yesterday, append(crowd(29), yesterday), 29, ByName},
		"among thirty that are not, and it isn't": {yesterday, crowd(30), -1, ByNothing},
	}
	for name, c := range cases {
		got := Choose(c.want, c.candidates)
		require.Equal(t, c.how, got.How, "%s: %+v", name, got)
		if c.found >= 0 {
			require.Equal(t, c.candidates[c.found], got.Found, name)
		}
	}
}

func TestAScoreSaysHowSureItIs(t *testing.T) {
	t.Parallel()
	score := func(candidate library.Track) float64 {
		return Choose(song("Smells Like Teen Spirit", "Nirvana", "Nevermind", 301), []library.Track{candidate}).Score
	}
	falling := []float64{
		score(song("Smels Like Teen Spirit", "Nirvana", "Nevermind", 301)),
		score(song("Smels Like Teen Spirit", "Nirvana", "Nevermind", 305)),
		score(song("Smels Like Teen Spirit", "Nirvana", "Hits", 305)),
		score(song("Smels Like Teen Spirit", "Nirvana", "Hits", 306)),
		score(song("Smels Like Teen Spirit", "Nirvana", "Hits", 320)),
	}
	for i := range len(falling) - 1 {
		require.Greater(t, falling[i], falling[i+1])
	}
	require.Zero(t, falling[len(falling)-1])
}
