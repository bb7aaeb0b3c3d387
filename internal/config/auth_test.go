package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers/registry"
)

// Two issuers have two addresses, whatever Reprise is called there: who somebody is, the address says.
func TestTheSameIssuerTwiceIsRefused(t *testing.T) {
	t.Parallel()
	with := func(client string) error {
		_, err := Load("", []string{"REPRISE_AUTH_OIDC_ISSUER=https://auth.example.org",
			"REPRISE_AUTH_OIDC_CLIENT_ID=reprise", "REPRISE_AUTH_OIDC3_ISSUER=https://auth.example.org",
			"REPRISE_AUTH_OIDC3_CLIENT_ID=" + client}, nil, registry.Descriptions())
		return err
	}
	for _, client := range []string{"another", "reprise"} {
		require.ErrorContains(t, with(client), "auth.oidc.issuer and auth.oidc3.issuer are the same issuer")
	}
	require.ErrorContains(t, with(""), "auth.oidc3.issuer and auth.oidc3.client_id belong together")
}
