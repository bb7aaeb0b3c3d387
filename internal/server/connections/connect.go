package connections

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// connect answers for connecting: the form or the consent page of a provider, and the choice between two accounts.
type connect struct {
	core        *core.Core
	connections *syncer.Connections
	statuses    *Statuses
	flow        *oauth.Flow
}

type connectView struct {
	ID          string
	Label       string // of the connection
	Another     bool   // one more connection to the provider is made: it may get a name
	Provider    *providers.Provider
	RedirectURI string
	Settings    []string // missing settings of the installation
	SettingUp   string
	ReturnTo    string
	Values      map[string]string // what was typed, without passwords
	Connected   bool
	Problem     string
}

func (h *connect) view(c echo.Context, id library.ConnectionID, p *providers.Provider) connectView {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	v := connectView{ID: string(id), Label: h.statuses.label(ctx, user, id), Provider: p,
		RedirectURI: RedirectURI(h.core, p.Name), ReturnTo: h.core.CameFrom(c), Values: map[string]string{}}
	v.Settings, v.SettingUp = p.ToRegister()
	_, err := h.statuses.One(ctx, user, id)
	v.Connected = err == nil
	h.statuses.addAddress(ctx, user, id, v.Values)
	v.Another = id.Number() > 1 && !v.Connected
	return v
}

// page shows the form of a provider, or redirects to the provider's consent page.
func (h *connect) page(c echo.Context) error {
	id, p, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	v := h.view(c, id, p)
	if !p.InBrowser() {
		return h.core.Render(c, http.StatusOK, "connect", "Connect "+v.Label, v)
	}
	if err := h.connections.Held(p, nil); err != nil { // the consent could not be used now
		return err
	}
	to, err := h.flow.Begin(c.Request().Context(), h.request(c, id, v.ReturnTo))
	if _, ok := errors.AsType[*resilience.SettingError](err); ok {
		return h.core.Render(c, http.StatusOK, "connect", "Connect "+v.Label, v)
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, to)
}

func (h *connect) request(c echo.Context, id library.ConnectionID, returnTo string) oauth.Request {
	p := h.core.Registry.Get(id.Provider())
	return oauth.Request{Provider: p, Connection: id, User: core.UserOf(c).ID,
		Session:     h.core.Sessions.Fingerprint(c.Request().Context()),
		RedirectURI: RedirectURI(h.core, p.Name), ReturnTo: returnTo}
}

// callback answers the redirect from a provider's consent page.
func (h *connect) callback(c echo.Context) error {
	_, p, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	if !p.InBrowser() {
		return core.HTTPProblem(http.StatusNotFound)
	}
	ctx, done := core.Waits(c)
	defer done()
	grant, err := h.flow.Complete(ctx, h.request(c, library.ConnectionID(p.Name), ""), c.QueryParams())
	if errors.Is(err, oauth.ErrRefused) {
		return h.core.Done(c, core.LocalPath(grant.ReturnTo), words.Plain(p.DisplayName+
			" was not connected: you did not "+
			"allow it there. Nothing was changed."))
	}
	if errors.Is(err, oauth.ErrState) {
		return err
	}
	if err == nil {
		_, err = h.connections.ConnectOAuth(ctx, p, core.UserOf(c).ID, grant)
	} else {
		err = h.connections.Refused(ctx, p, nil, err)
	}
	return h.connected(c, cmp.Or(grant.Connection, library.ConnectionID(p.Name)), grant.ReturnTo, p, err)
}

// begun returns the sentence about what a new connection does first.
func begun(p *providers.Provider) string {
	if len(p.Streams) == 0 {
		return " Writing has started."
	}
	return " Reading has started."
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
		return refused(c.Request().Context(), p, err)
	}
	label := h.statuses.label(c.Request().Context(), core.UserOf(c).ID, id)
	return h.core.Done(c, core.LocalPath(returnTo), words.Plain(label+" is connected."+begun(p)))
}

func (h *connect) form(c echo.Context) error {
	id, p, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	if p.InBrowser() {
		return core.HTTPProblem(http.StatusMethodNotAllowed)
	}
	form, err := c.FormParams()
	if err != nil {
		return core.HTTPProblem(http.StatusBadRequest)
	}
	given := map[string]string{}
	for name := range form {
		given[name] = form.Get(name)
	}
	v := h.view(c, id, p)
	v.ReturnTo = core.LocalPath(form.Get("return_to"))
	fields, err := fieldsOf(p, given)
	if err == nil {
		var name string
		if name, err = nameOf(given["name"]); err == nil {
			ctx, done := core.Waits(c)
			defer done()
			_, err = h.connections.Connect(ctx, p, library.Connection{User: core.UserOf(c).ID,
				ID: id, Name: name, Credentials: fields})
		}
	}
	err = h.connected(c, id, v.ReturnTo, named(p, fields), err)
	if failed, ok := errors.AsType[*core.Problem](err); ok {
		for _, f := range p.Fields {
			if f.Kind != "password" {
				v.Values[f.Name] = given[f.Name]
			}
		}
		v.Values["name"] = given["name"]
		v.Problem = failed.Detail
		return h.core.Render(c, failed.Status, "connect", "Connect "+v.Label, v)
	}
	return err
}

// fieldsOf returns the fields that the provider asks for.
func fieldsOf(p *providers.Provider, given map[string]string) (library.Credentials, error) {
	fields := library.Credentials{}
	var missing []string
	for _, f := range p.Fields {
		value := strings.Trim(given[f.Name], "\r\n\t") // copied along by accident
		if f.Kind != "password" || strings.TrimSpace(value) == "" {
			value = strings.TrimSpace(value)
		}
		if strings.ContainsFunc(value, unicode.IsControl) {
			return nil, &core.Problem{Status: http.StatusUnprocessableEntity, Title: "Please check what you typed",
				Detail: "There is a line break or something else that cannot be seen in: " + f.Label +
					". Enter it anew. Nothing was stored."}
		}
		if value == "" && !f.Optional {
			missing = append(missing, f.Label)
		}
		if value != "" {
			fields[f.Name] = value
		}
	}
	if len(missing) > 0 {
		return nil, &core.Problem{Status: http.StatusUnprocessableEntity, Title: "Something is missing",
			Detail: "Please fill in: " + strings.Join(missing, ", ") + "."}
	}
	return fields, nil
}

// longestName is the most letters that the name of a connection may have.
const longestName = 60

// nameOf returns the name of a connection as a person typed it, trimmed.
func nameOf(typed string) (string, error) {
	name := strings.TrimSpace(typed)
	if utf8.RuneCountInString(name) > longestName || strings.ContainsFunc(name, unicode.IsControl) {
		return "", &core.Problem{Status: http.StatusUnprocessableEntity, Title: "Please choose another name",
			Detail: "A name has at most 60 letters, on one line."}
	}
	return name, nil
}

// api connects with the fields of a provider as JSON. With "other_account": "accept" it takes an account other than
// the previous one without asking, and with "moved" the same account of a server that has another address now.
func (h *connect) api(c echo.Context) error {
	id, p, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	if p.InBrowser() {
		return &core.Problem{Status: http.StatusUnprocessableEntity, Title: "Needs a browser",
			Detail: p.DisplayName + " is connected in a browser: open " + h.core.BaseURL() + "/connect/" + string(id)}
	}
	given, err := core.Body[map[string]any](c)
	if err != nil {
		return err
	}
	delete(given, "id") // echo adds what is in the path
	takes := []string{"name", "other_account"}
	for _, f := range p.Fields {
		takes = append(takes, f.Name)
	}
	texts := map[string]string{}
	for name, value := range given {
		if !slices.Contains(takes, name) { // a field of another provider; core refuses those of none
			return core.Unknown("field", name, takes)
		}
		switch v := value.(type) {
		case string:
			texts[name] = v
		case bool:
			if v {
				texts[name] = "true"
			}
		default:
			return &core.Problem{Status: http.StatusUnprocessableEntity, Title: "Please check what you sent",
				Detail: "The field " + name + " has to be a text."}
		}
	}
	fields, err := fieldsOf(p, texts)
	if err != nil {
		return err
	}
	name, err := nameOf(texts["name"])
	if err != nil {
		return err
	}
	waiting, done := core.Waits(c)
	defer done()
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	_, err = h.connections.Connect(waiting, p, library.Connection{User: user, ID: id, Name: name, Credentials: fields})
	if other, ok := errors.AsType[*syncer.OtherAccountError](err); ok {
		switch {
		case texts["other_account"] == "accept":
			_, err = h.connections.Choose(ctx, user, id, syncer.Replace)
		case texts["other_account"] == "moved" && other.Moved:
			_, err = h.connections.Choose(ctx, user, id, syncer.Moved)
		}
	}
	if err != nil {
		return refused(ctx, named(p, fields), err)
	}
	v, err := h.statuses.One(ctx, user, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v)
}

type chooseView struct {
	ID       string
	Provider *providers.Provider
	Old, New string
	Moved    bool // it may be the same server at a new address
	ReturnTo string
}

func (h *connect) choosePage(c echo.Context) error {
	id, p, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	choice, err := h.connections.Choices(c.Request().Context(), core.UserOf(c).ID, id)
	if errors.Is(err, library.ErrNotFound) {
		return c.Redirect(http.StatusSeeOther, "/")
	}
	if err != nil {
		return err
	}
	v := chooseView{ID: string(id), Provider: p, Old: choice.Old, New: choice.New, Moved: choice.Moved,
		ReturnTo: h.core.CameFrom(c)}
	if to := c.QueryParam("return_to"); to != "" {
		v.ReturnTo = core.LocalPath(to)
	}
	title := "Which account?"
	if v.Moved {
		title = "Has your server moved?"
	}
	return h.core.Render(c, http.StatusOK, "choose", title, v)
}

// choices are what a person can make of another account, by the values of the form.
var choices = map[string]syncer.Choice{"old": syncer.Keep, "new": syncer.Replace, "another": syncer.Another,
	"moved": syncer.Moved}

func (h *connect) chooseForm(c echo.Context) error {
	id, p, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	user, choice := core.UserOf(c).ID, choices[c.FormValue("account")]
	chosen, err := h.connections.Choose(ctx, user, id, choice)
	if err != nil {
		return err
	}
	flash := h.statuses.label(ctx, user, id) + " stays as it was."
	switch choice {
	case syncer.Moved:
		flash = h.statuses.label(ctx, user, chosen.ID) + " is at its new address now. Everything else stays as it was."
	case syncer.Replace, syncer.Another:
		flash = h.statuses.label(ctx, user, chosen.ID) + " is now connected as " + chosen.Account + "." + begun(p)
	}
	return h.core.Done(c, core.LocalPath(c.FormValue("return_to")), words.Plain(flash))
}

// named returns p with the name of the server that a person has given, where that is not the service's own.
func named(p *providers.Provider, given library.Credentials) *providers.Provider {
	host := p.NamedHost(given)
	if host == "" || p.Owner == providers.OwnServer {
		return p
	}
	other := *p
	other.DisplayName, other.Named = host, words.Text{}
	return &other
}

// refused returns the problem for credentials that the provider did not accept.
func refused(ctx context.Context, p *providers.Provider, err error) error {
	if e, ok := errors.AsType[*resilience.NotBeforeError](err); ok && e.Endpoint == "" {
		return err
	}
	if _, ok := errors.AsType[*syncer.OtherAccountError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*resilience.LocalError](err); ok {
		return err
	}
	w := notify.Refused(p, err)
	return &core.Problem{Status: http.StatusUnprocessableEntity, Title: w.Title.T(ctx), Detail: w.Message.T(ctx)}
}

// RedirectURI returns the address that has to be registered with a provider that asks for consent on its own page.
func RedirectURI(k *core.Core, provider string) string {
	return k.BaseURL() + "/connect/" + provider + "/callback"
}
