package connections

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers"
	"reprise/internal/providers/navidrome"
	"reprise/internal/words"
)

func TestANewServerAsksForFewThings(t *testing.T) {
	t.Parallel()
	p := &providers.Provider{Description: navidrome.Describe()}
	for _, l := range words.Languages() {
		ctx := words.With(t.Context(), l)
		for _, open := range []bool{false, true} {
			v := formOf(ctx, p, typed{}, false)
			v.Open = open
			require.Len(t, v.Fields, 3, "address, name, password")
			require.Len(t, v.More, 2)
			var b bytes.Buffer
			require.NoError(t, fillIn(v).Render(ctx, &b))
			_, more, _ := strings.Cut(b.String(), `<details id="more"`)
			require.Equal(t, open, strings.HasPrefix(more, " open"), more[:40])
			require.Contains(t, more, `id="field-apikey"`)
			require.Contains(t, more, `id="field-insecure"`)
		}
	}
}
