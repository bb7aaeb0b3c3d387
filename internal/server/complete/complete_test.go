package complete_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/server/servertest"
)

// person is somebody with a year of plays at Last.fm, and Spotify's latest ones.
type person struct {
	testing.TB
	*servertest.Household
	now library.Month
}

func newPerson(t *testing.T) *person {
	time.Sleep(3 * 24 * time.Hour) // the bubble begins with a month
	p := &person{TB: t, Household: servertest.New(t, delivery.Options{}), now: library.MonthOf(time.Now())}
	for conn, months := range map[library.ConnectionID]int{"lastfm": 12, "spotify": 1} {
		var plays []library.Listen
		for m := range months {
			for i := range 3 {
				at := (p.now - library.Month(m)).Start().Add(time.Duration(i) * time.Minute)
				title := fmt.Sprint("Song ", m, i)
				plays = append(plays, library.Listen{Track: library.Track{Title: title, Artist: "Nina"}, PlayedAt: at,
					SourceID: fmt.Sprint(at.Unix(), ":", title)})
			}
		}
		_, err := p.DB.SaveListens(p.Context(), library.Intake{User: p.User, Connection: conn, Listens: plays,
			Position: `{"high":"2000-01-01T00:00:00Z"}`, Generation: 1})
		require.NoError(p, err)
		require.NoError(p, p.DB.SaveSuccess(p.Context(), p.User, conn, library.Listens, time.Now()))
	}
	return p
}

// audit stores what comparing a month with Last.fm has shown.
func (p *person) audit(ago int, a library.Audit) {
	p.Helper()
	a.SuspectAt = time.Now()
	c, err := p.DB.Connection(p.Context(), p.User, "lastfm")
	require.NoError(p, err)
	_, err = p.DB.Audits(p.Context(), p.User, "lastfm", p.now)
	require.NoError(p, err)
	a.CheckedAt, a.Month = time.Now(), p.now-library.Month(ago)
	require.NoError(p, p.DB.SaveAudit(p.Context(), c, a))
}

// at returns the address of a month of Last.fm.
func (p *person) at(ago int) string { return "/lastfm/" + (p.now - library.Month(ago)).String() }

// all returns the states of Last.fm's months, the latest first.
func (p *person) all() (states []any, said map[string]any) {
	p.Helper()
	said = p.Call(http.MethodGet, "/completeness", "", 200)
	for _, one := range said["sources"].([]any) {
		if s := one.(map[string]any); s["connection"] == "lastfm" {
			for _, m := range s["months"].([]any) {
				states = append(states, m.(map[string]any)["state"])
			}
		}
	}
	return states, said
}

func TestAPersonSeesWhichMonthsAreWhole(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		empty := servertest.New(t, delivery.Options{})
		require.Contains(t, empty.Page("/complete"), "Nothing is read yet.")

		p := newPerson(t)
		require.Contains(t, p.Page("/complete"), "know yet whether everything is here.")
		for ago := range 12 {
			p.audit(ago, library.Audit{Counted: 3, Listed: -1, Here: 3})
		}
		p.audit(5, library.Audit{Counted: 10, Listed: 8, Here: 8, Refilled: 5, Renamed: 1, Short: 2,
			Days: []library.DayCount{{Day: 1, There: 8, Here: 8}}})
		states, said := p.all()
		require.Equal(t, []any{"proven", "proven", "proven", "proven", "proven", "short"}, states[:6])
		require.Equal(t, "pending", states[12], "everything before")
		require.Nil(t, said["until"])
		page := p.Page("/complete")
		require.Contains(t, page, "Complete since")
		require.Contains(t, page, `aria-label="Last.fm, `+p.now.Start().Format("January 2006")+`: complete"`)
		require.Contains(t, page, "Spotify only gives its latest plays.")
		require.Contains(t, p.Page("/"), `<a href="/complete">Complete since`)

		one := p.Call(http.MethodGet, "/completeness"+p.at(5), "", 200)
		require.Equal(t, []any{10.0, 8.0, 5.0, 2.0}, []any{one["there"], one["here"], one["refilled"], one["short"]})
		require.Len(t, one["days"], 1)
		page = p.Page("/complete" + p.at(5))
		for _, sentence := range []string{"5 of them were missing, and were read again.",
			"Last.fm counts 2 more plays than it lists", "Last.fm lists one under another name", "Day by day"} {
			require.Contains(t, page, sentence)
		}
		require.Contains(t, p.Page("/complete"+p.at(1)), "Last.fm counts 3 plays, and all of them are here.")
		require.Contains(t, p.Page("/complete/spotify/"+p.now.String()), "What Spotify had from")
		require.Contains(t, p.Page("/complete/spotify/"+(p.now-3).String()),
			"Nothing says what Spotify had in this time.")
		require.Contains(t, p.Page("/complete/lastfm/before"), "Last.fm: everything before the first month")
		for _, path := range []string{"/lastfm/2000-13", "/lastfm/9999-01", "/navidrome/" + p.now.String(),
			"/nobody/before"} {
			p.Call(http.MethodGet, "/completeness"+path, "", 404)
		}

		// Its server doesn't keep to the bounds of a month.
		c, err := p.DB.Connection(t.Context(), p.User, "lastfm")
		require.NoError(t, err)
		require.NoError(t, p.DB.NoAudits(t.Context(), c))
		require.Contains(t, p.Page("/complete"+p.at(5)), "Last.fm can&#39;t be asked what it has of a single month")
		require.NotContains(t, p.Page("/complete"), "Last.fm only gives its latest plays.")
	})
}

func TestAPersonDecidesAboutAChangedPast(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := newPerson(t)
		ids := func(ago int) (all []string) {
			m := p.now - library.Month(ago)
			some, err := p.DB.Reported(t.Context(), p.User, "lastfm", m.Start(), m.End())
			require.NoError(t, err)
			for _, r := range some {
				all = append(all, r.ID)
			}
			return all
		}
		heard := func() int {
			n, err := p.DB.CountListens(t.Context(), p.User)
			require.NoError(t, err)
			return n
		}
		before := heard()

		p.Call(http.MethodPost, "/completeness"+p.at(1)+"/compare", "", 404)
		for ago := 1; ago < 4; ago++ {
			p.audit(ago, library.Audit{Counted: 0, Listed: 0, Here: 3, Gone: ids(ago), Suspect: ids(ago)})
		}
		var held []string
		for i := range 300 {
			held = append(held, fmt.Sprintf("%03d", i))
		}
		for ago := 4; ago < 7; ago++ {
			p.audit(ago, library.Audit{Counted: 303, Listed: 303, Here: 3, Held: held})
		}
		states, _ := p.all()
		require.Equal(t, []any{"gone", "gone", "gone", "held", "held"}, states[1:6])
		p.Call(http.MethodPost, "/completeness"+p.at(1)+"/compare", "", 204)

		require.Contains(t, p.Page("/complete"+p.at(1)),
			"3 plays that Last.fm had are no longer there. They are kept here.")
		p.Submit("/complete"+p.at(1)+"/gone", http.StatusSeeOther, "decision", "keep")
		require.Contains(t, p.Page("/complete"+p.at(2)+"/gone"), "Delete 3 listens here too?")
		p.Submit("/complete"+p.at(2)+"/gone", http.StatusSeeOther, "decision", "delete")
		require.Equal(t, before-3, heard())
		p.Call(http.MethodPost, "/completeness"+p.at(3)+"/gone", `{"decision":"delete"}`, 204)
		require.Equal(t, before-6, heard())
		p.Call(http.MethodPost, "/completeness"+p.at(3)+"/gone", `{"decision":"delete"}`, 404)

		require.Contains(t, p.Page("/complete"+p.at(4)), "Last.fm suddenly lists 300 more plays")
		p.Submit("/complete"+p.at(4)+"/held", http.StatusSeeOther, "decision", "refuse")
		p.Call(http.MethodPost, "/completeness"+p.at(5)+"/held", `{"decision":"take"}`, 204)
		states, _ = p.all()
		require.Equal(t, []any{"proven", "proven", "proven", "proven", "proven"}, states[1:6])
		require.Contains(t, p.Page("/complete"+p.at(4)), "300 more plays, which you left out.")
		require.NoError(t, p.Connections.Pause(t.Context(), p.User, "lastfm"))
		p.Call(http.MethodPost, "/completeness"+p.at(6)+"/held", `{"decision":"take"}`, 204)
		p.Call(http.MethodPost, "/completeness"+p.at(7)+"/held", `{"decision":"take"}`, 404)
		p.Submit("/complete"+p.at(4)+"/held", http.StatusBadRequest, "decision", "perhaps")
		p.Submit("/complete"+p.at(4)+"/gone", http.StatusBadRequest)
		require.NoError(t, p.Connections.Resume(t.Context(), p.User, "lastfm"))
		p.Submit("/complete"+p.at(5)+"/compare", http.StatusSeeOther)
		require.Equal(t, 404, p.Do(http.MethodGet, "/complete"+p.at(1)+"/gone", "", "").Code)
	})
}

// A service that isn't read says on its card through what its plays come meanwhile.
func TestTheCardOfAServiceSaysWhatStandsIn(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h, began := servertest.New(t, delivery.Options{}), time.Now().Truncate(time.Second)
		tells := func(conn library.ConnectionID, song string) {
			at := time.Now().Truncate(time.Second)
			_, err := h.DB.SaveListens(t.Context(), library.Intake{User: h.User, Connection: conn, Generation: 1,
				Listens: []library.Listen{{Track: library.Track{Title: song, Artist: "Nina"}, PlayedAt: at,
					SourceID: fmt.Sprint(at.Unix(), song)}}, Position: `{"high":"2000-01-01T00:00:00Z"}`})
			require.NoError(t, err)
			require.NoError(t, h.DB.SaveSuccess(t.Context(), h.User, conn, library.Listens, time.Now()))
		}
		for day := range 10 {
			song := fmt.Sprint("Song ", day)
			if day < 6 {
				tells("spotify", song)
			}
			tells("lastfm", song)
			time.Sleep(24 * time.Hour)
		}
		const stand = "Its plays come through Last.fm meanwhile: 4 so far."
		require.NotContains(t, h.Page("/"), stand, "nothing is known to be the matter")
		h.Submit("/connections/spotify/pause", http.StatusSeeOther)
		for _, page := range []string{"/", "/connections/spotify", "/complete"} {
			require.Contains(t, h.Page(page), stand, page)
		}
		require.NotContains(t, h.Page("/connections/lastfm"), stand)
		standing := func() (ids []string, first map[string]any) {
			for _, v := range h.Call(http.MethodGet, "/listens", "", 200)["listens"].([]any) {
				l := v.(map[string]any)
				if in := l["stands_in_for"].([]any); len(in) > 0 {
					require.Len(t, in, 1)
					ids, first = append(ids, l["id"].(string)), in[0].(map[string]any)
				}
			}
			return ids, first
		}
		since := began.AddDate(0, 0, 5)
		ids, o := standing()
		require.Len(t, ids, 4)
		require.Equal(t, map[string]any{"connection": "spotify", "from": library.Stamp(since), "to": nil}, o)
		const said = "In place of Spotify, which hasn&#39;t been read since 6 January 2000."
		require.Equal(t, 2*4, strings.Count(h.Page("/listens"), said), "as a title, and for screen readers")
		require.Contains(t, h.Page("/listens/"+ids[0]), said)

		// Spotify is read again, and has the last of them, and one that nothing else has reported.
		require.NoError(t, h.Connections.Resume(t.Context(), h.User, "spotify"))
		last := began.AddDate(0, 0, 9)
		_, err := h.DB.SaveListens(t.Context(), library.Intake{User: h.User, Connection: "spotify", Generation: 1,
			Gap: &library.Gap{From: since, To: time.Now(), LostTo: last},
			Listens: []library.Listen{{Track: library.Track{Title: "Song 9", Artist: "Nina"}, PlayedAt: last,
				SourceID: fmt.Sprint(last.Unix(), "Song 9")}}, Position: `{"high":"2000-01-01T00:00:00Z"}`})
		require.NoError(t, err)
		require.NoError(t, h.DB.SaveSuccess(t.Context(), h.User, "spotify", library.Listens, time.Now()))
		ids, o = standing()
		require.Len(t, ids, 3)
		require.Equal(t, library.Stamp(time.Now()), o["to"])
		require.Contains(t, h.Page("/listens/"+ids[0]),
			"In place of Spotify, which wasn&#39;t read from 6 January 2000 to 11 January 2000.")
		require.Contains(t, h.Page("/complete"),
			"3 of the plays that Spotify no longer had after an outage came through Last.fm.")
		require.Contains(t, h.Page("/complete/spotify/"+library.MonthOf(since).String()),
			"3 plays of that time came through Last.fm.")
		for _, v := range h.Call(http.MethodGet, "/completeness", "", 200)["sources"].([]any) {
			if s := v.(map[string]any); s["connection"] == "spotify" {
				require.Equal(t, "", s["stand_in"])
				require.Equal(t, []any{map[string]any{"from": library.Stamp(since), "to": library.Stamp(time.Now()),
					"by": []any{"lastfm"}, "plays": 3.0}}, s["outages"])
			}
		}

		// An export of that time is imported, which has none of them: they were not Spotify's.
		v, err := h.DB.AddImport(t.Context(), imports.Import{User: h.User, Connection: "spotify",
			State: imports.Running}, 9)
		require.NoError(t, err)
		v.State, v.First, v.Last = imports.Done, began, time.Now()
		_, err = h.DB.SaveImported(t.Context(), v, nil)
		require.NoError(t, err)
		ids, _ = standing()
		require.Empty(t, ids)
	})
}
