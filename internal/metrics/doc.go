// Package metrics counts what the program does: for Prometheus at /metrics, and in quarters of an hour for the health
// page.
//
// States are read at a scrape, counts are added where the work is done. Labels come from closed sets that are known at
// the start, so that every series exists from then on and their number does not grow with people, keys or music.
// People's own servers share one endpoint, and an endpoint that is not in the catalogue is "other".
//
// Every method may be called on a nil *Metrics, which counts nothing. All are safe for concurrent use.
package metrics
