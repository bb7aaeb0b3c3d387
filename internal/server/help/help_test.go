package help_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/providers/registry"
	"reprise/internal/server/core"
	"reprise/internal/server/servertest"
)

// Somebody who can't sign in looks for help, and finds it.
func TestHelpIsThereForAnybody(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	page := func(path string, headers ...string) string {
		w := h.Knock(http.MethodGet, path, headers...)
		require.Equal(t, http.StatusOK, w.Code, path)
		return w.Body.String()
	}
	h.Call(http.MethodGet, "/playlists", "", http.StatusOK) // signs in
	require.Contains(t, page("/help"), `action="/logout"`, "who is signed in stays so")
	require.Contains(t, page("/settings/account"), `href="/help/signing-in"`)
	h.As(0)
	require.NotContains(t, page("/help"), `action="/logout"`)
	require.Contains(t, page("/help"), `href="/help/commands"`)
	document := page("/help/commands")
	require.Contains(t, document, `<a href="#backup-and-restore">Backup and restore</a>`)
	require.Contains(t, document, `<h2 id="backup-and-restore">`)
	found := page("/help?q=lost+secret+key")
	require.Contains(t, found, `href="/help/commands#a-lost-secret-key"`)
	require.Contains(t, page("/help?q=%3Cb%3Exyzzy"), "No document says anything about")
	require.NotContains(t, page("/help?q=%3Cb%3Exyzzy"), "<b>")
	require.Contains(t, page("/help/commands", "Accept-Language", "de"), "nur auf Englisch")
	require.Equal(t, http.StatusNotFound, h.Knock(http.MethodGet, "/help/nothing").Code)
	require.Equal(t, "/help", h.Knock(http.MethodGet, "/help/README").Header().Get("Location"))
}

// Each page leads to the document that helps with it.
func TestPagesLeadToHelpThatIsThere(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	for _, address := range core.Helps(registry.Descriptions()...) {
		path, id, _ := strings.Cut(address, "#")
		w := h.Knock(http.MethodGet, path)
		require.Equal(t, http.StatusOK, w.Code, address)
		require.Contains(t, w.Body.String(), ` id="`+id, address)
	}
}
