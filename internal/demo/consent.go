package demo

import (
	_ "embed"
	"net/http"
)

//go:embed consent.css
var consentCSS string

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

// show shows the page on which a person agrees.
func (c consent) show(w http.ResponseWriter, r *http.Request) {
	parameters := map[string]string{}
	for name := range r.URL.Query() {
		parameters[name] = r.URL.Query().Get(name)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = consentPage(c, r.URL.Path, parameters).Render(r.Context(), w) // an error: the client went first
}
