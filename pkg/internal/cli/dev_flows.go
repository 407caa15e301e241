package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/bounded"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/language"
)

// flowFiles stores the definitions of flow files, and stores a file again after it changed.
// Executions keep the definition with which they were started.
type flowFiles struct {
	command Command
	log     *slog.Logger
	// files are the files that the command line and the settings name, with the name of the flow if
	// the settings give it. All flow files in folders are added.
	files   map[string]string
	folders []string
	config  string // the path of the file with settings, which is there or not
	put     func(ctx context.Context, name string, text []byte, startable string) (rest.Flow, error)
	missing func(*flow.Flow) []error

	looked map[string]stamp  // by path, at the last look, nil before the first
	seen   map[string]stamp  // by path, of the text that was read last
	stored map[string]string // the names of the flows by path
	second map[string]string // the names of the flows by path, of files that were rejected because another one has the flow
}

// stamp tells versions of a file apart. The zero stamp stands for no file.
type stamp struct{ modified, size int64 }

// reloadEvery is how often files are looked at. A look at 100 files takes less than a millisecond.
const reloadEvery = time.Second / 4

// newFlowFiles returns the files that the arguments and the settings name. Without an argument it
// is the working directory.
func (c Command) newFlowFiles(args []string, log *slog.Logger) (*flowFiles, error) {
	f := &flowFiles{command: c, log: log, files: map[string]string{}, seen: map[string]stamp{}, stored: map[string]string{}, second: map[string]string{}}
	for name, path := range c.flows {
		f.files[filepath.Clean(c.beside(path))] = name
	}
	f.config = filepath.Clean(cmp.Or(c.path, settingsFile))
	f.seen[f.config] = stampOf(f.config)
	if len(args) == 0 {
		args = []string{"."}
	}
	for _, path := range args {
		switch info, err := os.Stat(path); {
		case err != nil:
			return nil, view.Usage(view.Reason(err), "the path of a flow, or of a folder with flows")
		case info.IsDir():
			f.folders = append(f.folders, path)
		case f.files[filepath.Clean(path)] == "":
			f.files[filepath.Clean(path)] = ""
		}
	}
	return f, nil
}

// watch looks at the files at each tick, until ctx ends.
func (f *flowFiles) watch(ctx context.Context, ticks <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
			f.check(ctx)
		}
	}
}

// check stores changed files that were the same at the last look: a file that is being written may
// be a definition with a part of its steps. The first look stores all. A second file of a flow is
// stored when the first one no longer has the flow.
func (f *flowFiles) check(ctx context.Context) {
	now := f.stamps()
	rank := func(path string) int { // deleted files first: their flows may be in files of other names now
		if now[path] == (stamp{}) {
			return 0
		}
		return 1
	}
	for _, path := range slices.SortedFunc(maps.Keys(now), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
	}) {
		isSettled := f.looked == nil || f.looked[path] == now[path]
		if before, known := f.seen[path]; isSettled && (!known || before != now[path]) {
			f.seen[path] = now[path]
			f.load(ctx, path)
		}
	}
	f.looked = now
	for _, path := range slices.Sorted(maps.Keys(f.second)) {
		if f.checkOthers(path, f.second[path]) == nil {
			f.load(ctx, path)
		}
	}
}

// stamps returns the stamps of all files that are there, were there, or are named.
func (f *flowFiles) stamps() map[string]stamp {
	found := map[string]stamp{}
	for path := range f.seen {
		found[path] = stamp{}
	}
	for path := range f.files {
		found[path] = stamp{}
	}
	for _, folder := range f.folders {
		entries, _ := os.ReadDir(folder) // a folder that is gone has no files
		for _, entry := range entries {
			if isFlowName(entry.Name()) {
				found[filepath.Join(folder, entry.Name())] = stamp{}
			}
		}
	}
	for path := range found {
		found[path] = stampOf(path)
	}
	return found
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return stamp{}
	}
	return stamp{info.ModTime().UnixNano(), info.Size()}
}

// load stores the definition of a file. If it has errors, the definition before stays the newest.
// Settings are read only when dev starts.
func (f *flowFiles) load(ctx context.Context, path string) {
	if path == f.config {
		f.log.Warn("settings changed; restart dev to apply them", "file", path)
		return
	}
	delete(f.second, path)
	name, isNamed := f.files[path]
	if !isNamed && f.stored[path] == "" && !isFlow(path) {
		return
	}
	file, _, err := f.command.readValid(ctx, path, name, templateFlags{})
	if err == nil && name == "" {
		err = file.checkName()
	}
	if err == nil {
		name = cmp.Or(name, file.name())
		if err = f.checkOthers(path, name); err != nil {
			f.second[path] = name
		}
	}
	var flow rest.Flow
	if err == nil {
		flow, err = f.put(ctx, name, file.text, "")
	}
	if err != nil {
		f.report(path, err)
		return
	}
	for _, line := range file.lines() { // warnings
		f.log.Warn(line)
	}
	f.stored[path] = name
	f.log.Info("flow stored", "flow", name, "hash", shortHash(flow.Hash), "file", path)
	if why := view.WithoutRunners(f.missing(file.flow)); why != "" {
		f.log.Warn("flow cannot run here", "flow", name, "why", why)
	}
}

// checkOthers returns an error if the named flow is in another file, too.
func (f *flowFiles) checkOthers(path, name string) error {
	for other, stored := range f.stored {
		if stored == name && other != path {
			return view.Usage("flow "+name+" is also in "+other, "give one of them another name")
		}
	}
	return nil
}

// report logs why a file was not stored, with the places of its errors.
func (f *flowFiles) report(path string, err error) {
	stored := f.stored[path]
	if _, failed := os.Stat(path); errors.Is(failed, fs.ErrNotExist) && stored != "" {
		delete(f.stored, path)
		f.log.Warn("flow file is gone; its definition stays", "flow", stored, "file", path, "remove", "waitless flows delete "+stored)
		return
	}
	failure := failureOf(err)
	for _, line := range failure.Lines {
		f.log.Error(line)
	}
	if stored != "" {
		f.log.Error("flow is not stored; the definition before stays", "flow", stored, "file", path, "why", failure.Error())
		return
	}
	f.log.Error("flow is not stored", "file", path, "why", failure.Error())
}

// names returns the names of the stored flows.
func (f *flowFiles) names() []string { return slices.Sorted(maps.Values(f.stored)) }

// describe says which flows are stored, and where their files are.
func (f *flowFiles) describe() string {
	const shown = 5
	names := f.names()
	places := strings.Join(slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(f.files)), f.folders...))), ", ")
	switch {
	case len(names) == 0:
		return "no file in " + places + " yet; waitless init writes a sample"
	case len(names) > shown:
		names = append(names[:shown], "...")
	}
	return strings.Join(names, ", ") + " (stored again when a file changes: " + places + ")"
}

// isFlowName reports whether a file with the name in a folder may be a flow.
func isFlowName(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json", ".asl"}, filepath.Ext(name))
}

// isFlow reports whether a file of a folder is a flow: its name says so, or its text. The text may
// have errors: with a version and steps, its type too.
func isFlow(path string) bool {
	if language.NamesMachine(path) {
		return isRegular(path)
	}
	text, err := readBeside(path)
	return err == nil && typeFlow().Match(text)
}

// isRegular keeps the command from reading a pipe or a device that it finds in a folder.
func isRegular(path string) bool { return stampOf(path) != (stamp{}) }

// readBeside reads a file that the command finds in a folder.
func readBeside(path string) ([]byte, error) {
	return bounded.ReadRegular(os.DirFS(filepath.Dir(path)), filepath.Base(path))
}

var typeFlow = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^type:\s*["']?flow["']?\s*(#.*)?\r?$|^\s*\{?\s*"type"\s*:\s*"flow"` +
		`|^[ \t]{0,4}(?:\{\s*)?["']?StartAt["']?\s*:|^version:\s*["']?v1(?:\.0|beta1)?["']?\s*(?s:.*)^steps:`)
})
