package leases

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// beat confirms the leases, and takes and gives back until this server has its share.
func (h *Holder) beat(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	h.mu.Lock()
	engine, idle := h.engine, time.Since(h.idle)
	h.mu.Unlock()
	sent := time.Now()
	confirmed, err := h.book.ConfirmLeases(asking, h.me)
	for _, l := range h.noteConfirmed(sent, confirmed, err) {
		err = errors.Join(err, h.book.GiveLease(asking, l))
	}
	if err != nil {
		return err
	}
	says := ""
	if engine != nil {
		says = engine.Says()
	}
	all, workers, err := h.book.Leases(asking, h.me, says)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.all, h.said = all, workers
	h.changeLocked()
	h.mu.Unlock()
	if engine == nil {
		if idle > keepFor {
			h.giveAll(ctx)
		}
		return nil
	}
	takes, gives := h.share(all, workers)
	for _, l := range takes {
		if err = h.take(asking, l); err != nil {
			break
		}
	}
	h.prepare()
	for _, app := range gives {
		go h.give(ctx, app)
	}
	return err
}

// noteConfirmed notes which leases the database has confirmed. Those that it has not are lost, and without an answer
// those whose time is over. It returns leases that were confirmed after this server had lost them.
func (h *Holder) noteConfirmed(sent time.Time, confirmed []Lease, err error) (strays []Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for app, l := range h.mine {
		switch still := slices.Contains(confirmed, l.Lease); {
		case still:
			l.sent = sent
		case err == nil && l.sent.Before(sent) || !valid(l.sent, time.Now()):
			h.log.Warn("another server calls an app now", "app", app)
			h.dropLocked(l)
		}
	}
	for _, l := range confirmed {
		if now := h.mine[l.App]; (now == nil || now.Lease != l) && !h.taking[l.App] {
			strays = append(strays, l)
		}
	}
	return strays
}

// dropLocked ends a lease at once.
func (h *Holder) dropLocked(l *held) {
	l.ready = false
	l.end()
	if h.mine[l.App] == l {
		delete(h.mine, l.App)
	}
	h.changeLocked()
}

// valid reports whether a confirmation is fresh. The wall clock counts too: the other one may stand still while a
// machine is suspended.
func valid(sent, now time.Time) bool {
	return now.Sub(sent) < For && now.Round(0).Sub(sent.Round(0)) < For
}

// share returns which leases this server should take and which apps give back, so that all servers that work have as
// many as another, give or take one. The imports are shared out beside the others.
func (h *Holder) share(all []Holding, workers map[string]string) (takes []Lease, gives []string) {
	for _, imports := range []bool{false, true} {
		some := slices.DeleteFunc(slices.Clone(all), func(v Holding) bool { return OfImports(v.App) != imports })
		take, give := h.shareSome(some, workers)
		takes, gives = append(takes, take...), append(gives, give...)
	}
	return takes, gives
}

// shareSome is share for some of all.
func (h *Holder) shareSome(all []Holding, workers map[string]string) (takes []Lease, gives []string) {
	if len(all) == 0 {
		return nil, nil
	}
	counts := map[string]int{h.me: 0}
	for w := range workers {
		counts[w] = 0
	}
	var vacant []Lease
	for _, v := range all {
		if v.vacant() && v.Server != h.me {
			vacant = append(vacant, v.Lease)
		} else if _, works := counts[v.Server]; works {
			counts[v.Server]++
		}
	}
	mine, fair := counts[h.me], (len(all)+len(counts)-1)/len(counts)
	if room := min(fair-mine, len(vacant)); room > 0 {
		rand.Shuffle(len(vacant), func(i, j int) { vacant[i], vacant[j] = vacant[j], vacant[i] })
		return vacant[:room], nil
	}
	fewest := slices.Min(slices.Collect(maps.Values(counts)))
	if more := (mine - fewest) / 2; more > 0 && len(vacant) == 0 {
		for _, v := range all {
			if v.Server == h.me && h.holds(v.Lease) {
				gives = append(gives, v.App)
			}
		}
		gives = gives[:min(more, len(gives))]
	}
	return nil, gives
}

// holds reports whether this server holds a lease, whether it may call or not.
func (h *Holder) holds(l Lease) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.mine[l.App]
	return now != nil && now.Lease == l
}

// take takes a vacant lease, unless another server was faster.
func (h *Holder) take(ctx context.Context, was Lease) error {
	h.mu.Lock()
	h.taking[was.App] = true
	h.mu.Unlock()
	sent := time.Now()
	number, err := h.book.TakeLease(ctx, h.me, was)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.taking, was.App)
	if err != nil || number == 0 {
		return err
	}
	l := &held{Lease: Lease{was.App, number}, sent: sent, used: sent}
	l.ctx, l.end = context.WithCancel(context.Background())
	h.mine[was.App] = l
	return nil
}

// give gives back the lease of an app, when what is under way with it has ended.
func (h *Holder) give(ctx context.Context, app string) { h.end(ctx, app, h.book.GiveLease) }

// end ends the lease of an app, when what is under way with it has ended, and has the database note that.
func (h *Holder) end(ctx context.Context, app string, note func(context.Context, Lease) error) {
	h.mu.Lock()
	l := h.mine[app]
	if l == nil || l.leaves {
		h.mu.Unlock()
		return
	}
	l.ready, l.leaves = false, true
	h.mu.Unlock()
	cut := time.AfterFunc(endWithin, l.end)
	l.users.Wait()
	cut.Stop()
	h.mu.Lock()
	h.dropLocked(l)
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	if err := note(ctx, l.Lease); err != nil {
		h.log.Warn("the lease of an app can't be given back; it ends by itself", "app", app, "err", err)
	}
}

func (h *Holder) giveAll(ctx context.Context) {
	h.mu.Lock()
	apps := slices.Collect(maps.Keys(h.mine))
	h.mu.Unlock()
	for _, app := range apps {
		h.give(ctx, app)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := h.book.GiveLeases(ctx, h.me); err != nil {
		h.log.Warn("the leases of apps can't be given back; they end by themselves", "err", err)
	}
}
