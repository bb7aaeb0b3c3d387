package delivery

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/match"
)

// answerStore is what answering questions needs of the store.
type answerStore interface {
	// Question returns one question, or library.ErrNotFound.
	Question(ctx context.Context, user int64, conn library.ConnectionID, id int64) (Question, error)
	Answer(context.Context, Question) error
	DropQuestion(ctx context.Context, user int64, conn library.ConnectionID, id int64) error
	// DeadListens returns what the dead letters with one listen at a connection are about, by their ids.
	DeadListens(ctx context.Context, user int64, conn library.ConnectionID) (map[int64]library.Track, error)
	// ForgetMisses deletes which tracks a connection, or every one if conn is empty, does not have.
	ForgetMisses(ctx context.Context, user int64, conn library.ConnectionID) error
	Copies(ctx context.Context, user int64, kind string) ([]Copy, error)
	// CopyAgain is WantCopy for what a person has not asked for: what they have changed there stays noted.
	CopyAgain(context.Context, Draft) error
}

// ErrNotOffered reports that a person chose a song that was not among those to choose from.
var ErrNotOffered = errors.New("this song was not offered")

// AnswerSong keeps which song it is that a question is about, by its SourceID, or with an empty one that it is none of
// those that were offered. It sends again what waits for the answer. It returns library.ErrNotFound or ErrNotOffered.
func (d *Deliveries) AnswerSong(ctx context.Context, user int64, conn library.ConnectionID, id int64,
	chosen string) error {
	q, err := d.Store.Question(ctx, user, conn, id)
	if err != nil {
		return err
	}
	before := q.Chosen
	q.Answer, q.Chosen, q.AnsweredAt = NoneOfThem, chosen, time.Now()
	switch {
	case chosen == "":
		for _, t := range q.Offered {
			if !slices.Contains(q.Refused, t.SourceID) {
				q.Refused = append(q.Refused, t.SourceID)
			}
		}
	case bySourceID(q.Offered, chosen) < 0:
		return ErrNotOffered
	default:
		q.Answer = Chose
		q.Refused = slices.DeleteFunc(q.Refused, func(id string) bool { return id == chosen })
	}
	return errors.Join(d.Store.Answer(ctx, q), d.sendAgain(ctx, q, before))
}

// ForgetSong deletes a question with its answer, so that the song is looked for as if it never had been.
func (d *Deliveries) ForgetSong(ctx context.Context, user int64, conn library.ConnectionID, id int64) error {
	q, err := d.Store.Question(ctx, user, conn, id)
	if err != nil {
		return err
	}
	return errors.Join(d.Store.DropQuestion(ctx, user, conn, id), d.sendAgain(ctx, q, q.Chosen))
}

// sendAgain makes due what a question was about: dead letters, and copies of playlists. before is the song that was
// chosen until now.
func (d *Deliveries) sendAgain(ctx context.Context, q Question, before string) error {
	err := d.Store.ForgetMisses(ctx, q.User, q.Connection)
	if before != "" {
		err = errors.Join(err, d.Store.ForgetMatches(ctx, q.User, q.Connection, []string{before}))
	}
	dead, e := d.Store.DeadListens(ctx, q.User, q.Connection)
	err = errors.Join(err, e)
	for id, t := range dead {
		if match.Key(t) == match.Key(q.Track) {
			_, e := d.Store.Redrive(ctx, Filter{User: q.User, ID: id, Connection: q.Connection}, false)
			err = errors.Join(err, e)
		}
	}
	copies, e := d.Store.Copies(ctx, q.User, WritePlaylist)
	err = errors.Join(err, e)
	for _, c := range copies {
		if c.Connection == q.Connection && (c.Written != c.Wanted || ReportOf(c).asks(q, before)) {
			err = errors.Join(err, d.Store.CopyAgain(ctx, Draft{User: c.User, Connection: c.Connection, Kind: c.Kind,
				Ref: c.Ref}))
		}
	}
	err = errors.Join(err, d.Store.RetryLove(ctx, q.User, q.Connection, q.Track))
	d.publish(q.User, q.Connection)
	return err
}

// asks reports whether a track of the report waits for the answer to a question, or has been chosen by the last one.
func (r Report) asks(q Question, before string) bool {
	return slices.ContainsFunc(r.Tracks, func(t ReportTrack) bool {
		return t.Question == strconv.FormatInt(q.ID, 10) || before != "" && t.How == match.ByChoice
	})
}
