package youtube

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/words"
)

// videoParts are what is asked for of every video. A call costs one unit of the daily quota, however many parts and ids
// it names (at most 50); see https://developers.google.com/youtube/v3/determine_quota_cost and
// https://developers.google.com/youtube/v3/docs/videos/list.
const videoParts = "snippet,contentDetails,status,statistics"

type video struct {
	ID      string `json:"id"`
	Snippet struct {
		Published  time.Time `json:"publishedAt"`
		Title      string    `json:"title"`
		Channel    string    `json:"channelTitle"`
		Tags       []string  `json:"tags"`
		Category   string    `json:"categoryId"`
		Thumbnails map[string]struct {
			URL   string `json:"url"`
			Width int    `json:"width"`
		} `json:"thumbnails"`
	} `json:"snippet"`
	ContentDetails struct {
		Duration string `json:"duration"`
		Region   struct {
			Allowed []string `json:"allowed"`
			Blocked []string `json:"blocked"`
		} `json:"regionRestriction"`
	} `json:"contentDetails"`
	Status struct {
		Privacy string `json:"privacyStatus"` // private, public or unlisted
		Upload  string `json:"uploadStatus"`  // deleted, failed, processed, rejected or uploaded
	} `json:"status"`
	Statistics struct { // numbers as texts; missing when hidden or switched off
		Views    string `json:"viewCount"`
		Likes    string `json:"likeCount"`
		Comments string `json:"commentCount"`
	} `json:"statistics"`
}

// Videos implements providers.VideoSource. What a key is not told, such as a private video of the person's own, is
// asked for with the person's permission.
func (a *adapter) Videos(ctx context.Context, ids []string) ([]library.Video, error) {
	found, err := a.videos(ctx, a.getPublic, ids)
	if err != nil || a.public.Client == nil || len(found) == len(ids) {
		return found, err
	}
	missing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.ContainsFunc(found, func(v library.Video) bool { return v.ID == id })
	})
	own, err := a.videos(ctx, a.getOwn, missing)
	return append(found, own...), err
}

// Named implements providers.VideoSource.
func (a *adapter) Named(v library.Video) library.Track {
	t := nameOf(v.Title, v.Channel)
	t.SourceID, t.Duration = v.ID, v.Duration
	return t
}

// WhyGone implements providers.VideoSource.
func (a *adapter) WhyGone(reason string) words.Text {
	if reason == library.VideoPrivate {
		return words.New("youtube.video_private")
	}
	return words.New("youtube.video_gone")
}

type getter func(ctx context.Context, route string, query url.Values, etag string, v any) (bool, error)

func (a *adapter) videos(ctx context.Context, get getter, ids []string) ([]library.Video, error) {
	var p page[video]
	query := url.Values{"part": {videoParts}, "id": {strings.Join(ids, ",")}, "maxResults": {strconv.Itoa(perPage)}}
	if _, err := get(ctx, videosRoute, query, "", &p); err != nil {
		return nil, err
	}
	if p.Items == nil && !p.empty() {
		return nil, providers.Broken(endpoint(videosRoute), "no list of videos")
	}
	found := make([]library.Video, 0, len(p.Items))
	for _, v := range p.Items {
		if v != nil && slices.Contains(ids, v.ID) && v.Status.Upload != "deleted" {
			found = append(found, v.kept())
		}
	}
	return found, nil
}

func (v *video) kept() library.Video {
	availability := cmp.Or(v.Status.Privacy, library.VideoPublic)
	if !slices.Contains(library.Availabilities, availability) {
		availability = library.VideoPublic
	}
	return library.Video{ID: v.ID, Title: v.Snippet.Title, Channel: v.Snippet.Channel,
		Published: v.Snippet.Published.UTC(), Duration: parseLength(v.ContentDetails.Duration),
		Category: cmp.Or(categories[v.Snippet.Category], v.Snippet.Category), Tags: v.Snippet.Tags,
		Views: count(v.Statistics.Views), Likes: count(v.Statistics.Likes), Comments: count(v.Statistics.Comments),
		Thumbnail: v.thumbnail(), Availability: availability, AllowedIn: v.ContentDetails.Region.Allowed,
		BlockedIn: v.ContentDetails.Region.Blocked}
}

// thumbnail returns the address of the widest picture of at most 640 pixels, or of the narrowest.
func (v *video) thumbnail() (address string) {
	best := 0
	for _, t := range v.Snippet.Thumbnails {
		better := best == 0 || t.Width > best && t.Width <= 640 || best > 640 && t.Width < best
		if t.URL != "" && better {
			address, best = t.URL, max(t.Width, 1)
		}
	}
	return address
}

// count parses a number of views and the like. It returns -1 when there is none.
func count(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// music is the category of videos that are music.
const music = "Music"

// categories are the names of YouTube's categories of videos by their ids, which are the same in every country; see
// https://developers.google.com/youtube/v3/docs/videoCategories/list. An id that is missing here is shown as it is.
var categories = map[string]string{
	"1": "Film & Animation", "2": "Autos & Vehicles", "10": music, "15": "Pets & Animals", "17": "Sports",
	"18": "Short Movies", "19": "Travel & Events", "20": "Gaming", "21": "Videoblogging", "22": "People & Blogs",
	"23": "Comedy", "24": "Entertainment", "25": "News & Politics", "26": "Howto & Style", "27": "Education",
	"28": "Science & Technology", "29": "Nonprofits & Activism", "30": "Movies", "43": "Shows", "44": "Trailers",
}
