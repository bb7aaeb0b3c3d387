package complete

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/ledger"
	"reprise/internal/library"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
)

// What a person decides about plays.
const (
	keep   = "keep"
	remove = "delete"
	take   = "take"
	refuse = "refuse"
)

type goneRequest struct {
	OfMonth
	core.IdempotencyKey
	Body struct {
		Decision string `json:"decision" enum:"keep,delete" doc:"Keep the listens, or delete them here as well."`
	}
}

func (h *Handler) goneAPI(c echo.Context, in *goneRequest) (out core.None, _ error) {
	_, err := h.decideGone(c, in.Body.Decision)
	return out, err
}

// decideGone does what a person decides about plays that a service no longer has, and returns of how many.
func (h *Handler) decideGone(c echo.Context, decision string) (n int, err error) {
	if decision != keep && decision != remove {
		return 0, core.NotAChoice("decision", decision, keep, remove)
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	v, listens, err := h.gone(c)
	if err != nil {
		return 0, err
	}
	undecided := ledger.Undecided(v.Audit)
	if n = len(undecided); decision == remove && len(listens) > 0 {
		made, err := h.store.DeleteListens(ctx, library.Selection{ListenFilter: library.ListenFilter{User: user},
			IDs: listens})
		if err != nil {
			return 0, err
		}
		n = made.Listens
	}
	if err := h.store.DecideGone(ctx, user, v.id, v.month, undecided); err != nil {
		return 0, err
	}
	return n, h.comparer.Decided(ctx, user, v.id)
}

// gone returns the month that a request names, with the ids of the listens that the service no longer has and about
// which their person has not decided; library.ErrNotFound if there are none.
func (h *Handler) gone(c echo.Context) (v named, listens []int64, err error) {
	if v, err = h.find(c); err != nil {
		return v, nil, err
	}
	undecided := ledger.Undecided(v.Audit)
	if len(undecided) == 0 {
		return v, nil, library.ErrNotFound
	}
	from, to := ledger.Bounds(v.of.Audits, v.month, time.Now())
	all, err := h.store.Reported(c.Request().Context(), core.UserOf(c).ID, v.id, from, to)
	found := map[int64]bool{}
	for _, r := range all {
		if _, gone := slices.BinarySearch(undecided, r.ID); gone && !r.Removed {
			found[r.Listen] = true
		}
	}
	return v, slices.Sorted(maps.Keys(found)), err
}

type heldRequest struct {
	OfMonth
	core.IdempotencyKey
	Body struct {
		Decision string `json:"decision" enum:"take,refuse" doc:"Store the plays, or leave them out."`
	}
}

func (h *Handler) heldAPI(c echo.Context, in *heldRequest) (out core.None, _ error) {
	return out, h.decideHeld(c, in.Body.Decision)
}

func (h *Handler) decideHeld(c echo.Context, decision string) error {
	if decision != take && decision != refuse {
		return core.NotAChoice("decision", decision, take, refuse)
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	v, err := h.find(c)
	if err != nil {
		return err
	}
	if len(v.Audit.Held) == 0 && (decision == refuse || len(v.Audit.Refused) == 0) {
		return library.ErrNotFound
	}
	if decision == refuse {
		err = h.store.RefuseHeld(ctx, user, v.id, v.month)
	} else {
		err = h.store.TakeHeld(ctx, user, v.id, v.month)
	}
	if err == nil {
		err = h.comparer.Decided(ctx, user, v.id)
	}
	if err == nil && decision == take {
		err = h.comparer.Compare(ctx, user, v.id, v.month)
		if _, later := errors.AsType[*backoff.NotBeforeError](err); later || errors.Is(err, syncer.ErrPaused) {
			err = nil // they are read as soon as anything is
		}
	}
	return err
}
