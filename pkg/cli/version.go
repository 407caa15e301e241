package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionReport is the JSON of version; schema/version.json describes it.
type versionReport struct {
	Schema   string `json:"schema"`  // "waitless.version/1"
	Version  string `json:"version"` // "devel" when built from a checkout
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (c Command) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := helpOf("version", arguments(0, 0))
	cmd.RunE = func(*cobra.Command, []string) error {
		if asJSON {
			return c.out().JSON(versionOf())
		}
		return c.out().Line("%s", versionOf().text())
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object (see: waitless help json)")
	return cmd
}

func versionOf() versionReport {
	return versionReport{"waitless.version/1", moduleVersion(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
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
