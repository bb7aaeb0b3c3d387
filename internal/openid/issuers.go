package openid

import (
	"net/http"
	"sync"

	"reprise/internal/accounts"
	"reprise/internal/config"
)

// Issuers are where people can sign in, each by itself: when one is down, that is nothing to the others. Make them with
// New; they are safe for concurrent use.
type Issuers struct {
	all [len(config.Slots)]*Issuer

	mu  sync.Mutex
	now config.OpenID
}

// New returns issuers that are asked through a client.
func New(client *http.Client, s config.OpenID) *Issuers {
	all := &Issuers{now: s}
	for n, slot := range config.Slots {
		all.all[n] = &Issuer{Slot: slot, client: client, now: s.Issuers[n]}
	}
	return all
}

// Configure changes the settings.
func (all *Issuers) Configure(s config.OpenID) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.now = s
	for n, i := range all.all {
		i.configure(s.Issuers[n])
	}
}

// Settings returns the settings.
func (all *Issuers) Settings() config.OpenID {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.now
}

// On returns the issuers at which people can sign in.
func (all *Issuers) On() (on []*Issuer) {
	for _, i := range all.all {
		if i.Settings().On() {
			on = append(on, i)
		}
	}
	return on
}

// Addresses returns the addresses of the issuers at which people can sign in.
func (all *Issuers) Addresses() (addresses []string) {
	for _, i := range all.On() {
		addresses = append(addresses, i.Settings().Issuer)
	}
	return addresses
}

// Clients returns what this server is at the issuers at which people can sign in.
func (all *Issuers) Clients() (clients []accounts.Client) {
	for _, i := range all.On() {
		s := i.Settings()
		clients = append(clients, accounts.Client{Issuer: s.Issuer, ID: s.ClientID})
	}
	return clients
}

// At returns the issuer of a slot; nil if there is no such slot.
func (all *Issuers) At(slot string) *Issuer {
	for _, i := range all.all {
		if i.Slot == slot {
			return i
		}
	}
	return nil
}

// Of returns the issuer with this address at which Reprise is this client; nil if none is set up.
func (all *Issuers) Of(issuer, client string) *Issuer {
	for _, i := range all.On() {
		if s := i.Settings(); s.Issuer == issuer && s.ClientID == client {
			return i
		}
	}
	return nil
}

// Named returns the first issuer with this address; nil if none is set up.
func (all *Issuers) Named(issuer string) *Issuer {
	for _, i := range all.On() {
		if i.Settings().Issuer == issuer {
			return i
		}
	}
	return nil
}
