package deliveries

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/words"
	"reprise/web/ui"
	"reprise/web/ui/uitest"
)

func TestEveryStateHasItsWordAndShape(t *testing.T) {
	t.Parallel()
	for _, l := range []*words.Language{words.English, words.German} {
		n := namesOf(nil)
		n.language = l
		all := map[string]bool{}
		var rows []row
		for _, state := range delivery.States {
			r := n.row(n.View(delivery.Delivery{ID: 7, Connection: "lastfm", Kind: delivery.Scrobble, State: state,
				Items: 2, CreatedAt: time.Now()}))
			require.Equal(t, string(state), r.State.Shape)
			all[r.State.Word] = true
			rows = append(rows, r)
		}
		require.Len(t, all, len(delivery.States))
		require.NotContains(t, all, "")
		var b strings.Builder
		require.NoError(t, list(listView{Rows: rows}).Render(words.With(t.Context(), l), &b))
		require.Equal(t, len(delivery.States), strings.Count(b.String(), "<li id="))
		text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(b.String(), " ")
		require.NotRegexp(t, `(?i)\b(dead letter|parked|re-?drive|geparkt)\b`, text)
	}
}

// What can be done follows from the state, and what a person has to choose comes first.
func TestARowOffersWhatItsStateAllows(t *testing.T) {
	t.Parallel()
	n := namesOf(nil)
	for state, want := range map[delivery.State][]string{
		delivery.Scheduled: {"Discard"}, delivery.Running: nil, delivery.Done: nil, delivery.Parked: {"Discard"},
		delivery.Retrying: {"Send again", "Discard"}, delivery.Dead: {"Send again", "Discard"},
	} {
		var labels []string
		for _, a := range n.row(n.View(delivery.Delivery{ID: 7, Connection: "lastfm", State: state})).Actions {
			labels = append(labels, a.Label)
		}
		require.Equal(t, want, labels, state)
	}
	d := n.View(delivery.Delivery{ID: 7, Connection: "lastfm", State: delivery.Dead})
	asked := "/connections/lastfm/songs/1"
	d.Question = &asked
	first := n.row(d).Actions[0]
	require.Equal(t, asked, first.URL)
	require.True(t, first.Main)
}

func TestAHostileNameIsIsolatedInLists(t *testing.T) {
	t.Parallel()
	n := namesOf(nil)
	n.subjects = map[int64]delivery.Subject{7: {Title: "\u202eאבג", Artist: "x"}}
	d := delivery.Delivery{ID: 7, Connection: "lastfm", Kind: delivery.Scrobble, State: delivery.Dead, Items: 1}
	d.Reason, d.EndedAt = words.Plain("\u202eאבג"), time.Now()
	g := n.group(filter{}, delivery.Group{Connection: "lastfm", Kind: delivery.Scrobble, Reason: d.Reason, Count: 12,
		Items: 12}, []Delivery{n.View(d)})
	require.NotEmpty(t, g.All, "there are more than are shown")
	var b strings.Builder
	require.NoError(t, list(listView{Groups: []groupView{g}}).Render(t.Context(), &b))
	require.NotContains(t, b.String(), "\u202e")
	require.Equal(t, 3, strings.Count(b.String(), "<bdi>"))
}

func TestMessagesToAChannelFailInTheirOwnWords(t *testing.T) {
	t.Parallel()
	g := delivery.Group{Connection: library.ConnectionID("channel-7"), Kind: delivery.Notify, Count: 2}
	require.Equal(t, "2 messages could not be sent to a channel that was removed.", namesOf(nil).failed(g).String())
}

func TestWhatWasSentSaysSoOnce(t *testing.T) {
	t.Parallel()
	n := namesOf(nil)
	r := n.row(n.View(delivery.Delivery{ID: 7, Connection: "lastfm", Kind: delivery.Scrobble, State: delivery.Done,
		Items: 1, CreatedAt: time.Now(), EndedAt: time.Now()}))
	html := uitest.HTML(t, words.English, rows([]row{r}))
	require.Equal(t, 1, strings.Count(html, "Sent"), html)
	require.NotContains(t, html, "Added")
	require.Equal(t, 1, strings.Count(html, "<time"), html)
}

// One by one: the states with their numbers, a form that keeps what is chosen, and what failed above the rest.
func TestSendingOneByOne(t *testing.T) {
	t.Parallel()
	n := namesOf(nil)
	at := time.Now()
	sent := n.row(n.View(delivery.Delivery{ID: 7, Connection: "lastfm", Kind: delivery.Scrobble, Items: 1,
		State: delivery.Done, CreatedAt: at, EndedAt: at}))
	failed := delivery.Delivery{ID: 8, Connection: "lastfm", Kind: delivery.Scrobble, Items: 2,
		State: delivery.Dead}
	failed.Reason, failed.Answer, failed.EndedAt = words.Plain("Too old."), "code 1", at
	of := func(in filter, counts map[delivery.State]int) listView {
		v := listView{Kept: in.kept(), Rows: []row{sent}, Groups: []groupView{n.group(in, delivery.Group{
			Connection: "lastfm", Kind: delivery.Scrobble, Reason: failed.Reason, Count: 1, Items: 2},
			[]Delivery{n.View(failed)})}}
		v.addCounts(t.Context(), in, counts)
		return v
	}
	v := of(filter{}, map[delivery.State]int{delivery.Done: 5, delivery.Dead: 1})
	require.Len(t, v.Chips, 1+len(delivery.States))
	require.Equal(t, ui.Chip{Label: "All", Count: 6, Current: true, URL: "/deliveries?list=all"}, v.Chips[0])
	require.Equal(t, "/deliveries/redrive", v.Again.URL)
	html := uitest.HTML(t, words.English, list(v))
	require.Less(t, strings.Index(html, `id="delivery-8"`), strings.Index(html, `id="delivery-7"`))
	require.Contains(t, html, "2 listens could not be sent to Last.fm.")
	require.Contains(t, html, "code 1", "under Details")

	v = of(filter{State: "done", Connection: "lastfm"}, map[delivery.State]int{delivery.Done: 5, delivery.Dead: 1})
	require.Nil(t, v.Again, "nothing shown can be sent again")
	html = uitest.HTML(t, words.English, list(v))
	require.Contains(t, html, `<input type="hidden" name="state" value="done">`)
	require.Contains(t, html, `<input type="hidden" name="connection" value="lastfm">`)
	uitest.Sound(t, func(*words.Language) templ.Component { return list(v) })

	none := uitest.HTML(t, words.German, list(listView{Chips: v.Chips}))
	require.Contains(t, none, "Mit diesem Filter gibt es hier keine Einträge.")
	require.Contains(t, none, `href="/deliveries?list=all"`)
}
