package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/release"
)

// versionReport is the JSON of version; schema/version.json describes it.
type versionReport struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
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
	return versionReport{release.Version, release.Commit(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
}

func (v versionReport) text() string {
	source := "commit " + cmp.Or(v.Commit, "unknown")
	if tag := release.Module(); tag != "" {
		source = "module " + tag
	}
	return fmt.Sprintf("waitless %s (%s, %s %s)", v.Version, source, v.Go, v.Platform)
}
