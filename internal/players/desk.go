package players

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/throttle"
)

// Store keeps players and what they send.
type Store interface {
	// PlayerByHash finds the player with a secret or a session key of this hash, or library.ErrNotFound.
	PlayerByHash(ctx context.Context, hash string) (Player, error)
	// PlayersOf returns the players of the person of a name that have a proof.
	PlayersOf(ctx context.Context, user string) ([]Player, error)
	// RedeemGrant finds the player whose session key a person has allowed a token to fetch, this once, or returns
	// library.ErrNotFound.
	RedeemGrant(ctx context.Context, token string) (Player, error)
	// PlayerByKey finds the player with an API key, or library.ErrNotFound.
	PlayerByKey(ctx context.Context, key string) (Player, error)
	// TakePlays stores plays, and returns the number of new listens.
	TakePlays(ctx context.Context, p Player, plays []library.Listen) (added int, err error)
	// TakeEvent stores what is known of an item after an event, and the play that it has become.
	TakeEvent(ctx context.Context, p Player, item string, step func(Underway) (Underway, *library.Listen)) (added int,
		err error)
	NotePlayer(ctx context.Context, id library.ConnectionID, at time.Time) error
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	// MirrorPlayer notes the connection to the account that a player sends from, unless its person has chosen one.
	MirrorPlayer(ctx context.Context, id, mirrors library.ConnectionID) error
	NoteRefusal(ctx context.Context, id library.ConnectionID, r Refusal) error
}

// ErrUnknown says that nobody has such a secret, and ErrNotAllowed that no person has allowed a token yet.
var (
	ErrUnknown    = errors.New("no player has this secret")
	ErrNotAllowed = errors.New("nobody has allowed this token")
)

// How fast requests are taken. A device that was offline sends what it kept: a thousand plays one by one.
var (
	ofPlayer  = throttle.Rate{Burst: 1200, Every: 40 * time.Millisecond}
	ofAddress = throttle.Rate{Burst: 3000, Every: 20 * time.Millisecond}
	wrong     = throttle.Rate{Burst: 30, Every: 2 * time.Second} // secrets that nobody has, by address

	// In units of 64 KiB: a play has up to 10 KiB, so that a thousand of them are let through at once, and a history
	// is sent at 1 MiB a second.
	bytesOfPlayer  = throttle.Rate{Burst: 512, Every: 64 * time.Millisecond}
	bytesOfAddress = throttle.Rate{Burst: 1024, Every: 32 * time.Millisecond}
)

// byteUnit is how many bytes count as one, and unknownSize is what a body of unknown length counts as.
const (
	byteUnit    = 64 << 10
	unknownSize = 1 << 20
)

// Counter counts what players send, by one of metrics.PlayerResults.
type Counter interface{ Sent(result string, n int) }

// Desk takes what players send, whatever protocol they speak. It is safe for concurrent use.
type Desk struct {
	store Store
	bus   *events.Bus
	log   *slog.Logger
	now   *Now
	count Counter

	players, addresses, wrong     *throttle.Throttle
	bytesOfPlayer, bytesOfAddress *throttle.Throttle
}

// NewDesk returns a Desk.
func NewDesk(store Store, now *Now, count Counter, bus *events.Bus, log *slog.Logger) *Desk {
	return &Desk{store: store, now: now, count: count, bus: bus, log: log,
		players: throttle.New(ofPlayer), addresses: throttle.New(ofAddress), wrong: throttle.New(wrong),
		bytesOfPlayer: throttle.New(bytesOfPlayer), bytesOfAddress: throttle.New(bytesOfAddress)}
}

// Now returns what is playing now.
func (d *Desk) Now() *Now { return d.now }

// TooFastError says that a program calls too often.
type TooFastError struct{ Wait time.Duration }

func (e *TooFastError) Error() string { return "too many requests" }

// Admit returns the player with a secret or a session key, for a request. It returns ErrUnknown, a TooFastError, or a
// Refused for a player that its person has paused.
func (d *Desk) Admit(r *Request, secret string) (Player, error) {
	return d.admit(r, func() (Player, error) { return d.store.PlayerByHash(r.Context(), Hash(secret)) })
}

// Knows reports whether a player has this secret or session key. It counts nothing.
func (d *Desk) Knows(ctx context.Context, secret string) bool {
	if secret == "" {
		return false
	}
	_, err := d.store.PlayerByHash(ctx, Hash(secret))
	return err == nil
}

// AdmitProof is Admit for the MD5 sum that right recognises: it gets the MD5 sum of the secret of each player of a
// person.
func (d *Desk) AdmitProof(r *Request, user string, right func(proof string) bool) (Player, error) {
	return d.admit(r, func() (Player, error) {
		all, err := d.store.PlayersOf(r.Context(), user)
		if err != nil { // no wrong secret, which a player would not try again
			return Player{}, err
		}
		for _, p := range all {
			if right(p.Proof) {
				return p, nil
			}
		}
		return Player{}, library.ErrNotFound
	})
}

// ByKey finds the player that was given an API key, or returns ErrUnknown.
func (d *Desk) ByKey(ctx context.Context, key string) (Player, error) {
	p, err := d.store.PlayerByKey(ctx, key)
	if errors.Is(err, library.ErrNotFound) {
		err = ErrUnknown
	}
	return p, err
}

// Redeem returns the player whose session key a token may fetch, or ErrNotAllowed as long as no person has allowed it:
// programs ask until somebody has.
func (d *Desk) Redeem(r *Request, token string) (Player, error) {
	if err := d.Stranger(r); err != nil {
		return Player{}, err
	}
	p, err := d.store.RedeemGrant(r.Context(), token)
	if errors.Is(err, library.ErrNotFound) {
		err = ErrNotAllowed
	}
	return p, err
}

// Stranger takes a request of a program that has no secret yet. It returns a TooFastError.
func (d *Desk) Stranger(r *Request) error {
	near, _ := throttle.Networks(r.Address)
	return d.fast(max(d.addresses.Take(near), d.bytesOfAddress.TakeMany(near, r.units())))
}

// fast returns a TooFastError for a request that has to wait; nil for 0.
func (d *Desk) fast(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	d.count.Sent("too_fast", 1)
	return &TooFastError{wait}
}

func (d *Desk) admit(r *Request, find func() (Player, error)) (Player, error) {
	if err := d.Stranger(r); err != nil {
		return Player{}, err
	}
	near, _ := throttle.Networks(r.Address)
	if err := d.fast(d.wrong.Wait(near)); err != nil {
		return Player{}, err
	}
	p, err := find()
	if errors.Is(err, library.ErrNotFound) {
		d.wrong.Take(near)
		d.count.Sent("wrong_token", 1)
		return p, ErrUnknown
	}
	if err != nil {
		return p, err
	}
	id := string(p.ID)
	if err := d.fast(max(d.players.Take(id), d.bytesOfPlayer.TakeMany(id, r.units()))); err != nil {
		return p, err
	}
	if now := time.Now().Truncate(time.Minute); now.After(p.HeardAt) {
		if err := d.store.NotePlayer(r.Context(), p.ID, now); err != nil {
			return p, err
		}
		d.bus.Publish(p.User, events.Event{Type: events.Players, Connection: p.ID})
	}
	if p.Paused {
		return p, refuse(Paused)
	}
	return p, nil
}

// Take stores plays, and returns when they are committed. A play that was sent before is left out.
func (d *Desk) Take(ctx context.Context, p Player, plays []Play) error {
	if err := d.recognise(ctx, p, plays); err != nil {
		return err
	}
	all := make([]library.Listen, 0, len(plays))
	for _, one := range plays {
		l := one.Listen()
		if l.Clean(time.Now()) {
			all = append(all, l)
		}
	}
	added, err := d.store.TakePlays(ctx, p, all)
	d.tell(ctx, p, added, err)
	if err == nil {
		d.count.Sent("known", len(all)-added)
	}
	return err
}

// recognise finds out which of its person's connections a player sends from, before its plays could go back there.
func (d *Desk) recognise(ctx context.Context, p Player, plays []Play) error {
	if p.Mirrors != "" || len(plays) == 0 || plays[0].Origin == (Origin{}) {
		return nil
	}
	all, err := d.store.UserConnections(ctx, p.User)
	if err != nil {
		return err
	}
	mirrors := plays[0].Origin.Of(all)
	if mirrors == "" {
		return nil
	}
	d.log.Info("recognised where a player sends from", slog.Int64("user_id", p.User),
		slog.String("player", string(p.ID)), slog.String("connection", string(mirrors)))
	return d.store.MirrorPlayer(ctx, p.ID, mirrors)
}

// TakeEvent takes an event of something that is being played, and returns when what follows from it is committed.
func (d *Desk) TakeEvent(ctx context.Context, p Player, e Event) error {
	now := time.Now()
	added, err := d.store.TakeEvent(ctx, p, e.Item, func(u Underway) (Underway, *library.Listen) {
		next, heard := u.After(e, now)
		if !heard {
			return next, nil
		}
		play := e.Play
		play.At = next.Began
		l := play.Listen()
		if play.Check(now) != nil || !l.Clean(now) {
			return next, nil
		}
		return next, &l
	})
	if d.tell(ctx, p, added, err); err != nil {
		return err
	}
	switch e.What {
	case Started, Continued:
		left := e.Play.Duration
		if left > 0 && e.Position > 0 {
			left = max(left-e.Position, time.Second)
		}
		d.playing(p, e.Play, left)
	case Halted, Stopped:
		d.Silent(p, e.Play.Track)
	}
	return nil
}

// tell publishes that there are new listens, and logs an error of the store.
func (d *Desk) tell(ctx context.Context, p Player, added int, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, library.ErrNotFound) {
		d.count.Sent("failed", 1)
		d.log.Error("what a player sent cannot be stored", slog.Int64("user_id", p.User), slog.Any("err", err))
	}
	d.count.Sent("stored", added)
	if added > 0 {
		d.bus.Publish(p.User, events.Event{Type: events.Listens, Done: added})
		d.bus.Publish(p.User, events.Event{Type: events.Players, Connection: p.ID})
	}
}

// Playing notes what is played now.
func (d *Desk) Playing(p Player, play Play) { d.playing(p, play, play.Duration) }

func (d *Desk) playing(p Player, play Play, left time.Duration) {
	d.now.begins(p.User, Playing{From: p.ID, Name: p.Name, With: play.Player, Track: play.Track}, left)
}

// Silent notes that a player has stopped playing a track, or whatever it plays if the track is zero.
func (d *Desk) Silent(p Player, t library.Track) { d.now.Ends(p.User, p.ID, t) }

// Refused returns why a request, or a play in it, was refused; empty if err is something else. It keeps the refusal of
// a known player for the player's page, and of an unknown one for those who set one up.
func (d *Desk) Refused(r *Request, p Player, err error) Reason {
	if errors.Is(err, ErrUnknown) {
		d.now.strayed(Refusal{At: time.Now(), Request: library.Name(r.Line()), Why: WrongToken})
		d.bus.PublishAll(events.Event{Type: events.Players})
		return WrongToken
	}
	why, ok := errors.AsType[*Refused](err)
	if !ok {
		return ""
	}
	d.count.Sent("refused", 1)
	if p.ID == "" {
		return why.Why
	}
	kept := Refusal{At: time.Now(), Request: library.Name(r.Line()), Why: why.Why, Detail: library.Name(why.Detail)}
	if err := d.store.NoteRefusal(r.Context(), p.ID, kept); err != nil {
		d.log.Warn("a player's refused request was not noted", slog.Any("err", err))
		return why.Why
	}
	d.bus.Publish(p.User, events.Event{Type: events.Players, Connection: p.ID})
	return why.Why
}

// LeftAlone notes what was taken and left alone, for who waits for a player's first play: that of a working player is
// no news, unless its person meant to say something by it.
func (d *Desk) LeftAlone(r *Request, p Player, why Reason) {
	if !p.LastPlayAt.IsZero() && why != NotHeard {
		return
	}
	if err := d.store.NoteRefusal(r.Context(), p.ID, Refusal{At: time.Now(), Request: library.Name(r.Line()),
		Why: why}); err != nil {
		d.log.Warn("a player's refused request was not noted", slog.Any("err", err))
		return
	}
	d.bus.Publish(p.User, events.Event{Type: events.Players, Connection: p.ID})
}

// The errors of adding and changing a player.
var (
	ErrName = errors.New("there is a player of that name already")
	ErrMany = errors.New("there are too many players")
)

// Most is how many players a person may have.
const Most = 100

// Allowance returns how many requests a player may make at once, how many of them are left, and when all are again.
func (d *Desk) Allowance(p Player) (limit, left int, reset time.Duration) {
	left = d.players.Left(string(p.ID))
	return ofPlayer.Burst, left, time.Duration(ofPlayer.Burst-left) * ofPlayer.Every
}
