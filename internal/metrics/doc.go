// Package metrics counts what the program does: for Prometheus at /metrics, and as the 15-minute roll-up of the health
// page.
//
// States are pulled when somebody scrapes, counts are pushed by whoever does the work. Labels come from closed sets that
// are known at start, so that every series exists from then on and their number does not grow with people, keys or
// music: people's own servers share one endpoint, and what a newer adapter calls without listing it is "other".
//
// Every method may be called on a nil *Metrics, which counts nothing, and by any number of goroutines.
package metrics
