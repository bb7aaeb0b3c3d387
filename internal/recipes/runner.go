package recipes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"reprise/internal/library"
	"reprise/internal/listening"
)

// Store keeps recipes, and has what they are made of.
type Store interface {
	// AllRecipes returns those of all people.
	AllRecipes(context.Context) ([]Recipe, error)
	// Recipe returns one of a person's recipes, or library.ErrNotFound.
	Recipe(ctx context.Context, user, id int64) (Recipe, error)
	// RenewRecipe stores the tracks of a recipe's playlist and that it was renewed. Without tracks the playlist stays
	// as it is, if there is one. It returns ErrChanged if the recipe is no longer the same, and library.ErrNotFound if
	// it was deleted.
	RenewRecipe(ctx context.Context, r Recipe, tracks []library.Track) error
	// Columns returns what a person has heard, in order of time, and Meanings what that is.
	Columns(ctx context.Context, user int64) ([]*listening.Columns, error)
	Meanings(context.Context) (*listening.Music, error)
	// Opinions returns spellings of the songs that a person loves, and of those that they dislike or anybody else who
	// shares their listening.
	Opinions(ctx context.Context, user int64) (loved, disliked []uint32, err error)
	// OwnTracks returns the ids of the tracks that a library of a person has.
	OwnTracks(ctx context.Context, user int64, conn library.ConnectionID) (map[uint32]bool, error)
	// TracksSpelt returns the tracks of spellings.
	TracksSpelt(ctx context.Context, ids []int64) (map[int64]library.Track, error)
	// ZoneOf returns the time zone in which a person's days begin, the server's if they have chosen none.
	ZoneOf(ctx context.Context, user int64) (*time.Location, error)
}

// lookEvery is how often recipes are looked at. The shortest of their periods is a day.
const lookEvery = time.Hour

// Maker makes the playlists of recipes. It is safe for concurrent use.
type Maker struct {
	store Store
	log   *slog.Logger
	turn  chan struct{} // what a person has heard is held once

	mu   sync.Mutex
	kept map[int64]renewal // by recipe: what made its playlist as it is now
}

// renewal is what a recipe chose when it was renewed.
type renewal struct {
	recipe Recipe
	songs  []Chosen
}

// mostKept is how many renewals are kept, each of at most some hundred songs.
const mostKept = 100

// New returns a Maker.
func New(store Store, log *slog.Logger) *Maker {
	return &Maker{store: store, log: log, turn: make(chan struct{}, 1), kept: map[int64]renewal{}}
}

// Chosen is a song of a recipe with its track.
type Chosen struct {
	Song
	library.Track
}

// Choose returns the songs that a recipe wants now.
func (m *Maker) Choose(ctx context.Context, r Recipe) ([]Chosen, error) {
	return m.choose(ctx, r, time.Now())
}

// Renewal returns the songs that a recipe wanted when it was renewed last, by the history and the names of today. Those
// that it finds are kept until the next renewal.
func (m *Maker) Renewal(ctx context.Context, r Recipe) ([]Chosen, error) {
	m.mu.Lock()
	kept, ok := m.kept[r.ID]
	m.mu.Unlock()
	if ok && kept.recipe == r {
		return kept.songs, nil
	}
	songs, err := m.choose(ctx, r, r.Renewed)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.kept) >= mostKept {
		clear(m.kept)
	}
	m.kept[r.ID] = renewal{r, songs}
	return songs, nil
}

// choose is Choose at a time.
func (m *Maker) choose(ctx context.Context, r Recipe, at time.Time) ([]Chosen, error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	zone, err := m.store.ZoneOf(ctx, r.User)
	if err != nil {
		return nil, err
	}
	all, err := m.store.Columns(ctx, r.User)
	if err != nil {
		return nil, err
	}
	music, err := m.store.Meanings(ctx)
	if err != nil {
		return nil, err
	}
	loved, disliked, err := m.store.Opinions(ctx, r.User)
	if err != nil {
		return nil, err
	}
	tracks := func(spellings []uint32) map[uint32]bool {
		of := make(map[uint32]bool, len(spellings))
		for _, s := range spellings {
			_, _, track := music.Of(s)
			of[track] = true
		}
		return of
	}
	facts := Facts{Loved: tracks(loved), Disliked: tracks(disliked)}
	if r.Library != "" {
		if facts.Own, err = m.store.OwnTracks(ctx, r.User, r.Library); err != nil {
			return nil, err
		}
	}
	songs := r.Choose(all, music, facts, at.In(zone))
	ids := make([]int64, len(songs))
	for i, s := range songs {
		ids[i] = int64(s.Spelling)
	}
	named, err := m.store.TracksSpelt(ctx, ids)
	chosen := make([]Chosen, 0, len(songs))
	for _, s := range songs {
		if t, ok := named[int64(s.Spelling)]; ok {
			chosen = append(chosen, Chosen{s, t})
		}
	}
	return chosen, err
}

// Renew makes the playlist of a recipe what it wants now. What it was before is kept as a version of it.
func (m *Maker) Renew(ctx context.Context, r Recipe) error {
	chosen, err := m.Choose(ctx, r)
	if err != nil {
		return err
	}
	tracks := make([]library.Track, len(chosen))
	for i, c := range chosen {
		tracks[i] = c.Track
		tracks[i].Duration = cmp.Or(c.Track.Duration, c.Length)
		tracks[i].SourceID = "" // it is of no service
	}
	return m.store.RenewRecipe(ctx, r, tracks)
}

// Run renews recipes when they are due, until ctx ends.
func (m *Maker) Run(ctx context.Context) error {
	for ticker := time.NewTicker(lookEvery); ; {
		if err := m.look(ctx); err != nil && ctx.Err() == nil {
			m.log.Error("recipes cannot be renewed", "err", err)
		}
		select {
		case <-ctx.Done():
			ticker.Stop()
			return nil
		case <-ticker.C:
		}
	}
}

// look renews what is due.
func (m *Maker) look(ctx context.Context) error {
	all, err := m.store.AllRecipes(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range all {
		if err := m.renewDue(ctx, r.User, r.ID); err != nil {
			errs = append(errs, fmt.Errorf("recipe %d: %w", r.ID, err))
		}
	}
	return errors.Join(errs...)
}

// renewDue renews a recipe if it is due. One that its person has just deleted or changed is left to them.
func (m *Maker) renewDue(ctx context.Context, user, id int64) error {
	zone, err := m.store.ZoneOf(ctx, user)
	if err != nil {
		return err
	}
	r, err := m.store.Recipe(ctx, user, id)
	if err == nil && r.Due(time.Now().In(zone)) {
		err = m.Renew(ctx, r)
	}
	if errors.Is(err, library.ErrNotFound) || errors.Is(err, ErrChanged) {
		err = nil
	}
	return err
}
