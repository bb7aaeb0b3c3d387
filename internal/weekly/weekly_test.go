package weekly_test

import (
	"context"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/notify"
	"reprise/internal/weekly"
	"reprise/internal/words"
)

// part is a decoded part of a mail that has no parts of its own.
type part struct{ kind, id, body string }

// parts returns the parts of a mail in order, and the media types of the multipart parts around them.
func parts(t *testing.T, m *mail.Message) (all []part, around []string) {
	t.Helper()
	var walk func(kind, encoding, id string, body io.Reader)
	walk = func(kind, encoding, id string, body io.Reader) {
		media, about, err := mime.ParseMediaType(kind)
		require.NoError(t, err)
		if !strings.HasPrefix(media, "multipart/") {
			all = append(all, part{media, id, decoded(t, encoding, body)})
			return
		}
		around = append(around, media)
		r := multipart.NewReader(body, about["boundary"])
		for {
			p, err := r.NextRawPart()
			if err == io.EOF {
				return
			}
			require.NoError(t, err)
			walk(p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"),
				p.Header.Get("Content-Id"), p)
		}
	}
	walk(m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), "", m.Body)
	return all, around
}

func subject(t *testing.T, m *mail.Message) string {
	t.Helper()
	s, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	require.NoError(t, err)
	return s
}

// A person gets their week on Monday morning: once, whatever the server does.
func TestTheWeekComesOnMondayMorning(t *testing.T) {
	inHouse(t, "en", func(t *testing.T, h *house, p *post) {
		h.hears("lastfm", "Hunter", "Björk", "2000-01-13 20:00", 4)
		h.hears("lastfm", "Hunter", "Björk", "2000-01-17 00:00", 3) // the first minute of Monday
		h.hears("spotify", "Army of Me", "Björk", "2000-01-18 20:00", 2)
		h.hears("spotify", "Svefn-g-englar", "Sigur Rós", "2000-01-19 09:00", 6)
		h.wanted(true)
		pass(time.Hour)
		require.Empty(t, p.arrived(t), "it is switched on in the middle of a week")
		h.away("2000-01-24 06:30")
		require.Empty(t, p.arrived(t), "phones may still report plays")
		h.hears("lastfm", "Late", "Sigur Rós", "2000-01-23 23:59", 1)
		h.hears("lastfm", "Next week", "Sigur Rós", "2000-01-24 00:00", 1)
		pass(90 * time.Minute)
		got := p.arrived(t)
		require.Len(t, got, 1)
		require.Equal(t, "Your week in music: 17–23 January 2000", subject(t, got[0]))
		require.Equal(t, "auto-generated", got[0].Header.Get("Auto-Submitted"))
		stop := "https://reprise.example.org/listening/weeks/2000-01-17#mail"
		require.Equal(t, "<"+stop+">", got[0].Header.Get("List-Unsubscribe"))
		all, around := parts(t, got[0])
		require.Equal(t, []string{"multipart/alternative"}, around, "there are no pictures")
		require.Equal(t, "text/plain", all[0].kind)
		require.Equal(t, "text/html", all[1].kind)
		for _, body := range []string{all[0].body, all[1].body} {
			for _, want := range []string{"12 listens, 36 minutes of music by 2 artists.",
				"That's 3.0 times as much as in the week before.", "Wednesday had the most music, with 6 listens.",
				"Top artists", "Sigur Rós", "Top tracks", "Svefn-g-englar", "Heard for the first time", stop,
				"You get this mail because you turned on the weekly report in Reprise."} {
				require.Contains(t, unescaped(body), want)
			}
			require.NotContains(t, body, "Next week")
		}
		require.Contains(t, all[0].body, "Sunday: 1 listen\n")
		require.NotRegexp(t, `(?i)(src|background)\s*=\s*"?https?:|url\(|<link|@import|<script`, all[1].body,
			"it loads nothing")

		h.away("2000-01-24 12:00")
		h.away("2000-01-26 12:00")
		require.Empty(t, p.arrived(t), "a restart sends nothing again")
		h.away("2000-01-31 08:00")
		got = p.arrived(t)
		require.Len(t, got, 1)
		require.Equal(t, "Your week in music: 24–30 January 2000", subject(t, got[0]))
	})
}

// A silent week sends nothing, and neither does a report that was switched off.
func TestSilenceSendsNothing(t *testing.T) {
	inHouse(t, "en", func(t *testing.T, h *house, p *post) {
		h.hears("lastfm", "Hunter", "Björk", "2000-01-13 20:00", 4)
		h.wanted(true)
		h.away("2000-01-24 09:00")
		require.Empty(t, p.arrived(t))
		err := h.courier.SendReport(t.Context(), h.user, h.channel, time.Date(2000, 1, 17, 0, 0, 0, 0, time.UTC))
		require.ErrorIs(t, err, notify.ErrSilent)
		h.hears("lastfm", "Hunter", "Björk", "2000-01-25 20:00", 1)
		h.wanted(false)
		h.wanted(false)
		h.away("2000-01-31 09:00")
		require.Empty(t, p.arrived(t))
		h.wanted(true)
		pass(2 * time.Hour)
		require.Empty(t, p.arrived(t), "the week was over before")
		require.NoError(t, h.courier.SendReport(t.Context(), h.user, h.channel,
			time.Date(2000, 1, 24, 0, 0, 0, 0, time.UTC)))
		require.Len(t, p.arrived(t), 1, "it is sent at once on request")
	})
}

// A report waits while the mail server is down, but isn't sent if it was switched off meanwhile.
func TestTheMailServerIsDown(t *testing.T) {
	inHouse(t, "de", func(t *testing.T, h *house, p *post) {
		h.hears("lastfm", "Hunter", "Björk", "2000-01-19 10:00", 4)
		h.wanted(true)
		p.goesDown(true)
		h.away("2000-01-24 08:00")
		pass(10 * time.Minute)
		require.Empty(t, p.arrived(t))
		tries := p.tries
		require.Greater(t, tries, 2)
		p.goesDown(false)
		h.away("2000-01-24 13:00") // the waiting report survives the restart
		got := p.arrived(t)
		require.Len(t, got, 1)
		require.Equal(t, "Deine Musikwoche: 17.–23. Januar 2000", subject(t, got[0]))
		first := got[0].Header.Get("Message-Id")

		h.hears("lastfm", "Hunter", "Björk", "2000-01-25 10:00", 4)
		p.goesDown(true)
		h.away("2000-01-31 08:00")
		h.hears("lastfm", "Hunter", "Björk", "2000-02-01 10:00", 4)
		h.away("2000-02-07 08:00")
		p.goesDown(false)
		h.away("2000-02-07 20:00")
		got = p.arrived(t)
		require.Len(t, got, 1, "a newer report takes the place of one that still waits")
		require.Contains(t, subject(t, got[0]), "31. Januar")
		require.NotEqual(t, first, got[0].Header.Get("Message-Id"))

		p.goesDown(true)
		h.hears("lastfm", "Hunter", "Björk", "2000-02-08 10:00", 4)
		h.away("2000-02-14 08:00")
		h.wanted(false)
		p.goesDown(false)
		h.away("2000-02-14 20:00")
		require.Empty(t, p.arrived(t))
	})
}

// The quiet hours of a channel hold for its report, too.
func TestQuietHoursPostponeTheReport(t *testing.T) {
	inHouse(t, "en", func(t *testing.T, h *house, p *post) {
		h.hears("lastfm", "Hunter", "Björk", "2000-01-19 10:00", 4)
		ch, err := h.courier.One(t.Context(), h.user, h.channel)
		require.NoError(t, err)
		ch.QuietFrom, ch.QuietTo, ch.Zone = 22*60, 10*60, "Europe/Vienna"
		_, err = h.courier.Change(t.Context(), ch)
		require.NoError(t, err)
		h.wanted(true)
		h.away("2000-01-24 08:00")
		require.Empty(t, p.arrived(t))
		at(t, "2000-01-24 10:05")
		require.Len(t, p.arrived(t), 1)
	})
}

// The week in which the clocks go back has 169 hours, and the first week of a person nothing to be compared with.
func TestAWeekWhenTheClocksChange(t *testing.T) {
	inHouse(t, "en", func(t *testing.T, h *house, _ *post) {
		h.hears("lastfm", "First", "Björk", "1999-10-25 00:00", 1)
		h.hears("spotify", "Last", "Björk", "1999-10-31 23:59", 1)
		h.hears("spotify", "Too late", "Björk", "1999-11-01 00:00", 1)
		now := time.Now().In(vienna(t))
		ctx := words.With(context.Background(), words.English)
		w, err := weekly.Of(ctx, h.db, h.user, time.Date(1999, 10, 27, 12, 0, 0, 0, now.Location()), now)
		require.NoError(t, err)
		require.Equal(t, 169*time.Hour, w.Span.To.Sub(w.Span.From))
		said := w.Say(ctx)
		require.Equal(t, "25–31 October 1999", said.Week)
		require.Equal(t, []string{"2 listens, 6 minutes of music by 1 artist.", "It all began on 25 October 1999."},
			said.Lead)
		require.Equal(t, []int{1, 0, 0, 0, 0, 0, 1}, listens(said.Days))
		var titles []string
		for _, list := range said.Lists {
			titles = append(titles, list.Title)
		}
		require.Equal(t, []string{"Top artists", "Top albums", "Top tracks"}, titles, "everything is new")

		next, err := weekly.Of(ctx, h.db, h.user, time.Date(1999, 11, 1, 0, 0, 0, 0, now.Location()), now)
		require.NoError(t, err)
		require.Contains(t, next.Say(ctx).Lead, "That's 50% less than in the week before.")
		monday, ok, err := weekly.Latest(ctx, h.db, h.user, now)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, "1999-11-01", monday.Format(time.DateOnly))
		h.hears("spotify", "Now", "Björk", "2000-01-19 09:00", 2)
		this, err := weekly.Of(ctx, h.db, h.user, now, now)
		require.NoError(t, err)
		require.NotEmpty(t, this.Say(ctx).SoFar)
		require.NotContains(t, this.Say(ctx).Lead, "The week before was silent.", "it is compared up to the same time")
		h.hears("spotify", "Alone", "Björk", "1999-11-17 09:00", 2)
		alone, err := weekly.Of(ctx, h.db, h.user, time.Date(1999, 11, 17, 9, 0, 0, 0, now.Location()), now)
		require.NoError(t, err)
		require.Contains(t, alone.Say(ctx).Lead, "The week before was silent.")
	})
}

func listens(days []weekly.Day) (all []int) {
	for _, d := range days {
		all = append(all, d.Listens)
	}
	return all
}

var lines = strings.NewReplacer("\r\n", "\n")

var entity = strings.NewReplacer("&#39;", "'", "&amp;", "&")

var spaces = regexp.MustCompile(`\s+`)

func unescaped(html string) string { return spaces.ReplaceAllString(entity.Replace(html), " ") }
