package test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Two servers that run at the same time compare by a link. Something that answers without end in the place of one of
// them costs the other nothing.
func TestTwoServersCompare(t *testing.T) {
	t.Parallel()
	one, other := start(t, t.TempDir()), start(t, t.TempDir())
	alice, zoe := one.newcomer(), other.newcomer()
	alice.bring(bytes.NewReader(year()))
	zoe.bring(bytes.NewReader(year()))
	made := alice.call("POST", "/comparison-links", object{"name": "Zoe",
		"expires_at": time.Now().AddDate(0, 1, 0)}, http.StatusCreated)
	link := made["url"].(string)
	require.True(t, strings.HasPrefix(link, one.url+"/compare/"))

	page := zoe.submit("/listening/common/apart", url.Values{"link": {link}}, http.StatusOK)
	require.Contains(t, page, "You and Alice")
	require.Contains(t, page, "100%")
	require.Contains(t, page, "宇多田ヒカル")
	require.Contains(t, zoe.submit("/listening/common/apart", url.Values{"link": {strings.Split(link, "#")[0] + "#" +
		strings.Repeat("A", 26)}}, http.StatusUnprocessableEntity), "t signed with the key of this link")

	flood := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Reprise-Signature", "v1,x")
		_, _ = io.CopyN(w, endless{}, 1<<30)
	}))
	t.Cleanup(flood.Close)
	before := other.memory("VmRSS")
	began := time.Now()
	refused := zoe.call("POST", "/comparisons", object{"link": strings.Replace(link, one.url, flood.URL, 1)},
		http.StatusUnprocessableEntity)
	require.Contains(t, refused["detail"], "No Reprise that can compare answers")
	require.Less(t, time.Since(began), patience)
	require.Less(t, other.memory("VmRSS")-before, 64<<20)

	alice.call("DELETE", "/comparison-links/"+made["id"].(string), nil, http.StatusNoContent)
	all := zoe.call("GET", "/comparisons", nil, http.StatusOK)["comparisons"].([]any)
	require.Len(t, all, 1)
	v := zoe.call("GET", "/comparisons/"+all[0].(object)["id"].(string)+"?again=true", nil, http.StatusOK)
	require.Equal(t, "gone", v["comparison"].(object)["problem"])
	require.Empty(t, v["artists"])
	require.Empty(t, one.errors())
	require.Empty(t, other.errors())
}
