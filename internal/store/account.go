package store

import (
	"context"
	"fmt"
	"slices"

	"reprise/internal/library"
)

// account is the connections of a person to one account at a provider.
type account []library.ConnectionID

// accountOf returns the account of a connection; the connection alone if it isn't stored. The ids are read whole,
// because only they know their provider, and a person has few.
func accountOf(ctx context.Context, q querier, user int64, conn library.ConnectionID) (account, error) {
	ids, err := accountIDs(ctx, q, user)
	return ids.of(conn), err
}

// accountsByID holds the provider's id of the account that each of a person's connections leads to.
type accountsByID map[library.ConnectionID]string

func accountIDs(ctx context.Context, q querier, user int64) (accountsByID, error) {
	type row struct {
		connection library.ConnectionID
		account    string
	}
	scan := func(r scanner) (v row, err error) { return v, r.Scan(&v.connection, &v.account) }
	rows, err := list(ctx, q, scan, "SELECT connection, account_id FROM connections WHERE user_id = $1", user)
	all := make(accountsByID, len(rows))
	for _, r := range rows {
		all[r.connection] = r.account
	}
	return all, err
}

// same reports whether two connections lead to one account.
func (a accountsByID) same(one, other library.ConnectionID) bool {
	c := library.Connection{ID: one, AccountID: a[one]}
	return c.SameAccount(library.Connection{ID: other, AccountID: a[other]})
}

func (a accountsByID) of(conn library.ConnectionID) account {
	all := account{conn}
	for id := range a {
		if id != conn && a.same(id, conn) {
			all = append(all, id)
		}
	}
	slices.Sort(all[1:])
	return all
}

// in returns the condition that a column holds one of the connections, which are the arguments from $first on.
func (a account) in(column string, first int) string {
	return column + " IN " + numbered(first, len(a))
}

// args returns the arguments of a query that ends with those of in.
func (a account) args(before ...any) []any {
	for _, id := range a {
		before = append(before, id)
	}
	return before
}

// ofProvider returns the condition that a column holds a connection to the provider $n; an empty one is any.
func ofProvider(column string, n int) string {
	return fmt.Sprintf("($%[2]d = '' OR %[1]s = $%[2]d OR %[1]s LIKE CAST($%[2]d AS TEXT) || '-%%')", column, n)
}
