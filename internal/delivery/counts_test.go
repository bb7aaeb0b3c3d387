package delivery

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// taker is a store that accepts everything, and whose copies have changed meanwhile or not.
type taker struct {
	Store
	changed bool
	err     error
}

func (s taker) Split(context.Context, Draft, int64, [][]int64, []Refused) error { return s.err }
func (s taker) EndCopy(context.Context, int64, Copy, bool) (ended bool, err error) {
	return !s.changed, s.err
}

func counted(t *testing.T, s taker) (*worker, func(t *testing.T) string) {
	m := metrics.New(metrics.Catalogue{DeliveryKinds: Kinds})
	dead := func(t *testing.T) string {
		w := httptest.NewRecorder()
		m.Handler(nil, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		_, after, ok := strings.Cut(w.Body.String(), `reprise_dead_letters_total{category="item"} `)
		require.True(t, ok)
		n, _, _ := strings.Cut(after, "\n")
		return n
	}
	radio := &providers.Provider{Description: providers.Description{Name: "radio"}}
	return &worker{registry: providers.NewRegistry(radio), store: s,
		log: slog.New(slog.DiscardHandler), metrics: m, opt: newOptions(Options{})}, dead
}

func TestEveryDeadLetterIsCountedOnce(t *testing.T) {
	t.Parallel()
	plays := []library.StoredListen{{ID: 1}, {ID: 2}, {ID: 3}}
	bad := refuse(words.Plain("It is too old."))
	for _, c := range []struct {
		what     string
		store    taker
		outcomes []error
		kind     string
		want     string
	}{
		{"two of three are put aside", taker{}, []error{nil, bad, bad}, Scrobble, "2"},
		{"all are bad: the last one dies as the delivery itself", taker{}, []error{bad, bad, bad}, Scrobble, "3"},
		{"what could not be stored has not happened", taker{err: errors.New("disk")}, []error{nil, bad, bad},
			Scrobble, "0"},
		{"a copy that nobody wants otherwise", taker{}, nil, WritePlaylist, "1"},
		{"a copy of what has changed meanwhile goes on", taker{changed: true}, nil, WritePlaylist, "0"},
	} {
		w, dead := counted(t, c.store)
		a := attempt{Taken: Taken{User: 1, Connection: "radio", ID: 7, Kind: c.kind, Number: 1, Most: 3}}
		err := bad
		if c.outcomes != nil {
			more, dead, refused := divide(plays, c.outcomes)
			d := &listenDeliverer{store: c.store, metrics: w.metrics}
			err = errors.Join(d.split(t.Context(), Draft{}, a.ID, more, dead), refused)
		}
		_, _ = w.settle(t.Context(), &a, &Share{}, err)
		require.Equal(t, c.want, dead(t), c.what)
	}
}

func TestEveryOutcomeHasOneResult(t *testing.T) {
	t.Parallel()
	stopped := &backoff.NotBeforeError{State: backoff.State{Kind: backoff.Stopped}}
	held := &backoff.NotBeforeError{State: backoff.State{Kind: backoff.Held, Until: time.Now().Add(time.Hour)}}
	for _, c := range []struct {
		err  error
		last bool
		want string
	}{
		{nil, false, "done"}, {errAgain, false, "done"}, {stopped, false, "parked"}, {held, false,
			"postponed"}, {context.Canceled, false, "canceled"},
		{&resilience.AnswerError{Status: 503}, false, "retrying"}, {&resilience.AnswerError{Status: 503}, true, "dead"},
		{&resilience.AnswerError{Status: 401}, false, "parked"}, {refuse(words.Plain("No.")), false, "dead"},
	} {
		w, _ := counted(t, taker{})
		a := attempt{Taken: Taken{User: 1, Connection: "radio", Kind: Scrobble, Number: 1, Most: 3}}
		if c.last {
			a.Number = a.Most
		}
		result, _ := w.settle(t.Context(), &a, &Share{}, c.err)
		require.Equal(t, c.want, result, "%v", c.err)
		require.Contains(t, metrics.DeliveryResults, result)
	}
}
