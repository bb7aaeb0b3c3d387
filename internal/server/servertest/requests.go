package servertest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"

	"github.com/stretchr/testify/require"
)

// ServeHTTP answers a request, and compares an answer of the API with its description.
func (h *Household) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.T.Helper()
	h.Server.ServeHTTP(w, r)
	route := routeOf(h.Server, r)
	if answer, ok := w.(*httptest.ResponseRecorder); ok && strings.HasPrefix(route, "/api/v1/") &&
		answer.Code != http.StatusSwitchingProtocols {
		Described.check(h.T, r.Method, route, answer)
	}
}

// Do sends a request with the cookies of the answers before.
func (h *Household) Do(method, path, body, contentType string) *httptest.ResponseRecorder {
	h.T.Helper()
	r := httptest.NewRequestWithContext(h.T.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for _, c := range h.Session {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if set := w.Result().Cookies(); len(set) > 0 {
		h.Session = set
	}
	return w
}

// Call makes a call of the API and reads its answer.
func (h *Household) Call(method, path, body string, status int) map[string]any {
	h.T.Helper()
	w := h.Do(method, "/api/v1"+path, body, "application/json")
	require.Equal(h.T, status, w.Code, "%s %s: %s", method, path, w.Body)
	if status >= 400 {
		require.Equal(h.T, "application/problem+json", w.Header().Get("Content-Type"))
	}
	var out map[string]any
	if w.Body.Len() > 0 {
		require.NoError(h.T, json.Unmarshal(w.Body.Bytes(), &out))
	}
	return out
}

// Page returns a page, as text does.
func (h *Household) Page(path string) string {
	h.T.Helper()
	w := h.Do(http.MethodGet, path, "", "")
	require.Equal(h.T, http.StatusOK, w.Code, path)
	return Text(w)
}

// Text returns the body of an answer with each run of white space as one space, as browsers show it.
func Text(w *httptest.ResponseRecorder) string { return Spaces.ReplaceAllString(w.Body.String(), " ") }

// Spaces matches a run of white space.
var Spaces = regexp.MustCompile(`[ \t\n]+`)

// Submit sends a form.
func (h *Household) Submit(path string, status int, fields ...string) *httptest.ResponseRecorder {
	h.T.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	w := h.Do(http.MethodPost, path, form.Encode(), "application/x-www-form-urlencoded")
	require.Equal(h.T, status, w.Code, "%s: %s", path, w.Body)
	return w
}

// States returns the number of deliveries in each state.
func (h *Household) States() map[string]any {
	h.T.Helper()
	return h.Call(http.MethodGet, "/deliveries", "", http.StatusOK)["counts"].(map[string]any)
}

// Only returns the one delivery that a filter selects.
func (h *Household) Only(filter string) map[string]any {
	h.T.Helper()
	all := h.Call(http.MethodGet, "/deliveries?"+filter, "", http.StatusOK)["deliveries"].([]any)
	require.Len(h.T, all, 1, filter)
	return all[0].(map[string]any)
}

// Knock sends a request with headers, as browsers and monitors do.
func (h *Household) Knock(method, path string, headers ...string) *httptest.ResponseRecorder {
	h.T.Helper()
	r := httptest.NewRequestWithContext(h.T.Context(), method, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	for _, c := range h.Session {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Ask makes a call and returns the status and the answer.
func (h *Household) Ask(method, path, body string) (int, string) {
	h.T.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Host = "127.0.0.1:8420"
	if strings.HasPrefix(body, "{") {
		req.Header.Set("Content-Type", "application/json")
	} else {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec.Code, rec.Body.String()
}

// At sends a request that names a host, as a browser does.
func (h *Household) At(host, path string) *httptest.ResponseRecorder {
	h.T.Helper()
	r := httptest.NewRequestWithContext(h.T.Context(), http.MethodGet, path, nil)
	r.Host, r.RemoteAddr = host, "127.0.0.1:1"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
