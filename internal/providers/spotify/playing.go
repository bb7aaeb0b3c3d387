package spotify

import (
	"context"
	"errors"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

const currentlyPlaying = "/v1/me/player/currently-playing"

// NowPlaying implements providers.PlayingSource. An authorization from before Reprise asked for this permission doesn't
// let it be read. An answer without a body says that nothing is playing.
func (a *adapter) NowPlaying(ctx context.Context) (p library.Playing, err error) {
	answer, err := a.fetch(ctx, currentlyPlaying, currentlyPlaying, nil, "", table)
	e, _ := errors.AsType[*resilience.AnswerError](err)
	switch {
	case e != nil && e.Code == insufficientScope:
		return p, providers.ErrNotOffered
	case err != nil:
		return p, err
	case answer.Empty():
		return p, nil
	}
	var body struct {
		Playing    bool   `json:"is_playing"`
		ProgressMS int64  `json:"progress_ms"`
		Item       *track `json:"item"`
	}
	if err := providers.DecodeJSON(answer, &body); err != nil {
		return p, err
	}
	if !body.Playing || !body.Item.usable() {
		return p, nil
	}
	p.Track = body.Item.plain()
	p.Left = max(p.Duration-time.Duration(max(body.ProgressMS, 0))*time.Millisecond, time.Second)
	return p, nil
}
