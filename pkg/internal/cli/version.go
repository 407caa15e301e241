package cli

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/waitless/waitless/pkg/release"
)

// versionReport is the JSON of version; schema/version.json describes it.
type versionReport struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionOf() versionReport {
	return versionReport{release.Version, release.Commit(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
}

func (v versionReport) text() string {
	source := "commit " + cmp.Or(v.Commit, "unknown")
	if tag := release.Module(); tag != "" {
		source = "module " + tag
	}
	return fmt.Sprintf("waitless %s (%s, %s %s)", v.Version, source, v.Go, v.Platform)
}
