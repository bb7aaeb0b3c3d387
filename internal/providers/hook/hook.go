// Package hook calls an address of a person's own with each play, what is playing now, and what they love: that of Home
// Assistant or n8n, say, or of a script. Calls have the form of Standard Webhooks (https://www.standardwebhooks.com),
// so that its libraries check their signatures.
package hook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// The fields of the connect form.
const (
	urlField    = "url"
	secretField = "secret"
)

// endpoint is every call: the address is the person's.
const endpoint = http.MethodPost + " /{webhook}"

// Describe returns the description of webhooks.
func Describe() providers.Description {
	return providers.Description{
		Name: "hook", DisplayName: "Webhook", Named: words.New("provider.hook"),
		Icon:      "M9 2h2v5h2V2h2v5h2v4a5 5 0 0 1-4 4.9V22h-2v-6.1A5 5 0 0 1 7 11V7h2z",
		Purpose:   words.New("hook.purpose"),
		Endpoints: []string{endpoint},
		Takes: providers.Takes{Listens: "submit_listens", Batch: 1, Playing: true, Loves: true, Hates: true,
			Repeat: "A repeat has the same `webhook-id`, by which a program can know it."},
		Owner: providers.OwnServer,
		Fields: []providers.Field{
			{Name: urlField, Label: words.New("hook.field.url"), Kind: "url",
				Help: words.New("hook.field.url_help")},
			{Name: secretField, Label: words.New("hook.field.secret"), Kind: "password", Optional: true,
				Help: words.New("hook.field.secret_help")},
		},
		Tables: providers.Tables{
			Provider: "webhooks",
			Sources:  []string{"https://www.standardwebhooks.com"},
			Reading: "There are no codes besides the status, and what an answer holds is ignored. A page for people " +
				"is taken for that of a proxy, and tried again.",
			Of: []providers.NamedTable{
				{Calls: "all calls", Table: table},
				{Calls: "one play, before all others", Table: playTable[:len(playTable)-len(table)]},
			},
		},
		Build: build,
	}
}

func build(providers.Settings, providers.Installation) (providers.Provider, error) {
	return providers.Provider{
		App: func(cred library.Credentials) string {
			at, err := address(cred[urlField])
			if err != nil {
				return ""
			}
			return at.Host
		},
		Open: func(call resilience.Call, cred library.Credentials) providers.Adapter { return open(call, cred) },
	}, nil
}

// address returns the address that a person has entered, with its path and query as they are.
func address(typed string) (*url.URL, error) {
	at, err := providers.ServerAddress(urlField, typed)
	if err != nil {
		return nil, err
	}
	_, rest, found := strings.Cut(strings.TrimSpace(typed), "://")
	if !found {
		rest = strings.TrimSpace(typed)
	}
	whole, err := url.Parse(at.Scheme + "://" + rest)
	if err != nil {
		return nil, &resilience.SettingError{Setting: urlField, Problem: words.New("field.server.unfit")}
	}
	at.Path, at.RawPath, at.RawQuery = whole.Path, whole.RawPath, whole.RawQuery
	return at, nil
}

type adapter struct {
	call resilience.Call
	at   *url.URL
	key  []byte // nil to sign nothing
	err  error  // of the address
}

func open(call resilience.Call, cred library.Credentials) *adapter {
	a := &adapter{call: call, key: keyOf(cred[secretField])}
	a.at, a.err = address(cred[urlField])
	return a
}

// secretPrefix begins a secret in the form of Standard Webhooks; the key follows in base64.
const secretPrefix = "whsec_"

// keyOf returns the signing key of a secret: what follows whsec_, decoded, or the text itself.
func keyOf(secret string) []byte {
	secret = strings.TrimSpace(secret)
	if coded, ok := strings.CutPrefix(secret, secretPrefix); ok {
		if key, err := base64.StdEncoding.DecodeString(coded); err == nil {
			return key
		}
	}
	return []byte(secret)
}

// The types of events.
const (
	test    = "test"
	play    = "play"
	playing = "now_playing"
	loved   = "love"
)

// event is the body of a call.
type event struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"` // when it happened; see library.Stamp
	Data      any    `json:"data"`
}

// track is what is playing.
type track struct {
	Track         string `json:"track"`
	Artist        string `json:"artist"`
	Album         string `json:"album"`
	DurationMS    int64  `json:"duration_ms,omitempty"`
	ISRC          string `json:"isrc,omitempty"`
	RecordingMBID string `json:"recording_mbid,omitempty"`
}

// Prove implements providers.Adapter with a test event. The account has no id: a webhook may get another address
// without becoming another account.
func (a *adapter) Prove(ctx context.Context) (providers.Account, error) {
	if a.err != nil {
		return providers.Account{}, a.err
	}
	now := time.Now()
	err := a.send(ctx, "test_"+rand.Text(), event{test, library.Stamp(now), struct{}{}}, table)
	if err != nil {
		return providers.Account{}, err
	}
	return providers.Account{Name: a.at.Host}, nil
}

// Submit implements providers.ListenTaker.
func (a *adapter) Submit(ctx context.Context, plays []library.StoredListen) ([]error, error) {
	for _, l := range plays { // one at the most
		id := "play_" + strconv.FormatInt(l.ID, 10)
		if err := a.send(ctx, id, event{play, library.Stamp(l.PlayedAt), l.Record()}, playTable); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// Playing implements providers.PlayingTaker.
func (a *adapter) Playing(ctx context.Context, t library.Track) error {
	what := track{t.Title, t.Artist, t.Album, max(t.Duration, 0).Milliseconds(), t.ISRC, t.RecordingMBID}
	return a.send(ctx, "playing_"+rand.Text(), event{playing, library.Stamp(time.Now()), what}, playTable)
}

// opinion is what a person thinks of a track.
type opinion struct {
	track
	Score int `json:"score"` // 1 loved, 0 no longer, -1 hated
}

// Love implements providers.LoveTaker.
func (a *adapter) Love(ctx context.Context, v library.Love) (string, error) {
	what := opinion{track{Track: v.Title, Artist: v.Artist, RecordingMBID: v.RecordingMBID}, v.Score}
	id := fmt.Sprintf("love_%s_%d_%d", library.NameHash(v.Artist, v.Title), v.At.UnixMilli(), v.Score)
	return "", a.send(ctx, id, event{loved, library.Stamp(v.At), what}, playTable)
}

// send makes one call. id is the same for each repeat of it.
func (a *adapter) send(ctx context.Context, id string, e event, t providers.Table) error {
	if a.err != nil {
		return a.err
	}
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.at.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header["Webhook-Id"], req.Header["Webhook-Timestamp"] = []string{id}, []string{stamp}
	if len(a.key) > 0 {
		req.Header.Set("Webhook-Signature", "v1,"+signature(a.key, id, stamp, body))
	}
	_, err = providers.Refusals{Table: t, InSuccess: ofProxy, Pages: true}.Send(a.call, req, endpoint)
	return err
}

// signature returns the HMAC of a call as Standard Webhooks wants it, in base64.
func signature(key []byte, id, stamp string, body []byte) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(id + "." + stamp + "."))
	h.Write(body)
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}
