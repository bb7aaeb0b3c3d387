package channels

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Kind is one kind of channel: how its address is read, shown and called, and what people read about it.
type Kind struct {
	Name     string            // in URLs, logs and metrics
	Label    string            // as people read it
	Help     words.Text        // above its form, where its brief line is not enough
	Sent     words.Text        // what a person reads after a test message
	Endpoint string            // of its calls, in logs and metrics
	Fields   []providers.Field // its form; empty for a kind that no form adds

	fixed bool // the kind has one server for all, which no URL names

	// schemes are the URL schemes that mean this kind.
	schemes []string
	// recognise reports whether a web address is one of this kind; nil for kinds whose addresses look like any other.
	recognise func(*url.URL) bool
	// parse returns the URL as it is kept, which parse reads again.
	parse func(*url.URL) (*url.URL, error)
	// build makes a URL that parse reads from a filled in form; nil without Fields.
	build func(fields map[string]string) (string, error)
	// shown returns what may be shown of a kept URL.
	shown func(*url.URL) words.Text
	// send sends one message to a kept URL.
	send func(ctx context.Context, c *Channels, call resilience.Call, to *url.URL, m notify.Message) error
}

// kinds lists every kind, in the order in which people see them.
var kinds = []Kind{ntfy, gotify, discord, telegram, email, webhook, webPush}

// Kinds returns every kind, in the order in which people see them.
func Kinds() []Kind { return slices.Clone(kinds) }

// KindOf returns the kind of that name.
func KindOf(name string) (Kind, bool) {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// Parse reads the URL of a channel and returns the name of its kind and the URL as it is kept. The kind says what an
// http:// or https:// address means; when it is empty, the address itself decides. No error repeats a part of the URL.
func Parse(text, kind string) (name, kept string, err error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme == "" || u.Host == "" {
		return "", "", wrong(words.Join(words.New("reach.not_an_address"), beginnings()))
	}
	own := slices.IndexFunc(kinds, func(k Kind) bool { return slices.Contains(k.schemes, strings.ToLower(u.Scheme)) })
	switch {
	case own >= 0 && kind != "" && kind != kinds[own].Name:
		return "", "", wrong(words.New("reach.other_kind"))
	case own >= 0:
		kind = kinds[own].Name
	case u.Scheme != "http" && u.Scheme != "https":
		return "", "", wrong(words.Join(words.New("reach.unknown"), beginnings()))
	case kind == "":
		kind = guess(u)
	}
	k, ok := KindOf(kind)
	if !ok || len(k.Fields) == 0 {
		return "", "", wrong(words.New("reach.no_kind"))
	}
	u, err = k.parse(u)
	if err != nil {
		return "", "", err
	}
	return k.Name, u.String(), nil
}

// guess returns the name of the kind that a web address belongs to. Any address can be that of a webhook.
func guess(u *url.URL) string {
	for _, k := range kinds {
		if k.recognise != nil && k.recognise(u) {
			return k.Name
		}
	}
	return webhook.Name
}

// beginnings says with which schemes an address may begin.
func beginnings() words.Text {
	var all []string
	for _, k := range kinds {
		for _, scheme := range k.schemes {
			if k.Name != webhook.Name {
				all = append(all, scheme+"://")
			}
		}
	}
	last := len(all) - 1
	return words.New("reach.beginnings", "Schemes", strings.Join(all[:last], ", "), "Last", all[last])
}

// Build makes the URL of a channel from a filled in form, and returns what Parse returns for it.
func Build(kind string, fields map[string]string) (name, kept string, err error) {
	k, ok := KindOf(kind)
	if !ok || k.build == nil {
		return "", "", wrong(words.New("reach.no_kind"))
	}
	for name, value := range fields {
		fields[name] = strings.TrimSpace(value)
	}
	for _, f := range k.Fields {
		if !f.Optional && fields[f.Name] == "" {
			return "", "", wrong(words.New("reach.fill_in", "Field", f.Label))
		}
	}
	text, err := k.build(fields)
	if err != nil {
		return "", "", err
	}
	return Parse(text, kind)
}

// Shown returns what may be shown of a channel's kept URL.
func Shown(kind, kept string) words.Text {
	u, err := url.Parse(kept)
	k, ok := KindOf(kind)
	if err != nil || !ok {
		return words.Plain(kind)
	}
	return k.shown(u)
}
