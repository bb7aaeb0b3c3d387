// Package web is the browser's side: the addresses of the static files. All of them are in the binary, and nothing is
// fetched from another host. Beside it lies the description of the API, for those who read it without a server.
package web

import (
	"fmt"

	"reprise/web/static"
)

//go:generate go run reprise/internal/server/openapi

// Asset returns the address of a static file. It panics if there is no such file, which is a mistake in the program.
func Asset(name string) string {
	address, ok := static.URL(name)
	if !ok {
		panic(fmt.Sprintf("web: there is no static file %q", name))
	}
	return address
}

// Number returns a number, 0 or more, with separators, in English.
func Number(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Count returns a number and its noun in English, for logs and the command line: Count(1200, "listen", "listens") is
// "1,200 listens".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}
