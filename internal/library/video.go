package library

import (
	"regexp"
	"strings"
	"time"
)

// Whether a video can be seen, as its provider says. A person may learn more about their own videos.
const (
	VideoPublic   = "public"
	VideoUnlisted = "unlisted" // for everybody who has its address
	VideoPrivate  = "private"
	VideoDeleted  = "deleted"
	// VideoUnavailable is a video that the provider does not tell of, without saying why.
	VideoUnavailable = "unavailable"
)

// Availabilities are all values of a video's availability.
var Availabilities = []string{VideoPublic, VideoUnlisted, VideoPrivate, VideoDeleted, VideoUnavailable}

// Video is what a provider says about a video.
type Video struct {
	ID           string
	Title        string
	Channel      string // the name of its publisher
	Published    time.Time
	Duration     time.Duration // 0 when unknown
	Category     string        // in English; empty when not told
	Tags         []string
	Views        int64  // -1 when not known, like the next two
	Likes        int64  // -1 also when its owner hides them
	Comments     int64  // -1 also when there can be none
	Thumbnail    string // address of a picture
	Availability string // one of Availabilities
	// AllowedIn and BlockedIn are the countries (ISO 3166-1 alpha-2) in which alone it can be seen, or cannot be. One
	// of them is empty; both are when it can be seen everywhere.
	AllowedIn, BlockedIn []string
}

// FromTakeout is the prefix of the SourceID of a play from Google Takeout. The time follows, and after a colon the
// video's id, or a hash of its names.
const FromTakeout = FromExport + "takeout:"

var videoID = regexp.MustCompile(`^[A-Za-z0-9_-]{11}$`)

// VideoPlayed returns the id of the video that the SourceID of a play from Google Takeout names; empty for none.
func VideoPlayed(sourceID string) string {
	rest, ok := strings.CutPrefix(sourceID, FromTakeout)
	_, id, _ := strings.Cut(rest, ":")
	if !ok || !videoID.MatchString(id) {
		return ""
	}
	return id
}

// StoredVideo is a video as it is kept, for all playlists that have it.
type StoredVideo struct {
	Video
	CheckedAt time.Time
	GoneSince time.Time // when it was first missed; zero while it is there
}

// The bounds of what is kept of a video.
const (
	maxVideoTags = 100
	maxAddress   = 1000 // bytes
	maxCountries = 300
)

// Clean bounds everything that a provider says about a video; see Name.
func (v *Video) Clean() {
	v.ID, v.Title, v.Channel, v.Category = ID(v.ID), Name(v.Title), Name(v.Channel), Name(v.Category)
	if v.Duration < 0 || v.Duration > maxLength {
		v.Duration = 0
	}
	if len(v.Thumbnail) > maxAddress || Name(v.Thumbnail) != v.Thumbnail {
		v.Thumbnail = ""
	}
	v.Tags = v.Tags[:min(len(v.Tags), maxVideoTags)]
	for i := range v.Tags {
		v.Tags[i] = Name(v.Tags[i])
	}
	for _, countries := range []*[]string{&v.AllowedIn, &v.BlockedIn} {
		*countries = (*countries)[:min(len(*countries), maxCountries)]
		for i := range *countries {
			(*countries)[i] = code((*countries)[i])
		}
	}
	v.Views, v.Likes, v.Comments = max(v.Views, -1), max(v.Likes, -1), max(v.Comments, -1)
}
