package providertest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
)

var (
	providerName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	svgPath      = regexp.MustCompile(`^[Mm][MmLlHhVvCcSsQqTtAaZz0-9., -]+$`)
	sentence     = regexp.MustCompile(`^[A-Z].*\.$`)
)

// maxIcon limits the size of an icon, because every page contains icons.
const maxIcon = 500

// Describes checks that a description is complete and consistent.
func Describes(t *testing.T, d providers.Description) {
	t.Helper()
	require.Regexp(t, providerName, d.Name)
	require.NotEmpty(t, d.DisplayName)
	require.Regexp(t, svgPath, d.Icon)
	require.Less(t, len(d.Icon), maxIcon)
	require.Regexp(t, sentence, d.Purpose.String())
	require.False(t, len(d.Streams) == 0 && d.Takes.Nothing(), "nothing is read there and nothing sent there")
	require.NotEmpty(t, d.Endpoints)
	require.NotEmpty(t, d.Owner)
	require.NotNil(t, d.Build)
	checkSettings(t, d)
	checkConnecting(t, d)
	checkTables(t, d.Tables)
	if e := d.Enriches; e != nil {
		require.NotEmpty(t, e.Kinds)
		require.NotZero(t, e.NotThere)
		require.Regexp(t, sentence, e.SettingUp.String())
	}
	s, err := d.Read(nil)
	require.NoError(t, err, "the defaults")
	p, err := d.New(s, providers.Installation{})
	require.NoError(t, err)
	require.Equal(t, d.Connects(), p.Open != nil && p.App != nil, "what people connect can be opened")
	require.Equal(t, d.Enriches != nil, p.Enricher != nil)
	require.Equal(t, d.Writes(), p.Model != nil)
	require.Equal(t, p.InBrowser(), d.Registration != nil, "people consent where the installation is registered")
}

func checkSettings(t *testing.T, d providers.Description) {
	t.Helper()
	called, rate, identity := false, "", 0
	for _, s := range d.Settings {
		path := d.Path(s.Name)
		require.Regexp(t, regexp.MustCompile(`^[a-z_]+$`), s.Name)
		require.False(t, s.Required && s.Default != "", "%s is required although it has a default", path)
		require.False(t, (s.Required || s.Secret()) && !strings.HasPrefix(s.From, "https://"),
			"%s does not say where to get it", path)
		require.Equal(t, s.List(), s.Name == "keys", "%s: the pool is filled by keys", path)
		called = called || s.Called
		if s.Kind == providers.Rate {
			rate = s.Default
		}
		if s.Name == "client_id" || s.Name == "client_secret" {
			identity++
		}
	}
	require.Equal(t, called, d.Owner != providers.OwnServer, "a shared service has an address in the settings")
	require.Equal(t, rate != "", d.Pace.PerSecond > 0 && d.Pace.Per != "", "a pace is stated whole, and is a setting")
	require.Equal(t, identity > 0, d.Registration != nil, "registering gives the identity")
	keys := false
	for _, s := range d.Settings {
		keys = keys || s.List()
	}
	require.Equal(t, keys, d.Pool != nil)
	if p := d.Pool; p != nil {
		require.NotEmpty(t, p.KeyName)
		require.NotNil(t, p.Put)
		require.NotNil(t, p.Try)
		require.Regexp(t, sentence, p.Advice)
	}
}

func checkConnecting(t *testing.T, d providers.Description) {
	t.Helper()
	if r := d.Registration; r != nil {
		require.Regexp(t, "^https://", r.Page)
		redirects := slices.ContainsFunc(r.Guide.Steps, func(s providers.Step) bool {
			return slices.Contains(s.Copy, providers.RedirectURI)
		})
		require.True(t, redirects, "no step registers the redirect URI")
		for _, s := range d.Settings {
			require.True(t, !s.Required || !s.Label.IsZero(), "the form leaves out %s", s.Name)
		}
		for _, part := range []string{r.Identity, r.Source, r.RedirectAs} {
			require.NotEmpty(t, part)
		}
		require.NotNil(t, r.Try)
	}
	require.Equal(t, d.Connects() && d.Registration == nil, len(d.Fields) > 0, "a person consents or fills in a form")
	for _, f := range d.Fields {
		require.NotEmpty(t, f.Label, f.Name)
		require.Contains(t, []string{"text", "url", "password", "checkbox"}, f.Kind, f.Name)
	}
	for _, stream := range d.Streams {
		known := append(slices.Clone(library.Read), library.Enrichment, library.Digest)
		require.Contains(t, known, stream)
	}
}

func checkTables(t *testing.T, tables providers.Tables) {
	t.Helper()
	require.NotEmpty(t, tables.Provider)
	require.NotEmpty(t, tables.Sources)
	require.NotEmpty(t, tables.Reading)
	require.NotEmpty(t, tables.Of)
	for _, named := range tables.Of {
		require.NotEmpty(t, named.Calls)
		require.NotEmpty(t, named.Table, named.Calls)
	}
}
