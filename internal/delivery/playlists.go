package delivery

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reprise/internal/bounded"
	"reprise/internal/library"
	"reprise/internal/match"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// least is the share of a playlist's tracks that a provider must have. With fewer, nothing is written: the result would
// be another playlist. An earlier version that goes elsewhere takes what there is: nothing has to stay the same there.
const least = 0.25

// Report is the result of writing a playlist.
type Report struct {
	Total   int           `json:"total"`
	Matched int           `json:"matched"`
	Tracks  []ReportTrack `json:"tracks"`
	Done    string        `json:"done" enum:"created,changed,unchanged,nothing" doc:"nothing means that too few tracks were found and nothing was written."` // "created", "changed", "unchanged", or "nothing" when too few tracks are there
}

// ReportTrack is the result for one track.
type ReportTrack struct {
	Title  string    `json:"title"`
	Artist string    `json:"artist"`
	How    match.How `json:"how" enum:"isrc,mbid,name,score,choice,source," doc:"How it was recognised (choice, by you; source, as a track of that service); empty when it was not."` // empty: not found there
	Score  float64   `json:"score,omitempty" doc:"How sure that is; with score only."`
	Found  string    `json:"found,omitempty" doc:"What was found; with score only."` // artist and title there, if matched by score
	// Question is the id of the question about which track it is, and Offered how many there are; empty without
	Question string `json:"question,omitempty" doc:"The id of the question about which song it is, if any."`
	Offered  int    `json:"offered,omitempty" doc:"How many songs there could be it; if there is a question."`
}

// matchStore remembers which tracks a provider has.
type matchStore interface {
	Matches(ctx context.Context, user int64, conn library.ConnectionID, tracks []string) (map[string]match.Result,
		error)
	SaveMatches(ctx context.Context, user int64, conn library.ConnectionID, found map[string]match.Result) error
	// ForgetMatches deletes the matches with these tracks of the provider; "" means the tracks that it does not have.
	ForgetMatches(ctx context.Context, user int64, conn library.ConnectionID, sourceIDs []string) error
}

// playlistDeliverer delivers playlists.
type playlistDeliverer struct {
	copyWriter
	registry *providers.Registry
	teller   Teller
}

// deliver makes a provider's copy of a playlist equal to ours.
func (d *playlistDeliverer) deliver(ctx context.Context, c library.Connection, a *attempt) error {
	kept, wanted, err := d.read(ctx, a)
	if err != nil || !wanted {
		return err
	}
	if kept.bringsBack() {
		return d.bringBack(ctx, c, a, kept)
	}
	bothWays := kept.Choice == Both && !kept.ofVersion()
	if kept.Drift != "" && kept.Choice != Rewrite && (!bothWays || kept.Drift == Gone) {
		return d.leave(ctx, a, kept) // it is left alone, or its person is still to say
	}
	list, tracks, err := d.playlist(ctx, a, c)
	if err != nil {
		return err
	}
	back := kept.restores(list) // a version, to where it comes from
	var report Report
	var refused error
	var drift Drift
	var sides *both
	if bothWays {
		if busy, err := d.busy(ctx, a.User, list); busy || err != nil {
			return cmp.Or(err, d.leave(ctx, a, kept))
		}
	}
	subject := a.subject(c)
	err = d.guard.Do(ctx, subject, func(ctx context.Context, _ resilience.Call, p providers.Adapter) error {
		there, ok := p.(providers.PlaylistWriter)
		if !ok {
			return fmt.Errorf("%s: adapter writes no playlists", c.ID)
		}
		w := playlistWriter{store: d.store, there: there, copy: &kept, name: list.Name, least: least,
			piecewise: d.registry.Get(c.Provider()).Takes.Piecewise, keeps: bothWays}
		if kept.ofVersion() && !back {
			w.least = 0
		}
		var err error
		switch {
		case bothWays:
			err = w.prepare(ctx, list, tracks)
			sides = w.both
		case back:
			err = w.look(ctx)
		case kept.Written == 0 && kept.Marks == "" && kept.RemoteID != "": // a playlist that is to become the copy
			err = w.look(ctx)
			w.own = nil
		}
		if resilience.IsItem(err) {
			refused = err
			return nil
		}
		if err != nil {
			return err
		}
		if report, err = w.write(ctx, tracks); resilience.IsItem(err) {
			refused = err
			return nil
		}
		drift = w.drift
		if bothWays && err == nil && (report.Done == "created" || report.Done == "changed") {
			_, _, err = w.reread(ctx)
		}
		return err
	})
	if errors.Is(err, providers.ErrNotOffered) { // its server can't be written to any more
		err = d.store.DropCopy(context.WithoutCancel(ctx), a.User, a.Connection, WritePlaylist, a.Ref)
		return errors.Join(err, d.leave(ctx, a, kept))
	}
	if refused != nil && kept.Written == 0 && kept.RemoteID != "" { // the playlist isn't the copy
		kept.RemoteID = ""
		refused = errors.Join(refused, d.store.SaveRemote(context.WithoutCancel(ctx), kept))
	}
	if err == nil && bothWays && drift == Edited { // since it was read
		return errAgain
	}
	if err == nil && drift != "" {
		if kept.Drift = drift; kept.Choice == "" || bothWays {
			err = tellDrift(context.WithoutCancel(ctx), d.teller, d.store, d.registry, c, kept)
		}
		return cmp.Or(err, d.leave(ctx, a, kept))
	}
	if report.Done == "nothing" {
		return errors.Join(err, refuse(words.New("delivery.playlist.partial", "Matched", report.Matched,
			"Total", report.Total)),
			d.saveReport(ctx, kept, report))
	}
	if err := errors.Join(err, refused); err != nil {
		return err
	}
	if bothWays {
		return d.agree(ctx, a, list, kept, sides, report)
	}
	return d.finish(ctx, a, kept, report)
}

// playlistWriter writes one playlist.
type playlistWriter struct {
	store     copyStore
	there     providers.PlaylistWriter
	copy      *Copy
	name      string
	least     float64         // the share of the tracks that have to be found; one in any case
	own       map[string]bool // by id: songs that the playlist has now, so the service has them; for a restore only
	drift     Drift           // why nothing was written: it was deleted or changed there
	piecewise bool            // see providers.Takes
	begun     bool            // something was written
	keeps     bool            // both sides are kept equal, so a write that breaks off is gone on with
	both      *both           // of a copy that is kept equal both ways; nil for another
}

// write makes the copy equal to ours. Known matches may be out of date: tracks that the playlist turns out not to hold
// are looked for once more, and then count as not there.
func (w *playlistWriter) write(ctx context.Context, tracks []library.Track) (Report, error) {
	for last := false; ; last = true {
		matches, err := w.matches(ctx, tracks)
		if err != nil {
			return Report{}, err
		}
		report := reportOf(tracks, matches)
		if len(tracks) > 0 && (report.Matched == 0 || float64(report.Matched) < w.least*float64(report.Total)) {
			report.Done = "nothing"
			return report, w.lookAgain(ctx)
		}
		ids := w.wanted(matches)
		if w.drift != "" {
			return report, nil
		}
		var now []string
		report.Done, now, err = w.update(ctx, ids)
		if w.drift != "" {
			return report, err
		}
		if w.both != nil {
			w.both.now = now
		}
		lost := missing(ids, now)
		if err != nil && !w.begun {
			lost = nil
		}
		if w.begun && resilience.VerdictOf(err).Class == resilience.Fatal {
			lost = ids // perhaps one of them is why
		}
		for _, id := range lost {
			delete(w.own, id)
		}
		if len(lost) > 0 {
			err = errors.Join(err, w.store.ForgetMatches(context.WithoutCancel(ctx), w.copy.User, w.copy.Connection,
				lost))
		}
		if err != nil || len(lost) == 0 {
			return report, err
		}
		if last {
			report.strike(matches, lost)
			return report, nil
		}
	}
}

// lookAgain makes the next attempt look once more for the tracks that are not there: they may be by then.
func (w *playlistWriter) lookAgain(ctx context.Context) error {
	return w.store.ForgetMatches(context.WithoutCancel(ctx), w.copy.User, w.copy.Connection, []string{""})
}

// found returns the SourceIDs of the tracks that were matched, in their order.
func found(matches []songFound) (ids []string) {
	for _, m := range matches {
		if m.How != match.ByNothing {
			ids = append(ids, m.Found.SourceID)
		}
	}
	return ids
}

func missing(ids, now []string) (lost []string) {
	for _, id := range ids {
		if !slices.Contains(now, id) {
			lost = append(lost, id)
		}
	}
	return lost
}

// update creates the playlist there, unless it exists, gives it its name and its tracks, unless it has them, and
// returns the tracks that it has then. What a person has deleted or changed there is left, and noted as a drift, unless
// they chose otherwise. The process may end at any point without a second playlist: a playlist is created under a
// working name that no other has, then its id is stored, then it is renamed.
func (w *playlistWriter) update(ctx context.Context, ids []string) (done string, now []string, err error) {
	known, err := w.find(ctx)
	if err != nil {
		return "", nil, err
	}
	watched := w.copy.Marks != "" && w.copy.Choice != Rewrite && !w.begun
	if known == nil && watched {
		w.drift = Gone
		return "", nil, nil
	}
	done = "changed"
	if known == nil {
		working := w.name + w.mark()
		w.begun = true
		id, err := w.there.CreatePlaylist(ctx, working, ids)
		if err != nil {
			return "", nil, err
		}
		known, done = &library.Playlist{SourceID: id, Name: working}, "created"
	}
	if w.copy.RemoteID != known.SourceID {
		w.copy.RemoteID = known.SourceID
		if err := w.store.SaveRemote(context.WithoutCancel(ctx), *w.copy); err != nil {
			return "", nil, err
		}
	}
	if now, err = tracksOf(ctx, w.there, *known); err != nil {
		return "", nil, err
	}
	is, wanted := markOf(now), markOf(ids)
	if is == wanted && known.Name == w.name {
		w.copy.Marks = is
		return "unchanged", now, nil
	}
	if watched && is != wanted && !w.copy.marked(is) && !strings.HasSuffix(known.Name, w.mark()) {
		w.drift = Edited
		return "", nil, nil
	}
	if err := w.losing(known, now, ids); err != nil {
		return "", nil, err
	}
	was, maybe := w.copy.Marks, is+" "+wanted // the marks to expect if the process ends during the write
	if w.piecewise {
		maybe = anything
		if w.keeps {
			w.copy.Pending = jsonOf(ids)
		}
	}
	if err := w.marks(ctx, maybe); err != nil {
		return "", nil, err
	}
	w.begun = true
	if err := w.there.ReplacePlaylist(ctx, known.SourceID, w.name, ids); err != nil {
		if resilience.IsItem(err) { // refused; perhaps only after a part of it was done
			// What an earlier write has left half done is no complete list, whatever it was before.
			if now, e := tracksOf(ctx, w.there, *known); e == nil && markOf(now) == is && was != anything {
				w.copy.Pending = ""
				err = errors.Join(err, w.marks(ctx, was))
			}
		}
		return "", nil, err
	}
	if now, err = tracksOf(ctx, w.there, *known); err != nil {
		return "", nil, err
	}
	w.copy.Pending = ""
	return done, now, w.marks(ctx, markOf(now))
}

// marks stores what the copy is like there, or may be.
func (w *playlistWriter) marks(ctx context.Context, marks string) error {
	w.copy.Marks = marks
	return w.store.SaveRemote(context.WithoutCancel(ctx), *w.copy)
}

// find looks for the copy among the playlists there: by its id, or by its working name when the process ended before
// the id was stored. It returns nil when it is not there.
func (w *playlistWriter) find(ctx context.Context) (*library.Playlist, error) {
	var half *library.Playlist
	for page, err := range w.there.Playlists(ctx) {
		if err != nil {
			return nil, err
		}
		for _, p := range page {
			switch {
			case w.copy.RemoteID != "" && p.SourceID == w.copy.RemoteID:
				return &p, nil
			case strings.HasSuffix(p.Name, w.mark()):
				half = &p
			}
		}
	}
	return half, nil
}

// mark returns the end of the playlist's working name.
func (w *playlistWriter) mark() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%s", w.copy.User, w.copy.Connection, w.copy.Ref))
	return " (Reprise " + hex.EncodeToString(sum[:4]) + ")"
}

// matches matches the tracks with those there, and stores what it found also when it is interrupted.
func (w *playlistWriter) matches(ctx context.Context, tracks []library.Track) (all []songFound, err error) {
	finder, err := newSongFinder(ctx, w.store, w.there, Draft{User: w.copy.User, Connection: w.copy.Connection}, tracks)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, finder.keep(ctx)) }()
	others := slices.DeleteFunc(slices.Clone(tracks), func(t library.Track) bool { return w.own[t.SourceID] })
	if err := finder.lookAhead(ctx, others); err != nil {
		return nil, err
	}
	for _, t := range tracks {
		if w.own[t.SourceID] {
			all = append(all, songFound{Result: match.Result{Track: t, Found: t, How: match.BySource}})
			continue
		}
		m, err := finder.find(ctx, t, false)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func reportOf(tracks []library.Track, matches []songFound) Report {
	r := Report{Total: len(tracks)}
	for i, t := range tracks {
		m := matches[i]
		line := ReportTrack{Title: t.Title, Artist: t.Artist, How: m.How}
		if m.How != match.ByNothing {
			r.Matched++
		}
		if m.How == match.ByScore {
			line.Score, line.Found = m.Score, m.Found.Artist+" – "+m.Found.Title
		}
		if q := m.Question; m.How == match.ByNothing && q.ID != 0 && q.Answer == Unanswered {
			line.Question, line.Offered = strconv.FormatInt(q.ID, 10), len(q.Offered)
		}
		r.Tracks = append(r.Tracks, line)
	}
	return r
}

// strike removes the matches of tracks that the provider turned out not to have.
func (r *Report) strike(matches []songFound, lost []string) {
	for i, m := range matches {
		if m.How != match.ByNothing && slices.Contains(lost, m.Found.SourceID) {
			r.Tracks[i] = ReportTrack{Title: r.Tracks[i].Title, Artist: r.Tracks[i].Artist}
			r.Matched--
		}
	}
}

// The bounds of a stored report: opening the page of a playlist reads all of it.
const (
	mostReported = 5_000 // tracks
	longReported = 60    // letters of a name
)

// kept returns the report as it is stored: with names that are cut, and without the tracks beyond the most. Those that
// were not found there come first then.
func (r Report) kept() Report {
	tracks := slices.Clone(r.Tracks)
	if len(tracks) > mostReported {
		slices.SortStableFunc(tracks, func(a, b ReportTrack) int {
			return cmp.Compare(min(len(a.How), 1), min(len(b.How), 1))
		})
		tracks = tracks[:mostReported]
	}
	for i := range tracks {
		t := &tracks[i]
		t.Title, t.Artist = bounded.Cut(t.Title, longReported, 4*longReported),
			bounded.Cut(t.Artist, longReported, 4*longReported)
		t.Found = bounded.Cut(t.Found, 2*longReported, 8*longReported)
	}
	r.Tracks = tracks
	return r
}

// saveReport stores the report of a playlist that was not written.
func (d *playlistDeliverer) saveReport(ctx context.Context, c Copy, r Report) error {
	c.Report = jsonOf(r.kept())
	return d.store.SaveRemote(context.WithoutCancel(ctx), c)
}
