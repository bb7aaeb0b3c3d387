package youtube

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
)

// Try makes the cheapest call there is, one unit of a day's quota, to see whether the key that client adds is accepted.
func Try(ctx context.Context, client *http.Client, apiURL string) error {
	a := &adapter{base: strings.TrimRight(cmp.Or(apiURL, "https://www.googleapis.com/youtube/v3"), "/")}
	var p page[channel]
	_, err := a.get(ctx, client, videosRoute, url.Values{"part": {"id"}, "id": {"jNQXAC9IVRw"}}, "", &p)
	return err
}
