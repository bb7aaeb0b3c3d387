package youtube

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// try exchanges an invalid code. Google checks the client first.
func try(ctx context.Context, t providers.Trying) error {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {"nothing"}, "redirect_uri": {t.Redirect}}
	err := providers.TryToken(ctx, t, form)
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Code == "invalid_grant" {
		return nil
	}
	return err
}

// tryKey makes a call that costs one unit of the daily quota.
func tryKey(ctx context.Context, t providers.Trying) error {
	a := &adapter{base: strings.TrimRight(t.Settings.Text("api_url"), "/")}
	var p page[channel]
	_, err := a.get(ctx, t.Call, videosRoute, url.Values{"part": {"id"}, "id": {"jNQXAC9IVRw"}}, "", &p)
	return err
}
