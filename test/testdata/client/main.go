// Command client does the main job at a Reprise server with a client that oapi-codegen has made from its OpenAPI file.
// It prints what it found as JSON, for the test that runs it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"time"

	"client/api"
)

// task is what the program reads from its standard input.
type task struct {
	URL, Code, Token, Navidrome, Name, Password string
}

// found is what the program tells on its standard output.
type found struct {
	Listens, Pages, ByArtist, Playlists, Tracks, Deliveries, Notifications int
	Artist, Refusal                                                        string
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var t task
	err := json.NewDecoder(os.Stdin).Decode(&t)
	if err == nil {
		var out found
		if out, err = run(ctx, t); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, t task) (out found, err error) {
	c, err := signedIn(ctx, t)
	if err != nil {
		return out, err
	}
	for id, fields := range map[string]api.ConnectJSONRequestBody{
		"listenbrainz": {Token: &t.Token},
		"navidrome":    {Url: &t.Navidrome, Username: &t.Name, Password: &t.Password},
	} {
		r, err := c.ConnectWithResponse(ctx, id, fields)
		if err != nil || r.JSON200 == nil {
			return out, fail("connect "+id, err, r)
		}
		if err := synced(ctx, c, id); err != nil {
			return out, err
		}
	}
	return out, errors.Join(out.history(ctx, c), out.playlists(ctx, c), out.sent(ctx, c))
}

// signedIn makes the first account and a token of it, and returns a client that uses the token.
func signedIn(ctx context.Context, t task) (*api.ClientWithResponses, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	base := t.URL + "/api/v1"
	first, err := api.NewClientWithResponses(base, api.WithHTTPClient(&http.Client{Jar: jar}))
	if err != nil {
		return nil, err
	}
	made, err := first.SetUpWithResponse(ctx,
		api.SetUpJSONRequestBody{Code: t.Code, Name: "Alice", Password: "correct horse battery"})
	if err != nil || made.StatusCode() != http.StatusCreated {
		return nil, fail("set up", err, made)
	}
	token, err := first.MakeTokenWithResponse(ctx, nil,
		api.MakeTokenJSONRequestBody{Name: "client", Scope: api.ScopeOperate})
	if err != nil || token.JSON201 == nil || token.JSON201.Token == nil {
		return nil, fail("make a token", err, token)
	}
	return api.NewClientWithResponses(base, api.WithRequestEditorFn(
		func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+*token.JSON201.Token)
			return nil
		}))
}

// synced waits until everything has been read from a connection, and then reads it once more.
func synced(ctx context.Context, c *api.ClientWithResponses, id string) error {
	for {
		r, err := c.GetConnectionWithResponse(ctx, id)
		if err != nil || r.JSON200 == nil {
			return fail("look at "+id, err, r)
		}
		done := r.JSON200.State == api.ConnectionStateHealthy
		for _, s := range r.JSON200.Streams {
			done = done && (s.Stream == "deliveries" || s.LastSuccessAt != nil)
		}
		if done {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	r, err := c.SyncConnectionWithResponse(ctx, id)
	if err != nil || r.JSON202 == nil {
		return fail("sync "+id, err, r)
	}
	return nil
}

// history reads all listens page by page, those of one artist, and a call with a mistyped filter.
func (out *found) history(ctx context.Context, c *api.ClientWithResponses) error {
	limit := 100
	seen := map[string]bool{}
	read := func(p api.ListListensParams) (n int, err error) {
		for {
			r, err := c.ListListensWithResponse(ctx, &p)
			if err != nil || r.JSON200 == nil {
				return n, fail("read listens", err, r)
			}
			out.Pages++
			for _, l := range r.JSON200.Listens {
				if p.Artist != nil && l.Artist != out.Artist {
					return n, fmt.Errorf("a listen of %s among those of %s", l.Artist, out.Artist)
				}
				seen[l.Id], out.Artist = true, l.Artist
				n++
			}
			if p.Before = r.JSON200.Next; p.Before == nil {
				return n, nil
			}
		}
	}
	n, err := read(api.ListListensParams{Limit: &limit})
	if err != nil {
		return err
	}
	if out.Listens = len(seen); n != out.Listens {
		return fmt.Errorf("%d rows of %d listens", n, out.Listens)
	}
	upper := strings.ToUpper(out.Artist)
	if out.ByArtist, err = read(api.ListListensParams{Limit: &limit, Artist: &upper}); err != nil {
		return err
	}
	refused, err := c.ListListensWithResponse(ctx, nil, func(_ context.Context, r *http.Request) error {
		r.URL.RawQuery = url.Values{"artst": {upper}}.Encode()
		return nil
	})
	if err != nil || refused.ApplicationproblemJSON400 == nil || refused.ApplicationproblemJSON400.Detail == nil {
		return fail("read a problem", err, refused)
	}
	out.Refusal = *refused.ApplicationproblemJSON400.Detail
	return nil
}

func (out *found) playlists(ctx context.Context, c *api.ClientWithResponses) error {
	r, err := c.ListPlaylistsWithResponse(ctx)
	if err != nil || r.JSON200 == nil {
		return fail("read playlists", err, r)
	}
	for _, p := range r.JSON200.Playlists {
		one, err := c.GetPlaylistWithResponse(ctx, p.Id)
		if err != nil || one.JSON200 == nil {
			return fail("read a playlist", err, one)
		}
		out.Playlists, out.Tracks = out.Playlists+1, out.Tracks+len(one.JSON200.Tracks)
	}
	return nil
}

// sent forwards all listens, and reads what is to be sent and what there is to tell.
func (out *found) sent(ctx context.Context, c *api.ClientWithResponses) error {
	earlier := true
	on, err := c.StartForwardingWithResponse(ctx, "navidrome",
		api.StartForwardingJSONRequestBody{Earlier: &earlier})
	if err != nil || on.JSON200 == nil || !on.JSON200.Enabled {
		return fail("forward listens", err, on)
	}
	provider := "navidrome"
	r, err := c.ListDeliveriesWithResponse(ctx, &api.ListDeliveriesParams{Provider: &provider})
	if err != nil || r.JSON200 == nil {
		return fail("read deliveries", err, r)
	}
	out.Deliveries = len(r.JSON200.Deliveries)
	n, err := c.ListNotificationsWithResponse(ctx, nil)
	if err != nil || n.JSON200 == nil {
		return fail("read notifications", err, n)
	}
	out.Notifications = len(n.JSON200.Notifications)
	return nil
}

// fail returns the error of a call, or one with its answer.
func fail(what string, err error, answer interface{ GetBody() []byte }) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %s", what, answer.GetBody())
}
