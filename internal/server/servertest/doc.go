// Package servertest tests the server's pages and calls: a [Household] is a server over a real database and engine,
// with simulated services. It compares every answer of the API with its description in web/openapi.yaml.
//
// A folder's tests call [Main] from their TestMain, and [OnPostgres] from their TestEverythingOnPostgres.
package servertest
