package listenbrainz

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Compatible says whose token it is and sends listens, at a person's own server that has this part of ListenBrainz' API
// and a way of its own to be read: Koito and Maloja are providers of their own with it.
type Compatible struct {
	taker  adapter
	reader adapter // at the server's own API
}

// CompatibleEndpoints are the calls of [Compatible], without those of Get.
func CompatibleEndpoints() []string {
	return []string{endpoint(validateRoute), http.MethodPost + " " + submitRoute}
}

// CompatibleFields are the fields of the connect form: the address of a program ("Koito"), and its API key, with a
// sentence about where to find it.
func CompatibleFields(program string, tokenHelp words.Text) []providers.Field {
	return []providers.Field{{
		Name: urlField, Label: words.New("listenbrainz.field.program_url", "Program", program), Kind: "url",
		Help: words.New("listenbrainz.field.program_url_help"),
	}, {
		Name: tokenField, Label: words.New("listenbrainz.field.program_token"), Kind: "password", Help: tokenHelp,
	}}
}

// CompatibleHost returns the host of a server as a person typed its address; empty for none.
func CompatibleHost(cred library.Credentials) string {
	if u, err := providers.ServerAddress(urlField, cred[urlField]); err == nil {
		return u.Host
	}
	return ""
}

// OpenCompatible returns a Compatible of a program ("Koito") at the address that a person entered,
// with its key. Its calls are parts of call. The address may be that of one of its APIs, below /apis.
func OpenCompatible(
	call resilience.Call, in providers.Installation, program string, cred library.Credentials,
) *Compatible {
	a := adapter{call: call, domains: in.Domains, token: strings.Join(strings.Fields(cred[tokenField]), "")}
	u, err := providers.ServerAddress(urlField, cred[urlField])
	if err != nil {
		a.err = err
		return &Compatible{a, a}
	}
	u.Path, _, _ = strings.Cut(u.Path, "/apis")
	a.server = server{base: u.String(), host: u.Host, own: true, program: program}
	c := &Compatible{a, a}
	c.taker.server.base += "/apis/listenbrainz"
	return c
}

// Account returns the account of the token, with the server's address as it is called.
func (c *Compatible) Account(ctx context.Context) (providers.Account, error) {
	user, _, err := c.taker.validate(ctx)
	if lacking(err) {
		err = resilience.Advised(err, words.New("listenbrainz.no_program", "Program", c.taker.server.program))
	}
	if err != nil {
		return providers.Account{}, err
	}
	return providers.Account{ID: c.taker.server.host + "#" + user, Name: user,
		Learned: library.Credentials{urlField: c.reader.server.base}}, nil
}

// Get reads the answer of the server's own API into v. The path names the endpoint, and has no ids.
func (c *Compatible) Get(ctx context.Context, path string, query url.Values, v any) error {
	answer, err := c.reader.get(ctx, path, path, query, table)
	if err != nil {
		return err
	}
	return providers.DecodeJSON(answer, v)
}

// Submit implements providers.ListenTaker.
func (c *Compatible) Submit(ctx context.Context, plays []library.StoredListen) ([]error, error) {
	return c.taker.Submit(ctx, plays)
}

// Playing implements providers.PlayingTaker.
func (c *Compatible) Playing(ctx context.Context, t library.Track) error {
	return c.taker.Playing(ctx, t)
}

// CompatibleTables returns the error tables of [Compatible] for docs/providers.md.
func CompatibleTables(program string, sources ...string) providers.Tables {
	s := server{own: true, program: program}
	return providers.Tables{
		Provider: program, Sources: sources,
		Reading: "There are no codes besides the status.",
		Own:     map[string]string{invalidToken: own[invalidToken], noRoute: "404, 405 or 501"},
		Of: []providers.NamedTable{
			{Calls: "all calls", Table: s.tableOf(nil)},
			{Calls: "sending listens", Table: s.tableOf(submitTable[len(table):])[len(elsewhereTable):]},
		},
	}
}
