package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/fdl/templates"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/bounded"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
)

// settingsFile is read from the working directory unless --config names another.
const settingsFile = "waitless.yaml"

// registerConfig adds the flag that [settings.readSettings] looks up.
func registerConfig(flags *pflag.FlagSet) {
	flags.String("config", "", "a file with settings, which flags and environment go before (default: "+settingsFile+" if it is there)")
}

// settings holds the values of the environment and of waitless.yaml; the environment wins.
type settings struct {
	getenv func(string) string
	path   string // of the file, "" for none
	// named tells that the user named the file, which else was found in the working directory.
	named bool
	// values have the names of the environment variables that go before them.
	values map[string]string
	tasks  map[string]taskSetting
	vars   map[string]string // of placeholders
	flows  map[string]string // the files of sub-flows
	kinds  jobs.Table        // with the custom kinds
	// problems of the file do not end validate, which reports them with others.
	problems flow.Problems
}

// taskSetting is a definition of a task, and where it stands.
type taskSetting struct {
	definition string
	at         flow.Position
}

// Environment variables that limit executions and concurrent work.
const (
	daysVariable      = "WAITLESS_EXECUTION_DAYS" // of a flow that does not say it
	dataLimitVariable = "WAITLESS_DATA_LIMIT"     // bytes of a step's data
	retentionVariable = "WAITLESS_RETENTION_DAYS" // of an execution that has ended
	workersVariable   = "WAITLESS_WORKERS"
	commandsVariable  = "WAITLESS_MAX_COMMANDS"
	callsVariable     = "WAITLESS_MAX_CALLS"
)

// keyVariable names the environment variable with the key of the management API
// of `waitless dev --api`.
const keyVariable = "WAITLESS_API_KEY"

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
	"retention-days": retentionVariable,
	"stack":          "WAITLESS_STACK",
	"store":          "WAITLESS_STORE",
	"workers":        workersVariable,
}

const (
	tasksKey = "tasks"
	flowsKey = "flows"
	kindsKey = "kinds"
	varsKey  = "vars"
)

// numbers are the settings that are numbers.
var numbers = map[string]struct {
	unit        string
	least, most int
}{
	daysVariable:      {"whole days", 1, 366},
	dataLimitVariable: {"a number of bytes", machine.DefaultData, machine.MaxLargeData},
	retentionVariable: {"whole days", 1, 366},
	workersVariable:   {"a number", 1, 10000},
	commandsVariable:  {"a number", 1, 10000},
	callsVariable:     {"a number", 1, 10000},
}

// checkSetting checks the value of a setting by its variable. The name is the name of its flag, its
// variable or its key.
func checkSetting(variable, name, text string) error {
	allowed := ""
	number, isNumber := numbers[variable]
	n, err := strconv.Atoi(text)
	switch {
	case isNumber && (err != nil || n < number.least || n > number.most):
		allowed = fmt.Sprintf("%s from %d to %d", number.unit, number.least, number.most)
	case variable == "AWS_REGION" && !isRegion().MatchString(text):
		allowed = `small letters, digits and "-", like eu-west-1`
	case variable == "NO_COLOR" && text != "true" && text != "false":
		allowed = "true, false"
	case variable == callbackVariable:
		_, err := checkBase(name, text, "")
		return err
	}
	if allowed == "" {
		return nil
	}
	return fmt.Errorf("%s is %q; allowed: %s", name, text, allowed)
}

// isRegion keeps a region from being more than a part of a host: the SDK asks
// https://SERVICE.REGION.amazonaws.com.
var isRegion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9-]+$`) })

// readSettings reads the file for commands that have settings.
func (s *settings) readSettings(cmd *cobra.Command) error {
	flag := cmd.Flags().Lookup("config")
	if flag == nil {
		return nil
	}
	path := cmp.Or(flag.Value.String(), settingsFile)
	text, err := bounded.ReadFile(cmd.Context(), path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !flag.Changed:
		return nil
	case err != nil:
		return view.Usage(path+": "+view.Reason(err), "--config FILE, or leave it out")
	}
	s.path, s.named = path, flag.Changed
	s.problems = s.parse(text)
	if len(s.problems) == 0 || cmd.Name() == "validate" {
		return nil
	}
	f := view.Usage(path+" has "+flow.Count(len(s.problems), "problem"), "correct the places above")
	for _, p := range s.problems {
		f.Lines = append(f.Lines, p.Format(path))
	}
	return f
}

// parse reads the text of the file. Relative paths begin at the file's folder.
func (s *settings) parse(text []byte) (problems flow.Problems) {
	s.values, s.tasks, s.vars, s.flows = map[string]string{}, map[string]taskSetting{}, map[string]string{}, map[string]string{}
	report := func(node yaml.Node, err error) {
		if err != nil {
			problems = append(problems, flow.Problem{Position: positionOf(node), Message: err.Error()})
		}
	}
	var file map[string]yaml.Node
	if err := fdl.LoadYAML(text, &file); err != nil && !strings.Contains(err.Error(), "no documents") { // all may be commented out
		at, why := yaml.Node{Line: 1, Column: 1}, err.Error()
		if broken, ok := errors.AsType[*fdl.YAMLError](err); ok {
			at.Line, at.Column, why = broken.At.Line, broken.At.Column, broken.Why
		}
		if strings.HasSuffix(why, "; allowed: a mapping") { // the only type asked for
			report(at, errors.New(`the settings are not a mapping; allowed: keys with their values, like "store: .waitless"`))
		} else {
			report(at, errors.New("the settings cannot be read: "+why))
		}
	}
	mappings := map[string]map[string]yaml.Node{}
	for key, node := range file {
		allowed, isMapping := mappingKeys[key]
		if !isMapping {
			report(node, s.set(key, node))
			continue
		}
		var entries map[string]yaml.Node
		if node.Load(&entries, yaml.WithUniqueKeys(false)) != nil {
			report(node, fmt.Errorf("%s are not a mapping; allowed: %s", key, allowed))
		}
		mappings[key] = entries
	}
	for name, node := range mappings[tasksKey] {
		text, _, err := textOf(name, node)
		report(node, err)
		s.tasks[name] = taskSetting{text, positionOf(node)}
	}
	for name, node := range mappings[flowsKey] {
		text, _, err := textOf(name, node)
		report(node, err)
		s.flows[name] = text
	}
	for name, node := range mappings[varsKey] { // text as it stands in the file, numbers too: its use decides its type
		of := *cmp.Or(node.Alias, &node)
		if of.Kind != yaml.ScalarNode {
			report(node, fmt.Errorf("variable %s is no text; allowed: a text or a number", name))
			continue
		}
		s.vars[name] = of.Value
		report(node, templates.CheckVar(name, of.Value))
	}
	problems = append(problems, s.declare(file[kindsKey], mappings[kindsKey])...)
	slices.SortFunc(problems, func(a, b flow.Problem) int { return cmp.Compare(a.Line, b.Line) })
	return problems
}

// mappingKeys are the keys with a mapping, and its form.
var mappingKeys = map[string]string{
	tasksKey: `keys with their values, like "NAME: exec:COMMAND"`,
	varsKey:  `names with their values, like "NAME: VALUE"`,
	flowsKey: `names of flows with their files, like "payment: payment.yaml"`,
	kindsKey: `names of custom kinds with their declarations, see waitless docs jobs`,
}

func positionOf(node yaml.Node) flow.Position {
	return flow.Position{Line: node.Line, Column: node.Column}
}

// textOf returns the text of a value and its tag.
func textOf(key string, node yaml.Node) (text, tag string, err error) {
	if node.Alias != nil {
		node = *node.Alias
	}
	tag = node.ShortTag()
	if node.Kind != yaml.ScalarNode || node.Value == "" || tag == "!!null" {
		err = fmt.Errorf("%s has no text; write one, or leave the key out", key)
	}
	return node.Value, tag, err
}

// set checks and keeps a setting.
func (s *settings) set(key string, node yaml.Node) error {
	variable, known := settingKeys[key]
	if !known {
		all := slices.Sorted(maps.Keys(settingKeys))
		all = append(all, tasksKey, varsKey, flowsKey, kindsKey)
		return fmt.Errorf("setting %q is not known%s", key, similar.MeantOrKnown(key, all))
	}
	text, tag, err := textOf(key, node)
	_, isNumber := numbers[variable]
	switch {
	case err != nil:
		return err
	case tag != "!!str" && !isNumber && key != "color":
		return fmt.Errorf("%s is %s, which is no text; write it in quotes if you mean it: %s: %q", key, text, key, text)
	case key == "store":
		rest, isInHome := strings.CutPrefix(text, "~/") // as shells do
		if home, err := os.UserHomeDir(); isInHome && err == nil {
			text = filepath.Join(home, rest)
		}
		text = s.beside(text)
	case key == "color" && text == "true": // which is the default
		return nil
	}
	s.values[variable] = text
	return checkSetting(variable, key, text)
}

// beside is a path as seen from the working directory.
func (s *settings) beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(s.path), path)
}

// setting returns a variable of the environment, or the value of the file in its place.
func (s *settings) setting(variable string) string {
	return cmp.Or(s.getenv(variable), s.ofFile(variable))
}

func (s *settings) ofFile(variable string) string { return s.values[variable] }

// number returns a setting that is a number, 0 for none. A number of the file was checked when it
// was read.
func (s *settings) number(variable string) (int, error) {
	text := s.setting(variable)
	if text == "" {
		return 0, nil
	}
	if err := checkSetting(variable, variable, text); err != nil {
		return 0, view.Usage(err.Error(), "unset "+variable)
	}
	return strconv.Atoi(text)
}

// limits returns the limits of executions in a store.
func (s *settings) limits() (limits machine.Limits, err error) {
	limits.Hints = machine.Hints{Data: "set " + dataLimitVariable, CallbackBase: "set " + callbackVariable}
	days, err := s.number(daysVariable)
	if err == nil {
		limits.Data, err = s.number(dataLimitVariable)
	}
	limits.Duration = time.Duration(days) * 24 * time.Hour
	return limits, err
}

// concurrency has the flags that limit concurrent work in this process, and the time for which it
// keeps ended executions.
var concurrency = []struct {
	flag, variable, what string
	byDefault            int
	of                   func(*local.Config) *int
}{
	{"workers", workersVariable, "how many executions are advanced at once", local.DefaultWorkers, func(c *local.Config) *int { return &c.Workers }},
	{"max-commands", commandsVariable, "how many commands of exec: tasks run at once", local.DefaultCommands, func(c *local.Config) *int { return &c.Commands }},
	{
		"max-calls", callsVariable, "how many calls of URLs, Lambda functions and AWS services run at once", local.DefaultCalls,
		func(c *local.Config) *int { return &c.Calls },
	},
	{
		"retention-days", retentionVariable, "for how many days an execution that has ended is kept", local.DefaultRetentionDays,
		func(c *local.Config) *int { return &c.RetentionDays },
	},
}

func registerConcurrency(flags *pflag.FlagSet) {
	for _, c := range concurrency {
		flags.Int(c.flag, 0, fmt.Sprintf("%s (default: %s, else %d)", c.what, c.variable, c.byDefault))
	}
}

// limitConcurrency sets the limits of a system's concurrent work.
func (s *settings) limitConcurrency(flags *pflag.FlagSet, config *local.Config) (err error) {
	for _, c := range concurrency {
		to, flag := c.of(config), flags.Lookup(c.flag)
		if !flag.Changed {
			*to, err = s.number(c.variable)
		} else if err = checkSetting(c.variable, "--"+c.flag, flag.Value.String()); err != nil {
			err = view.Usage(err.Error(), "leave it out")
		} else {
			*to, err = flags.GetInt(c.flag)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// storeDir is the folder of the store: flag, environment, file, default.
func (s *settings) storeDir(flag string) string {
	return cmp.Or(flag, s.setting("WAITLESS_STORE"), target.DefaultStore)
}

// placeNames are the names of a store, an endpoint and a stack as flags, in the environment and in
// the file.
var placeNames = [...][3]string{
	{"--store", "--endpoint", "--stack"},
	{"WAITLESS_STORE", "WAITLESS_ENDPOINT", "WAITLESS_STACK"},
	{"the setting store", "the setting endpoint", "the setting stack"},
}

// apiKey is the key that the environment names, empty for none.
func (s *settings) apiKey() (string, error) {
	text := s.getenv(keyVariable)
	file, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return text, nil
	}
	key, err := bounded.ReadFile(context.Background(), file)
	if err != nil {
		return "", view.Usage(keyVariable+" names the file "+file+": "+view.Reason(err), keyVariable+"=@"+target.DefaultStore+"/"+target.APIKeyFile)
	}
	return strings.TrimSpace(string(key)), nil
}

// locate is the place that the flags name, else the environment, else the file
// with settings. Each may name one place. A file that the user did not name
// decides on no endpoint and no stack.
func (s *settings) locate(flags target.Place) (target.Place, error) {
	file := placeFrom(s.ofFile)
	for i, p := range []target.Place{flags, placeFrom(s.getenv), file} {
		var given []string
		for part, value := range []string{p.Store, p.Endpoint, p.Stack} {
			if value != "" {
				given = append(given, placeNames[i][part])
			}
		}
		switch {
		case len(given) > 1:
			return target.Place{}, view.Usage(fmt.Sprintf("%s and %s exclude each other", given[0], given[1]), given[len(given)-1]+" alone")
		case len(given) == 1 && i < len(placeNames)-1:
			return p, nil
		}
	}
	switch {
	case file.Endpoint != "":
		return file, s.namedByUser("endpoint "+local.Hidden(file.Endpoint), "--endpoint "+local.Hidden(file.Endpoint))
	case file.Stack != "":
		return file, s.namedByUser("stack "+file.Stack, "--stack "+file.Stack)
	}
	return target.Place{Store: cmp.Or(file.Store, target.DefaultStore)}, nil
}

// placeFrom is the place that a source of settings names, the zero place for none.
func placeFrom(value func(variable string) string) target.Place {
	return target.Place{Store: value("WAITLESS_STORE"), Endpoint: value("WAITLESS_ENDPOINT"), Stack: value("WAITLESS_STACK")}
}

// namedByUser returns an error if the settings were found in the working directory: the author of a
// checked-out folder does not decide where credentials and tokens are sent.
func (s *settings) namedByUser(setting, try string) error {
	if s.named {
		return nil
	}
	why := s.path + " names " + setting + "; a file that was only found in the working directory does not decide where credentials and tokens are sent"
	return view.Usage(why, try+", or --config "+s.path)
}

// taskProblems adds the tasks of the file that wanted says are needed, unless check finds a
// mistake, and returns why tasks were not added.
func (s *settings) taskProblems(tasks *local.Functions, wanted func(name string) bool, check func(name, definition string) error) (problems flow.Problems) {
	dir := filepath.Dir(s.path)
	if dir == "." {
		dir = ""
	}
	for _, name := range slices.Sorted(maps.Keys(s.tasks)) {
		task, isWanted := s.tasks[name], wanted(name)
		var err error
		if isOperation := strings.Contains(name, ":") && !jobs.IsCustom(name); isWanted || isOperation {
			err = check(name, task.definition)
		}
		if isWanted {
			err = cmp.Or(s.checkLambda(task.definition), err)
		}
		if isWanted && err == nil {
			err = tasks.Add(dir, map[string]string{name: task.definition})
		}
		if err != nil {
			problems = append(problems, flow.Problem{Position: task.at, Message: err.Error()})
		}
	}
	return problems
}

// checkLambda refuses a Lambda endpoint on another machine in a file that the user did not
// name: calls to it are signed with the user's credentials.
func (s *settings) checkLambda(definition string) error {
	name, isLambda := strings.CutPrefix(definition, "lambda:")
	_, endpoint, hasEndpoint := strings.Cut(name, "@")
	if !isLambda || !hasEndpoint || s.named || target.IsThisMachine(hostOf(endpoint)) {
		return nil
	}
	return fmt.Errorf("%s is on another machine, and calls to it are signed; name the file: --config %s", local.Hidden(endpoint), s.path)
}
