package connections

import (
	"context"
	"slices"

	"github.com/a-h/templ"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/words"
	"reprise/web/ui"
)

// archivePart is the part of a connection's page about the archive there.
type archivePart struct {
	Sum     string   // what it holds; empty for nothing
	Dead    string   // how many months could not be written; empty for none
	Months  ui.Grid  // the newest first
	Earlier *ui.Grid // the rest, folded; nil for none
	Fold    string   // how many those are
}

// monthsShown is the number of months that a connection's page shows unfolded.
const monthsShown = 12

func (h *page) archivePart(ctx context.Context, user int64, conn library.ConnectionID) (*archivePart, error) {
	copies, err := h.store.Copies(ctx, user, delivery.Archive)
	if err != nil {
		return nil, err
	}
	var months []ui.Line
	var listens, bytes, waiting int
	for _, c := range slices.Backward(copies) {
		if c.Connection != conn {
			continue
		}
		a := delivery.ArchivedOf(c)
		listens, bytes = listens+a.Listens, bytes+a.Bytes
		if c.Written != c.Wanted {
			waiting++
		}
		months = append(months, monthLine(ctx, c, a))
	}
	counts, err := h.store.CountDeliveries(ctx, delivery.Filter{User: user, Connection: conn, State: delivery.Dead})
	if err != nil {
		return nil, err
	}
	part := &archivePart{Months: monthTable(ctx, months[:min(len(months), monthsShown)])}
	if len(months) > 0 {
		upToDate := words.New("connection.archive.current")
		if waiting > 0 {
			upToDate = words.New("connection.archive.behind", "Count", waiting)
		}
		part.Sum = words.T(ctx, "connection.archive.sum", "Count", listens, "Size", ui.Size(ctx, bytes)) + " " +
			upToDate.T(ctx)
	}
	if n := counts[delivery.Dead]; n > 0 {
		part.Dead = words.T(ctx, "connection.archive.dead", "Count", n)
	}
	if rest := months[min(len(months), monthsShown):]; len(rest) > 0 {
		table := monthTable(ctx, rest)
		part.Earlier, part.Fold = &table, words.T(ctx, "connection.archive.earlier", "Count", len(rest))
	}
	return part, nil
}

// monthLine returns the row of a month of the archive.
func monthLine(ctx context.Context, c delivery.Copy, a delivery.Archived) ui.Line {
	name := ui.PartDate(ctx, c.Ref)
	if c.WrittenAt.IsZero() {
		return ui.Line{Cells: []templ.Component{ui.Name(name), ui.Name("–"), ui.Name("–"),
			ui.Name(words.T(ctx, "connection.not_yet"))}}
	}
	written := ui.Time(c.WrittenAt, ui.Ago)
	if c.Written != c.Wanted {
		written = templ.Join(written, ui.Name(" · "+words.T(ctx, "connection.archive.newer")))
	}
	return ui.Line{Cells: []templ.Component{ui.Tip(name, a.Name), ui.Name(words.From(ctx).Number(a.Listens)),
		ui.Name(ui.Size(ctx, a.Bytes)), written}}
}

func monthTable(ctx context.Context, rows []ui.Line) ui.Grid {
	return ui.Grid{Class: "months", Rows: rows, Columns: []string{words.T(ctx, "connection.archive.month"),
		words.T(ctx, "part.listens"), words.T(ctx, "connection.archive.size"),
		words.T(ctx, "connection.archive.written")}}
}
