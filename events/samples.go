// Package events contains the samples: a folder for each scenario. `waitless init` writes a sample with
// a flow into a folder of the user.
//
// This package may change between releases.
package events

import (
	"embed"
	"io/fs"
	"path"
)

//go:embed */flow.yaml */flow.test.yaml */input.json */script.yaml */started.json */stopped.json */succeeded.json */waitless.yaml */echo.sh
var files embed.FS

// Samples returns the names of the samples.
func Samples() []string {
	samples, _ := fs.Glob(files, "*/flow.yaml") // the pattern is well formed
	for i, flow := range samples {
		samples[i] = path.Dir(flow)
	}
	return samples
}

// Files returns the files of a sample: a flow, and what it needs to run in virtual time.
func Files(sample string) fs.FS {
	folder, _ := fs.Sub(files, sample) // the name of a folder is well formed
	return folder
}
