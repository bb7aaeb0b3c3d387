package test

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/s3test"
)

// archived reads all objects in a person's folder. It returns the listens by number, and how many lines there were.
func archived(t *testing.T, objects map[string]string) (ids map[string]bool, lines int) {
	t.Helper()
	ids = map[string]bool{}
	for name, body := range objects {
		require.Regexp(t, `^reprise/listens/user-\d+/\d{4}-\d\d\.jsonl$`, name)
		month := strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], ".jsonl")
		for s := bufio.NewScanner(strings.NewReader(body)); s.Scan(); {
			var l object
			require.NoError(t, json.Unmarshal(s.Bytes(), &l), "%s", s.Text())
			require.Equal(t, month, l["played_at"].(string)[:7])
			require.NotEmpty(t, l["sources"])
			ids[l["id"].(string)] = true
			lines++
		}
	}
	return ids, lines
}

// It uses a real S3 server.
//
// Promise: The archive in S3 is complete, and follows corrections. It is tested with a real S3 server.
func TestTheArchiveIsCompleteAndFollows(t *testing.T) {
	takesLong(t)
	t.Parallel()
	s3, w := s3test.Start(t), newWorld(t, demo.Options{Plays: 1200})
	s3.MakeBucket("music")
	p := start(t, t.TempDir(), append(worldEnv(w), "REPRISE_DELIVERY_FIRST_DELAY=100ms",
		"REPRISE_DELIVERY_MAX_DELAY=1s")...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")

	fields := object{"endpoint": s3.URL, "bucket": "music", "access_key": s3.AccessKey, "secret_key": "wrong",
		"region": s3.Region}
	answer := v.call("PUT", "/connections/s3", fields, 422)
	require.Contains(t, answer["detail"], "secret")
	require.NotContains(t, p.log.String(), "wrong")
	fields["secret_key"], fields["bucket"] = s3.SecretKey, "nowhere"
	require.Contains(t, v.call("PUT", "/connections/s3", fields, 422)["detail"], "bucket")
	fields["bucket"] = "music"
	v.call("PUT", "/connections/s3", fields, 200)

	whole := func() bool {
		stored := map[string]bool{}
		page := v.call("GET", "/listens?limit=1000", nil, 200)
		for {
			for _, l := range page["listens"].([]any) {
				stored[l.(object)["id"].(string)] = true
			}
			if page["next"] == nil {
				break
			}
			page = v.call("GET", "/listens?limit=1000&before="+page["next"].(string), nil, 200)
		}
		ids, lines := archived(t, s3.Objects("music"))
		return lines == len(ids) && len(ids) == len(stored)
	}
	v.eventually("the whole archive", whole)
	v.becomes("s3", "healthy")
	require.NotContains(t, p.log.String(), s3.SecretKey)

	s3.Stop()
	played := w.Play()
	v.becomes("s3", "waiting")
	require.NotContains(t, p.log.String(), s3.SecretKey)
	s3.Restart()
	v.eventually("the archive to follow", whole)
	month := "reprise/listens/user-1/" + played.At.UTC().Format("2006-01") + ".jsonl"
	body := s3.Objects("music")[month]
	require.Contains(t, body, played.Title)
	v.becomes("s3", "healthy")
	require.Contains(t, v.page("/connections/s3", 200), "verified")
}
