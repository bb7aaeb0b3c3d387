package signin

import (
	"context"
	"errors"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/openid"
	"reprise/internal/words"
)

const (
	askEvery  = time.Hour       // how often an issuer is asked about a session
	lookEvery = 5 * time.Minute // how often that is looked after
)

// Why a session of somebody from an issuer ends, as the log says it.
const (
	notVouched = "not_vouched" // the issuer says so, or names somebody else
	notInGroup = "not_in_group"
)

// Run asks issuers whether they still vouch for those who are signed in, until ctx ends. Of several servers, one does.
func (h *Handler) Run(ctx context.Context) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		h.Recheck(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// end ends the sessions from issuers that the settings allow no more: what is only hidden would come back when a
// setting does.
func (h *Handler) end(ctx context.Context) {
	n, err := h.core.Sessions.EndUnknown(ctx, h.issuers.Clients())
	if n > 0 {
		h.core.Log.Info("sessions ended, because their issuer isn't set up any more", "count", n)
	}
	err = errors.Join(err, h.core.Sessions.EndIssued(ctx))
	if err != nil && ctx.Err() == nil {
		h.core.Log.Error("sessions from issuers cannot be looked after", "err", err)
	}
}

// Recheck asks about each session that has a grant, and about which no issuer was asked for an hour. What an issuer
// says is done here as well: the session ends, or the role changes. While an issuer can't be asked, nothing changes.
// Before that, the sessions end that the settings allow no more.
func (h *Handler) Recheck(ctx context.Context) {
	h.end(ctx)
	asks := false
	for _, i := range h.issuers.On() {
		asks = asks || i.Settings().Rechecks()
	}
	if !asks {
		return
	}
	due, err := h.store.DueGrants(ctx, time.Now().Add(-askEvery))
	down := map[*openid.Issuer]bool{} // or it refuses Reprise itself: the others wait for the next look
	for _, d := range due {
		if ctx.Err() != nil {
			return
		}
		i := h.issuers.Of(d.Issuer, d.ClientID)
		over := time.Since(d.Session.SignedInAt) > h.issuers.Settings().Session
		if i == nil || !i.Settings().Rechecks() || over || down[i] {
			continue
		}
		taken, takeErr := h.store.TakeGrant(ctx, d)
		err = errors.Join(err, takeErr)
		if !taken {
			continue
		}
		err := h.recheck(context.WithoutCancel(ctx), i, d)
		_, isDown := errors.AsType[*openid.DownError](err)
		_, isRefused := errors.AsType[*openid.RefusedError](err)
		down[i] = isDown || isRefused
		if err != nil {
			h.core.Log.Warn("the issuer can't be asked about a session", "provider", i.Slot, "user_id", d.User, "err",
				err)
		}
	}
	if err != nil && ctx.Err() == nil {
		h.core.Log.Error("sessions from issuers cannot be looked after", "err", err)
	}
}

// recheck asks an issuer about one session, and does what follows. A stop of the server doesn't interrupt it: the only
// token that the issuer still takes is in its answer.
func (h *Handler) recheck(ctx context.Context, i *openid.Issuer, d accounts.DueGrant) error {
	c, err := i.Renew(ctx, d.Grant, func(g accounts.Grant) error {
		return h.store.KeepGrant(ctx, d.ID, g)
	})
	s := i.Settings()
	switch {
	case errors.Is(err, openid.ErrOver):
		return h.revoke(ctx, i, d, notVouched, errors.Is(err, openid.ErrOther))
	case err != nil || !c.Grouped:
		return err
	case s.AllowGroup != "" && !c.In(s.AllowGroup):
		return h.revoke(ctx, i, d, notInGroup, true)
	}
	u, err := h.store.UserOfIdentity(ctx, d.Issuer, d.Subject)
	if errors.Is(err, accounts.ErrUnknown) || err == nil && u.ID != d.User { // it was unlinked meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	admin := c.In(s.AdminGroup)
	if s.AdminGroup == "" || admin == d.Admin { // another issuer, or somebody here, may have decided otherwise since
		return nil
	}
	if followed, err := h.role(ctx, i, u, admin); err != nil || !followed {
		return err
	}
	return h.store.NoteAdmin(ctx, u.ID, d.Issuer, admin)
}

// revoke ends a session for which its issuer doesn't vouch any more; all of the person's from there, if that is about
// them and not about this one.
func (h *Handler) revoke(ctx context.Context, i *openid.Issuer, d accounts.DueGrant, outcome string, all bool) error {
	ended, err := h.store.EndGrant(ctx, d.ID)
	if err != nil || !ended {
		return err
	}
	h.core.Sessions.Ended(d.User, d.Session.ID)
	if all {
		if _, err := h.core.Sessions.EndThere(ctx, d.User, d.Issuer, ""); err != nil {
			return err
		}
	}
	h.core.Log.Info("session ended by its issuer", "provider", i.Slot, "user_id", d.User, "outcome", outcome)
	why := words.New("openid.revoked", "Issuer", i.Called())
	if outcome == notInGroup {
		why = words.New("openid.revoked_group", "Issuer", i.Called())
	}
	h.core.Note(ctx, activity.Entry{User: d.User, Action: activity.SessionEnded,
		Subject: accounts.Visit(d.Session.Agent, d.Session.Address),
		Detail:  why})
	return nil
}
