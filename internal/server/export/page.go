package export

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/export"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
	"reprise/web/ui"
)

const api = "/api/v1"

// pageView is the page of exports.
type pageView struct {
	Artist, From, To string      // of the filter
	Hidden           []ui.Hidden // the rest of it
	Count            string      // how many listens it selects
	Some             bool        // there are listens
	All              string      // approximate size of the archive with everything
	Forms            []formView
	Playlists        bool // there are some
	Feeds            []feedView
}

// formView is a format of listens to choose.
type formView struct{ ID, Title, Lead, Size, URL, Button string }

// feedView is the address of a feed.
type feedView struct{ ID, Name, Address string }

// sampled is the number of listens from which the size of all is estimated.
const sampled = 200

func (h *Handler) page(c echo.Context) error {
	ctx, zone, user := c.Request().Context(), core.Zone(c), core.UserOf(c).ID
	f, err := music.FilterOf(c, zone)
	if err != nil {
		return err
	}
	n, err := h.store.CountFound(ctx, f)
	if err != nil {
		return err
	}
	some, _, err := h.store.FindListens(ctx, f, "", sampled)
	if err != nil {
		return err
	}
	lists, err := h.store.CountPlaylists(ctx, user)
	if err != nil {
		return err
	}
	v := pageView{Artist: f.Artist, Hidden: rest(c, f), From: dayOf(f.From, zone), Playlists: lists > 0,
		To: dayOf(f.To.Add(-time.Millisecond), zone), Some: n > 0, Feeds: feedsOf(ctx, h.core.BaseURL()),
		Count: words.T(ctx, "export.count", "Count", n), Forms: formsOf(ctx, n, some)}
	whole := library.ListenFilter{User: user}
	if f != whole {
		if n, err = h.store.CountFound(ctx, whole); err != nil {
			return err
		}
	}
	v.All = about(ctx, export.JSONLines.Size(n, some)/zipRatio)
	return h.core.Show(c, http.StatusOK, words.T(ctx, "export.title"), exportPage(v))
}

// dayOf returns the value of a date field; empty for none.
func dayOf(at time.Time, zone *time.Location) string {
	if at.Year() < 1000 {
		return ""
	}
	return at.In(zone).Format(time.DateOnly)
}

// rest returns the filter of a request as hidden fields, without the artist's name and the bounds.
func rest(c echo.Context, f library.ListenFilter) (all []ui.Hidden) {
	for _, name := range []string{"artist", "album", "track", "tag", "source", "player", "weekday", "hour"} {
		if text := c.QueryParam(name); text != "" && (name != "artist" || f.Artist == "") {
			all = append(all, ui.Hidden{Name: name, Value: text})
		}
	}
	return all
}

// zipRatio is roughly how much smaller a ZIP file is than its listens. Those of the demo, which repeat few names,
// shrink 9 (JSON Lines) to 14 times (ListenBrainz); a library with more names shrinks less.
const zipRatio = 6

// formsOf returns the formats, with the estimated size of n listens.
func formsOf(ctx context.Context, n int, some []library.StoredListen) (all []formView) {
	for _, f := range export.Forms {
		id, address, size := ids[f.Name], f.Name, f.Size(n, some)
		if f.Name == export.ListenBrainz.Name {
			address, size = "listenbrainz.zip", size/zipRatio
		}
		all = append(all, formView{ID: "form-" + id, Title: words.Each("export.form.", id).T(ctx),
			Lead: words.Each("export.about.", id).T(ctx), Size: about(ctx, size), URL: api + "/export/" + address,
			Button: words.T(ctx, "export.download")})
	}
	return all
}

// ids are the last parts of the IDs of sentences about formats.
var ids = map[string]string{export.JSONLines.Name: "jsonl", export.CSV.Name: "csv", export.LastFM.Name: "lastfm",
	export.ListenBrainz.Name: "listenbrainz", export.Maloja.Name: "maloja"}

// feedsOf returns the addresses of the feeds.
func feedsOf(ctx context.Context, base string) []feedView {
	token := "?token=" + url.QueryEscape("TOKEN")
	return []feedView{{"feed-atom", "Atom", base + api + "/feed.atom" + token},
		{"feed-json", "JSON Feed", base + api + "/feed.json" + token},
		{"feed-now", words.T(ctx, "export.now_playing"), base + api + "/now-playing" + token}}
}

// about says roughly how large a file is.
func about(ctx context.Context, bytes int64) string {
	l := words.From(ctx)
	switch {
	case bytes < 1e3:
		return words.T(ctx, "export.size.tiny")
	case bytes < 1e6:
		return words.T(ctx, "export.size.kilo", "Size", l.Number((bytes+500)/1e3))
	case bytes < 1e7:
		return words.T(ctx, "export.size.mega", "Size", l.Decimal(float64(bytes)/1e6, 1))
	}
	return words.T(ctx, "export.size.mega", "Size", l.Number((bytes+500_000)/1e6))
}

// items returns the formats as rows of a list, each with a button.
func (v pageView) items() []ui.Item {
	return core.ViewAll(v.Forms, func(f formView) ui.Item {
		return ui.Item{ID: f.ID, Title: ui.Named{Text: f.Title}, By: []ui.Named{{Text: f.Lead}, {Text: f.Size}},
			Aside: fetch(f)}
	})
}
