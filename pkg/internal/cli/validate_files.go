package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flowtest"
	"github.com/waitless/waitless/pkg/local"
)

// scriptFile is the name of the file with the outcomes of callbacks.
const scriptFile = "script.yaml"

// filesIn returns the files in a folder that validate checks: the flows that dev would store, and
// the files beside them. A file has none.
func filesIn(folder string) (files []string) {
	entries, _ := os.ReadDir(folder) // the reader of the path reports its error
	for _, entry := range entries {
		file := filepath.Join(folder, entry.Name())
		if isFlowName(file) && isRegular(file) && (checkerOf(file) != nil || isFlow(file)) {
			files = append(files, file)
		}
	}
	return files
}

// filesBelow returns the paths, and in place of a folder the files in it and below it, apart from
// hidden folders and node_modules. A folder without any stays in the list.
func filesBelow(paths []string) (files []string) {
	for _, path := range paths {
		before, root := len(files), path+string(filepath.Separator) // a link to a folder is one

		_ = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error { // the reader of the path reports its error
			switch {
			case err != nil || !entry.IsDir():
				return nil //nolint:nilerr // as said above
			case name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
				return filepath.SkipDir
			}
			files = append(files, filesIn(name)...)
			return nil
		})
		if len(files) == before {
			files = append(files, path)
		}
	}
	return files
}

// fileChecker checks a file beside flows. It returns the type of the file, and its problems.
type fileChecker func(c Command, ctx context.Context, path string, text []byte, t *template) (what string, problems flow.Problems)

// isSameFile reports whether two paths lead to one file.
func isSameFile(a, b string) bool {
	a, _ = filepath.Abs(a) // fails without a working directory
	b, _ = filepath.Abs(b)
	return a == b
}

// checkerOf returns the function that checks a file beside flows: settings, tests or a script. It
// is nil for a flow, also for one with the name of such a file.
func checkerOf(path string) fileChecker {
	switch name := filepath.Base(path); {
	case isFlow(path):
	case name == settingsFile:
		return Command.checkSettings
	case name == scriptFile:
		return Command.checkScript
	case strings.HasSuffix(name, testFiles):
		return Command.checkTests
	}
	return nil
}

// checkSettings also checks all runners, as dev does.
func (c Command) checkSettings(_ context.Context, path string, text []byte, _ *template) (what string, problems flow.Problems) {
	s := &settings{getenv: c.getenv, path: path, named: c.named && isSameFile(path, c.path)}
	problems, c.settings = s.parse(text), s
	tasks, _ := local.NewFunctions(local.NewClock(c.Now), nil) // has no definitions yet
	return "settings", inOrder(append(problems, s.taskProblems(tasks, func(name string) bool { return s.tasks[name].definition != "" }, c.checkOperation)...))
}

// checkScript also checks the steps, unless a flow that may have them is not valid.
func (c Command) checkScript(ctx context.Context, path string, text []byte, t *template) (what string, problems flow.Problems) {
	script, err := local.ParseScript(text, os.DirFS(filepath.Dir(path)))
	if flow := c.flowsBeside(ctx, path, t); err == nil && flow != nil {
		err = script.CheckSteps(flow)
	}
	return "a script", problemsOf(err, flow.Position{Line: 1, Column: 1})
}

// flowsBeside returns a flow with the steps of all flows in the folder of a file, and of the
// setting flows. It is nil if there is none, or if one is not valid.
func (c Command) flowsBeside(ctx context.Context, path string, t *template) *flow.Flow {
	paths := filesIn(filepath.Dir(path))
	for _, flow := range c.flows {
		paths = append(paths, c.beside(flow))
	}
	var all *flow.Flow
	for _, path := range paths {
		if checkerOf(path) != nil {
			continue
		}
		f, err := readFlow(ctx, path, &template{values: t.values})
		if err != nil || f.flow == nil {
			return nil
		}
		if all == nil {
			all = &flow.Flow{Values: f.flow.Values}
		}
		all.All = append(all.All, f.flow.All...)
	}
	return all
}

func (c Command) checkTests(ctx context.Context, path string, text []byte, _ *template) (what string, problems flow.Problems) {
	cases, err := flowtest.ParseFile(path)
	problems = problemsOf(inFile(path, err), flow.Position{Line: 1, Column: 1})
	for i, one := range cases {
		one.Kinds = c.kinds
		problems = append(problems, problemsOf(inFile(path, one.Verify()), fdl.PositionOf(text, "tests", strconv.Itoa(i)))...)
	}
	return flow.Count(len(cases), "test"), problems
}

// inFile returns an error about a file without the path of the file.
func inFile(path string, err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.TrimPrefix(strings.ReplaceAll("\n"+err.Error(), "\n"+path+":", "\n"), "\n"))
}

// atPlace matches the begin of an error of a test or a script: "script.yaml:2:5: ", "2:5: ".
var atPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ ?(?:script\.yaml:)?(\d+):(\d+): `) })

// problemsOf returns each line of an error about a file as a problem, at its place or else at the
// given one.
func problemsOf(err error, at flow.Position) (problems flow.Problems) {
	if err == nil {
		return nil
	}
	for text := range strings.SplitSeq(err.Error(), "\n") {
		p := flow.Problem{Position: at, Message: strings.TrimSpace(text)}
		if found := atPlace().FindStringSubmatch(text); found != nil {
			p.Line, _ = strconv.Atoi(found[1])
			p.Column, _ = strconv.Atoi(found[2])
			p.Message = strings.TrimPrefix(text, found[0])
		}
		problems = append(problems, p)
	}
	return problems
}
