package server

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
)

type connectView struct {
	Provider    *providers.Provider
	RedirectURI string
	Settings    []string // what an administrator has to fill in before anybody can consent, and how to come by it
	SettingUp   string
	ReturnTo    string
	Values      map[string]string // what was typed in before, without passwords
	Connected   bool
	Problem     string
}

func (s *Server) newConnectView(c echo.Context, p *providers.Provider) connectView {
	v := connectView{Provider: p, RedirectURI: s.RedirectURI(p.Name), ReturnTo: s.cameFrom(c), Values: map[string]string{}}
	v.Settings, v.SettingUp = p.ToRegister()
	_, err := s.status(c.Request().Context(), userOf(c).ID, p.Name)
	v.Connected = err == nil
	return v
}

// connectPage shows the form of a provider, or sends the browser to the provider's own consent page.
func (s *Server) connectPage(c echo.Context) error {
	p, err := s.provider(c)
	if err != nil {
		return err
	}
	v := s.newConnectView(c, p)
	if !p.InBrowser() {
		return s.render(c, http.StatusOK, "connect", "Connect "+p.DisplayName, v)
	}
	if err := s.Connections.Held(p, nil); err != nil { // else the consent would be thrown away
		return err
	}
	to, err := s.Flow.Begin(c.Request().Context(), s.request(c, p, v.ReturnTo))
	if _, ok := errors.AsType[*resilience.SettingError](err); ok {
		return s.render(c, http.StatusOK, "connect", "Connect "+p.DisplayName, v)
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, to)
}

func (s *Server) request(c echo.Context, p *providers.Provider, returnTo string) oauth.Request {
	return oauth.Request{Provider: p, User: userOf(c).ID, Session: s.fingerprint(c.Request().Context()),
		RedirectURI: s.RedirectURI(p.Name), ReturnTo: returnTo}
}

// callback is where a provider's consent page leads back to.
func (s *Server) callback(c echo.Context) error {
	p, err := s.provider(c)
	if err != nil {
		return err
	}
	if !p.InBrowser() {
		return httpProblem(http.StatusNotFound)
	}
	ctx := c.Request().Context()
	grant, err := s.Flow.Complete(ctx, s.request(c, p, ""), c.QueryParams())
	if errors.Is(err, oauth.ErrRefused) {
		s.sessions.Put(ctx, flashKey, p.DisplayName+" was not connected: you did not allow it there. Nothing was changed.")
		return c.Redirect(http.StatusSeeOther, localPath(grant.ReturnTo))
	}
	if errors.Is(err, oauth.ErrState) {
		return err
	}
	if err == nil {
		_, err = s.Connections.ConnectOAuth(ctx, p, userOf(c).ID, grant)
	} else {
		err = errors.Join(err, s.Connections.Refused(ctx, p, nil, err))
	}
	return s.connected(c, p, grant.ReturnTo, err)
}

// begun says what a new connection begins with.
func begun(p *providers.Provider) string {
	if len(p.Streams) == 0 {
		return " Writing has started."
	}
	return " Reading has started."
}

// connected ends a connecting: back to where the person came from, to the choice between two accounts, or to an error.
func (s *Server) connected(c echo.Context, p *providers.Provider, returnTo string, err error) error {
	if _, ok := errors.AsType[*syncer.OtherAccountError](err); ok {
		return c.Redirect(http.StatusSeeOther, "/connect/"+p.Name+"/choose?return_to="+url.QueryEscape(localPath(returnTo)))
	}
	if err != nil {
		s.Log.Info("connecting refused", "provider", p.Name, "user_id", userOf(c).ID, "err", resilience.Excerpt(err.Error()))
		return refused(p, err)
	}
	s.sessions.Put(c.Request().Context(), flashKey, p.DisplayName+" is connected."+begun(p))
	return c.Redirect(http.StatusSeeOther, localPath(returnTo))
}

func (s *Server) connectForm(c echo.Context) error {
	p, err := s.provider(c)
	if err != nil {
		return err
	}
	if p.InBrowser() {
		return httpProblem(http.StatusMethodNotAllowed)
	}
	form, err := c.FormParams()
	if err != nil {
		return httpProblem(http.StatusBadRequest)
	}
	given := map[string]string{}
	for name := range form {
		given[name] = form.Get(name)
	}
	v := s.newConnectView(c, p)
	v.ReturnTo = localPath(form.Get("return_to"))
	fields, err := fieldsOf(p, given)
	if err == nil {
		_, err = s.Connections.Connect(c.Request().Context(), p, userOf(c).ID, fields)
	}
	err = s.connected(c, p, v.ReturnTo, err)
	if failed, ok := errors.AsType[*problem](err); ok {
		for _, f := range p.Fields {
			if f.Kind != "password" {
				v.Values[f.Name] = given[f.Name]
			}
		}
		v.Problem = failed.Detail
		return s.render(c, failed.Status, "connect", "Connect "+p.DisplayName, v)
	}
	return err
}

// fieldsOf takes from what was sent the fields that the provider asks for.
func fieldsOf(p *providers.Provider, given map[string]string) (library.Credentials, error) {
	fields := library.Credentials{}
	var missing []string
	for _, f := range p.Fields {
		value := strings.Trim(given[f.Name], "\r\n\t") // which comes along when it is copied
		if f.Kind != "password" || strings.TrimSpace(value) == "" {
			value = strings.TrimSpace(value)
		}
		if strings.ContainsFunc(value, unicode.IsControl) {
			return nil, &problem{Status: http.StatusUnprocessableEntity, Title: "Please check what you typed", Detail: "There is a line break or something else that cannot be seen in: " + f.Label + ". Enter it anew. Nothing was stored."}
		}
		if value == "" && !f.Optional {
			missing = append(missing, f.Label)
		}
		if value != "" {
			fields[f.Name] = value
		}
	}
	if len(missing) > 0 {
		return nil, &problem{Status: http.StatusUnprocessableEntity, Title: "Something is missing", Detail: "Please fill in: " + strings.Join(missing, ", ") + "."}
	}
	return fields, nil
}

// connectAPI takes the fields of a provider as JSON. With "other_account": "accept" a different account than before is
// taken without asking.
func (s *Server) connectAPI(c echo.Context) error {
	p, err := s.provider(c)
	if err != nil {
		return err
	}
	if p.InBrowser() {
		return &problem{Status: http.StatusUnprocessableEntity, Title: "Needs a browser",
			Detail: p.DisplayName + " is connected in a browser: open " + s.BaseURL + "/connect/" + p.Name}
	}
	given, err := body[map[string]any](c)
	if err != nil {
		return err
	}
	texts := map[string]string{}
	for name, value := range given {
		switch v := value.(type) {
		case string:
			texts[name] = v
		case bool:
			if v {
				texts[name] = "true"
			}
		default:
			return &problem{Status: http.StatusUnprocessableEntity, Title: "Please check what you sent", Detail: "The field " + name + " has to be a text."}
		}
	}
	fields, err := fieldsOf(p, texts)
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), userOf(c).ID
	_, err = s.Connections.Connect(ctx, p, user, fields)
	if _, other := errors.AsType[*syncer.OtherAccountError](err); other && texts["other_account"] == "accept" {
		_, err = s.Connections.Choose(ctx, user, p.Name, true)
	}
	if err != nil {
		return refused(p, err)
	}
	v, err := s.status(ctx, user, p.Name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v)
}

type chooseView struct {
	Provider *providers.Provider
	Old, New string
	ReturnTo string
}

func (s *Server) choosePage(c echo.Context) error {
	p, err := s.provider(c)
	if err != nil {
		return err
	}
	choice, err := s.Connections.Choice(c.Request().Context(), userOf(c).ID, p)
	if errors.Is(err, library.ErrNotFound) {
		return c.Redirect(http.StatusSeeOther, "/")
	}
	if err != nil {
		return err
	}
	v := chooseView{Provider: p, Old: choice.Old, New: choice.New, ReturnTo: s.cameFrom(c)}
	if to := c.QueryParam("return_to"); to != "" {
		v.ReturnTo = localPath(to)
	}
	return s.render(c, http.StatusOK, "choose", "Which account?", v)
}

func (s *Server) chooseForm(c echo.Context) error {
	p, err := s.provider(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	accept := c.FormValue("account") == "new"
	chosen, err := s.Connections.Choose(ctx, userOf(c).ID, p.Name, accept)
	if err != nil {
		return err
	}
	flash := p.DisplayName + " stays as it was."
	if accept {
		flash = p.DisplayName + " is now connected as " + chosen.Account + "." + begun(p)
	}
	s.sessions.Put(ctx, flashKey, flash)
	return c.Redirect(http.StatusSeeOther, localPath(c.FormValue("return_to")))
}

// cameFrom is the page of ours that a request came from.
func (s *Server) cameFrom(c echo.Context) string {
	u, err := url.Parse(c.Request().Referer())
	if err != nil || u.Host != c.Request().Host && u.Host != s.base.Host || strings.HasPrefix(u.Path, "/connect/") || u.Path == "/login" || u.Path == "/setup" {
		return "/"
	}
	return localPath(u.RequestURI())
}

// localPath is path when it leads to a page of ours, and the status page otherwise.
func localPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.HasPrefix(path, "/\\") {
		return "/"
	}
	return path
}
