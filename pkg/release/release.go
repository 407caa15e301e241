// Package release names what a binary was built from: the version and the commit.
package release

import "runtime/debug"

// Version is the version of the tree. `make release` names its archives after it, and the tag of the release is v and it.
const Version = "0.1.0"

// commit is set by the linker in `make release`, which leaves out what Go records of version control:
// that depends on the tags of the clone and on files beside the sources.
var commit string

// Commit returns the commit that the binary was built from, "" if it is unknown: `go install` of a version does not record one.
// It ends with "-modified" if files differed from it.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if commit != "" || !ok {
		return commit
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["vcs.modified"] == "true" {
		return settings["vcs.revision"] + "-modified"
	}
	return settings["vcs.revision"]
}
