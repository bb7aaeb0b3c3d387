package navidrome_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

var deadCredential = resilience.Verdict{Class: resilience.Fatal, Category: resilience.Auth,
	Scope: resilience.ScopeConnection}

func merge(a, b library.Credentials) library.Credentials {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func collect[T any](seq iter.Seq2[T, error]) (all []T, err error) {
	for page, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, page)
	}
	return all, nil
}

func flat[T any](seq iter.Seq2[[]T, error]) (all []T, err error) {
	pages, err := collect(seq)
	for _, page := range pages {
		all = append(all, page...)
	}
	return all, err
}

func listens(ctx context.Context, a providers.Adapter, span library.Span) ([]providers.ListenPage, error) {
	return collect(a.(providers.ListenSource).Listens(ctx, span))
}

func playlists(ctx context.Context, a providers.Adapter) ([]library.Playlist, error) {
	return flat(a.(providers.PlaylistSource).Playlists(ctx))
}

func tracks(ctx context.Context, a providers.Adapter, p library.Playlist) ([]library.Track, error) {
	return flat(a.(providers.PlaylistSource).Tracks(ctx, p, nil))
}

func requireVerdict(t *testing.T, want resilience.Verdict, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, resilience.VerdictOf(err), "%v", err)
}

func requireCode(t *testing.T, want string, err error) {
	t.Helper()
	require.Equal(t, want, answerOf(t, err).Code, "%v", err)
}

func answerOf(t *testing.T, err error) *resilience.AnswerError {
	t.Helper()
	e, ok := errors.AsType[*resilience.AnswerError](err)
	require.True(t, ok, "%v", err)
	return e
}

func requireSetting(t *testing.T, want string, err error) {
	t.Helper()
	e, ok := errors.AsType[*resilience.SettingError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, want, e.Setting)
}
