package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// probeName is the name of the object that Prove writes and removes. It is constant, so that failed removals leave at
// most one object.
const probeName = "reprise-connection-test.txt"

var adviceNoStorage = words.New("s3.no_server")

// Prove writes an object, reads it back and removes it. If the server names another region, it uses that one.
func (a *adapter) Prove(ctx context.Context) (providers.Account, error) {
	if a.err != nil {
		return providers.Account{}, a.err
	}
	err := a.probe(ctx)
	if a.elsewhere(err) {
		a.region = a.told
		err = a.probe(ctx)
	}
	if err != nil {
		return providers.Account{}, a.advise(err)
	}
	place := a.bucket + "/" + a.prefix
	return providers.Account{
		ID:   a.endpoint.String() + "/" + place,
		Name: strings.TrimSuffix(place, "/") + " at " + a.endpoint.Host,
		Learned: library.Credentials{
			credEndpoint: a.endpoint.String(), credBucket: a.bucket, credPrefix: firstOf(a.prefix, "/"),
			credRegion: a.region,
		},
	}, nil
}

func (a *adapter) probe(ctx context.Context) error {
	o := newObject(a.prefix+probeName, "text/plain; charset=utf-8",
		[]byte("Reprise wrote this to see whether it may. It can be deleted.\n"+rand.Text()+"\n"))
	if _, err := a.put(ctx, o, nil); err != nil {
		return err
	}
	body, err := a.get(ctx, o.key)
	if err != nil {
		return err
	}
	if string(body) != string(o.body) {
		return &resilience.ContractError{Endpoint: endpointGet, What: "not what was written"}
	}
	return a.remove(ctx, o.key)
}

// elsewhere reports whether err is a refusal that names another region.
func (a *adapter) elsewhere(err error) bool {
	e, ok := errors.AsType[*resilience.AnswerError](err)
	return ok && !resilience.ServerFault(e.Status) && a.told != "" && a.told != a.region &&
		!strings.ContainsFunc(a.told, notInKey)
}

// advise adds advice to a failure that is caused by the address. It does not change the verdict.
func (a *adapter) advise(err error) error {
	e, ok := errors.AsType[*resilience.AnswerError](err)
	switch {
	case ok && (e.Code != "" || e.Busy()):
		return err
	case ok && a.moved != "" && a.moved != a.endpoint.String():
		return resilience.Advised(err, words.New("provider.moved", "Address", a.moved))
	}
	return resilience.Advised(err, adviceNoStorage)
}
