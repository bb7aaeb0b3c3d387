package demo

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDeletingAtListenBrainz(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	ask := func(token, body string) reply {
		return b.do("POST", b.ListenBrainz.URL+"/1/delete-listen", "Token "+token, body)
	}
	before := b.listens("count=2").Listens
	const msid = "d23f4719-9212-49f0-ad08-ddbfbfc50d6f"
	r := ask("demo-token-alice", fmt.Sprintf(`{"listened_at":%d,"recording_msid":%q}`, before[0].At, before[0].MSID))
	require.JSONEq(t, `{"status":"ok"}`, r.body)
	require.Equal(t, before[1], b.listens("count=1").Listens[0])
	require.Equal(t, 399, b.listenCount())
	r = ask("demo-token-alice", `{"listened_at":"5","recording_msid":"`+msid+`"}`)
	require.JSONEq(t, `{"status":"ok"}`, r.body, "the same about one that is not there")
	require.Equal(t, 399, b.listenCount())
	require.Equal(t, []time.Time{time.Unix(before[0].At, 0), time.Unix(5, 0)},
		[]time.Time{b.ListenBrainz.Deleted()[0].At, b.ListenBrainz.Deleted()[1].At})
	for body, want := range map[string]string{`{`: "Cannot parse", `{"recording_msid":"` + msid + `"}`: "missing",
		`{"listened_at":5}`: "Recording MSID missing.", `{"listened_at":"x","recording_msid":"x"}`: "timestamp invalid",
		`{"listened_at":5,"recording_msid":"x"}`: "Recording MSID format invalid."} {
		r := ask("demo-token-alice", body)
		require.Equal(t, 400, r.status, body)
		require.Contains(t, r.body, want)
	}
	require.Equal(t, 401, ask("nobody", `{}`).status)
	require.NoError(t, b.Switch(ListenBrainz, ReadOnly))
	require.Equal(t, 403, ask("demo-token-alice", `{}`).status)
}
