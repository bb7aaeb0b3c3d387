package demo

import (
	"archive/zip"
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// exportFile is roughly the number of rows in one file of Spotify's.
const exportFile = 16_000

// exportRow is a row of Spotify's extended streaming history, with the columns that matter.
type exportRow struct {
	TS        string  `json:"ts"`
	Platform  string  `json:"platform"`
	MSPlayed  int64   `json:"ms_played"`
	Country   string  `json:"conn_country"`
	Track     *string `json:"master_metadata_track_name"`
	Artist    *string `json:"master_metadata_album_artist_name"`
	Album     *string `json:"master_metadata_album_album_name"`
	URI       *string `json:"spotify_track_uri"`
	Episode   *string `json:"episode_name"`
	Start     string  `json:"reason_start"`
	End       string  `json:"reason_end"`
	Shuffle   bool    `json:"shuffle"`
	Skipped   bool    `json:"skipped"`
	Offline   bool    `json:"offline"`
	Incognito bool    `json:"incognito_mode"`
}

// WriteSpotifyExport writes the archive that Spotify sends to a person with that many plays, one every five minutes,
// the last of which ends at until. A row of a skipped track follows every fiftieth play. Equal seeds write equal
// plays.
func WriteSpotifyExport(w io.Writer, seed uint64, plays int, until time.Time) error {
	archive := zip.NewWriter(w)
	t := newTeller(theCatalog(), &Options{Seed: seed}, 1)
	at := until.Add(-time.Duration(plays) * 5 * time.Minute)
	for file := 0; file*exportFile < plays; file++ {
		name := fmt.Sprintf("Streaming_History_Audio_%d_%d.json", at.Year(), file)
		entry, err := archive.Create("Spotify Extended Streaming History/" + name)
		if err != nil {
			return err
		}
		out := bufio.NewWriter(entry)
		_, _ = out.WriteString("[") // Flush returns the error
		for n := range min(exportFile, plays-file*exportFile) {
			rows := []exportRow{t.exported(at.Add(5 * time.Minute))}
			if n%50 == 49 {
				rows = append(rows, exportRow{
					TS:       stampOf(at.Add(290 * time.Second)),
					MSPlayed: 1200,
					Track:    rows[0].Track,
					Artist:   rows[0].Artist,
					End:      "fwdbtn",
					Skipped:  true,
				})
			}
			for i, row := range rows {
				if n+i > 0 {
					_, _ = out.WriteString(",\n")
				}
				b, err := json.Marshal(row)
				if err != nil {
					return err
				}
				_, _ = out.Write(b)
			}
			at = at.Add(5 * time.Minute)
		}
		_, _ = out.WriteString("]")
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return archive.Close()
}

func stampOf(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// exported returns the row of a play that ends at an instant.
func (t *teller) exported(end time.Time) exportRow {
	id := t.track()
	track, album := &t.cat.tracks[id], t.cat.albumOf(id)
	uri := "spotify:track:" + track.spotifyID
	return exportRow{
		TS:       stampOf(end),
		Platform: "android",
		MSPlayed: min(track.duration.Milliseconds(), 290_000),
		Country:  "IS",
		Track:    &track.title,
		Artist:   &album.artist,
		Album:    &album.title,
		URI:      &uri,
		Start:    "trackdone",
		End:      "trackdone",
	}
}
