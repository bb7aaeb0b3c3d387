package deliveries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"

	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// filter selects deliveries, as written in a query, a form or a call.
type filter struct {
	State    string `json:"state" query:"state" form:"state" required:"false" enum:"dead,retrying"`
	Provider string `json:"provider" query:"provider" form:"provider" required:"false"`
	// Connection is an id; empty for all connections to the provider.
	Connection string `json:"connection" query:"connection" form:"connection" required:"false" doc:"One, by its id."`
	Kind       string `json:"kind" query:"kind" form:"kind" required:"false" enum:"DeliveryKind"`
	Category   string `json:"category" query:"category" form:"category" required:"false"`
	// Reason is the id of a reason (see reasonID), or its sentence exactly as somebody reads it in one of the
	// languages.
	Reason string `json:"reason" query:"reason" form:"reason" required:"false" doc:"A 'reason_id', or exactly this sentence."`
	ID     string `json:"id" required:"false"`
}

// selected checks a person's filter and returns it for the store.
func (h *Handler) selected(ctx context.Context, user int64, in filter) (delivery.Filter, error) {
	f, err := in.read(h.core.Registry, user)
	if err != nil || in.Reason == "" {
		return f, err
	}
	all, err := h.store.DeliveryReasons(ctx, user)
	f.Reasons = saying(all, in.Reason)
	return f, err
}

// reasonID returns the id of the reason of a failure: the same for the same reason, in any language. Empty without one.
func reasonID(reason words.Text) string {
	if reason.IsZero() {
		return ""
	}
	stored, _ := reason.Value() // of a string
	sum := sha256.Sum256(fmt.Append(nil, stored))
	return hex.EncodeToString(sum[:8])
}

// saying returns the reasons that have this id, or say this in one of the languages. Without any it is the sentence
// itself, which selects nothing.
func saying(all []words.Text, sentence string) (these []words.Text) {
	for _, reason := range all {
		says := func(l *words.Language) bool { return reason.In(l) == sentence }
		if reasonID(reason) == sentence || slices.ContainsFunc(words.Languages(), says) {
			these = append(these, reason)
		}
	}
	if len(these) == 0 {
		these = []words.Text{words.Plain(sentence)}
	}
	return these
}

// read checks the names in a filter and returns it for the store, without the reason.
func (in filter) read(registry *providers.Registry, user int64) (f delivery.Filter, err error) {
	f = delivery.Filter{User: user, State: delivery.State(in.State), Provider: in.Provider, Kind: in.Kind,
		Connection: library.ConnectionID(in.Connection), Category: in.Category}
	var states, names, categories []string
	for _, state := range delivery.States {
		states = append(states, string(state))
	}
	for _, p := range registry.All() {
		if !p.Takes.Nothing() {
			names = append(names, p.Name)
		}
	}
	for _, k := range channels.Kinds() {
		names = append(names, k.Name)
	}
	for c := resilience.Auth; c <= resilience.Unknown; c++ {
		categories = append(categories, c.String())
	}
	for _, part := range []struct {
		name, value string
		known       []string
	}{{"state", in.State, states}, {"provider", in.Provider, names}, {"kind", in.Kind, delivery.Kinds}, {"category",
		in.Category, categories}} {
		if part.value != "" && !slices.Contains(part.known, part.value) {
			return f, core.NotAChoice(part.name, part.value, part.known...)
		}
	}
	if in.ID != "" {
		f.ID, err = core.Number(in.ID)
	}
	return f, err
}

// address returns the address of a page with this filter. more are further names and values.
func (f filter) address(path string, more ...string) string {
	q := url.Values{}
	pairs := append([]string{"state", f.State, "provider", f.Provider, "connection", f.Connection, "kind", f.Kind,
		"category",
		f.Category, "reason", f.Reason}, more...)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// in returns the filter with another state.
func (f filter) in(state delivery.State) filter {
	f.State = string(state)
	return f
}
