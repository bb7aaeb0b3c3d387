package demo

import (
	_ "embed"
	"html/template"
	"net/http"
)

//go:embed consent.html
var consentHTML string

//go:embed consent.css
var consentCSS string

var consentPage = template.Must(template.New("consent").Parse(consentHTML))

func serveConsentCSS(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = w.Write([]byte(consentCSS)) // an error: the client went first
}

// consent is what an app asks a person for.
type consent struct {
	home              *household
	service, signedIn string
	asked             []string
}

// show shows the page on which a person agrees. Its form posts to the page's own address, with the app's parameters.
func (c consent) show(w http.ResponseWriter, r *http.Request) {
	type choice struct {
		Name, Display string
		Current       bool
	}
	data := struct {
		Service, Action, Display string
		Scopes                   []string
		Choices                  []choice
		Fields                   map[string]string
	}{c.service, r.URL.Path, c.home.person(c.signedIn).display, c.asked, nil, map[string]string{}}
	for _, name := range []string{Alice, Bob} {
		data.Choices = append(data.Choices, choice{name, c.home.person(name).display, name == c.signedIn})
	}
	for k := range r.URL.Query() {
		data.Fields[k] = r.URL.Query().Get(k)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = consentPage.Execute(w, data) // an error: the client went first
}
