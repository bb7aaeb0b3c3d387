package export_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/server/servertest"
)

// ruled is a household whose person has rules.
type ruled struct{ *servertest.Household }

// told has a connection tell of plays, one minute apart.
func (h ruled) told(conn library.ConnectionID, titles ...string) {
	h.T.Helper()
	var page []library.Listen
	for i, title := range titles {
		page = append(page, library.Listen{SourceID: title, PlayedAt: time.Now().Add(time.Duration(i-60) * time.Minute),
			Track: library.Track{Title: title, Artist: "Sigur Rós", Duration: 3 * time.Minute,
				ISRC: "GBAYE000000" + string(rune('0'+i))}, Player: "Kitchen"})
	}
	_, err := h.DB.SaveListens(h.T.Context(), library.Intake{User: h.User, Connection: conn, Listens: page})
	require.NoError(h.T, err)
}

func (h ruled) rule(r playrules.Rule) playrules.Rule {
	h.T.Helper()
	r.User, r.Zone = h.User, "Europe/Berlin"
	require.Empty(h.T, r.Check().String())
	r, err := h.DB.SavePlayRule(h.T.Context(), r)
	require.NoError(h.T, err)
	return r
}

// archive downloads everything, and returns the files in it by their names, too.
func (h ruled) archive() (whole []byte, files map[string]string) {
	h.T.Helper()
	w := h.Do(http.MethodGet, "/api/v1/export/all.zip", "", "")
	require.Equal(h.T, http.StatusOK, w.Code)
	whole = w.Body.Bytes()
	z, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	require.NoError(h.T, err)
	files = map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(h.T, err)
		b, err := io.ReadAll(r)
		require.NoError(h.T, err)
		files[f.Name] = string(b)
	}
	return whole, files
}

// bring imports a file that Reprise wrote.
func (h ruled) bring(name string, file []byte) imports.Import {
	h.T.Helper()
	reader := imports.New(imports.Config{Files: imports.Folder{Path: h.T.TempDir()}, Store: h.DB, Bus: h.Bus,
		Log: h.Log})
	ctx, cancel := context.WithCancel(h.T.Context())
	var running sync.WaitGroup
	defer func() { cancel(); running.Wait() }()
	running.Go(func() { assert.NoError(h.T, reader.Run(ctx)) })
	_, err := reader.Receive(ctx, h.User, imports.Sent{Connection: imports.Reprise, Name: name,
		Body: bytes.NewReader(file)})
	require.NoError(h.T, err)
	time.Sleep(time.Minute)
	synctest.Wait()
	all, err := h.DB.Imports(h.T.Context(), h.User)
	require.NoError(h.T, err)
	require.Equal(h.T, imports.Done, all[0].State)
	return all[0]
}

// bare returns the records in a file without the ids that each server gives.
func bare(t *testing.T, lines string) (all []string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var v any
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		strip(v)
		text, err := json.Marshal(v)
		require.NoError(t, err)
		all = append(all, string(text))
	}
	slices.Sort(all)
	return all
}

func strip(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "id")
		delete(v, "rule_id")
		for _, one := range v {
			strip(one)
		}
	case []any:
		for _, one := range v {
			strip(one)
		}
	}
}

func TestAnArchiveCarriesWhatRulesDid(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		old := ruled{servertest.New(t, delivery.Options{})}
		rename := old.rule(playrules.Rule{Name: "Names", Kind: playrules.Rewrite, Field: "title", Title: "/ - Live$/"})
		rain := old.rule(playrules.Rule{Name: "Rain", Kind: playrules.Ignore, Title: "rain"})
		private := old.rule(playrules.Rule{Name: "Private", Kind: playrules.Withhold, Title: "secret",
			To: []library.ConnectionID{"lastfm", "webhook-2"}})
		gone := old.rule(playrules.Rule{Name: "Gone", Kind: playrules.Ignore, Title: "noise"})
		old.told("spotify", "Song", "Rain", "Secret rain", "Secret", "Angie - Live", "Noise")
		old.told("listenbrainz", "Rain", "Secret")
		require.NoError(t, old.DB.DeletePlayRule(t.Context(), old.User, gone.ID))
		late := old.rule(playrules.Rule{Name: "Late", Kind: playrules.Withhold, Title: "song"}) // after it was sent
		whole, files := old.archive()
		require.Equal(t, 3, strings.Count(files["listens.jsonl"], "\n"))
		require.Equal(t, 3, strings.Count(files["ignored.jsonl"], "\n"))
		require.Contains(t, files["ignored.jsonl"], `"ignored":{"rule_id":"2","rule":"Rain"}}`)
		require.Equal(t, 1, strings.Count(files["listens.jsonl"], `"withheld":[{"connection":"lastfm",`))
		require.Equal(t, 1, strings.Count(files["listens.jsonl"], `"ruled":{"renamed":{"track":"Angie - Live",`))
		alone, _ := download(old.Household, "/export/listens.jsonl")
		require.Equal(t, files["listens.jsonl"], alone)

		// Elsewhere, where none of these services is connected, and a rule is there already.
		to := ruled{servertest.New(t, delivery.Options{})}
		own := to.rule(playrules.Rule{Name: "Mine", Kind: playrules.Ignore, Title: "song"})
		late.ID = 0
		late = to.rule(late)
		v := to.bring("reprise.zip", whole)
		require.Equal(t, []int{3, 0, 3, 0}, []int{v.Added, v.Known, v.Skipped, v.Bad}, v.Problems)
		same := func() {
			t.Helper()
			_, now := to.archive()
			require.Equal(t, bare(t, files["listens.jsonl"]), bare(t, now["listens.jsonl"]))
			require.Equal(t, bare(t, files["ignored.jsonl"]), bare(t, now["ignored.jsonl"]))
		}
		same()
		rules, err := to.DB.PlayRules(t.Context(), to.User)
		require.NoError(t, err)
		ids := map[string]int64{}
		for i, r := range rules {
			ids[r.Name] = r.ID
			require.Equal(t, "Europe/Berlin", r.Zone)
			if i > 1 {
				require.True(t, r.Same([]playrules.Rule{rename, rain, private}[i-2]))
			}
		}
		require.Len(t, rules, 5)
		require.Equal(t, []int64{own.ID, late.ID}, []int64{ids["Mine"], ids["Late"]})
		did := func() map[int64]playrules.Done {
			t.Helper()
			done, err := to.DB.DoneBy(t.Context(), to.User)
			require.NoError(t, err)
			return done
		}
		before := map[int64]playrules.Done{ids["Names"]: {Renamed: 1}, ids["Rain"]: {Ignored: 2},
			ids["Private"]: {Withheld: 2}, playrules.Gone: {Ignored: 1}}
		require.Equal(t, before, did())

		v = to.bring("again.zip", whole)
		require.Equal(t, []int{0, 3, 3, 0}, []int{v.Added, v.Known, v.Skipped, v.Bad}, v.Problems)
		same()
		rules, err = to.DB.PlayRules(t.Context(), to.User)
		require.NoError(t, err)
		require.Len(t, rules, 5)
		require.Equal(t, before, did())

		// What the services tell again is known, and can be undone there.
		to.told("spotify", "Song", "Rain", "Secret rain", "Secret", "Angie - Live", "Noise")
		require.Equal(t, before, did())
		for name, n := range map[string]int{"Names": 1, "Rain": 2} {
			got, err := to.DB.UndoPlayRule(t.Context(), to.User, ids[name])
			require.NoError(t, err)
			require.Equal(t, n, got, name)
		}
		_, now := to.archive()
		require.Equal(t, 5, strings.Count(now["listens.jsonl"], "\n"))
		require.Contains(t, now["listens.jsonl"], `"track":"Angie - Live"`)
		require.Contains(t, now["listens.jsonl"], `"track":"Rain"`)
		require.NotContains(t, now["ignored.jsonl"], "Rain")
	})
}

// Without the archive's rules, what the listens say is told by the names of the rules that are there.
func TestListensAloneNameTheirRules(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		old := ruled{servertest.New(t, delivery.Options{})}
		old.rule(playrules.Rule{Name: "Unused", Kind: playrules.Ignore, Title: "nothing"})
		private := old.rule(playrules.Rule{Name: "Private", Kind: playrules.Withhold, Title: "secret"})
		old.told("spotify", "Secret", "Song")
		listens, _ := download(old.Household, "/export/listens.jsonl")

		to := ruled{servertest.New(t, delivery.Options{})}
		v := to.bring("listens.jsonl", []byte(listens))
		require.Equal(t, []int{2, 0}, []int{v.Added, v.Bad}, v.Problems)
		done, err := to.DB.DoneBy(t.Context(), to.User)
		require.NoError(t, err)
		require.Equal(t, map[int64]playrules.Done{playrules.Gone: {Withheld: 1}}, done)

		named := ruled{servertest.New(t, delivery.Options{})}
		named.rule(playrules.Rule{Name: "Private", Kind: playrules.Ignore, Title: "another kind"})
		private.ID = 0
		private = named.rule(private)
		named.bring("listens.jsonl", []byte(listens))
		done, err = named.DB.DoneBy(t.Context(), named.User)
		require.NoError(t, err)
		require.Equal(t, map[int64]playrules.Done{private.ID: {Withheld: 1}}, done)
	})
}

// An archive of an earlier version has neither rules nor what they did: the rules that are there say what is withheld.
func TestAnArchiveWithoutRulesIsImported(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		to := ruled{servertest.New(t, delivery.Options{})}
		private := to.rule(playrules.Rule{Name: "Private", Kind: playrules.Withhold, Title: "secret"})
		v := to.bring("listens.jsonl", []byte(`{"id":"1","track":"Secret","artist":"A","album":"",`+
			`"played_at":"1999-03-05T18:00:00.000Z","duration_ms":null,"isrc":null,"recording_mbid":null,`+
			`"approximate":false,"sources":[{"provider":"spotify","connection":"spotify","source_id":"1"}]}`+"\n"))
		require.Equal(t, []int{1, 0}, []int{v.Added, v.Bad}, v.Problems)
		done, err := to.DB.DoneBy(t.Context(), to.User)
		require.NoError(t, err)
		require.Equal(t, map[int64]playrules.Done{private.ID: {Withheld: 1}}, done)
	})
}

// Connections are numbered as they are connected: on another server, the same id may be another account.
func TestAnArchiveKnowsAccountsNotJustNumbers(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		connect := func(h ruled, id library.ConnectionID, account string) {
			t.Helper()
			_, err := h.DB.SaveConnection(t.Context(), library.Connection{User: h.User, ID: id, AccountID: account,
				Account: account, AuthorizedAt: time.Now()})
			require.NoError(t, err)
		}
		old := ruled{servertest.New(t, delivery.Options{})}
		connect(old, "lastfm", "work")
		connect(old, "lastfm-2", "private")
		connect(old, "koito", "only-there")
		old.rule(playrules.Rule{Name: "Swapped", Kind: playrules.Withhold, Title: "secret",
			To: []library.ConnectionID{"lastfm", "webhook"}})
		old.rule(playrules.Rule{Name: "Another", Kind: playrules.Withhold, Title: "angie",
			To: []library.ConnectionID{"koito"}})
		old.rule(playrules.Rule{Name: "From", Kind: playrules.Ignore, Source: "koito"})
		old.told("spotify", "Song", "Secret", "Angie")
		whole, files := old.archive()
		require.NotContains(t, files["rules.json"]+files["listens.jsonl"], "only-there")

		to := ruled{servertest.New(t, delivery.Options{})}
		connect(to, "lastfm", "private")
		connect(to, "lastfm-2", "Work")
		connect(to, "koito", "else")
		to.bring("reprise.zip", whole)
		rules, err := to.DB.PlayRules(t.Context(), to.User)
		require.NoError(t, err)
		require.Len(t, rules, 3)
		require.Equal(t, []library.ConnectionID{"lastfm-2", "webhook"}, rules[0].To)
		require.Empty(t, rules[1].To, "everywhere")
		require.True(t, rules[2].Off)
		_, now := to.archive()
		for title, where := range map[string][]string{"Secret": {"lastfm-2", "webhook"}, "Angie": {""}, "Song": nil} {
			for line := range strings.Lines(now["listens.jsonl"]) {
				var l library.ListenRecord
				require.NoError(t, json.Unmarshal([]byte(line), &l))
				var got []string
				if l.Ruled != nil && l.Track == title {
					for _, w := range l.Ruled.Withheld {
						got = append(got, string(w.Connection))
					}
				}
				if l.Track == title {
					require.Equal(t, where, got, title)
				}
			}
		}
		require.NotContains(t, now["rules.json"], `"lastfm"`)
	})
}

// Who unpacks an archive, looks at it and packs its folder again has all its files in a folder.
func TestAnArchivePackedAgainBringsItsRules(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		old := ruled{servertest.New(t, delivery.Options{})}
		private := old.rule(playrules.Rule{Name: "Private", Kind: playrules.Withhold, Title: "secret"})
		old.told("spotify", "Secret", "Song")
		_, files := old.archive()
		var again bytes.Buffer
		z := zip.NewWriter(&again)
		for name, body := range files {
			w, err := z.Create("my-export/" + name)
			require.NoError(t, err)
			_, err = w.Write([]byte(body))
			require.NoError(t, err)
		}
		require.NoError(t, z.Close())

		to := ruled{servertest.New(t, delivery.Options{})}
		v := to.bring("again.zip", again.Bytes())
		require.Equal(t, []int{2, 0}, []int{v.Added, v.Bad}, v.Problems)
		rules, err := to.DB.PlayRules(t.Context(), to.User)
		require.NoError(t, err)
		require.Len(t, rules, 1)
		require.True(t, private.Same(rules[0]))
		done, err := to.DB.DoneBy(t.Context(), to.User)
		require.NoError(t, err)
		require.Equal(t, map[int64]playrules.Done{rules[0].ID: {Withheld: 1}}, done)
	})
}
