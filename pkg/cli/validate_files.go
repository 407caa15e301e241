package cli

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flowtest"
	"github.com/waitless/waitless/pkg/local"
)

// scriptFile is the name of the file with the outcomes of callbacks.
const scriptFile = "script.yaml"

// filesIn returns the paths, and in place of a folder the files in it that validate checks: the flows that dev would store, and the
// files beside them. A folder without any stays in the list.
func filesIn(paths []string) (files []string) {
	for _, path := range paths {
		before := len(files)
		entries, _ := os.ReadDir(path) // a file has none, and an error is that of reading it
		for _, entry := range entries {
			file := filepath.Join(path, entry.Name())
			if isFlowName(file) && (checkerOf(file) != nil || isFlow(file)) {
				files = append(files, file)
			}
		}
		if len(files) == before {
			files = append(files, path)
		}
	}
	return files
}

// checkerOf returns the function that checks a file beside flows: settings, tests or a script. It returns what the file is, and its
// problems. It is nil for a flow, also for one with the name of such a file.
func checkerOf(path string) func(path string, text []byte) (what string, problems fdl.Problems) {
	switch name := filepath.Base(path); {
	case isFlow(path):
	case name == settingsFile:
		return checkSettings
	case name == scriptFile:
		return checkScript
	case strings.HasSuffix(name, testFiles):
		return checkTests
	}
	return nil
}

func checkSettings(path string, text []byte) (what string, problems fdl.Problems) {
	return "settings", (&settings{path: path}).parse(text)
}

func checkScript(path string, text []byte) (what string, problems fdl.Problems) {
	_, err := local.ParseScript(text, os.DirFS(filepath.Dir(path)))
	return "a script", problemOf(err)
}

func checkTests(path string, _ []byte) (what string, problems fdl.Problems) {
	cases, err := flowtest.ParseFile(path)
	if err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), path+": "))
	}
	return fdl.Count(len(cases), "test"), problemOf(err)
}

// atLine matches the begin of an error of a test or a script that names the line: "line 2: ", "script.yaml:2:5: ".
var atLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:line |script\.yaml:)(\d+)(?::(\d+))?: `) })

// problemOf returns an error about a file as a problem at its line, nil for none.
func problemOf(err error) fdl.Problems {
	if err == nil {
		return nil
	}
	at, text := fdl.Position{Line: 1, Column: 1}, err.Error()
	if found := atLine().FindStringSubmatch(text); found != nil {
		at.Line, _ = strconv.Atoi(found[1])
		if column, err := strconv.Atoi(found[2]); err == nil {
			at.Column = column
		}
		text = strings.TrimPrefix(text, found[0])
	}
	return fdl.Problems{{Position: at, Message: text}}
}
