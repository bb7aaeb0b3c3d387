package delivery

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Archived is the report of a month of the archive.
type Archived struct {
	Name    string `json:"name"`
	Listens int    `json:"listens"`
	Bytes   int    `json:"bytes"`
	SHA256  string `json:"sha256"`
}

// monthStore reads a month's listens.
type monthStore interface {
	// Month yields the listens with from ≤ played at < to, the oldest first, with what rules did to them.
	Month(ctx context.Context, user int64, from, to time.Time) iter.Seq2[library.StoredListen, error]
}

// MonthOf returns the month, in UTC, whose part of the archive a play belongs to.
func MonthOf(at time.Time) string { return at.UTC().Format(monthForm) }

const monthForm = "2006-01"

// monthDeliverer delivers months of the archive.
type monthDeliverer struct{ copyWriter }

// deliver writes a month of a person's listens as one object: JSON Lines, one listen per line, the oldest first.
func (d *monthDeliverer) deliver(ctx context.Context, c library.Connection, a *attempt) error {
	kept, wanted, err := d.read(ctx, a)
	if err != nil || !wanted {
		return err
	}
	from, err := time.Parse(monthForm, a.Ref)
	if err != nil {
		return refuse(words.New("delivery.month.unknown", "Ref", a.Ref))
	}
	body, listens, err := d.lines(ctx, a.User, from)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	report := Archived{Name: objectName(a.User, from), Listens: listens, Bytes: len(body),
		SHA256: hex.EncodeToString(sum[:])}
	var refused error
	subject := a.subject(c)
	err = d.guard.Do(ctx, subject, func(ctx context.Context, _ resilience.Call, p providers.Adapter) error {
		store, ok := p.(providers.ObjectStore)
		if !ok {
			return fmt.Errorf("%s: adapter keeps no objects", c.ID)
		}
		var err error
		kept.RemoteID, err = store.Keep(ctx, report.Name, "application/x-ndjson", body)
		if resilience.IsItem(err) {
			refused = err
			return nil
		}
		return err
	})
	if err := errors.Join(err, refused); err != nil {
		return err
	}
	return d.finish(ctx, a, kept, report)
}

func objectName(user int64, month time.Time) string {
	return fmt.Sprintf("listens/user-%d/%s.jsonl", user, month.Format(monthForm))
}

// lines returns a month's listens as JSON Lines, and how many they are.
func (d *monthDeliverer) lines(ctx context.Context, user int64, from time.Time) (body []byte, listens int, err error) {
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
