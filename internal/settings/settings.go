// Package settings holds what the installation is set to, and changes it while the server runs.
//
// A change is checked as a whole with the checks of the file, stored in one transaction with its entries of the log of
// activity, and then applied: every part gets its new values from one function. If the process ends between storing and
// applying, the next start applies it. A value that the file or the environment gives cannot be changed here.
package settings

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"reprise/internal/activity"
	"reprise/internal/config"
	"reprise/internal/providers"
)

// Stored is a setting as the database keeps it.
type Stored struct {
	Path   string
	Value  string
	Secret bool // the database seals it
	Gone   bool // it goes back to its default
}

// Store keeps the settings that administrators have changed.
type Store interface {
	// Settings returns their texts by path, and the paths of secrets whose key is lost.
	Settings(context.Context) (values map[string]string, lost []string, err error)
	// SaveSettings stores changes and entries of the log of activity, all or nothing, by the actor in ctx.
	SaveSettings(context.Context, []Stored, []activity.Entry) error
}

// Apply gives every part of the program its new values. Its error is logged: what it could not apply, the next start
// does.
type Apply func(ctx context.Context, before, now config.Config) error

// Options are what a Settings is made from.
type Options struct {
	Layers *config.Layers // all but the database's
	Known  []providers.Description
	Store  Store
	Log    *slog.Logger
	// Fill, if set, completes a Config with what is known at the start only.
	Fill func(*config.Config)
}

// Settings holds the settings. It is safe for concurrent use.
type Settings struct {
	opt      Options
	changing sync.Mutex // one change at a time
	apply    atomic.Pointer[Apply]
	now      atomic.Pointer[state]
}

// state is what holds now. It is never changed in place.
type state struct {
	stored map[string]string // in the database
	result config.Result
}

// Open reads the settings of the database, and returns those of all layers. What is wrong in the database is logged,
// and defaults take its place; the error is what is wrong elsewhere.
func Open(ctx context.Context, o Options) (*Settings, error) {
	s := &Settings{opt: o}
	stored, lost, err := o.Store.Settings(ctx)
	if err != nil {
		return nil, err
	}
	now, err := s.with(stored)
	if err != nil {
		return nil, err
	}
	for _, f := range now.result.Faults {
		o.Log.Warn("a stored setting is wrong and is not used", "settings", f.Paths, "problem", f.Text.String())
	}
	for _, path := range lost {
		o.Log.Warn("a stored secret cannot be read with this secret key; enter it again", "setting", path)
	}
	s.now.Store(now)
	return s, nil
}

func (s *Settings) with(stored map[string]string) (*state, error) {
	r, err := s.opt.Layers.With(stored)
	if s.opt.Fill != nil {
		s.opt.Fill(&r.Config)
	}
	return &state{stored: stored, result: r}, err
}

// Config returns the settings that hold now. The caller must not change what is in it.
func (s *Settings) Config() config.Config { return s.now.Load().result.Config }

// Hold reports whether the stored settings are still those that were read, or changed here. On a server beside others,
// one of those may have changed them.
func (s *Settings) Hold(ctx context.Context) (bool, error) {
	stored, _, err := s.opt.Store.Settings(ctx)
	return err == nil && maps.Equal(stored, s.now.Load().stored), err
}

// Follow has every later change applied by f. Changes before it are only stored.
func (s *Settings) Follow(f Apply) { s.apply.Store(&f) }

// Change changes settings by their paths: to a text, or with nil back to the default. Lists have commas or line breaks
// between their items. A masked secret (see Item) keeps the stored one that it masks. The actor in ctx is noted as
// who did it. A *Refused says what is wrong; nothing is stored then. When it returns nil, the change is in effect.
func (s *Settings) Change(ctx context.Context, changes map[string]*string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	before := s.now.Load()
	next, changed, err := s.checked(before, changes)
	if err != nil || len(changed) == 0 {
		return err
	}
	if err := s.opt.Store.SaveSettings(ctx, changed, notes(changed)); err != nil {
		return err
	}
	s.now.Store(next)
	if f := s.apply.Load(); f != nil {
		err := (*f)(context.WithoutCancel(ctx), before.result.Config, next.result.Config)
		if err != nil {
			s.opt.Log.Error("a changed setting takes full effect after the next start", "err", err)
		}
	}
	return nil
}

// Check does what Change does without storing anything, and returns what the settings would be.
func (s *Settings) Check(changes map[string]*string) (config.Config, error) {
	next, _, err := s.checked(s.now.Load(), changes)
	if err != nil {
		return config.Config{}, err
	}
	return next.result.Config, nil
}

// checked returns what the settings are after changes, and what is to be stored.
func (s *Settings) checked(before *state, changes map[string]*string) (*state, []Stored, error) {
	all := map[string]config.Setting{}
	for _, d := range config.All(s.opt.Known) {
		all[d.Path] = d
	}
	refused := &Refused{Fields: Problems{}}
	stored := maps.Clone(before.stored)
	var changed []Stored
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		d, known := all[path]
		if !known {
			refused.unknown(path, slices.Collect(maps.Keys(all)))
			continue
		}
		if problem := s.fixed(d); !problem.IsZero() {
			refused.fixed(path, problem)
			continue
		}
		text, err := unmasked(d, changes[path], before.stored[path])
		if err != nil {
			refused.add(path, err)
			continue
		}
		old, had := before.stored[path]
		if gone := text == d.Default || text == ""; gone && had {
			delete(stored, path)
			changed = append(changed, Stored{Path: path, Gone: true})
		} else if !gone && text != old {
			stored[path] = text
			changed = append(changed, Stored{Path: path, Value: text, Secret: d.Secret()})
		}
	}
	next, err := s.with(stored)
	if _, ours := errors.AsType[config.Problems](err); err != nil && !ours {
		return nil, nil, err
	}
	for _, f := range next.result.Faults {
		if slices.ContainsFunc(f.Paths, func(path string) bool { _, now := changes[path]; return now }) {
			refused.fault(f)
		}
	}
	if refused.any() {
		return nil, nil, refused
	}
	return next, changed, nil
}

// notes returns the entries of the log of activity: what was changed, and never to what.
func notes(changed []Stored) []activity.Entry {
	all := make([]activity.Entry, len(changed))
	for i, c := range changed {
		all[i] = activity.Entry{Action: activity.SettingChanged, Subject: c.Path}
		if c.Gone {
			all[i].Action = activity.SettingReset
		}
	}
	return all
}
