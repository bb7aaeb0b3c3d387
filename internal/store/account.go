package store

import (
	"context"
	"fmt"

	"reprise/internal/delivery"
	"reprise/internal/library"
)

// account is the connections of a person to one account at a provider.
type account []library.ConnectionID

// accountOf returns the account of a connection; the connection alone if it isn't stored. The ids are read whole,
// because only they know their provider, and a person has few.
func accountOf(ctx context.Context, q querier, user int64, conn library.ConnectionID) (account, error) {
	all, err := accountsOf(ctx, q, user)
	return all.Of(conn), err
}

// accountsOf returns the accounts that the connections of a person lead to.
func accountsOf(ctx context.Context, q querier, user int64) (delivery.Accounts, error) {
	type row struct {
		connection library.ConnectionID
		account    string
	}
	scan := func(r scanner) (v row, err error) { return v, r.Scan(&v.connection, &v.account) }
	rows, err := list(ctx, q, scan, "SELECT connection, account_id FROM connections WHERE user_id = $1", user)
	all := make(delivery.Accounts, len(rows))
	for _, r := range rows {
		all[r.connection] = r.account
	}
	return all, err
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
