package sync

import (
	"cmp"
	"context"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
)

// videoStore keeps what is known of videos, for everybody.
type videoStore interface {
	// Videos returns those that are known, by their ids.
	Videos(ctx context.Context, ids []string) (map[string]library.StoredVideo, error)
	SaveVideos(ctx context.Context, found []library.Video, at time.Time) error
	// VideosGone notes that videos were missed: why is VideoPrivate, VideoDeleted or, when that was not told,
	// VideoUnavailable, which does not replace another reason.
	VideosGone(ctx context.Context, ids []string, why string, at time.Time) error
	// VideosDue returns at most limit videos in playlists of a connection that were not asked about since before.
	VideosDue(ctx context.Context, user int64, conn library.ConnectionID, before time.Time, limit int) ([]string, error)
}

const (
	// videosEvery is how old what is known of a video becomes before it is asked about again.
	videosEvery = 24 * time.Hour
	// maxVideosDue is how many videos a run asks about again: 20 calls. The next run goes on with the others.
	maxVideosDue = 1000
)

// describe completes the tracks of a playlist with what is known of their videos, and asks about those that are new.
// One that is gone keeps the names under which it was known; one that never was known is left out.
func (rd *reader) describe(
	ctx context.Context, source providers.PlaylistSource, tracks []library.Track, leave providers.LeaveOut,
) ([]library.Track, error) {
	of, ok := source.(providers.VideoSource)
	if !ok {
		return tracks, nil
	}
	ids := make([]string, len(tracks))
	for i, t := range tracks {
		ids[i] = t.SourceID
	}
	known, err := rd.store.Videos(ctx, ids)
	if err != nil {
		return nil, err
	}
	unseen := map[string]string{} // by video: why it is gone, empty if it is not
	gone := map[string][]string{} // by reason
	for _, t := range tracks {
		v, ok := known[t.SourceID]
		switch {
		case t.Gone == "" && (!ok || !v.GoneSince.IsZero()):
			unseen[t.SourceID] = ""
		case t.Gone == "", t.Gone == v.Availability, t.Gone == library.VideoDeleted && !ok:
		case t.Gone == library.VideoPrivate && v.GoneSince.IsZero(): // it may be the person's own
			unseen[t.SourceID] = t.Gone
		default:
			gone[t.Gone] = append(gone[t.Gone], t.SourceID)
		}
	}
	for why, missed := range gone {
		if err := rd.store.VideosGone(ctx, missed, why, time.Now()); err != nil {
			return nil, err
		}
	}
	if len(unseen) > 0 {
		if err := rd.meet(ctx, of, unseen); err != nil {
			return nil, err
		}
		if known, err = rd.store.Videos(ctx, ids); err != nil {
			return nil, err
		}
	}
	return named(of, tracks, known, leave), nil
}

// meet asks about videos that are new, or were made private.
func (rd *reader) meet(ctx context.Context, of providers.VideoSource, unseen map[string]string) error {
	ids := make([]string, 0, len(unseen))
	for id := range unseen {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for chunk := range slices.Chunk(ids, providers.VideosAtOnce) {
		_, missing, err := rd.ask(ctx, of, chunk)
		if err != nil {
			return err
		}
		for _, why := range []string{library.VideoPrivate, library.VideoUnavailable} {
			gone := slices.DeleteFunc(slices.Clone(missing), func(id string) bool {
				return (unseen[id] == library.VideoPrivate) != (why == library.VideoPrivate)
			})
			if err := rd.store.VideosGone(ctx, gone, why, time.Now()); err != nil {
				return err
			}
		}
	}
	return nil
}

// named returns the tracks with their lengths, and with the names of those that are gone. Each of the latter is
// reported as one that the provider does not give.
func named(
	of providers.VideoSource, tracks []library.Track, known map[string]library.StoredVideo, leave providers.LeaveOut,
) []library.Track {
	all := make([]library.Track, 0, len(tracks))
	for _, t := range tracks {
		v := known[t.SourceID]
		if t.Gone == "" {
			t.Duration = v.Duration
			all = append(all, t)
			continue
		}
		there := v.GoneSince.IsZero() && v.Title != "" // the person's own, which others do not see
		if !there {
			leave.Say(providers.LeftOut{SourceID: t.SourceID, Name: cmp.Or(v.Title, t.Title),
				Reason: of.WhyGone(t.Gone)})
		}
		if v.Title != "" {
			why := t.Gone
			t = of.Named(v.Video)
			if t.Clean(); !there {
				t.Gone = why
			}
			all = append(all, t)
		}
	}
	return all
}

// ask asks about videos in one call, and stores the facts about those that are there.
func (rd *reader) ask(
	ctx context.Context, of providers.VideoSource, ids []string,
) (found []library.Video, missing []string, err error) {
	if found, err = of.Videos(ctx, ids); err != nil {
		return nil, nil, err
	}
	there := map[string]bool{}
	for i := range found {
		there[found[i].ID] = true
		found[i].Clean()
	}
	for _, id := range ids {
		if !there[id] {
			missing = append(missing, id)
		}
	}
	return found, missing, rd.store.SaveVideos(ctx, found, time.Now())
}

// refreshVideos asks about those videos in a connection's playlists whose facts are a day old. An answer in
// which most of those that were there are missing is not believed for a day; the next run asks again.
func (rd *reader) refreshVideos(ctx context.Context, c library.Connection, source providers.PlaylistSource) error {
	of, ok := source.(providers.VideoSource)
	if !ok {
		return nil
	}
	due, err := rd.store.VideosDue(ctx, c.User, c.ID, time.Now().Add(-videosEvery), maxVideosDue)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(due, providers.VideosAtOnce) {
		before, err := rd.store.Videos(ctx, chunk)
		if err != nil {
			return err
		}
		_, missing, err := rd.ask(ctx, of, chunk)
		if err != nil {
			return err
		}
		there, lost, heard := 0, 0, time.Time{}
		for id, v := range before {
			if v.GoneSince.IsZero() {
				there++
				if slices.Contains(missing, id) {
					lost++
					if v.CheckedAt.After(heard) {
						heard = v.CheckedAt
					}
				}
			}
		}
		if there > 2 && shrinks(there, there-lost) && time.Since(heard) < 2*videosEvery {
			continue
		}
		if err := rd.store.VideosGone(ctx, missing, library.VideoUnavailable, time.Now()); err != nil {
			return err
		}
	}
	return nil
}
