package imports

// SetMaxRows sets how many rows of a file are read.
func (r *Runner) SetMaxRows(n int) { r.maxRows = n }
