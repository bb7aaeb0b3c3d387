package sync_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/ledger"
	"reprise/internal/library"
	syncer "reprise/internal/sync"
)

// past is a person with years of plays at Last.fm and ListenBrainz, whose histories are compared with what is here.
type past struct {
	testing.TB
	*enginetest.Engine
	up   *enginetest.Upstreams
	user int64
}

// withPast runs a test whose engine compares histories.
func withPast(t *testing.T, story func(p *past)) {
	opt := syncer.Options{ListensEvery: 20 * time.Minute, PlaylistsEvery: 24 * time.Hour, Audits: true}
	restartableWith(t, opt, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		e := start()
		story(&past{TB: t, Engine: e, up: up, user: e.AddUser("Alice", accounts.Admin)})
	})
}

// hear has an account play so many songs at a service from a time on, an hour apart.
func (p *past) hear(service string, n int, from time.Time, what string) {
	for i := range n {
		p.up.PlayOn(service, "alice", fmt.Sprint(what, " ", i), from.Add(time.Duration(i)*time.Hour))
	}
}

// years fills the months before this one with forty plays each.
func (p *past) years(service string, months int) {
	for m := range months {
		start := p.month(-m)
		p.hear(service, 40, start.Start().Add(24*time.Hour), start.String())
	}
}

// month returns the month so many months from the last one on.
func (p *past) month(ahead int) library.Month {
	return library.MonthOf(time.Now()) - 1 + library.Month(ahead)
}

// ledger returns what is known of a connection.
func (p *past) ledger(conn library.ConnectionID) library.Ledger {
	p.Helper()
	enginetest.Settle()
	all, err := p.Store.Ledgers(p.Context(), p.user)
	require.NoError(p, err)
	for _, l := range all {
		if l.Connection == conn {
			return l
		}
	}
	p.Fatalf("nothing is known of %s", conn)
	return library.Ledger{}
}

// states counts the states of some months, the last one first.
func (p *past) states(conn library.ConnectionID, months int) map[ledger.State]int {
	p.Helper()
	l, found := p.ledger(conn), map[ledger.State]int{}
	for m := range months {
		found[ledger.Judge(l, p.month(-m), time.Now()).State]++
	}
	return found
}

// at returns what is known of a month.
func (p *past) at(conn library.ConnectionID, m library.Month) ledger.Cell {
	p.Helper()
	return ledger.Judge(p.ledger(conn), m, time.Now())
}

// again has a month compared now.
func (p *past) again(conn library.ConnectionID, m library.Month) ledger.Cell {
	p.Helper()
	require.NoError(p, p.Connections.Compare(p.Context(), p.user, conn, m))
	time.Sleep(time.Minute)
	return p.at(conn, m)
}

func (p *past) open(cause string) (n int) {
	for _, v := range p.Open(p.user) {
		if v.Cause == cause {
			n++
		}
	}
	return n
}

func TestAYearIsProvenAndOlderMonthsAtNight(t *testing.T) {
	withPast(t, func(p *past) {
		p.years("lastfm", 30)
		p.years("listenbrainz", 30)
		require.NoError(p, p.ConnectLastFM(p.user, "alice"))
		require.NoError(p, p.ConnectListenBrainz(p.user, "alice"))
		time.Sleep(6 * time.Hour)
		require.Equal(p, 12, p.states("lastfm", 12)[ledger.Proven], "a year is compared at once")
		require.Equal(p, 12, p.states("listenbrainz", 12)[ledger.Proven])
		time.Sleep(5 * 24 * time.Hour)
		for _, conn := range []library.ConnectionID{"lastfm", "listenbrainz"} {
			require.Equal(p, map[ledger.State]int{ledger.Proven: 30, ledger.Empty: 10}, p.states(conn, 40), conn)
		}
		require.Equal(p, 1200, p.Listens(p.user))
		require.Empty(p, p.Open(p.user))

		before := len(p.up.Calls("lastfm"))
		all := []library.Ledger{p.ledger("lastfm"), p.ledger("listenbrainz")}
		require.Equal(p, p.month(-29).Start(), ledger.WholeOf(all, time.Now()).Since)
		time.Sleep(10 * 24 * time.Hour)
		require.Less(p, len(p.up.Calls("lastfm"))-before, 10*72+60, "once all is compared, it costs a few calls a day")
	})
}

func TestWhatIsMissingIsReadAgain(t *testing.T) {
	withPast(t, func(p *past) {
		p.years("lastfm", 6)
		require.NoError(p, p.ConnectLastFM(p.user, "alice"))
		time.Sleep(4 * time.Hour)
		require.Equal(p, 240, p.Listens(p.user))

		p.hear("lastfm", 7, p.month(-3).Start().Add(200*time.Hour), "a phone that was in a drawer")
		c := p.again("lastfm", p.month(-3))
		require.Equal(p, ledger.Proven, c.State)
		require.Equal(p, 7, c.Audit.Refilled)
		require.Equal(p, 47, c.Audit.Here)
		require.Equal(p, 247, p.Listens(p.user))

		p.hear("lastfm", 3, p.month(-20).Start(), "years ago")
		require.Equal(p, 3, p.again("lastfm", library.Before).Audit.Refilled)
		require.Equal(p, 250, p.Listens(p.user))
		require.Empty(p, p.Open(p.user))
	})
}

func TestWhatAServiceForgetsIsKeptAndAsked(t *testing.T) {
	withPast(t, func(p *past) {
		p.years("lastfm", 6)
		p.years("listenbrainz", 6)
		require.NoError(p, p.ConnectLastFM(p.user, "alice"))
		require.NoError(p, p.ConnectListenBrainz(p.user, "alice"))
		time.Sleep(4 * time.Hour)
		m := p.month(-2)
		for asked, service := range []string{"lastfm", "listenbrainz"} {
			conn := library.ConnectionID(service)
			require.Equal(p, 40, p.up.Lose(service, "alice", m.Start(), m.End()))
			c := p.again(conn, m)
			require.Equal(p, ledger.Proven, c.State, "one reading may have been cut off")
			require.Len(p, c.Audit.Suspect, 40)
			require.Equal(p, asked, p.open("past"))
			time.Sleep(2 * 24 * time.Hour)
			require.Equal(p, ledger.Gone, p.at(conn, m).State)
			require.Len(p, p.at(conn, m).Audit.Gone, 40)
		}
		require.Equal(p, 2, p.open("past"))
		require.Equal(p, 240, p.Listens(p.user), "what is here stays")

		gone := p.at("lastfm", m).Audit.Gone
		require.NoError(p, p.Store.DecideGone(p.Context(), p.user, "lastfm", m, gone))
		c := p.again("lastfm", m)
		require.Equal(p, ledger.Proven, c.State)
		require.Equal(p, 1, p.open("past"), "nobody is asked twice")

		p.years("listenbrainz", 6) // its owner brings the month back
		require.Equal(p, ledger.Proven, p.again("listenbrainz", m).State)
		require.Zero(p, p.open("past"))
		require.Equal(p, 240, p.Listens(p.user))
	})
}

func TestAServiceThatChangesThePastDoublesNothing(t *testing.T) {
	withPast(t, func(p *past) {
		p.years("lastfm", 4)
		require.NoError(p, p.ConnectLastFM(p.user, "alice"))
		time.Sleep(4 * time.Hour)

		m := p.month(-1)
		at := m.Start().Add(24 * time.Hour)
		p.up.Lose("lastfm", "alice", m.Start(), m.End())
		p.hear("lastfm", 40, at, "corrected") // an artist got another name: the same seconds
		c := p.again("lastfm", m)
		require.Equal(p, ledger.Proven, c.State)
		require.Equal(p, []int{160, 0}, []int{p.Listens(p.user), len(c.Audit.Gone)},
			"as many plays as before, so there is nothing to look at")

		m = p.month(-2)
		p.up.Lose("lastfm", "alice", m.Start(), m.End())
		p.hear("lastfm", 39, m.Start().Add(25*time.Hour), m.String()) // its clock was an hour wrong, and one is gone
		c = p.again("lastfm", m)
		require.Equal(p, 39, c.Audit.Renamed)
		require.Len(p, c.Audit.Suspect, 1)
		require.Equal(p, 160, p.Listens(p.user))

		m = p.month(-3)
		p.hear("lastfm", 300, m.Start().Add(300*time.Hour), "of another account") // which was merged with this one
		c = p.again("lastfm", m)
		require.Equal(p, ledger.Held, c.State)
		require.Len(p, c.Audit.Held, 300)
		require.Equal(p, 160, p.Listens(p.user))
		require.Equal(p, 1, p.open("past"))
		require.NoError(p, p.Store.RefuseHeld(p.Context(), p.user, "lastfm", m))
		require.Equal(p, ledger.Proven, p.again("lastfm", m).State)
		require.Equal(p, 160, p.Listens(p.user))
		require.Zero(p, p.open("past"))
		require.NoError(p, p.Store.TakeHeld(p.Context(), p.user, "lastfm", m))
		require.Equal(p, 300, p.again("lastfm", m).Audit.Refilled)
		require.Equal(p, 460, p.Listens(p.user))
	})
}

func TestAMonthThatFailsStopsNothing(t *testing.T) {
	withPast(t, func(p *past) {
		p.years("lastfm", 6)
		require.NoError(p, p.ConnectLastFM(p.user, "alice"))
		p.up.Fail("lastfm", func(req *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(req.Body)
			req.Body = io.NopCloser(bytes.NewReader(body))
			if strings.Contains(string(body), fmt.Sprint("from=", p.month(-2).Start().Unix()-1)) {
				return enginetest.Answer(req, http.StatusInternalServerError, `{"error":8}`), nil
			}
			return nil, nil
		})
		time.Sleep(12 * time.Hour)
		require.Equal(p, map[ledger.State]int{ledger.Proven: 5, ledger.Unknown: 1}, p.states("lastfm", 6))
		require.Equal(p, syncer.Healthy, p.Status(p.user, "lastfm").Condition)
		require.Empty(p, p.Open(p.user))
		p.up.Fail("lastfm", nil)
		time.Sleep(36 * time.Hour)
		require.Equal(p, ledger.Proven, p.at("lastfm", p.month(-2)).State)
	})
}

// answering has a service answer the requests whose body or address contains a text.
func answering(text, body string) enginetest.Fault {
	return func(req *http.Request) (*http.Response, error) {
		var sent []byte
		if req.Body != nil {
			sent, _ = io.ReadAll(req.Body)
			req.Body = io.NopCloser(bytes.NewReader(sent))
		}
		if strings.Contains(req.URL.String()+" "+string(sent), text) {
			return enginetest.Answer(req, http.StatusOK, body), nil
		}
		return nil, nil
	}
}

// Promise: What is missing of a month that a service has is found and read again, what a service forgets or changes is
// kept and asked about, and nothing is said about what is whole.
func TestAYearWithLossesOfTwelveKinds(t *testing.T) {
	withPast(t, func(p *past) {
		p.years("lastfm", 12)
		p.years("listenbrainz", 12)
		require.NoError(p, p.ConnectLastFM(p.user, "alice"))
		require.NoError(p, p.ConnectListenBrainz(p.user, "alice"))
		require.NoError(p, p.ConnectSpotify(p.up, p.user, "alice"))
		time.Sleep(6 * time.Hour)
		all := 12 * 40
		require.Equal(p, all, p.Listens(p.user))
		month := make([]library.Month, 13) // by how long ago it was
		for i := range month {
			month[i] = p.month(1 - i)
		}
		day := func(m library.Month, n int) time.Time { return m.Start().AddDate(0, 0, n) }

		// At Last.fm: plays of a phone in a drawer, a month that is forgotten, plays that are deleted, an artist who is
		// renamed, a clock that was an hour wrong, an account that is merged with this one.
		p.hear("lastfm", 7, day(month[1], 0), "a phone that was in a drawer")
		p.up.Lose("lastfm", "alice", month[2].Start(), month[2].End())
		p.up.Lose("lastfm", "alice", day(month[3], 1), day(month[3], 1).Add(3*time.Hour))
		p.up.Lose("lastfm", "alice", month[4].Start(), month[4].End())
		p.hear("lastfm", 40, day(month[4], 1), "another name")
		p.up.Lose("lastfm", "alice", month[5].Start(), month[5].End())
		p.hear("lastfm", 40, day(month[5], 1).Add(time.Hour), month[5].String())
		p.hear("lastfm", 300, day(month[6], 4), "somebody else")
		// Here: the person deletes two listens. At the clock's change an hour comes twice.
		second := day(month[8], 1)
		deleted, err := p.Store.Reported(p.Context(), p.user, "lastfm", second, second.Add(2*time.Hour))
		require.NoError(p, err)
		require.Len(p, deleted, 2)
		_, err = p.Store.DeleteListens(p.Context(), library.Selection{ListenFilter: library.ListenFilter{User: p.user},
			IDs: []int64{deleted[0].Listen, deleted[1].Listen}})
		require.NoError(p, err)
		p.hear("lastfm", 2, day(month[9], 15).Add(time.Hour), "before the change")
		p.hear("lastfm", 2, day(month[9], 15).Add(90*time.Minute), "after the change")
		for i := range 12 {
			p.again("lastfm", month[i+1])
		}

		// A page that is cut off, with a count and without one, and a service that counts more than it lists.
		p.up.Fail("lastfm", answering("limit=200", `{"recenttracks":{"track":[],"@attr":{"total":"0"}}}`))
		require.Equal(p, ledger.Proven, p.again("lastfm", month[7]).State)
		p.up.Fail("lastfm", answering("limit=1&", `{"recenttracks":{"track":[],"@attr":{"total":"45"}}}`))
		require.Equal(p, 5, p.again("lastfm", month[10]).Audit.Short)
		p.up.Fail("lastfm", nil)
		p.up.Fail("listenbrainz", answering("max_ts", `{"payload":{"listens":[]}}`))
		require.Len(p, p.again("listenbrainz", month[7]).Audit.Suspect, 40)
		p.up.Fail("listenbrainz", nil)
		// Last.fm is down over a weekend, and nobody lets Reprise read Spotify for six weeks.
		p.up.Fail("lastfm", enginetest.Status(503))
		p.hear("lastfm", 20, time.Now().Add(time.Hour), "weekend")
		time.Sleep(48 * time.Hour)
		p.up.Fail("lastfm", nil)
		time.Sleep(8 * 24 * time.Hour)

		l := p.ledger("lastfm")
		state := func(i int) ledger.State { return ledger.Judge(l, month[i], time.Now()).State }
		audit := func(i int) library.Audit { return ledger.Judge(l, month[i], time.Now()).Audit }
		require.Equal(p, ledger.Proven, state(1))
		require.Equal(p, 7, audit(1).Refilled)
		require.Equal(p, []any{ledger.Gone, 40}, []any{state(2), len(audit(2).Gone)})
		require.Equal(p, []any{ledger.Gone, 3}, []any{state(3), len(audit(3).Gone)})
		require.Equal(p, []any{ledger.Proven, 40}, []any{state(4), audit(4).Renamed})
		require.Equal(p, []any{ledger.Proven, 40}, []any{state(5), audit(5).Renamed})
		require.Equal(p, []any{ledger.Held, 300}, []any{state(6), len(audit(6).Held)})
		require.Equal(p, ledger.Proven, state(7))
		require.Equal(p, []any{ledger.Proven, 40}, []any{state(8), audit(8).Here})
		require.Equal(p, []any{ledger.Proven, 4}, []any{state(9), audit(9).Refilled})
		require.Equal(p, ledger.Proven, state(10), "what it counted too much has gone")
		require.Equal(p, []any{ledger.Proven, ledger.Proven}, []any{state(11), state(12)})
		lb := p.ledger("listenbrainz")
		for _, m := range month[1:] {
			c := ledger.Judge(lb, m, time.Now())
			require.Equal(p, ledger.Proven, c.State, "%s: nothing is said about what is whole", m)
			require.Empty(p, c.Audit.Suspect)
		}
		require.Equal(p, all-2+7+4+20, p.Listens(p.user), "nothing is doubled, and nothing lost")
		require.Equal(p, 1, p.open("past"))
	})
}

// Promise: While a source can't be read, its plays come through others that report them. When it is back, none is
// missing and none is double.
func TestPlaysComeAnotherWayWhileASourceIsDead(t *testing.T) {
	withPast(t, func(p *past) {
		require.NoError(p, p.ConnectSpotify(p.up, p.user, "alice"))
		require.NoError(p, p.ConnectListenBrainz(p.user, "alice"))
		heard := 0
		listen := func(days int) {
			for range days * 4 {
				p.up.Play("alice", fmt.Sprint("song ", heard), time.Now())
				heard++
				time.Sleep(6 * time.Hour)
			}
		}
		listen(20)
		require.Equal(p, heard, p.Listens(p.user))
		p.up.Revoke("alice") // at Spotify, which ListenBrainz reads by itself
		listen(42)
		in := p.outages()
		require.Len(p, in, 1)
		require.Equal(p, []library.ConnectionID{"listenbrainz"}, in[0].By)
		require.InDelta(p, 42*4, in[0].Plays, 4)
		require.Equal(p, heard, p.Listens(p.user), "none is missing")

		require.NoError(p, p.ConnectSpotify(p.up, p.user, "alice"))
		listen(2)
		require.Equal(p, heard, p.Listens(p.user), "none is doubled")
		for _, in := range p.outages() {
			require.Equal(p, library.ConnectionID("spotify"), in.Connection)
		}
	})
}

// outages returns the times in which others stood in for connections, with the plays that they brought.
func (p *past) outages() (found []library.StandIns) {
	p.Helper()
	enginetest.Settle()
	all, err := p.Store.Outages(p.Context(), p.user)
	require.NoError(p, err)
	for _, o := range all {
		in, err := p.Store.StandIns(p.Context(), p.user, o)
		require.NoError(p, err)
		found = append(found, in)
	}
	return found
}

// standing returns the titles of the listens that stand in for Spotify's, each as often as there is such a listen.
func (p *past) standing() (titles []string) {
	p.Helper()
	in := p.outages()
	for before := ""; ; {
		page, next, err := p.Store.FindListens(p.Context(), library.ListenFilter{User: p.user}, before, 1000)
		require.NoError(p, err)
		for _, l := range page {
			for _, o := range in {
				if o.Filled(l) {
					require.Equal(p, library.ConnectionID("spotify"), o.Connection)
					titles = append(titles, l.Title)
				}
			}
		}
		if before = next; next == "" {
			break
		}
	}
	plays := 0
	for _, o := range in {
		plays += o.Plays
	}
	require.Equal(p, len(titles), plays, "as many as are counted")
	slices.Sort(titles)
	return titles
}

// told has a service have a play of now; what Navidrome has is read at once.
func (p *past) told(service, title string) {
	p.Helper()
	now := time.Now().Truncate(time.Second)
	if service != "navidrome" {
		p.up.PlayOn(service, "alice", title, now)
		return
	}
	_, err := p.Store.SaveListens(p.Context(), library.Intake{User: p.user, Connection: "navidrome",
		Listens: []library.Listen{{Track: library.Track{Title: title, Artist: "Sigur Rós"}, PlayedAt: now,
			SourceID: fmt.Sprint(now.Unix(), title)}}})
	require.NoError(p, err)
}

// Promise: A play that came another way while its source couldn't be read says so, until the source has reported it
// itself.
func TestEachPlayThatCameAnotherWaySaysSo(t *testing.T) {
	withPast(t, func(p *past) {
		require.NoError(p, p.ConnectSpotify(p.up, p.user, "alice"))
		require.NoError(p, p.ConnectLastFM(p.user, "alice"))
		heard, streamed := 0, []string{}
		listen := func(days int) {
			for range days {
				for _, services := range [][]string{{"spotify", "lastfm"}, {"navidrome"}, {"spotify", "lastfm"},
					{"navidrome", "lastfm"}} { // Navidrome sends some to Last.fm itself
					title := fmt.Sprintf("song %04d", heard)
					heard++
					for _, service := range services {
						p.told(service, title)
					}
					if services[0] == "spotify" {
						streamed = append(streamed, title)
					}
					time.Sleep(6 * time.Hour)
				}
			}
		}
		listen(20)
		require.Equal(p, heard, p.Listens(p.user))
		require.Empty(p, p.standing())

		before := len(streamed)
		p.up.Revoke("alice")
		listen(42)
		require.Equal(p, heard, p.Listens(p.user), "none is missing")
		require.Equal(p, streamed[before:], p.standing(), "those that Spotify would have had, and no others")

		require.NoError(p, p.ConnectSpotify(p.up, p.user, "alice")) // it has the last fifty
		time.Sleep(2 * time.Hour)
		require.Equal(p, streamed[before:len(streamed)-50], p.standing())
		lost := p.at("spotify", library.MonthOf(p.outages()[0].From))
		require.Equal(p, ledger.Lost, lost.State)
		listen(3)
		require.Equal(p, heard, p.Listens(p.user), "none is doubled")
		require.Equal(p, []library.ConnectionID{"lastfm"}, p.outages()[0].By)
		require.Len(p, p.standing(), 42*2-50)
	})
}
