package enrich_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/enrich"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/words"
)

const day = 24 * time.Hour

func TestMusicIsAskedAboutOnceInTheOrderHeard(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		rain := track("Sigur Rós", "Takk...", "Glósóli")
		b.hear(b.user, rain, rain, track("SIGUR ROS", "Takk…", "Glosoli (Remastered 2015)"), track("Nobody", "", "Fog"))
		b.hear(b.bob, rain, track("Sigur Rós feat. Amiina", "Takk...", "Sæglópur"))
		b.tick()
		require.Equal(t, []string{
			"artist Sigur Rós",
			"album Sigur Rós/Takk...",
			"track Sigur Rós/Glósóli",
			"artist Nobody",
			"track Nobody/Fog",
			"artist Amiina",
			"track Sigur Rós/Sæglópur",
		}, b.facts.calls())
		require.Equal(t, enrich.Progress{Done: 7}, b.progress("facts"))
		m := b.music(library.KindTrack, rain)
		require.Equal(t, 3, m.Plays, "under any spelling, without another person's")
		require.Equal(t, []string{"rain", "fog"}, told(m, "facts").Tags)
		require.Equal(t, "1999-06", told(m, "facts").Released)

		pass(2 * time.Hour)
		require.Empty(t, b.facts.calls(), "nothing is asked twice")
		b.hear(b.bob, track("Sigur Rós", "Takk...", "Hoppípolla"))
		pass(2 * time.Hour)
		require.Equal(t,
			[]string{"track Sigur Rós/Hoppípolla"}, b.facts.calls(), "new listens are found by the next tick")
		b.seldom()
		pass(91 * day)
		require.Len(t, b.facts.calls(), 8, "facts are refreshed after three months")
		require.Contains(t, b.facts.with(), "id of artist Sigur Rós", "by the ids that were found")
	})
}

// TestFactsOfStrangersAreBounded: anybody can edit MusicBrainz.
func TestFactsOfStrangersAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.facts.answers(func(library.Entity) (library.Facts, error) {
			return library.Facts{MBID: "1", Name: strings.Repeat("long ", 10_000), Released: strings.Repeat("9", 1000),
				Tags: slices.Repeat([]string{"rain\u202e" + strings.Repeat("y", 1000)}, 1000)}, nil
		})
		rain := track("Sigur Rós", "Takk...", "Glósóli")
		b.hear(b.user, rain)
		b.tick()
		facts := told(b.music(library.KindTrack, rain), "facts")
		require.Len(t, facts.Tags, library.MaxTags)
		require.Equal(t, "rain"+strings.Repeat("y", 495)+"…", facts.Tags[0])
		require.Empty(t, facts.Released)
	})
}

func TestANotThereIsAskedAgainAfterAWhile(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.facts.answers(but("artist Nobody", fmt.Errorf("found nothing sure: %w", library.ErrNotThere)))
		b.art.answers(func(library.Entity) (library.Facts, error) { return library.Facts{}, library.ErrNotThere })
		b.hear(b.user, track("Nobody", "Alone", "Fog"))
		b.tick()
		require.Equal(t, enrich.Progress{Done: 2, NotThere: 1}, b.progress("facts"))
		require.Equal(t, enrich.Progress{NotThere: 2}, b.progress("art"), "nothing is asked without an MBID")
		require.Equal(t, []string{"album Nobody/Alone"}, b.art.calls())
		require.Len(t, b.facts.calls(), 3)

		b.seldom()
		pass(6 * day)
		require.Empty(t, b.art.calls())
		pass(2 * day)
		require.Equal(t, []string{"album Nobody/Alone"}, b.art.calls())
		pass(21 * day)
		require.Empty(t, b.facts.calls())
		b.art.calls()
		b.facts.answers(knows)
		pass(2 * day)
		require.Equal(t, []string{"artist Nobody"}, b.facts.calls())
		require.Contains(t, b.art.calls(), "artist Nobody", "at once, now that its MBID is known")
	})
}

func TestAFailedTaskIsPostponedLongerEachTime(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.facts.answers(but("track A/Bad", fails(http.StatusBadRequest)))
		bad := track("A", "", "Bad")
		bad.RecordingMBID = "as a service told"
		b.hear(b.user, bad, track("A", "", "Good"))
		b.tick()
		require.Equal(t, []string{"artist A", "track A/Bad", "track A/Good"}, b.facts.calls())
		require.Equal(t, []string{"", "as a service told", ""}, b.facts.with())
		require.Equal(t, enrich.Progress{Done: 2, Failed: 1, PutOff: 1}, b.progress("facts"))
		m := b.music(library.KindTrack, bad)
		require.Contains(t, told(m, "facts").Reason, "400")

		begun := time.Now()
		for _, wait := range []time.Duration{time.Hour, day, 7 * day, 7 * day} {
			due := told(b.music(library.KindTrack, bad), "facts").Due
			require.WithinDuration(t, begun.Add(wait), due, 5*time.Second)
			time.Sleep(time.Until(due) - time.Second)
			b.Tick()
			synctest.Wait()
			require.Empty(t, b.facts.calls())
			time.Sleep(2 * time.Second)
			begun = time.Now()
			b.tick()
			require.Equal(t, []string{"track A/Bad"}, b.facts.calls())
			ids := b.facts.with()
			require.Empty(t, ids[len(ids)-1], "an MBID that failed is not used twice")
		}

		b.facts.answers(knows)
		require.NoError(t, b.Retry(t.Context(), "facts"))
		settle()
		require.Equal(t, enrich.Progress{Done: 3}, b.progress("facts"))
		require.Empty(t, told(b.music(library.KindTrack, bad), "facts").Reason)
	})
}

func TestTasksAreAskedSoonAfterAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.facts.answers(func(library.Entity) (library.Facts, error) { return library.Facts{}, refused })
		rain := track("A", "", "T")
		b.hear(b.user, rain)
		b.tick()
		pass(60 * time.Hour)
		require.WithinDuration(t, time.Now(), told(b.music(library.KindArtist, rain), "facts").Due, time.Hour)
		require.Equal(t, enrich.Progress{Waiting: 2, PutOff: 2}, b.progress("facts"))

		again := func(answer func(library.Entity) (library.Facts, error)) {
			t.Helper()
			b.facts.answers(answer)
			b.facts.calls()
			b.guard.RetryForAll(t.Context(), b.provider[0])
			require.NoError(t, b.Retry(t.Context(), "facts"))
			settle()
		}
		again(but("artist A", fails(http.StatusBadRequest)))
		require.ElementsMatch(t, []string{"artist A", "track A/T"}, b.facts.calls(), "for any reason of their failures")
		require.Equal(t, enrich.Progress{Done: 1, Failed: 1, PutOff: 1}, b.progress("facts"))
		for _, answer := range []error{refused, fails(http.StatusBadRequest)} {
			require.LessOrEqual(t,
				time.Until(told(b.music(library.KindArtist, rain), "facts").Due), time.Hour,
				"the first failure of its own",
			)
			again(but("artist A", answer))
		}
		require.Greater(t, time.Until(told(b.music(library.KindArtist, rain), "facts").Due), 23*time.Hour, "the second")
	})
}

func TestAnOutageDropsNoIDAndNoFacts(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		rain := track("A", "", "T")
		rain.RecordingMBID = "as a service told"
		b.facts.answers(byID)
		b.hear(b.user, rain)
		b.tick()
		b.seldom()
		b.facts.answers(but("track A/T", refused))
		pass(91 * day)
		m := told(b.music(library.KindTrack, rain), "facts")
		require.NotEmpty(t, m.Reason)
		require.Equal(t, []string{"rain", "fog"}, m.Tags, "known facts stay")
		b.facts.answers(byID)
		pass(day)
		m = told(b.music(library.KindTrack, rain), "facts")
		require.Equal(t, enrich.Done, m.State)
		require.Equal(t, []string{"rain", "fog"}, m.Tags)
		ids := b.facts.with()
		require.Equal(t, "id of track A/T", ids[len(ids)-1])
	})
}

// A source answers 500 for one entity, again and again.
func TestAnEntityThatBreaksASourceStarvesNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.facts.answers(but("artist A", fails(http.StatusInternalServerError)))
		b.hear(b.user, track("A", "", "T"), track("B", "", "U"))
		b.tick()
		require.Equal(t, []string{"artist A"}, b.facts.calls())
		require.Equal(t,
			enrich.Progress{Waiting: 4, PutOff: 1}, b.progress("facts"), "an outage is no failure of the entity")
		pass(time.Minute)
		require.Equal(t,
			[]string{"track A/T", "artist B", "track B/U"}, b.facts.calls(), "after the backoff, before the next tick")
		pass(5 * time.Hour)
		require.InDelta(t, 4, len(b.facts.calls()), 1, "about once an hour")
	})
}

func TestASourceThatAsksToWaitStopsNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.hear(b.user, track("A", "First", "T"))
		b.tick()
		b.facts.calls()
		b.art.calls()
		b.facts.answers(func(library.Entity) (library.Facts, error) { return library.Facts{}, errBusy })
		b.hear(b.user, track("A", "Second", "U"))
		began := time.Now()
		b.tick()
		require.Equal(t, []string{"album A/Second"}, b.facts.calls())
		pass(50 * time.Second)
		b.tick()
		require.Empty(t, b.facts.calls(), "not before the minute is over")
		state, _ := b.guard.StateForAll(b.provider[0])
		require.Equal(t, backoff.Held, state.Kind)
		b.facts.answers(knows)
		time.Sleep(time.Until(began.Add(65 * time.Second)))
		settle()
		require.Equal(t,
			[]string{"album A/Second", "track A/U"}, b.facts.calls(), "the same task first, before the next tick")
		require.Equal(t, []string{"album A/Second"}, b.art.calls())

		// The other way round: no pictures for an hour, while facts go on.
		b.art.answers(func(library.Entity) (library.Facts, error) {
			return library.Facts{}, &keys.Error{
				Shortage: keys.Shortage{
					Keys:     2,
					Category: resilience.Quota,
					Until:    time.Now().Add(30 * time.Minute),
				},
			}
		})
		b.hear(b.user, track("C", "Third", "V"), track("D", "", "W"))
		b.tick()
		require.Len(t, b.facts.calls(), 5)
		require.Len(t, b.art.calls(), 1)
		require.Equal(t, 3, b.progress("art").Waiting)
		pass(25 * time.Minute)
		require.Empty(t, b.art.calls())
		b.art.answers(func(library.Entity) (library.Facts, error) { return library.Facts{}, library.ErrNotThere })
		pass(10 * time.Minute)
		require.Len(t, b.art.calls(), 3)
	})
}

func TestAStoppedSourceGoesOnAfterARetry(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.facts.answers(func(library.Entity) (library.Facts, error) {
			return library.Facts{}, &resilience.SettingError{Setting: "contact",
				Problem: words.Plain("MusicBrainz blocks us.")}
		})
		b.hear(b.user, track("A", "", "T"))
		b.tick()
		pass(day)
		require.Equal(t, []string{"artist A"}, b.facts.calls())
		require.Equal(t, enrich.Progress{Waiting: 2}, b.progress("facts"))
		b.facts.answers(knows)
		_, held := b.guard.RetryForAll(t.Context(), b.provider[0])
		require.False(t, held)
		require.NoError(t, b.Retry(t.Context(), "facts"))
		settle()
		require.Equal(t, enrich.Progress{Done: 2}, b.progress("facts"))
	})
}

func TestARestartContinuesWhereItEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.facts.slowly(time.Second)
		want := []string{"artist A"}
		for i := range 9 {
			b.hear(b.user, track("A", "", fmt.Sprint("T", i)))
			want = append(want, fmt.Sprint("track A/T", i))
			time.Sleep(time.Hour)
		}
		settle()
		b.facts.calls()
		b.hear(b.user, track("B", "", "U"), track("C", "", "V"), track("D", "", "W"))
		b.Tick()
		time.Sleep(2500 * time.Millisecond)
		began := time.Now()
		b.stop()
		require.Less(t, time.Since(began), time.Second, "it ends with the call under way")
		asked := b.facts.calls()
		require.Equal(t, []string{"artist B", "track B/U", "artist C"}, asked)
		b.restart()
		pass(10 * time.Second)
		require.Equal(t,
			[]string{"artist C", "track C/V", "artist D", "track D/W"}, b.facts.calls(),
			"the canceled task again, the answered ones not",
		)
		require.Equal(t, len(want)+6, b.progress("facts").Done)
	})
}

func TestASourceThatIsSetUpLaterIsAskedAboutAll(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.facts.answers(but("artist B", library.ErrNotThere))
		missing := *b.provider[1]
		missing.Missing = []string{"providers.art.keys"}
		b.services.Replace(&missing)
		b.hear(b.user, track("A", "First", "T"), track("B", "", "U"))
		b.tick()
		require.Len(t, b.facts.calls(), 5)
		require.Zero(t, b.progress("art").Total(), "no task for a source that is not set up")
		b.services.Replace(b.provider[1])
		b.tick()
		require.Equal(t, []string{"artist A", "album A/First"}, b.art.calls())
		require.Equal(t, enrich.Progress{Done: 2, NotThere: 1}, b.progress("art"))
		require.Empty(t, b.facts.calls())
	})
}

func TestProgressIsPublishedButNotTooOften(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.facts.slowly(500 * time.Millisecond)
		for i := range 20 {
			b.hear(b.user, track(fmt.Sprint("A", i), "", fmt.Sprint("T", i)))
		}
		watch := b.bus.Subscribe(b.bob)
		defer watch.Close()
		b.Tick()
		pass(5 * time.Second)
		require.True(t, b.Running("facts"))
		pass(time.Minute)
		require.False(t, b.Running("facts"))
		require.False(t, b.Running("nobody"))
		var done []int
		shown := map[string]int{}
		all := 0
		for len(watch.C) > 0 {
			all++
			switch e := <-watch.C; {
			case e.Type == events.Progress && e.Connection == "facts":
				require.Equal(t, library.Enrichment, e.Stream)
				require.Equal(t, 40, e.Total)
				done = append(done, e.Done)
			case e.Type == events.Enrichment:
				shown[e.Connection.Provider()]++
			}
		}
		require.True(t, slices.IsSorted(done))
		require.Len(t, done, 10, "every two seconds")
		require.InDelta(t, 2, shown["facts"], 1)
		require.InDelta(t, 2, shown["art"], 1, "it follows in turns, not step by step")
		require.Less(t, all, 30)
	})
}

func TestAPanicOfAnAdapterPostponesTheTask(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.facts.answers(func(e library.Entity) (library.Facts, error) {
			if e.Kind == library.KindArtist {
				panic("a nil map")
			}
			return knows(e)
		})
		b.hear(b.user, track("A", "", "T"))
		b.tick()
		pass(time.Minute)
		require.Equal(t, []string{"artist A", "track A/T"}, b.facts.calls())
		require.Equal(t, enrich.Progress{Done: 1, Waiting: 1, PutOff: 1}, b.progress("facts"))
	})
}
