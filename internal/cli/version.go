package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version returns what -version prints: the version, the commit that was built, and the version of Go. A version that
// ends in -dev is no release. Go notes the commit in what it builds unless it is given one.
func Version(version, commit string) string {
	if strings.HasSuffix(version, "-dev") {
		version += " (not a release)"
	}
	return fmt.Sprintf("reprise %s, commit %s, %s", version, cmp.Or(commit, built(), "unknown"), runtime.Version())
}

// built returns the commit that Go has noted; empty for none.
func built() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(len(s.Value), 12)]
		}
	}
	return ""
}
