package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/view"
)

// versionReport is the JSON of version; schema/version.json describes it.
type versionReport struct {
	Version  string `json:"version"` // "devel" when built from a checkout
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionCommand(c Command) *cobra.Command {
	return c.plain(helpOf("version", arguments(0, 0)), func(context.Context, []string) (view.Result, error) {
		v := versionOf()
		return view.Result{Form: "version", JSON: v, Text: v.text() + "\n"}, nil
	})
}

func versionOf() versionReport {
	return versionReport{moduleVersion(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
}

func (v versionReport) text() string {
	return fmt.Sprintf("waitless %s (%s %s)", v.Version, v.Go, v.Platform)
}

// moduleVersion is the version that `go install` built, "devel" for others.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
