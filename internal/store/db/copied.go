package db

import (
	"errors"
	"fmt"
)

// Unfinished is the name of the fact that marks a copy that is not complete, and says what it is a copy of.
const Unfinished = "unfinished_copy"

// UnfinishedError reports that a database is a copy that is not complete.
type UnfinishedError struct{ Of string }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("it's an unfinished copy of %s. Run server copy-database again with the same two: it empties "+
		"the copy and starts over", e.Of)
}

// NameUnfinished names the database in the error of an unfinished copy.
func NameUnfinished(e engine, err error) error {
	if _, ok := errors.AsType[*UnfinishedError](err); ok {
		return fmt.Errorf("the database %s can't be used: %w", e, err)
	}
	return err
}
