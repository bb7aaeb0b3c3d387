//go:build race

package test

// raceEnabled says whether the tests, and so the server that they build, run with the race detector.
const raceEnabled = true
