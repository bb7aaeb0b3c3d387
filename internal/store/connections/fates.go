package connections

import (
	"strings"
)

// String names the connections, the one that was asked for first.
func (a Account) String() string {
	names := make([]string, len(a))
	for i, id := range a {
		names[i] = string(id)
	}
	return strings.Join(names, " ")
}
