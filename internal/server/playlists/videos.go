package playlists

import (
	"reprise/internal/library"
	"reprise/internal/server/core"
)

// videoView is what is known of the video that a track is. Counts are nil when its service does not tell them.
type videoView struct {
	ID           string   `json:"id"`
	Title        string   `json:"title"`
	Channel      string   `json:"channel"`
	PublishedAt  *string  `json:"published_at"`
	DurationMS   *int64   `json:"duration_ms"`
	Category     *string  `json:"category"`
	Tags         []string `json:"tags"`
	Views        *int64   `json:"views"`
	Likes        *int64   `json:"likes"`
	Comments     *int64   `json:"comments"`
	Thumbnail    *string  `json:"thumbnail"`
	Availability string   `json:"availability"`
	AllowedIn    []string `json:"allowed_in"`
	BlockedIn    []string `json:"blocked_in"`
	CheckedAt    *string  `json:"checked_at"`
	GoneSince    *string  `json:"gone_since"`
}

// viewVideo returns nil for a video about which nothing is known.
func viewVideo(v library.StoredVideo) *videoView {
	if v.ID == "" {
		return nil
	}
	return &videoView{ID: v.ID, Title: v.Title, Channel: v.Channel, PublishedAt: core.Moment(v.Published),
		DurationMS: known64(v.Duration.Milliseconds()), Category: core.Text(v.Category), Tags: listOf(v.Tags),
		Views: told(v.Views), Likes: told(v.Likes), Comments: told(v.Comments), Thumbnail: core.Text(v.Thumbnail),
		Availability: v.Availability, AllowedIn: listOf(v.AllowedIn), BlockedIn: listOf(v.BlockedIn),
		CheckedAt: core.Moment(v.CheckedAt), GoneSince: core.Moment(v.GoneSince)}
}

// Gone says how the video is gone: deleted, private or gone; empty while it is there.
func (v *videoView) Gone() string {
	switch {
	case v == nil || v.GoneSince == nil:
		return ""
	case v.Availability == library.VideoDeleted:
		return "deleted"
	case v.Availability == library.VideoPrivate:
		return "private"
	}
	return "gone"
}

// told returns nil for a count that is not known.
func told(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// listOf returns a list that is never nil, so that it is [] in JSON.
func listOf(all []string) []string {
	if all == nil {
		return []string{}
	}
	return all
}
