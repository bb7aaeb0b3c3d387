package connections

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/asks"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
	"reprise/web/ui"
)

// connect answers for connecting: the form or the consent page of a provider, and the choice between two accounts.
type connect struct {
	core        *core.Core
	connections *syncer.Connections
	statuses    *Statuses
	flow        *oauth.Flow
	asks        Asks
	steps       Steps
	register    *register
}

// page shows the form of a provider, or redirects to the provider's consent page.
func (h *connect) page(c echo.Context) error {
	id, p, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	to := h.returnTo(c)
	if ready, err := h.ready(c, p, to); !ready {
		return err
	}
	if !p.InBrowser() {
		f := filled{id: id, provider: p, returnTo: to, values: h.statuses.kept(c, id)}
		if st, err := h.statuses.Status(c.Request().Context(), core.UserOf(c).ID, id); err == nil {
			f.moved(st)
		}
		return h.showForm(c, http.StatusOK, f)
	}
	if core.ByScript(c) { // the page that waited for this, which must not lead away by itself
		return h.showReady(c, p, to)
	}
	if err := h.connections.Held(p, nil); err != nil { // the consent could not be used now
		return err
	}
	address, err := h.begin(c, id, to)
	if err != nil {
		return err
	}
	if elsewhere(c, h.register.redirectURI(p)) {
		return h.showPaste(c, http.StatusOK, id, p, pasteView{Consent: address, ReturnTo: to})
	}
	return c.Redirect(http.StatusSeeOther, address)
}

// ready says whether a person can connect a service now. If not, it has answered with what is to be done first.
func (h *connect) ready(c echo.Context, p *providers.Provider, to string) (bool, error) {
	need := h.asks.NeedOf(p)
	admin := core.UserOf(c).Role == accounts.Admin
	switch {
	case need == asks.Setup && admin:
		return false, c.Redirect(http.StatusSeeOther, "/setup/"+p.Name+"?"+url.Values{"return_to": {to}}.Encode())
	case need == asks.Setup:
		return false, h.showAsk(c, p, need, to)
	}
	return true, nil
}

func (h *connect) showAsk(c echo.Context, p *providers.Provider, need asks.Need, to string) error {
	ctx, u := c.Request().Context(), core.UserOf(c)
	mine, err := h.asks.Of(ctx, u.ID)
	if err != nil {
		return err
	}
	v := askOf(ctx, p, need, mine, to)
	if v.Way, err = h.steps.Way(ctx, u, p.Name, to); err != nil {
		return err
	}
	return h.core.Show(c, http.StatusOK, v.Title, askPage(v))
}

// showReady says that what a member has waited for is ready.
func (h *connect) showReady(c echo.Context, p *providers.Provider, to string) error {
	ctx := c.Request().Context()
	v := askView{Provider: p.Name, ReturnTo: to, Title: words.T(ctx, "connect.title", "Name", p.Called()),
		Lead: words.T(ctx, "ask.done_text", "Service", p.Called()), Asked: &ui.Action{Main: true,
			Label: words.T(ctx, "ask.done_button", "Service", p.Called()), URL: "/connect/" + p.Name + "?" +
				url.Values{"return_to": {to}}.Encode()}}
	return h.core.Show(c, http.StatusOK, v.Title, askPage(v))
}

// returnTo returns the page that a person goes back to afterwards: the one that the address names, else where they came
// from.
func (h *connect) returnTo(c echo.Context) string {
	if to := c.QueryParam("return_to"); to != "" {
		return core.LocalPath(to)
	}
	return h.core.CameFrom(c)
}

// filled is a form as a person has filled it in.
type filled struct {
	id       library.ConnectionID
	provider *providers.Provider
	returnTo string
	values   typed
	problem  string
	movedTo  string // the address that the connection's server redirects to, which is filled in; empty for none
}

// moved fills in the address that the server of a connection redirects to, with the path that it had. The person
// decides whether it is theirs: nothing is sent there before.
func (f *filled) moved(st syncer.Status) {
	for _, l := range []*syncer.Line{st.Reading, st.Sending} {
		if l == nil || l.MovedTo == "" || !l.State.Mendable || l.State.ForAdmin {
			continue
		}
		for _, field := range f.provider.Fields {
			to, err := url.Parse(l.MovedTo)
			at, bad := url.Parse(f.values[field.Name])
			if field.Kind == "url" && err == nil && bad == nil {
				at.Scheme, at.Host = to.Scheme, to.Host
				f.values[field.Name], f.movedTo = at.String(), l.MovedTo
			}
		}
	}
}

func (h *connect) showForm(c echo.Context, status int, f filled) error {
	ctx, u := c.Request().Context(), core.UserOf(c)
	_, err := h.statuses.One(ctx, u.ID, f.id)
	exists, label := err == nil, h.statuses.label(ctx, u.ID, f.id)
	another := f.id.Number() > 1 && !exists
	v := formOf(ctx, f.provider, f.values, exists)
	v.ID, v.ReturnTo, v.Problem, v.Open = string(f.id), f.returnTo, f.problem, f.problem != ""
	v.Title, v.Button = titleOf(ctx, label, f.provider, exists, another), words.T(ctx, "connect.button")
	switch {
	case f.movedTo != "":
		v.Button = words.T(ctx, "connect.again_button")
		v.Lead = words.T(ctx, "astray.lead", "Address", f.movedTo)
	case exists:
		v.Button = words.T(ctx, "connect.again_button")
		v.Lead = words.T(ctx, "connect.again_lead")
	case f.problem == "":
		v.Lead = words.T(ctx, "connect.lead", "Name", f.provider.Called())
	}
	if another {
		v.Fields = append(v.Fields, nameField(ctx, f.provider, label, f.values["name"]))
	}
	if v.Way, err = h.steps.Way(ctx, u, f.provider.Name, f.returnTo); err != nil {
		return err
	}
	return h.core.Show(c, status, v.Title, fillIn(v))
}

// AllowPath returns the address where a person gives Reprise a permission at a connection. It then leads them to
// returnTo.
func AllowPath(conn library.ConnectionID, what providers.Permission, returnTo string) string {
	return "/connect/" + string(conn) + "?" +
		url.Values{"allow": {string(what)}, "return_to": {returnTo}}.Encode()
}

// begin asks for consent, and returns the address at the provider. What a person has allowed once is asked for again.
func (h *connect) begin(c echo.Context, id library.ConnectionID, returnTo string) (string, error) {
	allowed, err := h.statuses.allowed(c, id)
	if err != nil {
		return "", err
	}
	r := h.request(c, id, returnTo)
	r.Further = append(allowed, providers.Permission(c.QueryParam("allow")))
	return h.flow.Begin(c.Request().Context(), r)
}

func (h *connect) request(c echo.Context, id library.ConnectionID, returnTo string) oauth.Request {
	p := h.core.Registry.Get(id.Provider())
	return oauth.Request{Provider: p, Connection: id, User: core.UserOf(c).ID,
		Session:     h.core.Sessions.Fingerprint(c.Request().Context()),
		RedirectURI: h.register.redirectURI(p), ReturnTo: returnTo}
}

// consenting returns the connection that a request names, of a service that asks for consent on a page of its own.
func (h *connect) consenting(c echo.Context) (library.ConnectionID, *providers.Provider, error) {
	id, p, err := h.core.Connection(c)
	if err == nil && !p.InBrowser() {
		err = core.HTTPProblem(http.StatusNotFound)
	}
	return id, p, err
}

// callback answers the redirect from a provider's consent page.
func (h *connect) callback(c echo.Context) error { return h.consented(c, c.QueryParams()) }

// consented connects with the answer of a provider's consent page.
func (h *connect) consented(c echo.Context, answer url.Values) error {
	id, p, err := h.consenting(c)
	if err != nil {
		return err
	}
	ctx, done := core.Waits(c)
	defer done()
	ctx, end, err := h.connections.Claim(ctx, p) // the answer is good for one call
	if err != nil {
		return err
	}
	defer end()
	grant, err := h.flow.Complete(ctx, h.request(c, library.ConnectionID(p.Name), ""), answer)
	if errors.Is(err, oauth.ErrRefused) {
		return h.core.Done(c, core.LocalPath(grant.ReturnTo), words.New("connect.refused", "Name", p.Called()))
	}
	if errors.Is(err, oauth.ErrState) {
		return err
	}
	if err == nil {
		_, err = h.connections.ConnectOAuth(ctx, p, core.UserOf(c).ID, grant)
	} else {
		err = h.connections.Refused(ctx, p, nil, err)
	}
	return h.connected(c, cmp.Or(grant.Connection, id), grant.ReturnTo, p, err)
}

// connected answers after an attempt to connect: with a redirect to where the person came from or to the choice
// between two accounts, or with an error in words about p.
func (h *connect) connected(
	c echo.Context, id library.ConnectionID, returnTo string, p *providers.Provider, err error,
) error {
	if _, ok := errors.AsType[*syncer.OtherAccountError](err); ok {
		return c.Redirect(http.StatusSeeOther,
			"/connect/"+string(id)+"/choose?return_to="+url.QueryEscape(core.LocalPath(returnTo)))
	}
	if err != nil {
		h.core.Log.Info("connecting refused", "provider", p.Name, "user_id", core.UserOf(c).ID, "err",
			resilience.Excerpt(err.Error()))
		return refused(p, err)
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	if err := h.asks.Used(ctx, user, id.Provider()); err != nil {
		h.core.Log.Error("an ask cannot be closed", "err", err)
	}
	st, err := h.statuses.Status(ctx, user, id)
	if err != nil {
		return err
	}
	return h.core.Done(c, core.LocalPath(returnTo), connectedText(ctx, st))
}

func (h *connect) form(c echo.Context) error {
	id, p, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	if p.InBrowser() {
		return core.HTTPProblem(http.StatusMethodNotAllowed)
	}
	form, err := core.Form(c)
	if err != nil {
		return err
	}
	given := map[string]string{}
	for name := range form {
		given[name] = form.Get(name)
	}
	to := core.LocalPath(form.Get("return_to"))
	fields, err := fieldsOf(c.Request().Context(), p, given)
	if err == nil {
		var name string
		if name, err = nameOf(given["name"]); err == nil {
			ctx, done := core.Waits(c)
			defer done()
			_, err = h.connections.Connect(ctx, p, library.Connection{User: core.UserOf(c).ID,
				ID: id, Name: name, Credentials: fields})
		}
	}
	err = h.connected(c, id, to, h.named(c, id, fields, given["name"], err), err)
	if failed, ok := errors.AsType[*core.Refusal](err); ok {
		values := h.statuses.kept(c, id)
		for _, f := range p.Fields {
			if !isSecret(f) {
				values[f.Name] = given[f.Name]
			}
		}
		values["name"] = given["name"]
		return h.showForm(c, failed.Status, filled{id: id, provider: p, returnTo: to, values: values,
			problem: failed.Detail.T(c.Request().Context())})
	}
	return err
}

// connectedText says that a connection works now, and what it does first.
func connectedText(ctx context.Context, st syncer.Status) words.Text {
	label := st.Connection.Label(st.Provider.Called().T(ctx))
	switch {
	case st.Provider.Takes.Archive:
		return words.New("connect.done_writing", "Name", label)
	case len(st.Provider.Streams) == 0:
		return words.New("connect.done_forwarding", "Name", label)
	case st.Reading == nil:
		return words.New("connect.done_sending", "Name", label)
	}
	return words.New("connect.done_reading", "Name", label)
}

// named returns the provider of a connection under the name of the server that a person has named: what it calls
// itself, what they call it, or that it is theirs.
func (h *connect) named(
	c echo.Context, id library.ConnectionID, given library.Credentials, name string, err error,
) *providers.Provider {
	p := h.core.Registry.Get(id.Provider())
	if name == "" {
		if st, err := h.statuses.Status(c.Request().Context(), core.UserOf(c).ID, id); err == nil {
			name = st.Connection.Name
		}
	}
	return calledAs(p, p.NamedHost(given), name, err)
}

// calledAs returns p under the name of the server at a host that a person has named.
func calledAs(p *providers.Provider, host, name string, err error) *providers.Provider {
	called := words.New("provider.your_server")
	e, answered := errors.AsType[*resilience.AnswerError](err)
	switch {
	case host == "" || !p.Named.IsZero():
		return p
	case p.Owner != providers.OwnServer:
		called = words.Plain(host)
	case answered && e.Server != "":
		called = words.Plain(e.Server)
	case name != "":
		called = words.Plain(name)
	}
	other := *p
	other.Named = called
	return &other
}

// refused returns the problem for credentials that the provider did not accept.
func refused(p *providers.Provider, err error) error {
	if _, ok := errors.AsType[*core.Refusal](err); ok { // of the form, before the provider was asked
		return err
	}
	if e, ok := errors.AsType[*backoff.NotBeforeError](err); ok && e.Endpoint == "" {
		return err
	}
	if _, ok := errors.AsType[*syncer.OtherAccountError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*resilience.LocalError](err); ok {
		return err
	}
	w := notify.Refused(p, err)
	return &core.Refusal{Status: http.StatusUnprocessableEntity, Title: w.Title, Detail: w.Message}
}
