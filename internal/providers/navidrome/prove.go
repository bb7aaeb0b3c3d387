package navidrome

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Advice for people when connecting fails.
var (
	adviceNoServer = words.New("navidrome.no_server")
	adviceProxy    = words.New("navidrome.proxy")
	adviceHTTPS    = words.New("navidrome.https")
	adviceNoWay    = words.New("navidrome.no_way")
	adviceNoKeys   = words.New("navidrome.no_keys")
)

// Prove signs in, finds out what the server supports, and returns what it learned. It sends the password itself only
// when the server refuses all other ways, or to Navidrome's own API, and only where mayReveal allows it.
func (a *adapter) Prove(ctx context.Context) (providers.Account, error) {
	if a.err != nil {
		return providers.Account{}, a.err
	}
	pong, err := a.negotiate(ctx)
	if err != nil {
		return providers.Account{}, a.advise(err)
	}
	if err := a.learnExtensions(ctx, pong); err != nil {
		return providers.Account{}, err
	}
	anyCase, err := a.learnName(ctx)
	if err != nil {
		return providers.Account{}, err
	}
	if err := a.learnNative(ctx, pong); err != nil {
		return providers.Account{}, err
	}
	base, label := a.base.String(), cmp.Or(pong.name(), a.base.Host)
	if a.navidrome {
		label = "" // it is called like the provider
	}
	return providers.Account{
		ID:      base + "#" + a.user,
		Name:    a.user,
		Label:   label,
		AnyCase: anyCase || strings.EqualFold(pong.Type, "navidrome"),
		Learned: library.Credentials{
			credURL: base, credUser: a.user, credAuth: a.way.auth, credForm: yesNo(a.way.form),
			credNative: yesNo(a.native),
		},
	}, nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// ways lists the ways to sign in, the best first. A form comes before the URL for a password or key, because logs
// contain URLs. For a token the URL comes first, because every server accepts it.
func (a *adapter) ways() []way {
	var ws []way
	if a.apiKey != "" {
		ws = append(ws, way{"apikey", true}, way{"apikey", false})
	}
	if a.password != "" {
		ws = append(ws, way{"token", false}, way{"password", true}, way{"password", false})
	}
	return ws
}

// negotiate tries the ways to sign in until the server accepts one. It sets the adapter's way and returns the answer
// to the ping.
func (a *adapter) negotiate(ctx context.Context) (*response, error) {
	advice := adviceNoWay
	if a.password == "" {
		advice = adviceNoKeys
	}
	var last *resilience.AnswerError
	for _, w := range a.ways() {
		if w.auth == "password" && !a.mayReveal() {
			advice = adviceHTTPS
			continue
		}
		pong, err := a.ping(ctx, w)
		if err == nil {
			a.way = w
			return pong, nil
		}
		e, ok := errors.AsType[*resilience.AnswerError](err)
		if !ok || !nextMayDo(e, w) {
			return nil, err
		}
		last = e
	}
	m := noWayLeft
	m.Advice = advice
	last.Means(&m)
	return nil, last
}

// nextMayDo reports whether a refusal concerns only the way to sign in, so that another one may work.
func nextMayDo(e *resilience.AnswerError, w way) bool {
	switch e.Code {
	case codeMissing, codeNoToken, codeNoWay, codeWaysClash:
		return true
	case "": // not a Subsonic answer: this server may not accept forms
		return w.form && refusesRequest(e)
	}
	return false
}

func (a *adapter) ping(ctx context.Context, w way) (*response, error) {
	a.moved = nil
	pong, err := a.send(ctx, w, "ping", nil)
	if to := a.moved; a.follow() && err != nil {
		return a.send(ctx, w, "ping", nil)
	} else if to != nil && err != nil {
		a.moved = to // for the advice
	}
	return pong, err
}

// advise adds advice to a failure of the first call that is caused by the address or a proxy. It does not change the
// verdict.
func (a *adapter) advise(err error) error {
	e, ok := errors.AsType[*resilience.AnswerError](err)
	if !ok {
		return resilience.Advised(err, adviceNoServer)
	}
	if e.Code != "" || e.Busy() {
		return err
	}
	category := resilience.VerdictOf(err).Category
	switch {
	case a.moved != nil && (a.moved.Host != a.base.Host || a.moved.Scheme != a.base.Scheme):
		return resilience.Advised(err, words.New("provider.moved", "Address", a.moved.Scheme+"://"+a.moved.Host))
	case category == resilience.Auth || category == resilience.Permission:
		return resilience.Advised(err, adviceProxy)
	}
	return resilience.Advised(err, adviceNoServer)
}

// learnExtensions asks an OpenSubsonic server whether it accepts forms, and who owns the API key. Both are optional,
// so a refusal is ignored.
func (a *adapter) learnExtensions(ctx context.Context, pong *response) error {
	if !pong.OpenSubsonic {
		return nil
	}
	r, err := a.send(ctx, a.way, "getOpenSubsonicExtensions", nil)
	if err != nil {
		return unlessRefused(err)
	}
	for _, x := range r.Extensions {
		a.way.form = a.way.form || strings.EqualFold(x.Name, "formPost")
	}
	if a.way.auth != "apikey" {
		return nil
	}
	r, err = a.send(ctx, a.way, "tokenInfo", nil)
	if err != nil {
		return unlessRefused(err)
	}
	if r.TokenInfo != nil && r.TokenInfo.Username != "" {
		a.user = r.TokenInfo.Username
	}
	return nil
}

// learnName asks how the server itself spells the user's name, so that CAROL and carol are one account, and reports
// whether it takes other spellings. Not every server tells, so a refusal is ignored, and so is another name.
func (a *adapter) learnName(ctx context.Context) (anyCase bool, err error) {
	if a.way.auth == "apikey" { // learnExtensions has asked whose it is
		return false, nil
	}
	r, err := a.send(ctx, a.way, "getUser", url.Values{"username": {a.user}})
	if err != nil {
		return false, unlessRefused(err)
	}
	if r.User == nil || !strings.EqualFold(string(r.User.Username), a.user) {
		return false, nil
	}
	anyCase = string(r.User.Username) != a.user
	a.user = string(r.User.Username)
	return anyCase, nil
}

// learnNative signs in at Navidrome's own API. The API stays unused when it refuses, for example because a proxy
// allows only /rest/ or authenticates users itself. A 429 does not count as a refusal.
func (a *adapter) learnNative(ctx context.Context, pong *response) error {
	if a.native = a.mayUseNative(pong); !a.native {
		return nil
	}
	err := a.signIn(ctx)
	if err == nil || resilience.VerdictOf(err).Category == resilience.RateLimit {
		return nil
	}
	a.native = false
	return unlessRefused(err)
}

func (a *adapter) mayUseNative(pong *response) bool {
	return strings.EqualFold(pong.Type, "navidrome") && a.password != "" && a.mayReveal()
}

// unlessRefused returns nil for a refusal by the server, and err for an outage.
func unlessRefused(err error) error {
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && !resilience.ServerFault(e.Status) {
		return nil
	}
	if _, ok := errors.AsType[*resilience.ContractError](err); ok {
		return nil
	}
	return err
}
