package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// linkedPackages is the template of `go list` for a line about each package: its module, the folder
// of the module, and its own.
const linkedPackages = `{{if not .Module}}Go	{{.Root}}	{{.Root}}{{else if not .Module.Main}}` +
	`{{.Module.Path}}@{{.Module.Version}}	{{.Module.Dir}}	{{.Dir}}{{end}}`

const licencesHead = "Licences of the modules that the binaries of this archive link.\n" +
	"`go mod download MODULE@VERSION` downloads the sources of a module.\n"

// licenceFile matches the names of files with a licence, and with the notices that licences ask
// binaries to have.
var licenceFile = regexp.MustCompile(`(?i)licen[cs]e|copying|notice|patents|copyright`)

// licences returns the file with the licences of the modules that programs link, and of Go. Equal
// texts stand there once.
func (b *build) licences(platform string, sources []string, flags ...string) (file, error) {
	list, err := b.goTool(platform, slices.Concat([]string{"list", "-deps", "-f", linkedPackages}, flags, sources)...)
	if err != nil {
		return file{}, err
	}
	paths := map[string]string{} // the licences, with their modules before their places there
	for line := range strings.Lines(string(list)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		module, root := parts[0], parts[1]
		found, err := licenceFiles(root, parts[2])
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("module %s: no file of %s is a licence; add its name to licenceFile", module, root)
		}
		if err != nil {
			return file{}, err
		}
		for _, path := range found {
			paths[path] = module + strings.TrimPrefix(path, root)
		}
	}
	headings := map[string][]string{} // by the text
	for path, heading := range paths {
		text, err := os.ReadFile(path) //nolint:gosec // G304: a file of a linked module
		if err != nil {
			return file{}, err
		}
		headings[string(text)] = append(headings[string(text)], heading)
	}
	return file{"THIRD_PARTY_LICENSES", licencesText(headings), false}, nil
}

// licencesText returns each text below its headings, in the order of the headings.
func licencesText(headings map[string][]string) []byte {
	sections := make([]string, 0, len(headings))
	rule := strings.Repeat("=", 80) + "\n"
	for text, of := range headings {
		slices.Sort(of)
		sections = append(sections, rule+strings.Join(of, "\n")+"\n"+rule+"\n"+strings.TrimSpace(text)+"\n")
	}
	slices.Sort(sections)
	return []byte(licencesHead + "\n" + strings.Join(sections, "\n"))
}

// licenceFiles returns the licences of a package: those in its folder and in the folders around it,
// up to the folder of its module.
func licenceFiles(root, folder string) (paths []string, err error) {
	for {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if entry.Type().IsRegular() && licenceFile.MatchString(entry.Name()) && filepath.Ext(entry.Name()) != ".go" {
				paths = append(paths, filepath.Join(folder, entry.Name()))
			}
		}
		if folder == root {
			return paths, nil
		}
		folder = filepath.Dir(folder)
	}
}
