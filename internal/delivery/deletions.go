package delivery

import (
	"context"
	"errors"
	"fmt"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// DeletedAtOnce is how many listens one delivery deletes at most. Services delete them one by one, at their pace, and
// what is new does not wait for long behind them.
const DeletedAtOnce = 50

// Deletion is a listen that a service is to delete.
type Deletion struct {
	Listen    int64
	SourceIDs []string // what it is called there
	Asked     int      // listens of the delivery whose deletion the service has accepted
}

// deletionStore is what deleting listens needs of the store.
type deletionStore interface {
	// NextDeletion returns the listen of a delivery with the lowest number above after whose service has not accepted
	// its deletion yet; the zero value at the end.
	NextDeletion(ctx context.Context, id, after int64) (Deletion, error)
	// Deleted notes that the service has accepted the deletion of a listen.
	Deleted(ctx context.Context, id, listen int64) error
	Split(ctx context.Context, from Draft, id int64, more [][]int64, dead []Refused) error
}

// deletionDeliverer deletes listens at services.
type deletionDeliverer struct {
	guard   Guard
	store   deletionStore
	metrics attemptCounts
}

// deliver deletes the listens of a delivery one by one. Each is noted at once, so that the next attempt goes on behind
// it, and looked up just before, because its person may have brought it back meanwhile.
func (d *deletionDeliverer) deliver(ctx context.Context, c library.Connection, a *attempt) error {
	var dead []Refused
	var last error
	did := 0
	after := context.WithoutCancel(ctx)
	err := d.guard.Do(ctx, a.subject(c),
		func(ctx context.Context, _ resilience.Call, p providers.Adapter) error {
			there, ok := p.(providers.ListenDeleter)
			if !ok {
				return fmt.Errorf("%s: adapter deletes no listens", c.ID)
			}
			for at := int64(0); ; {
				next, err := d.store.NextDeletion(ctx, a.ID, at)
				if err != nil || next.Listen == 0 {
					return err
				}
				at = next.Listen
				did = next.Asked
				err = deleteOne(ctx, there, next.SourceIDs)
				if resilience.IsItem(err) {
					last = err
					dead = append(dead, Refused{at, explain(resilience.VerdictOf(err), err)})
					continue
				}
				if err == nil {
					err = d.store.Deleted(after, a.ID, at)
				}
				if err != nil {
					return err
				}
				did++
			}
		})
	if len(dead) > 0 && did == 0 && err == nil { // one stays, so that no delivery is left empty
		dead = dead[:len(dead)-1]
		err = last
	}
	if len(dead) == 0 {
		return err
	}
	from := Draft{User: a.User, Connection: a.Connection, Kind: a.Kind, Ref: a.Ref, History: a.History}
	split := d.store.Split(after, from, a.ID, nil, dead)
	if split == nil {
		for range dead {
			d.metrics.DeadLetter(resilience.Item)
		}
	}
	return errors.Join(split, err)
}

// deleteOne deletes all that a service has of a listen. It is refused if the service refuses all of that.
func deleteOne(ctx context.Context, p providers.ListenDeleter, ids []string) error {
	var refused error
	some := len(ids) == 0 // nothing is left to delete
	for _, id := range ids {
		switch err := p.DeleteListen(ctx, id); {
		case err == nil:
			some = true
		case !resilience.IsItem(err):
			return err
		default:
			refused = err
		}
	}
	if some {
		return nil
	}
	return refused
}

// MayDelete returns nil if listens can be deleted at some connections of a person: else ErrNotTaken,
// library.ErrNotFound, or a *BacklogError.
func (d *Deliveries) MayDelete(ctx context.Context, user int64, conns []library.ConnectionID) error {
	for _, conn := range conns {
		if p := d.Registry.Get(conn.Provider()); p == nil || !p.Takes.Deletions {
			return ErrNotTaken
		}
		if _, err := d.Store.Connection(ctx, user, conn); err != nil {
			return err
		}
	}
	if len(conns) == 0 {
		return nil
	}
	return d.room(ctx)
}
