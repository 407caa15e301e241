package cli

import (
	"cmp"
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

// versionOf returns the version that `go install` built, "devel" for others.
func versionOf() versionReport {
	v := versionReport{"devel", runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		v.Version = cmp.Or(info.Main.Version, v.Version)
	}
	return v
}

func (v versionReport) text() string {
	return fmt.Sprintf("waitless %s (%s %s)", v.Version, v.Go, v.Platform)
}
