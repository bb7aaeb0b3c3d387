package connections

import (
	"context"
	"slices"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/server/deliveries"
)

// archivePart is the part of a connection's page about the archive there.
type archivePart struct {
	Months  []monthView // the newest first
	Earlier []monthView // the rest, folded
	Listens int
	Bytes   int
	Waiting int // months that are not up to date
	Dead    int // months that could not be written
}

type monthView struct {
	Name      string
	Object    string // its name in the archive
	Listens   int
	Bytes     int
	WrittenAt *string
	Waits     bool // it lacks newer listens
}

// monthsShown is the number of months that a connection's page shows unfolded.
const monthsShown = 12

func (h *page) archivePart(ctx context.Context, user int64, conn library.ConnectionID) (*archivePart, error) {
	copies, err := h.store.Copies(ctx, user, delivery.Archive)
	if err != nil {
		return nil, err
	}
	part := &archivePart{}
	for _, c := range slices.Backward(copies) {
		if c.Connection != conn {
			continue
		}
		a := delivery.ArchivedOf(c)
		m := monthView{Name: deliveries.MonthName(c.Ref), Object: a.Name, Listens: a.Listens, Bytes: a.Bytes,
			WrittenAt: core.Moment(c.WrittenAt), Waits: c.Written != c.Wanted}
		part.Listens, part.Bytes = part.Listens+a.Listens, part.Bytes+a.Bytes
		if m.Waits {
			part.Waiting++
		}
		part.Months = append(part.Months, m)
	}
	if len(part.Months) > monthsShown {
		part.Months, part.Earlier = part.Months[:monthsShown], part.Months[monthsShown:]
	}
	counts, err := h.store.CountDeliveries(ctx, delivery.Filter{User: user, Connection: conn,
		State: delivery.Dead})
	part.Dead = counts[delivery.Dead]
	return part, err
}
