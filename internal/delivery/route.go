package delivery

import (
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/playrules"
)

// Play is a listen as Routes see it: one that was just stored, has got another source, or was corrected.
type Play struct {
	Listen int64
	At     time.Time        // of the listen, not of the source
	Fresh  bool             // a new listen, not one that was known from another provider
	Guess  bool             // its time is a guess
	Others []library.Source // further sources that reported it
	// Withheld lists the connections that the person's rules keep the listen from; see [playrules.Sends].
	Withheld []library.ConnectionID
}

// Accounts says what each of a person's connections leads to: itself, with its account. A player leads to the
// connection whose account it sends from.
type Accounts map[library.ConnectionID]library.Connection

// Same reports whether two connections lead to one account.
func (a Accounts) Same(one, other library.ConnectionID) bool {
	return a.of(one).SameAccount(a.of(other))
}

func (a Accounts) of(id library.ConnectionID) library.Connection {
	if c, ok := a[id]; ok {
		return c
	}
	return library.Connection{ID: id}
}

// Of returns the connections to the account of one of them, which comes first.
func (a Accounts) Of(conn library.ConnectionID) []library.ConnectionID {
	all := []library.ConnectionID{conn}
	for id := range a {
		if id != conn && a.Same(id, conn) {
			all = append(all, id)
		}
	}
	slices.Sort(all[1:])
	return all
}

// Routes decide which of a person's connections get a play. They are values: the same plays give the same drafts.
type Routes struct {
	User     int64
	Rules    []Rule // ordered by connection
	Accounts Accounts
	Now      time.Time
	// ArchiveEvery is how long a month of the archive waits for more plays.
	ArchiveEvery time.Duration
}

// Targets returns the rules by which a connection's plays go to other accounts: one for each account.
func (r Routes) Targets(from library.ConnectionID) (all []Rule) {
	for _, rule := range r.Rules {
		served := func(earlier Rule) bool { return r.Accounts.Same(earlier.Connection, rule.Connection) }
		if rule.Kind != Archive && !r.Accounts.Same(from, rule.Connection) && !slices.ContainsFunc(all, served) {
			all = append(all, rule)
		}
	}
	return all
}

// newsFor is how long after it was played a listen is delivered before those that are history.
const newsFor = 24 * time.Hour

// Drafts returns the deliveries that follow from plays which a connection has reported: to every account that their
// person forwards to, once, except the accounts that reported them. What is new comes before what is history.
func (r Routes) Drafts(from library.ConnectionID, plays []Play) (all []Draft) {
	for _, rule := range r.Targets(from) {
		var news, history []int64
		same := func(id library.ConnectionID) bool { return r.Accounts.Same(id, rule.Connection) }
		for _, p := range plays {
			has := func(s library.Source) bool { return r.Accounts.Same(s.Connection, rule.Connection) }
			switch {
			case !rule.takes(p, r.Now) || slices.ContainsFunc(p.Others, has), !playrules.Sends(p.Withheld, same):
			case r.Now.Sub(p.At) > newsFor:
				history = append(history, p.Listen)
			default:
				news = append(news, p.Listen)
			}
		}
		all = append(all, rule.Batches(news, false)...)
		all = append(all, rule.Batches(history, true)...)
	}
	return append(all, r.Months(plays)...)
}

// Months returns the deliveries of the months of the archive in which these plays are.
func (r Routes) Months(plays []Play) (all []Draft) {
	for _, rule := range r.Rules {
		if rule.Kind == Archive {
			all = append(all, r.months(rule, plays)...)
		}
	}
	return all
}

func (r Routes) months(rule Rule, plays []Play) (all []Draft) {
	known := map[string]bool{}
	for _, p := range plays {
		month := MonthOf(p.At)
		if known[month] {
			continue
		}
		known[month] = true
		all = append(all, Draft{User: r.User, Connection: rule.Connection, Kind: Archive, Ref: month,
			Due: r.Now.Add(r.ArchiveEvery)})
	}
	return all
}

// takes reports whether a play is forwarded by the rule.
func (r Rule) takes(p Play, now time.Time) bool {
	return p.Fresh && !p.Guess && !p.At.Before(r.From) && (r.Oldest == 0 || now.Sub(p.At) <= r.Oldest)
}

// Batches returns the deliveries of listens by the rule, which divides them into batches.
func (r Rule) Batches(listens []int64, history bool) []Draft {
	d := Draft{User: r.User, Connection: r.Connection, Kind: r.Kind, History: history}
	return d.InBatches(listens, r.Batch)
}

// InBatches returns copies of the draft with at most size listens each.
func (d Draft) InBatches(listens []int64, size int) (all []Draft) {
	for batch := range slices.Chunk(listens, size) {
		d.Listens = batch
		all = append(all, d)
	}
	return all
}
