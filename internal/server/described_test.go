package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

// A list is in every answer, empty or not, so that a program can go through it without asking first.
func TestListsAreNeverAbsent(t *testing.T) {
	t.Parallel()
	lists := 0
	servertest.Described.EachSchema(func(where string, schema map[string]any) {
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for name, one := range properties {
			kind := servertest.Described.At(one, "type")
			if several, ok := kind.([]any); ok {
				require.NotContains(t, several, "array", "%s: %s may be null", where, name)
			}
			if kind == "array" {
				lists++
				require.Contains(t, required, name, "%s: the list %s may be absent", where, name)
			}
		}
	})
	require.Greater(t, lists, 25)
}

// Somebody who has nothing yet gets lists all the same.
func TestEmptyListsOfANewcomer(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		newcomer, err := h.DB.AddUser(t.Context(), accounts.User{Name: "Eva", PasswordHash: "-", Role: accounts.Admin,
			CreatedAt: time.Now()}, false)
		require.NoError(t, err)
		require.NoError(t, h.DB.ShareListening(t.Context(), h.User, true))
		h.As(newcomer.ID)
		asked, query := 0, map[string]string{"/stats/common": "?person=Ann"} // which has to be named
		for call := range servertest.Calls() {
			method, route, _ := strings.Cut(call, " ")
			path := strings.TrimPrefix(route, "/api/v1")
			if method != http.MethodGet || strings.ContainsAny(path, ":.") || strings.HasPrefix(path, "/events") {
				continue
			}
			asked++
			answer := h.Call(http.MethodGet, path+query[path], "", http.StatusOK) // compared with the description
			for name, value := range answer {
				list, ok := value.([]any)
				full := []string{"people", "users", "sessions", "keys", "breakers", "endpoints", "settings"}
				if ok && !slices.Contains(full, name) {
					require.Empty(t, list, "%s: %s", path, name)
				}
			}
		}
		require.Greater(t, asked, 15)
	})
}
