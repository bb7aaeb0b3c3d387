package delivery

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// Archived is the report of a month of the archive.
type Archived struct {
	Name    string `json:"name"`
	Listens int    `json:"listens"`
	Bytes   int    `json:"bytes"`
	SHA256  string `json:"sha256"`
}

// carryMonth writes a month of a person's listens as one object: JSON Lines, one listen per line, the oldest first.
func (d *Deliveries) carryMonth(ctx context.Context, c library.Connection, j *job) error {
	kept, err := d.store.Copy(ctx, j.User, j.Provider, j.Kind, j.Ref)
	j.wanted = kept.Wanted
	if errors.Is(err, library.ErrNotFound) {
		return d.unwanted(ctx, j)
	}
	if err != nil {
		return err
	}
	from, err := time.Parse(monthForm, j.Ref)
	if err != nil {
		return refuse("This is no month: " + j.Ref)
	}
	body, listens, err := d.lines(ctx, j.User, from)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	report := Archived{Name: objectName(j.User, from), Listens: listens, Bytes: len(body), SHA256: hex.EncodeToString(sum[:])}
	var refused error
	subject := providers.OfConnection(c, library.Deliveries)
	err = d.guard.Do(ctx, subject, func(ctx context.Context, a providers.Adapter) error {
		store, ok := a.(providers.ObjectStore)
		if !ok {
			return fmt.Errorf("%s: adapter keeps no objects", c.Provider)
		}
		var err error
		if kept.RemoteID, err = store.Keep(ctx, report.Name, "application/x-ndjson", body); resilience.IsItem(err) {
			refused = err
			return nil
		}
		return err
	})
	if err := errors.Join(err, refused); err != nil {
		return err
	}
	return d.finish(ctx, j, kept, report)
}

// finish notes that a copy has been written, and goes on when ours has changed meanwhile.
func (d *Deliveries) finish(ctx context.Context, j *job, c Copy, report any) error {
	c.Report = jsonOf(report)
	ended, err := d.store.EndCopy(context.WithoutCancel(ctx), j.ID, c, true)
	if err == nil && !ended {
		return errAgain
	}
	if err == nil {
		d.publish(j.User, j.Provider)
	}
	return err
}

// unwanted ends the delivery of a copy that nobody wants any more.
func (d *Deliveries) unwanted(ctx context.Context, j *job) error {
	ended, err := d.store.EndCopy(context.WithoutCancel(ctx), j.ID, Copy{User: j.User, Provider: j.Provider, Kind: j.Kind, Ref: j.Ref}, true)
	if err == nil && !ended { // it is wanted again
		return errAgain
	}
	return err
}

func objectName(user int64, month time.Time) string {
	return fmt.Sprintf("listens/user-%d/%s.jsonl", user, month.Format(monthForm))
}

func (d *Deliveries) lines(ctx context.Context, user int64, from time.Time) (body []byte, listens int, err error) {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	for l, err := range d.store.Month(ctx, user, from, from.AddDate(0, 1, 0)) {
		if err == nil {
			err = lines.Encode(l.Record())
		}
		if err != nil {
			return nil, 0, err
		}
		listens++
	}
	return b.Bytes(), listens, nil
}
