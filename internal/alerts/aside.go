package alerts

import (
	"strconv"

	"reprise/internal/resilience"
)

// SetAsideError reports that a stream is not read because the process ended each time that it was.
type SetAsideError struct {
	Times int // in a row
}

func (e *SetAsideError) Error() string {
	return "set aside: the server itself ended " + strconv.Itoa(e.Times) + " times in a row while it read this"
}

// Verdict stops the stream until a person has it tried again.
func (e *SetAsideError) Verdict() resilience.Verdict {
	return resilience.Verdict{Class: resilience.Fatal, Category: resilience.Contract, Scope: resilience.ScopeStream}
}
