package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/local"
)

// flowFile is a definition as it stands in a file.
type flowFile struct {
	path     string
	text     []byte
	flow     *fdl.Flow // nil when it has errors
	problems fdl.Problems
}

// readFlow reads and checks the file; problems of the definition are no error
// here.
func (c Command) readFlow(command, path string) (flowFile, error) {
	f := flowFile{path: path}
	var err error
	if f.text, err = os.ReadFile(path); err != nil {
		return f, usageError(command+" "+path, reasonOf(err), "waitless "+command+" PATH-OF-A-FLOW")
	}
	f.flow, f.problems = fdl.Parse(f.text)
	return f, nil
}

// reasonOf is why a file could not be read, without the path and the call.
func reasonOf(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

func (f flowFile) lines() []string {
	lines := make([]string, len(f.problems))
	for i, p := range f.problems {
		lines[i] = p.Format(f.path)
	}
	return lines
}

// invalid is the error for a definition that has errors.
func (f flowFile) invalid(command string) error {
	return &failure{
		exit: ExitUsage, what: command + " " + f.path, why: count(len(f.problems.Errors()), "problem"), lines: f.lines(),
		try: "mend the places above, then: waitless validate " + f.path,
	}
}

// name is the name of the flow: its own, else that of its file, or of its
// folder when the file is just called flow.
func (f flowFile) name() string {
	if f.flow.Name != "" {
		return f.flow.Name
	}
	base := strings.TrimSuffix(filepath.Base(f.path), filepath.Ext(f.path))
	if base == "flow" {
		if absolute, err := filepath.Abs(f.path); err == nil {
			base = filepath.Base(filepath.Dir(absolute))
		}
	}
	return asName(base)
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// asName makes a valid name of any text.
func asName(text string) string {
	name := notInName.ReplaceAllString(text, "-")
	if name == "" || !fdl.ValidName(name[:1]) {
		name = "_" + name
	}
	const most = 128
	return name[:min(len(name), most)]
}

// scriptPath is where the answers to a flow's callbacks stand: script.yaml
// beside it.
func (f flowFile) scriptPath() string { return filepath.Join(filepath.Dir(f.path), "script.yaml") }

// script is who answers callbacks in virtual time, nil when nobody does.
func (f flowFile) script(virtual bool) (*local.Script, error) {
	if !virtual {
		return nil, nil
	}
	text, err := os.ReadFile(f.scriptPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return local.ParseScript(text, os.DirFS(filepath.Dir(f.path)))
}
