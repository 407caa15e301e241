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

//go:embed */flow.yaml */input.json */script.yaml */started.json */stopped.json */succeeded.json
var files embed.FS

// Sample is a flow with the files that it needs to run in virtual time.
type Sample struct {
	Name  string
	Files []File // the flow first
}

// File is one file of a sample.
type File struct {
	Name string
	Text []byte
}

// flowFile is the file that every sample has.
const flowFile = "flow.yaml"

// Samples returns all samples in the order of their names.
func Samples() []Sample {
	flows, _ := fs.Glob(files, "*/"+flowFile) // the pattern is well formed
	samples := make([]Sample, len(flows))
	for i, flow := range flows {
		samples[i] = sample(path.Dir(flow))
	}
	return samples
}

func sample(name string) Sample {
	s := Sample{Name: name, Files: []File{file(name, flowFile)}}
	entries, _ := files.ReadDir(name) // embedded, so it is there
	for _, entry := range entries {
		if entry.Name() != flowFile {
			s.Files = append(s.Files, file(name, entry.Name()))
		}
	}
	return s
}

func file(sample, name string) File {
	text, _ := files.ReadFile(path.Join(sample, name)) // embedded, so it is there
	return File{name, text}
}
