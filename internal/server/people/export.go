package people

import (
	"archive/zip"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/server/core"
)

// exportPage is how many listens are read at once.
const exportPage = 1000

// exportOwn sends a person what belongs to them.
func (h *Users) exportOwn(c echo.Context) error { return h.export(c, core.UserOf(c)) }

// exportOther sends an administrator what belongs to another person. That person's log has it.
func (h *Users) exportOther(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	h.noteFor(c, u.ID, activity.Entry{Action: activity.Exported, Subject: u.Name})
	return h.export(c, u)
}

// export sends a ZIP file with a person's listens and playlists. It is written as it is read, so its size does not
// matter. When the database fails in the middle, the answer breaks off, and no program takes it for complete.
func (h *Users) export(c echo.Context, u accounts.User) error {
	w := c.Response()
	name := fmt.Sprintf("reprise-%s-%s.zip", u.Name, time.Now().UTC().Format(time.DateOnly))
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	w.WriteHeader(http.StatusOK)
	archive := zip.NewWriter(w)
	ctx := c.Request().Context()
	err := h.exportListens(ctx, archive, u.ID)
	if err == nil {
		err = h.exportPlaylists(ctx, archive, u.ID)
	}
	if err == nil {
		err = h.exportSkipped(ctx, archive, u.ID)
	}
	if err == nil {
		err = archive.Close()
	}
	if err == nil {
		return nil
	}
	if ctx.Err() == nil {
		h.core.Log.Error("an export broke off", "user_id", u.ID, "err", err)
	}
	panic(http.ErrAbortHandler)
}

// exportListens writes a file for each month, such as listens/2026/11.jsonl, as ListenBrainz exports them: a listen on
// each line, the newest first. An import of ListenBrainz' format reads them back.
func (h *Users) exportListens(ctx context.Context, archive *zip.Writer, user int64) error {
	var lines *json.Encoder
	month, next := "", ""
	for {
		page, cursor, err := h.store.Listens(ctx, user, next, exportPage)
		if err != nil {
			return err
		}
		for _, l := range page {
			if of := l.PlayedAt.UTC().Format("2006/01"); of != month {
				file, err := archive.Create("listens/" + of + ".jsonl")
				if err != nil {
					return err
				}
				month, lines = of, encoder(file)
			}
			if err := lines.Encode(listenLine(l)); err != nil {
				return err
			}
		}
		if next = cursor; next == "" {
			return nil
		}
	}
}

func encoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// line is a listen in ListenBrainz' form.
type line struct {
	ListenedAt int64 `json:"listened_at"` // Unix seconds
	Metadata   struct {
		Artist string   `json:"artist_name"`
		Title  string   `json:"track_name"`
		Album  string   `json:"release_name,omitempty"`
		Info   lineInfo `json:"additional_info"`
	} `json:"track_metadata"`
}

type lineInfo struct {
	DurationMS int64  `json:"duration_ms,omitempty"`
	ISRC       string `json:"isrc,omitempty"`
	MBID       string `json:"recording_mbid,omitempty"`
	Client     string `json:"submission_client"`
}

func listenLine(l library.StoredListen) (v line) {
	v.ListenedAt = l.PlayedAt.Unix()
	v.Metadata.Artist, v.Metadata.Title, v.Metadata.Album = l.Artist, l.Title, l.Album
	v.Metadata.Info = lineInfo{DurationMS: l.Duration.Milliseconds(), ISRC: l.ISRC, MBID: l.RecordingMBID,
		Client: "Reprise"}
	return v
}

// exportSkipped writes skipped.csv, with what services list and do not give; no file if there is nothing.
func (h *Users) exportSkipped(ctx context.Context, archive *zip.Writer, user int64) error {
	all, err := h.store.AllSkipped(ctx, user)
	if err != nil || len(all) == 0 {
		return err
	}
	file, err := archive.Create("skipped.csv")
	if err != nil {
		return err
	}
	rows := csv.NewWriter(file)
	_ = rows.Write([]string{"connection", "kind", "id", "name", "playlist", "reason", "answer", "since", "tried_at"})
	for _, v := range all {
		_ = rows.Write([]string{string(v.Connection), v.Kind, v.SourceID, v.Name, v.In, v.Reason.T(ctx), v.Answer,
			library.Stamp(v.Since), library.Stamp(v.TriedAt)})
	}
	rows.Flush()
	return rows.Error()
}

// Parts in which playlists are read.
const (
	exportLists  = 250 // playlists
	exportTracks = 500 // tracks of one playlist
)

// exportPlaylists writes a file for each playlist, such as playlists/0001.jspf, in the form that ListenBrainz uses for
// playlists (https://www.xspf.org/jspf).
func (h *Users) exportPlaylists(ctx context.Context, archive *zip.Writer, user int64) error {
	for n := 0; ; {
		part, err := h.store.PlaylistsPart(ctx, user, n, exportLists)
		if err != nil || len(part) == 0 {
			return err
		}
		for _, p := range part {
			n++
			file, err := archive.Create(fmt.Sprintf("playlists/%04d.jspf", n))
			if err != nil {
				return err
			}
			if err := h.exportPlaylist(ctx, file, user, p); err != nil {
				return err
			}
		}
	}
}

// exportPlaylist writes a playlist as its tracks are read, so that its length does not matter.
func (h *Users) exportPlaylist(ctx context.Context, w io.Writer, user int64, p library.StoredPlaylist) error {
	head, err := json.Marshal(jspf{Title: p.Name, Annotation: "From " + string(p.Connection)})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, `{"playlist":%s,"track":[`, head[:len(head)-1]); err != nil {
		return err
	}
	line := encoder(w)
	for n := 0; ; {
		tracks, err := h.store.PlaylistTracks(ctx, user, p.ID, n, exportTracks)
		if err != nil {
			return err
		}
		if len(tracks) == 0 {
			_, err := io.WriteString(w, "]}}\n")
			return err
		}
		for _, t := range tracks {
			if n > 0 {
				if _, err := io.WriteString(w, ","); err != nil {
					return err
				}
			}
			n++
			if err := line.Encode(jspfTrackOf(t)); err != nil {
				return err
			}
		}
	}
}

// jspf is a playlist without its tracks, which follow.
type jspf struct {
	Title      string `json:"title"`
	Annotation string `json:"annotation"`
}

type jspfTrack struct {
	Title      string   `json:"title"`
	Creator    string   `json:"creator"`
	Album      string   `json:"album,omitempty"`
	DurationMS int64    `json:"duration,omitempty"`
	Identifier []string `json:"identifier,omitempty"`
}

func jspfTrackOf(t library.Track) jspfTrack {
	v := jspfTrack{Title: t.Title, Creator: t.Artist, Album: t.Album, DurationMS: t.Duration.Milliseconds()}
	if t.RecordingMBID != "" {
		v.Identifier = []string{"https://musicbrainz.org/recording/" + t.RecordingMBID}
	}
	return v
}
