package providertest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// taken represents an accepted play in the list of pages.
const taken = "taken"

// examplePlays returns the default plays of a suite: three tracks of three artists.
func examplePlays() []library.StoredListen {
	names := []struct{ artist, title, album string }{
		{"Sigur Rós", "Svefn-g-englar", "Ágætis byrjun"},
		{"Boards of Canada", "Roygbiv", "Music Has the Right to Children"},
		{"Björk", "Jóga", ""},
	}
	plays := make([]library.StoredListen, len(names))
	for i, n := range names {
		at := time.Date(2026, 11, 20, 21, 4+5*i, 11, 123e6, time.UTC)
		plays[i] = library.StoredListen{
			ID: int64(i + 1),
			Listen: library.Listen{
				Track:    library.Track{Title: n.title, Artist: n.artist, Album: n.album, Duration: 200 * time.Second},
				SourceID: fmt.Sprintf("play-%d", i), PlayedAt: at,
			},
			Sources: []library.Source{{Connection: "spotify", SourceID: fmt.Sprintf("play-%d", i)}},
		}
	}
	return plays
}

// submitting returns the capability of accepting listens. Its pages are the plays before the first one that was not
// accepted, and its error is the call's, or else that play's.
func submitting(t *testing.T, s *Suite) *capability {
	t.Helper()
	plays := s.Plays
	if plays == nil {
		plays = examplePlays()
	}
	require.LessOrEqual(t, len(plays), s.Provider.Takes.Batch, "more plays than one call may carry")
	return &capability{
		name: "Submit", Capability: s.Submit,
		read: func(ctx context.Context, t *testing.T, a providers.Adapter) (pages []any, err error) {
			given := slices.Clone(plays)
			submit := a.(providers.ListenTaker).Submit
			if s.Provider.Takes.Library {
				submit = func(ctx context.Context, plays []library.StoredListen) ([]error, error) {
					return Submit(ctx, a.(providers.LibraryTaker), plays)
				}
			}
			outcomes, err := submit(ctx, given)
			require.Equal(t, plays, given, "the plays are the caller's")
			if outcomes == nil {
				if err == nil {
					pages = slices.Repeat([]any{taken}, len(plays))
				}
				return pages, err
			}
			require.Len(t, outcomes, len(plays), "one outcome per play")
			for _, outcome := range outcomes {
				if outcome == nil {
					continue
				}
				v := resilience.VerdictOf(outcome)
				require.NotEqual(t, resilience.Unknown, v.Category, "%v", outcome)
				if v.Class == resilience.Canceled {
					require.ErrorIs(t, ctx.Err(), context.Canceled, "%v", outcome)
				}
			}
			first := slices.IndexFunc(outcomes, func(e error) bool { return e != nil })
			if first < 0 {
				require.NoError(t, err, "a failure of the call when every play was taken")
				return slices.Repeat([]any{taken}, len(plays)), nil
			}
			if err == nil {
				err = outcomes[first]
			}
			return slices.Repeat([]any{taken}, first), err
		},
	}
}

// checkTakes checks that the adapter implements what its provider's Takes declares.
func (s *Suite) checkTakes(t *testing.T) {
	takes, a := s.Provider.Takes, s.Provider.Open(Call(Always(http.StatusOK, `{}`)), s.Credentials)
	if takes.Listens != "" {
		require.Contains(t, []string{"submit_listens", "scrobble"}, takes.Listens)
		require.True(t, 1 <= takes.Batch && takes.Batch <= 1000, "batches of %d", takes.Batch)
		require.GreaterOrEqual(t, takes.Oldest, time.Duration(0))
		require.Implements(t, (*providers.ListenTaker)(nil), a)
	}
	if takes.Library {
		require.Implements(t, (*providers.LibraryTaker)(nil), a)
	}
	if takes.Playlists {
		require.Implements(t, (*providers.PlaylistWriter)(nil), a)
	}
	if takes.Archive {
		require.Implements(t, (*providers.ObjectStore)(nil), a)
	}
	if takes.Deletions {
		require.Implements(t, (*providers.ListenDeleter)(nil), a)
	}
	if takes.Loves {
		require.Implements(t, (*providers.LoveTaker)(nil), a)
	}
	if takes.Playing {
		require.Implements(t, (*providers.PlayingTaker)(nil), a)
	}
}

// checkNonsense answers with all variants of a healthy body with one changed value. The adapter may return anything,
// but must return, without a panic and with a known verdict.
func checkNonsense(t *testing.T, c *capability) {
	if c.name != "Submit" && c.name != "Delete" && c.name != "Enrich" {
		t.Skip("its answers are not matched with what was sent")
	}
	if c.Ignored {
		t.Skip("it reads nothing of its answers")
	}
	for n := 0; ; n++ { // the n-th change of every answer's body
		changed := ""
		_, err := c.try(t.Context(), t, c.with(func(req *http.Request) (*http.Response, error) {
			status, header, body := c.Healthy(req)
			if other, ok := nonsense(body, n); ok {
				changed, body = other, other
			}
			return response(req, status, header, strings.NewReader(body)), nil
		}))
		if changed == "" {
			require.Positive(t, n, "a healthy answer that is JSON")
			return
		}
		if err != nil {
			v := resilience.VerdictOf(err)
			require.True(t, v.Failed(), "%s: %v", changed, err)
			require.NotEqual(t, resilience.Unknown, v.Category, "%s: %v", changed, err)
		}
	}
}

// odd holds values that are unexpected in most places.
var odd = []any{nil, true, -1, 1e300, "", "nonsense", "-1", []any{}, []any{nil}, []any{[]any{map[string]any{}}},
	map[string]any{}, map[string]any{"#text": nil, "code": nil}}

// nonsense returns body with one value changed or removed; false when there is no n-th change.
func nonsense(body string, n int) (string, bool) {
	var tree any
	if json.Unmarshal([]byte(body), &tree) != nil {
		return body, false
	}
	tree, left := changed(tree, n)
	text, err := json.Marshal(tree)
	return string(text), err == nil && left < 0
}

// changed applies the n-th change to a JSON value. The returned n is negative when it was applied.
func changed(v any, n int) (any, int) {
	if n < len(odd) {
		return odd[n], -1
	}
	n -= len(odd)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if n == 0 {
				delete(v, name)
				return v, -1
			}
			if v[name], n = changed(v[name], n-1); n < 0 {
				return v, n
			}
		}
	case []any:
		for i := range v {
			if n == 0 {
				return slices.Delete(v, i, i+1), -1
			}
			if v[i], n = changed(v[i], n-1); n < 0 {
				return v, n
			}
		}
	}
	return v, n
}
