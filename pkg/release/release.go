// Package release names the source of a binary: the version and the commit.
//
// This package is not an API and may change between releases.
package release

import (
	"regexp"
	"runtime/debug"
	"sync"
)

// Version is the version of the tree. `make release` names its archives after it, and the tag of
// the release is v and it.
const Version = "0.1.0"

// commit is set by the linker in `make release`, which leaves out Go's record of version control:
// the record depends on the tags of the clone and on files beside the sources.
var commit string

// Commit returns the commit that the binary was built from, or "" if it is unknown; its first
// twelve digits in a binary that `go install` built for a version without a tag. It ends with
// "-modified" if files differed from it.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if commit != "" || !ok {
		return commit
	}
	return commitOf(info)
}

func commitOf(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if pseudo := pseudoVersion().FindStringSubmatch(info.Main.Version); revision == "" && pseudo != nil {
		return pseudo[1]
	}
	if settings["vcs.modified"] == "true" {
		return revision + "-modified"
	}
	return revision
}

// pseudoVersion matches the version of a module without a tag. It ends with an instant and a
// commit.
var pseudoVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[.-]\d{14}-([0-9a-f]{12})$`) })

// Module returns the tag of the module that `go install` built the binary from, "" if it was built
// from a clone or from a version without a tag.
func Module() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || commit != "" || commitOf(info) != "" || info.Main.Version == "(devel)" {
		return ""
	}
	return info.Main.Version
}
