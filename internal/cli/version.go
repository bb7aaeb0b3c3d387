package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version returns what -version prints: the version, the commit that was built, and the version of Go.
func Version(version string) string {
	commit := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value[:min(len(s.Value), 12)]
			}
		}
	}
	return fmt.Sprintf("reprise %s, commit %s, %s", version, commit, runtime.Version())
}
