package playlists

import (
	"reprise/internal/library"
	"reprise/internal/server/core"
)

// Video is what is known of the video that a track is. Counts are nil when its service does not tell them.
type Video struct {
	ID           string         `json:"id"`
	Title        string         `json:"title" doc:"As it is, or was, at the service; empty if it never gave it."`
	Channel      string         `json:"channel"`
	PublishedAt  core.MaybeTime `json:"published_at"`
	DurationMS   *int64         `json:"duration_ms"`
	Category     *string        `json:"category" doc:"In English, such as Music."`
	Tags         []string       `json:"tags"`
	Views        *int64         `json:"views" doc:"Null when the service does not say."`
	Likes        *int64         `json:"likes" doc:"Null when its owner hides them."`
	Comments     *int64         `json:"comments" doc:"Null when comments are off."`
	Thumbnail    *string        `json:"thumbnail" doc:"Address of a picture."`
	Availability string         `json:"availability" enum:"public,unlisted,private,deleted,unavailable" doc:"'unavailable': the service does not list it any more and does not say why."`
	AllowedIn    []string       `json:"allowed_in" doc:"The only countries in which it can be seen; empty if there is no such limit."`
	BlockedIn    []string       `json:"blocked_in" doc:"The countries in which it cannot be seen."`
	CheckedAt    core.MaybeTime `json:"checked_at"`
	GoneSince    core.MaybeTime `json:"gone_since" doc:"Null while it is there."`
}

// viewVideo returns nil for a video about which nothing is known.
func viewVideo(v library.StoredVideo) *Video {
	if v.ID == "" {
		return nil
	}
	return &Video{ID: v.ID, Title: v.Title, Channel: v.Channel, PublishedAt: core.Moment(v.Published),
		DurationMS: known64(v.Duration.Milliseconds()), Category: core.Text(v.Category), Tags: listOf(v.Tags),
		Views: told(v.Views), Likes: told(v.Likes), Comments: told(v.Comments), Thumbnail: core.Text(v.Thumbnail),
		Availability: v.Availability, AllowedIn: listOf(v.AllowedIn), BlockedIn: listOf(v.BlockedIn),
		CheckedAt: core.Moment(v.CheckedAt), GoneSince: core.Moment(v.GoneSince)}
}

// Gone says how the video is gone: deleted, private or gone; empty while it is there.
func (v *Video) Gone() string {
	switch {
	case v == nil || v.GoneSince.IsZero():
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
