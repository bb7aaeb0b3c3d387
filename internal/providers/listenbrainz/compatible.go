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

// DescribeCompatible completes the description of a program ("Koito") that people run themselves: how they connect,
// what it takes, and what refusals mean. Its own endpoints are those of reading it. tokenHelp says where to find an API
// key.
func DescribeCompatible(
	d providers.Description, tokenHelp words.Text, open func(*Compatible) providers.Adapter, sources ...string,
) providers.Description {
	program := d.DisplayName
	d.Streams, d.Owner = []string{library.Listens}, providers.OwnServer
	d.Endpoints = append([]string{endpoint(validateRoute), http.MethodPost + " " + submitRoute}, d.Endpoints...)
	d.Takes.Listens, d.Takes.Batch = "submit_listens", listensPerSubmission
	d.Fields = []providers.Field{{
		Name: urlField, Label: words.New("listenbrainz.field.program_url", "Program", program), Kind: "url",
		Help: words.New("listenbrainz.field.program_url_help"),
	}, {
		Name: tokenField, Label: words.New("listenbrainz.field.program_token"), Kind: "password", Help: tokenHelp,
	}}
	s := server{own: true, program: program}
	d.Tables = providers.Tables{
		Provider: program, Sources: sources,
		Reading: strings.TrimSpace("There are no codes besides the status. " + d.Tables.Reading),
		Own:     map[string]string{invalidToken: own[invalidToken], noRoute: "404, 405 or 501"},
		Of: []providers.NamedTable{
			{Calls: "all calls", Table: s.tableOf(nil)},
			{Calls: "sending listens", Table: s.tableOf(submitTable[len(table):])[len(elsewhereTable):]},
		},
	}
	d.Build = func(_ providers.Settings, in providers.Installation) (providers.Provider, error) {
		return providers.Provider{
			App: func(cred library.Credentials) string {
				if u, err := providers.ServerAddress(urlField, cred[urlField]); err == nil {
					return u.Host
				}
				return ""
			},
			Open: func(call resilience.Call, cred library.Credentials) providers.Adapter {
				return open(openCompatible(call, in, program, cred))
			},
		}, nil
	}
	return d
}

// openCompatible returns a Compatible of a program ("Koito") at the address that a person entered,
// with its key. Its calls are parts of call. The address may be that of one of its APIs, below /apis.
func openCompatible(
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
