package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/local"
)

// settingsFile is read from the working directory unless --config names another.
const settingsFile = "waitless.yaml"

func registerConfig(flags *pflag.FlagSet, to *string) {
	flags.StringVar(to, "config", "", "a file with settings, which flags and environment go before (default: "+settingsFile+" if it is there)")
}

// settings are what a file says, where neither a flag nor the environment does.
type settings struct {
	path string // of the file, "" for none
	// named tells that the user named the file, which else was found in the working directory.
	named bool
	// values have the names of the environment variables that go before them.
	values map[string]string
	tasks  map[string]taskSetting
}

// taskSetting is a definition of a task, and where it stands.
type taskSetting struct {
	definition string
	at         fdl.Position
}

// settingKeys are the keys of the file, besides "tasks", and the variables that
// go before them.
var settingKeys = map[string]string{
	"callback-url":   callbackVariable,
	"color":          "NO_COLOR",
	"data-limit":     dataLimitVariable,
	"endpoint":       "WAITLESS_ENDPOINT",
	"execution-days": daysVariable,
	"max-calls":      callsVariable,
	"max-commands":   commandsVariable,
	"profile":        "AWS_PROFILE",
	"region":         "AWS_REGION",
	"stack":          "WAITLESS_STACK",
	"store":          "WAITLESS_STORE",
	"workers":        workersVariable,
}

const tasksKey = "tasks"

// readSettings reads the file for commands that have settings.
func (c Command) readSettings(cmd *cobra.Command, _ []string) error {
	flag := cmd.Flags().Lookup("config")
	if flag == nil {
		return nil
	}
	path := cmp.Or(flag.Value.String(), settingsFile)
	text, err := os.ReadFile(path) //nolint:gosec // G304: the user names the file, or it is waitless.yaml
	switch {
	case errors.Is(err, fs.ErrNotExist) && !flag.Changed:
		return nil
	case err != nil:
		return view.Usage(path+": "+reasonOf(err), "--config FILE, or leave it out")
	}
	read, problems := parseSettings(path, text)
	if len(problems) > 0 {
		f := &view.Failure{Exit: ExitUsage, Why: path + " has " + view.Count(len(problems), "problem"), Try: "correct the places above"}
		for _, p := range problems {
			f.Lines = append(f.Lines, p.Format(path))
		}
		return f
	}
	read.named = flag.Changed
	*c.settings = read
	return nil
}

// setting is a variable of the environment, or what the file says in its place.
func (c Command) setting(variable string) string {
	return cmp.Or(c.Getenv(variable), c.ofFile(variable))
}

func (c Command) ofFile(variable string) string {
	if c.settings == nil {
		return ""
	}
	return c.settings.values[variable]
}

// parseSettings reads the text of a file with that path, at whose folder its
// relative paths begin.
func parseSettings(path string, text []byte) (settings, fdl.Problems) {
	r := &settingsReader{settings: settings{path: path, values: map[string]string{}, tasks: map[string]taskSetting{}}}
	var document yaml.Node
	if saysNothing(text) {
		return r.settings, nil
	}
	if err := yaml.Load(text, &document); err != nil {
		r.unreadable(err)
		return r.settings, r.problems
	}
	if document.Kind == yaml.DocumentNode && len(document.Content) == 1 {
		r.root(document.Content[0])
	}
	return r.settings, r.problems
}

// saysNothing: all that stands there is commented out, which is no document.
func saysNothing(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

type settingsReader struct {
	settings
	problems fdl.Problems
	place    *yaml.Node // the key that names where executions are, nil for none yet
}

func (r *settingsReader) problem(node *yaml.Node, format string, args ...any) {
	at := fdl.Position{Line: node.Line, Column: node.Column}
	r.problems = append(r.problems, fdl.Problem{Position: at, Message: fmt.Sprintf(format, args...)})
}

func (r *settingsReader) unreadable(err error) {
	at, message := fdl.Position{Line: 1, Column: 1}, err.Error()
	if broken, ok := errors.AsType[*yaml.LoadError](err); ok {
		message = broken.Message
		if broken.Mark.Line > 0 {
			at = fdl.Position{Line: broken.Mark.Line, Column: max(broken.Mark.Column, 1)}
		}
	}
	r.problems = append(r.problems, fdl.Problem{Position: at, Message: "the settings are not YAML: " + message})
}

func (r *settingsReader) root(node *yaml.Node) {
	r.eachOf(node, "the settings are", "store: .waitless", func(key, value *yaml.Node) {
		_, known := settingKeys[key.Value]
		switch {
		case key.Value == tasksKey:
			r.readTasks(value)
		case known:
			if text, ok := r.text(key, value); ok {
				r.set(key, value, text)
			}
		default:
			known := append(slices.Collect(maps.Keys(settingKeys)), tasksKey)
			slices.Sort(known)
			r.problem(key, "setting %q is not known%s (known: %s)", key.Value, didYouMean(key.Value, known), strings.Join(known, ", "))
		}
	})
}

// eachOf calls do for each key of a mapping, which what says that it is.
func (r *settingsReader) eachOf(node *yaml.Node, what, example string, do func(key, value *yaml.Node)) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" {
		return // what it had is commented out
	}
	if node.Kind != yaml.MappingNode {
		r.problem(node, "%s no mapping; allowed: keys with their values, like %q", what, example)
		return
	}
	first := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if line, twice := first[key.Value]; twice {
			r.problem(key, "key %q is repeated; it stands first in line %d", key.Value, line)
			continue
		}
		first[key.Value] = key.Line
		do(key, node.Content[i+1])
	}
}

// text is the text of a value.
func (r *settingsReader) text(key, value *yaml.Node) (string, bool) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	if value.Kind != yaml.ScalarNode || value.Value == "" || value.ShortTag() == "!!null" {
		r.problem(key, "%s has no text; write one, or leave the key out", key.Value)
		return "", false
	}
	return value.Value, true
}

// set checks and keeps a setting.
func (r *settingsReader) set(key, value *yaml.Node, text string) {
	var err error
	switch key.Value {
	case "region":
		if !isRegion.MatchString(text) {
			err = fmt.Errorf("region is %q; allowed: small letters, digits and \"-\", like eu-west-1", text)
		}
	case "color":
		if text != "true" && text != "false" {
			err = fmt.Errorf("color is %q; allowed: true, false", text)
		}
	case "data-limit":
		_, err = dataLimit(key.Value, text)
	case "execution-days":
		_, err = executionDays(key.Value, text)
	case "max-calls", "max-commands", "workers":
		_, err = atOnce(key.Value, text)
	case "callback-url":
		_, err = parseBase(key.Value, text)
	default:
		err = r.checkText(key, value)
	}
	switch {
	case err != nil:
		r.problem(key, "%s", err)
	case key.Value == "store":
		r.values[settingKeys[key.Value]] = r.beside(inHome(text))
	case key.Value == "color" && text == "true": // which is the default
	default:
		r.values[settingKeys[key.Value]] = text
	}
}

// isRegion keeps a region from being more than a part of a host: the SDK asks
// https://SERVICE.REGION.amazonaws.com.
var isRegion = regexp.MustCompile(`^[a-z0-9-]+$`)

// checkText refuses a number or a boolean where a name belongs, and a second place.
func (r *settingsReader) checkText(key, value *yaml.Node) error {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	if tag := value.ShortTag(); tag != "!!str" {
		return fmt.Errorf("%s is %s, which is no text; write it in quotes if you mean it: %s: %q", key.Value, value.Value, key.Value, value.Value)
	}
	if !slices.Contains(placeKeys, key.Value) {
		return nil
	}
	if r.place != nil {
		return fmt.Errorf("%s and %s (line %d) exclude each other; keep one", key.Value, r.place.Value, r.place.Line)
	}
	r.place = key
	return nil
}

// placeKeys are the settings that name where executions are.
var placeKeys = []string{"store", "endpoint", "stack"}

// inHome replaces a leading "~/" by the user's home directory, as shells do.
func inHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	if home, err := os.UserHomeDir(); ok && err == nil {
		return filepath.Join(home, rest)
	}
	return path
}

// beside is a path as seen from the working directory.
func (s settings) beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(s.path), path)
}

func (r *settingsReader) readTasks(node *yaml.Node) {
	r.eachOf(node, "tasks are", "NAME: exec:COMMAND", func(key, value *yaml.Node) {
		if text, ok := r.text(key, value); ok {
			r.tasks[key.Value] = taskSetting{text, fdl.Position{Line: key.Line, Column: key.Column}}
		}
	})
}

// addTasks adds the tasks of the file that wanted says are needed.
func (c Command) addTasks(tasks *local.Tasks, wanted func(name string) bool) error {
	if c.settings == nil {
		return nil
	}
	s := *c.settings
	dir := filepath.Dir(s.path)
	if dir == "." {
		dir = ""
	}
	f := &view.Failure{Exit: ExitUsage}
	for _, name := range slices.Sorted(maps.Keys(s.tasks)) {
		if !wanted(name) {
			continue
		}
		err := s.checkLambda(s.tasks[name].definition)
		if err == nil {
			err = tasks.Add(dir, map[string]string{name: s.tasks[name].definition})
		}
		if err != nil {
			f.Lines = append(f.Lines, fdl.Problem{Position: s.tasks[name].at, Message: err.Error()}.Format(s.path))
			f.Try = "correct " + s.path + ", or " + tryTask + ", which takes precedence"
		}
	}
	if len(f.Lines) == 0 {
		return nil
	}
	f.Why = view.Count(len(f.Lines), "task") + " of " + s.path + " cannot be used"
	return f
}

// checkLambda refuses a Lambda endpoint on another machine in a file that the user did not
// name: calls to it are signed with the user's credentials.
func (s settings) checkLambda(definition string) error {
	name, isLambda := strings.CutPrefix(definition, "lambda:")
	_, endpoint, hasEndpoint := strings.Cut(name, "@")
	if !isLambda || !hasEndpoint || s.named || target.IsThisMachine(hostOf(endpoint)) {
		return nil
	}
	return fmt.Errorf("%s is on another machine, and calls to it are signed; name the file: --config %s", local.Hidden(endpoint), s.path)
}
