// Package store is the whole database: it opens the parts, one package for each subject, and does what concerns several
// of them, such as removing a person or copying everything.
//
// It promises that related changes are written in one transaction, that secrets are sealed before they reach the
// disk, and that an error of the database is a *resilience.LocalError whose sentence says what to do.
//
// A Store is safe for concurrent use.
package store

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"reprise/internal/store/audits"
	"reprise/internal/store/catalogue"
	"reprise/internal/store/connections"
	"reprise/internal/store/copies"
	"reprise/internal/store/corrections"
	"reprise/internal/store/db"
	"reprise/internal/store/deletions"
	"reprise/internal/store/digests"
	"reprise/internal/store/enrichment"
	"reprise/internal/store/forwarding"
	"reprise/internal/store/imports"
	"reprise/internal/store/intake"
	"reprise/internal/store/listens"
	"reprise/internal/store/lookup"
	"reprise/internal/store/loves"
	"reprise/internal/store/notices"
	"reprise/internal/store/outbox"
	"reprise/internal/store/people"
	"reprise/internal/store/players"
	"reprise/internal/store/playlists"
	"reprise/internal/store/playrules"
	"reprise/internal/store/recipes"
	"reprise/internal/store/reports"
	"reprise/internal/store/rules"
	"reprise/internal/store/runs"
	"reprise/internal/store/sendings"
	"reprise/internal/store/servers"
	"reprise/internal/store/settings"
	"reprise/internal/store/sharing"
	"reprise/internal/store/songs"
	"reprise/internal/store/statistics"
)

// The parts of a Store, named so that they hide none of the methods.
type (
	peopleStore      = people.Store
	connectionsStore = connections.Store
	runsStore        = runs.Store
	settingsStore    = settings.Store
	catalogueStore   = catalogue.Store
	statisticsStore  = statistics.Store
	listensStore     = listens.Store
	sendingsStore    = sendings.Store
	outboxStore      = outbox.Store
	forwardingStore  = forwarding.Store
	deletionsStore   = deletions.Store
	copiesStore      = copies.Store
	serversStore     = servers.Store
	noticesStore     = notices.Store
	reportsStore     = reports.Store
	playlistsStore   = playlists.Store
	intakeStore      = intake.Store
	correctionsStore = corrections.Store
	enrichmentStore  = enrichment.Store
	rulesStore       = rules.Store
	lookupStore      = lookup.Store
	digestsStore     = digests.Store
	importsStore     = imports.Store
	playersStore     = players.Store
	lovesStore       = loves.Store
	auditsStore      = audits.Store
	recipesStore     = recipes.Store
	songsStore       = songs.Store
	playrulesStore   = playrules.Store
	sharingStore     = sharing.Store
)

// Store is an open database: all its parts together.
type Store struct {
	*db.DB
	*peopleStore
	*connectionsStore
	*runsStore
	*settingsStore
	*catalogueStore
	*statisticsStore
	*listensStore
	*sendingsStore
	*outboxStore
	*forwardingStore
	*deletionsStore
	*copiesStore
	*serversStore
	*noticesStore
	*reportsStore
	*playlistsStore
	*intakeStore
	*correctionsStore
	*enrichmentStore
	*rulesStore
	*lookupStore
	*digestsStore
	*importsStore
	*playersStore
	*lovesStore
	*auditsStore
	*recipesStore
	*songsStore
	*playrulesStore
	*sharingStore

	// restoredAt is when the database was put back from a copy; zero if it never was.
	restoredAt time.Time
}

// Options are the settings of a Store. Zero values mean the defaults.
type Options struct {
	db.Options
	Sending outbox.Options
}

// Open opens a database, creates it if there is none, and brings it up to date; see [db.Open].
func Open(ctx context.Context, at db.Place, key *db.Key, opt Options) (*Store, error) {
	d, err := db.Open(ctx, at, key, opt.Options)
	if err != nil {
		return nil, err
	}
	return open(ctx, d, opt)
}

// openWith is Open with other migrations than the program's.
func openWith(ctx context.Context, at db.Place, key *db.Key, opt Options, files fs.FS) (*Store, error) {
	d, err := db.OpenWith(ctx, at, key, opt.Options, files)
	if err != nil {
		return nil, err
	}
	return open(ctx, d, opt)
}

func open(ctx context.Context, d *db.DB, opt Options) (*Store, error) {
	s := parts(d)
	s.Configure(opt.Sending)
	var err error
	if !opt.Follower() {
		err = s.comeBack(ctx)
	}
	if err == nil && !opt.Shared {
		err = s.EndRenewals(ctx)
	}
	if err == nil {
		err = s.OpenQueue(ctx, opt.Server, opt.Follower())
	}
	if err == nil {
		err = s.Prove(ctx)
	}
	if err = s.Blame(ctx, err); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenBeside opens a database that a server may be using, for work on accounts: the store has no key and no queue.
// It does not change the schema, and refuses a database of another version.
func OpenBeside(ctx context.Context, at db.Place) (*Store, error) {
	d, err := db.OpenBeside(ctx, at)
	if err != nil {
		return nil, err
	}
	return parts(d), nil
}

// parts returns the parts of a database, each with those below it.
func parts(d *db.DB) *Store {
	s := &Store{DB: d}
	s.peopleStore = people.New(d)
	s.connectionsStore = connections.New(d)
	s.runsStore = runs.New(d)
	s.settingsStore = settings.New(d)
	s.catalogueStore = catalogue.New(d)
	s.statisticsStore = statistics.New(d, s.catalogueStore, s.peopleStore)
	s.listensStore = listens.New(d, s.catalogueStore, s.statisticsStore)
	s.outboxStore = outbox.New(d, s.connectionsStore, s.listensStore)
	s.sendingsStore = sendings.New(d)
	s.forwardingStore = forwarding.New(d, s.listensStore, s.outboxStore)
	s.deletionsStore = deletions.New(d, s.listensStore, s.outboxStore)
	s.copiesStore = copies.New(d, s.outboxStore)
	s.noticesStore = notices.New(d, s.outboxStore)
	s.reportsStore = reports.New(d, s.noticesStore)
	s.serversStore = servers.New(d)
	s.songsStore = songs.New(d)
	s.playlistsStore = playlists.New(d, s.copiesStore)
	s.intakeStore = intake.New(d, s.catalogueStore, s.outboxStore)
	s.playrulesStore = playrules.New(d)
	s.sharingStore = sharing.New(d)
	s.correctionsStore = corrections.New(d, s.catalogueStore, s.deletionsStore, s.intakeStore, s.listensStore,
		s.outboxStore, s.playrulesStore, s.statisticsStore)
	s.enrichmentStore = enrichment.New(d, s.catalogueStore, s.statisticsStore)
	s.rulesStore = rules.New(d, s.catalogueStore, s.enrichmentStore, s.statisticsStore)
	s.lookupStore = lookup.New(d, s.catalogueStore, s.listensStore, s.statisticsStore)
	s.digestsStore = digests.New(d, s.catalogueStore, s.statisticsStore)
	s.importsStore = imports.New(d, s.catalogueStore, s.intakeStore, s.outboxStore)
	s.playersStore = players.New(d, s.intakeStore)
	s.lovesStore = loves.New(d, s.copiesStore)
	s.auditsStore = audits.New(d, s.runsStore)
	s.recipesStore = recipes.New(d, s.playlistsStore)
	return s
}
