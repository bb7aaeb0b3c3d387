package providertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
)

// counts are the names under which services say how long a listing is.
var counts = []string{"total", "totalPages", "totalResults", "count", "playlist_count"}

// checkCounts gives every count of an answer a wrong shape. The adapter then reports a broken contract, or returns the
// same data because it does not use that count. It never returns less.
func checkCounts(t *testing.T, c *capability) {
	whole, err := c.try(t.Context(), t, c.Healthy)
	require.NoError(t, err)
	for _, name := range counts {
		for _, wrong := range []any{"many", -1, "-1", []string{"1"}, map[string]int{"value": 1}} {
			where := fmt.Sprintf("%s: %v", name, wrong)
			found := false
			pages, err := c.try(t.Context(), t, c.with(func(req *http.Request) (*http.Response, error) {
				status, header, body := c.Healthy(req)
				var v any
				if json.Unmarshal([]byte(body), &v) == nil && replace(v, name, wrong) {
					text, _ := json.Marshal(v)
					body, found = string(text), true
				}
				return response(req, status, header, strings.NewReader(body)), nil
			}))
			if !found {
				break
			}
			if err == nil {
				require.Equal(t, whole, pages, where)
				continue
			}
			require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category, "%s: %v", where, err)
		}
	}
}

// replace sets every member of this name in a JSON value, and reports whether there is one.
func replace(v any, name string, to any) (found bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			if k == name && !isContainer(member) {
				v[k], found = to, true
				continue
			}
			found = replace(member, name, to) || found
		}
	case []any:
		for _, member := range v {
			found = replace(member, name, to) || found
		}
	}
	return found
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
