// Package web is the browser's side: the addresses of the static files, and the description of the API. All of it is in
// the binary, and nothing is fetched from another host.
package web

import (
	_ "embed"
	"fmt"
	"strings"

	"reprise/web/static"
)

//go:embed openapi.yaml
var openAPI string

// OpenAPI returns the description of the JSON API, with the names of the providers that people connect, and of those
// whose exports can be imported.
func OpenAPI(connections, exports []string) []byte {
	names := strings.NewReplacer("'{connections}'", strings.Join(connections, ", "),
		"'{exports}'", strings.Join(exports, ", "))
	return []byte(names.Replace(openAPI))
}

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
