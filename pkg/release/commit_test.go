package release

import (
	"runtime/debug"
	"testing"
)

func TestCommitOfBuild(t *testing.T) {
	t.Parallel()
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	for name, tt := range map[string]struct {
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		"a clone":             {"v0.1.1-0.20261123050000-0123456789ab", []debug.BuildSetting{revision}, revision.Value},
		"a changed clone":     {"(devel)", []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}}, revision.Value + "-modified"},
		"a tag":               {"v0.1.0", nil, ""},
		"a commit after none": {"v0.0.0-20261123050000-0123456789ab", nil, "0123456789ab"},
		"a commit after one":  {"v0.1.1-0.20261123050000-0123456789ab", nil, "0123456789ab"},
		"a tag of a test":     {"v0.1.0-rc.1-0123456789ab", nil, ""},
	} {
		if got := commitOf(&debug.BuildInfo{Main: debug.Module{Version: tt.version}, Settings: tt.settings}); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
