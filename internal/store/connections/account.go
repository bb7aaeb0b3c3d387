package connections

import (
	"context"
	"fmt"
	"strconv"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/db"
)

// Account is the connections of a person to one account at a provider.
type Account []library.ConnectionID

// AccountOf returns the account of a connection; the connection alone if it isn't stored. The ids are read whole,
// because only they know their provider, and a person has few.
func AccountOf(ctx context.Context, q db.Querier, user int64, conn library.ConnectionID) (Account, error) {
	all, err := AccountsOf(ctx, q, user)
	return all.Of(conn), err
}

// AccountsOf returns the accounts that the connections of a person lead to, and those that their players send from.
func AccountsOf(ctx context.Context, q db.Querier, user int64) (delivery.Accounts, error) {
	type row struct {
		id, mirrors library.ConnectionID
		account     string
	}
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.id, &v.mirrors, &v.account) }
	rows, err := db.List(ctx, q, scan, `SELECT connection, '' AS mirrors, account_id FROM connections WHERE user_id = $1
		UNION ALL SELECT CAST(id AS TEXT), mirrors, '' FROM sending_players WHERE user_id = $1 AND mirrors <> ''
		ORDER BY mirrors`, user) // the connections first
	all := make(delivery.Accounts, len(rows))
	for _, r := range rows {
		if r.mirrors == "" {
			all[r.id] = library.Connection{ID: r.id, AccountID: r.account}
			continue
		}
		n, _ := strconv.Atoi(string(r.id))
		if c, ok := all[r.mirrors]; ok {
			all[library.NewConnectionID(library.PlayerProvider, n)] = c
		}
	}
	return all, err
}

// In returns the condition that a column holds one of the connections, which are the arguments from $first on.
func (a Account) In(column string, first int) string {
	return column + " IN " + db.Numbered(first, len(a))
}

// Args returns the arguments of a query that ends with those of in.
func (a Account) Args(before ...any) []any {
	for _, id := range a {
		before = append(before, id)
	}
	return before
}

// OfProvider returns the condition that a column holds a connection to the provider $n; an empty one is any.
func OfProvider(column string, n int) string {
	return fmt.Sprintf("($%[2]d = '' OR %[1]s = $%[2]d OR %[1]s LIKE CAST($%[2]d AS TEXT) || '-%%')", column, n)
}

// SourceOf is the condition that a source s is of the connection $n.
func SourceOf(s string, n int) string {
	return s + ".connection = (SELECT number FROM connection_numbers WHERE connection = $" + strconv.Itoa(n) + ")"
}

// Sources returns the condition that a source s is of one of the connections, which are the arguments from $first on.
func (a Account) Sources(s string, first int) string {
	return s + ".connection IN (SELECT number FROM connection_numbers WHERE " + a.In("connection", first) + ")"
}
