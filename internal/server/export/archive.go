package export

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/export"
	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/words"
)

// manifest lists the files of an archive. It is written last, when all counts are known.
type manifest struct {
	Format  string   `json:"format"` // "reprise-export"
	Version int      `json:"version"`
	Program string   `json:"program"`
	Account string   `json:"account"`
	MadeAt  string   `json:"made_at"`
	Files   []packed `json:"files"`
}

// packed describes a file of an archive.
type packed struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`            // readme, listens, ignored, rules, playlist, skipped, corrections, …
	Title  string `json:"title,omitempty"` // of a playlist
	Count  int    `json:"count"`           // listens, tracks or rows
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// packing is an archive that is being written.
type packing struct {
	*zip.Writer
	now time.Time
	manifest
}

// counted counts and hashes what is written to a file of an archive.
type counted struct {
	to  io.Writer
	n   int64
	sum hash.Hash
}

// Write implements io.Writer.
func (w *counted) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	w.n += int64(n)
	_, _ = w.sum.Write(b[:n]) // never fails
	return n, err
}

// add writes a file. write returns the number of things in it.
func (p *packing) add(f packed, write func(io.Writer) (int, error)) error {
	to, err := p.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: p.now})
	if err != nil {
		return err
	}
	w := &counted{to: to, sum: sha256.New()}
	if f.Count, err = write(w); err != nil {
		return err
	}
	f.Bytes, f.SHA256 = w.n, hex.EncodeToString(w.sum.Sum(nil))
	p.Files = append(p.Files, f)
	return nil
}

// pack writes everything that belongs to a person as a ZIP file.
func (h *Handler) pack(ctx context.Context, w io.Writer, u accounts.User, now time.Time) error {
	p := &packing{Writer: zip.NewWriter(w), now: now, manifest: manifest{Format: "reprise-export", Version: 1,
		Program: "Reprise " + h.core.Version(), Account: u.Name, MadeAt: library.Stamp(now)}}
	err := p.add(packed{Name: "README.txt", Kind: "readme"}, func(w io.Writer) (int, error) {
		return 1, readme(ctx, w, u, now)
	})
	if err != nil {
		return err
	}
	rules, err := h.store.PlayRules(ctx, u.ID)
	if err != nil {
		return err
	}
	connections, err := h.store.UserConnections(ctx, u.ID)
	if err != nil {
		return err
	}
	err = p.add(packed{Name: playrules.FileName, Kind: "rules"}, func(w io.Writer) (int, error) {
		return len(rules), playrules.Write(w, rules, connections)
	})
	if err != nil {
		return err
	}
	err = p.add(packed{Name: export.JSONLines.Name, Kind: "listens"}, func(w io.Writer) (int, error) {
		return export.JSONLines.Write(w, h.found(ctx, library.ListenFilter{User: u.ID}, true))
	})
	if err != nil {
		return err
	}
	if err := h.packIgnored(ctx, p, u.ID); err != nil {
		return err
	}
	if err := h.packPlaylists(ctx, p, u.ID); err != nil {
		return err
	}
	if err := h.packSkipped(ctx, p, u.ID); err != nil {
		return err
	}
	err = p.add(packed{Name: correctionsFile, Kind: "corrections"}, func(w io.Writer) (int, error) {
		return h.writeCorrections(ctx, w, u.ID)
	})
	if err != nil {
		return err
	}
	err = p.add(packed{Name: lovedFile, Kind: "loved"}, func(w io.Writer) (int, error) {
		return h.writeLoves(ctx, w, u.ID)
	})
	if err != nil {
		return err
	}
	if err := h.packStatistics(ctx, p, u.ID); err != nil {
		return err
	}
	file, err := p.Create("manifest.json")
	if err != nil {
		return err
	}
	e := json.NewEncoder(file)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(p.manifest); err != nil {
		return err
	}
	return p.Close()
}

// unisolated removes the marks around names from a sentence, which plain text does not need.
var unisolated = strings.NewReplacer("\u2068", "", "\u2069", "")

// readme returns the README of the archive, in its reader's language.
func readme(ctx context.Context, w io.Writer, u accounts.User, now time.Time) error {
	lines := []string{
		words.T(ctx, "export.readme.title", "Name", u.Name, "Date", words.From(ctx).Day(now)), "",
		"listens.jsonl", words.T(ctx, "export.readme.listens"), "",
		ignoredFile, words.T(ctx, "export.readme.ignored"), "",
		playrules.FileName, words.T(ctx, "export.readme.rules"), "",
		"playlists/", words.T(ctx, "export.readme.playlists"), "",
		"skipped.csv", words.T(ctx, "export.readme.skipped"), "",
		correctionsFile, words.T(ctx, "export.readme.corrections"), "",
		lovedFile, words.T(ctx, "export.readme.loved"), "",
		"statistics/", words.T(ctx, "export.readme.statistics"), "",
		"manifest.json", words.T(ctx, "export.readme.manifest"), "",
		words.T(ctx, "export.readme.import"),
	}
	for _, line := range lines {
		if _, err := io.WriteString(w, unisolated.Replace(line)+"\r\n"); err != nil {
			return err
		}
	}
	return nil
}

// ignoredFile is the file with the plays that a person's rules make no listens of.
const ignoredFile = "ignored.jsonl"

// packIgnored writes the plays that a person's rules make no listens of, newest first. There is no file if there are
// none.
func (h *Handler) packIgnored(ctx context.Context, p *packing, user int64) error {
	first, _, err := h.store.IgnoredPlays(ctx, user, "", 1)
	if err != nil || len(first) == 0 {
		return err
	}
	return p.add(packed{Name: ignoredFile, Kind: "ignored"}, func(w io.Writer) (int, error) {
		return export.JSONLines.Write(w, export.Pages(func(next string) ([]library.StoredListen, string, error) {
			return h.store.IgnoredPlays(ctx, user, next, listensAtOnce)
		}))
	})
}

// packPlaylists writes a file for each playlist, such as playlists/0001.jspf.
func (h *Handler) packPlaylists(ctx context.Context, p *packing, user int64) error {
	for n := 0; ; {
		part, err := h.store.PlaylistsPart(ctx, user, n, listsAtOnce)
		if err != nil || len(part) == 0 {
			return err
		}
		for _, one := range part {
			n++
			f := packed{Name: fmt.Sprintf("playlists/%04d%s", n, export.JSPF.Ending), Kind: "playlist", Title: one.Name}
			err := p.add(f, func(w io.Writer) (int, error) {
				return export.JSPF.Write(w, one, h.trackPage(one), h.tracks(ctx, user, one.ID))
			})
			if err != nil {
				return err
			}
		}
	}
}

// packStatistics writes a table for each list and chart of all time, such as statistics/artists.csv.
func (h *Handler) packStatistics(ctx context.Context, p *packing, user int64) error {
	all, err := h.stats.Tables(ctx, user, p.now)
	for _, t := range all {
		err = p.add(packed{Name: "statistics/" + t.Name + ".csv", Kind: "statistics"}, t.Write)
		if err != nil {
			return err
		}
	}
	return err
}

// packSkipped writes skipped.csv, with what services list but do not return. There is no file if there is nothing.
func (h *Handler) packSkipped(ctx context.Context, p *packing, user int64) error {
	all, err := h.store.AllSkipped(ctx, user)
	if err != nil || len(all) == 0 {
		return err
	}
	return p.add(packed{Name: "skipped.csv", Kind: "skipped"}, func(w io.Writer) (int, error) {
		rows := csv.NewWriter(w)
		_ = rows.Write([]string{"connection", "kind", "id", "name", "playlist", "reason", "answer", "since",
			"tried_at"})
		for _, v := range all {
			cells := []string{string(v.Connection), v.Kind, v.SourceID, v.Name, v.In, v.Reason.T(ctx), v.Answer,
				library.Stamp(v.Since), library.Stamp(v.TriedAt)}
			for i := range cells {
				cells[i] = export.Safe(cells[i])
			}
			_ = rows.Write(cells) // rows.Error returns the error
		}
		rows.Flush()
		return len(all), rows.Error()
	})
}
