package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/events"
	"github.com/waitless/waitless/pkg/advise"
	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/jobs"
)

// defaultSample is the vendor's tutorial.
const defaultSample = "polling"

// initReport is the JSON of init; schema/init.json describes it.
type initReport struct {
	Folder string   `json:"folder"`
	Sample string   `json:"sample"`
	Files  []string `json:"files"`
	Next   []string `json:"next"` // commands to type, in this order
}

func (c Command) initCommand() *cobra.Command {
	var sample string
	cmd := helpOf("init", arguments(0, 1))
	cmd.Long = strings.Replace(cmd.Long, "SAMPLES", strings.Join(sampleNames(), ", "), 1)
	cmd.Flags().StringVar(&sample, "sample", defaultSample, "the name of the sample")
	return c.plain(cmd, func(_ context.Context, args []string) (view.Result, error) {
		return initProject(slices.Concat(args, []string{"."})[0], sample)
	})
}

func initProject(folder, name string) (view.Result, error) {
	sample, err := findSample(name)
	if err != nil {
		return view.Result{}, err
	}
	project := projectOf(sample)
	if err := writeNew(folder, project); err != nil {
		return view.Result{}, err
	}
	r := initReport{Folder: folder, Sample: name, Next: nextCommands(folder)}
	for _, f := range project {
		r.Files = append(r.Files, filepath.Join(folder, f.Name))
	}
	text := strings.Join(r.Files, "\n") + "\nnext:\n  " + strings.Join(r.Next, "\n  ") + "\n" + adviceNote(sample)
	return view.Result{Form: "init", JSON: r, Text: text}, nil
}

// adviceNote says why advise finds something in a sample, nothing for others.
func adviceNote(sample events.Sample) string {
	flow, _ := fdl.Parse(sample.Files[0].Text) // a sample has no problems
	found := len(advise.Flow(flow, sample.Files[0].Text, prices))
	if found == 0 {
		return ""
	}
	return "this sample follows its tutorial; waitless advise has " + view.Count(found, "suggestion") + " for it\n"
}

func sampleNames() []string {
	var names []string
	for _, s := range events.Samples() {
		names = append(names, s.Name)
	}
	return names
}

func findSample(name string) (events.Sample, error) {
	for _, s := range events.Samples() {
		if s.Name == name {
			return s, nil
		}
	}
	names := sampleNames()
	return events.Sample{}, view.Usage(fmt.Sprintf("there is no sample %q%s (known: %s)", name, didYouMean(name, names), strings.Join(names, ", ")),
		"waitless init --sample "+defaultSample)
}

// nextCommands are what to type next.
func nextCommands(folder string) []string {
	next := []string{
		"waitless validate flow.yaml",
		"waitless run flow.yaml --input @input.json --skip-time",
		"waitless advise flow.yaml",
	}
	if folder == "." {
		return next
	}
	if strings.HasPrefix(folder, "-") { // which cd would take for a flag
		folder = "./" + folder
	}
	return append([]string{"cd " + quotedWord(folder)}, next...)
}

// quotedWord is text as one word for a shell.
func quotedWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_.,/:@+=-]+$`)

// projectOf are the files of a project that begins with a sample.
func projectOf(sample events.Sample) []events.File {
	flow, _ := fdl.Parse(sample.Files[0].Text) // a sample has no problems
	project := slices.Clone(sample.Files)
	if hasEcho(flow) {
		project = append(project, events.File{Name: "echo.sh", Text: []byte(echoScript)})
	}
	return append(project, events.File{Name: settingsFile, Text: []byte(settingsText + taskSettings(flow))})
}

// hasEcho reports whether the flow waits for a callback of the function echo, which the user replaces.
func hasEcho(flow *fdl.Flow) bool {
	return slices.ContainsFunc(flow.All, func(step *fdl.Step) bool {
		task, ok := step.Kind.(*fdl.Task)
		return ok && task.Pattern == fdl.PatternWaitForCallback && task.Resource.Function == echoFunction
	})
}

const settingsText = `# Settings of the commands that run in this folder. A flag goes before the
# environment, and that before this file.
store: .waitless
`

// taskSettings say what the functions of a sample are.
func taskSettings(flow *fdl.Flow) string {
	var tasks, builtIn string
	for _, name := range functionsOf(flow) {
		switch _, isAction := jobs.ForAction(name); {
		case isAction:
			tasks += "  " + name + ": simulated # or aws, which starts jobs with your credentials\n"
		case name == echoFunction && hasEcho(flow):
			tasks += "  " + name + ": exec:sh echo.sh # or http://HOST/PATH, or lambda:FUNCTION\n"
		default:
			builtIn += "#   " + name + ": exec:sh task.sh\n"
		}
	}
	if tasks != "" {
		tasks = "tasks:\n" + tasks
	}
	if builtIn != "" {
		builtIn = "# These functions are built in. Yours go before them:\n# tasks:\n" + builtIn
	}
	return tasks + builtIn
}

// echoFunction is the function of the samples that wait for a callback.
const echoFunction = "echo"

// echoScript is a function as a command.
const echoScript = `# A function: it reads a step's input on standard input and prints a JSON object as its
# output. This one prints its input. Yours sends the token or the URL in the input to
# the service or the person that reports the outcome.
cat
`

// writeNew writes new files. If one exists, it writes none.
func writeNew(folder string, files []events.File) error {
	for _, f := range files {
		path := filepath.Join(folder, f.Name)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			why := path + " exists, and nothing was written"
			if err != nil {
				why = path + ": " + reasonOf(err)
			}
			return view.Usage(why, "waitless init ANOTHER-DIR")
		}
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return view.Usage(reasonOf(err), "waitless init ANOTHER-DIR")
	}
	for _, f := range files {
		if err := createFile(filepath.Join(folder, f.Name), f.Text); err != nil {
			return &view.Failure{Exit: ExitInternal, Why: err.Error(), Try: "waitless init ANOTHER-DIR"}
		}
	}
	return nil
}

// createFile writes a new file. It fails if the file exists.
func createFile(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a file to share with others
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}
