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

// showConsent shows the page on which a person agrees to what an app asks for. Its form posts to the page's own
// address, with the app's parameters.
func showConsent(w http.ResponseWriter, r *http.Request, home *household, service, signedIn string, asked []string) {
	type choice struct {
		Name, Display string
		Current       bool
	}
	data := struct {
		Service, Action, Display string
		Scopes                   []string
		Choices                  []choice
		Fields                   map[string]string
	}{service, r.URL.Path, home.person(signedIn).display, asked, nil, map[string]string{}}
	for _, name := range []string{Alice, Bob} {
		data.Choices = append(data.Choices, choice{name, home.person(name).display, name == signedIn})
	}
	for k := range r.URL.Query() {
		data.Fields[k] = r.URL.Query().Get(k)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = consentPage.Execute(w, data) // an error: the client went first
}
