package cli

import (
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
	"github.com/waitless/waitless/pkg/cli/failure"
	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/jobs"
)

// defaultSample is the vendor's tutorial.
const defaultSample = "polling"

// initReport is the JSON of init; schema/init.json describes it.
type initReport struct {
	Schema string   `json:"schema"` // "waitless.init/1"
	Folder string   `json:"folder"`
	Sample string   `json:"sample"`
	Files  []string `json:"files"`
	Next   []string `json:"next"` // commands to type, in this order
}

func (c Command) initCommand() *cobra.Command {
	var sample string
	var asJSON bool
	cmd := helpOf("init", arguments(0, 1))
	cmd.Long = strings.Replace(cmd.Long, "SAMPLES", strings.Join(sampleNames(), ", "), 1)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		return c.init(slices.Concat(args, []string{"."})[0], sample, asJSON)
	}
	cmd.Flags().StringVar(&sample, "sample", defaultSample, "the name of the sample")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object (see: waitless help json)")
	return cmd
}

func (c Command) init(folder, name string, asJSON bool) error {
	sample, err := findSample(name)
	if err != nil {
		return err
	}
	project := projectOf(sample)
	if err := writeNew(folder, project); err != nil {
		return err
	}
	r := initReport{Schema: "waitless.init/1", Folder: folder, Sample: name, Next: nextCommands(folder)}
	for _, f := range project {
		r.Files = append(r.Files, filepath.Join(folder, f.Name))
	}
	if asJSON {
		return c.out().JSON(r)
	}
	return c.out().Text(strings.Join(r.Files, "\n") + "\nnext:\n  " + strings.Join(r.Next, "\n  ") + "\n" + adviceNote(sample))
}

// adviceNote says why advise finds something in a sample, nothing for others.
func adviceNote(sample events.Sample) string {
	flow, _ := fdl.Parse(sample.Files[0].Text) // a sample has no problems
	found := len(advise.Flow(flow, sample.Files[0].Text, prices))
	if found == 0 {
		return ""
	}
	return "the sample is as its tutorial has it, and advise shows " + view.Count(found, "place") + " to write better\n"
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
	return events.Sample{}, failure.Usage(fmt.Sprintf("there is no sample %q%s (known: %s)", name, didYouMean(name, names), strings.Join(names, ", ")),
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
	if asksSomebody(flow) {
		project = append(project, events.File{Name: "echo.sh", Text: []byte(echoScript)})
	}
	return append(project, events.File{Name: settingsFile, Text: []byte(settingsText + taskSettings(flow))})
}

// asksSomebody: the flow has a function that tells somebody where to report, which
// is for the user to write.
func asksSomebody(flow *fdl.Flow) bool {
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
		case name == echoFunction && asksSomebody(flow):
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

// echoFunction is the function of the samples that wait for somebody.
const echoFunction = "echo"

// echoScript is a function as a command.
const echoScript = `# A function: a step's input comes on standard input, and a JSON object on standard
# output is the answer. This one answers with its input. Yours tells somebody where
# to report the outcome, with the token or the URL in the input.
cat
`

// writeNew writes files that are not there yet; if one is, it writes none.
func writeNew(folder string, files []events.File) error {
	for _, f := range files {
		path := filepath.Join(folder, f.Name)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			why := path + " exists, and nothing was written"
			if err != nil {
				why = path + ": " + reasonOf(err)
			}
			return failure.Usage(why, "waitless init ANOTHER-DIR")
		}
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return failure.Usage(reasonOf(err), "waitless init ANOTHER-DIR")
	}
	for _, f := range files {
		if err := createFile(filepath.Join(folder, f.Name), f.Text); err != nil {
			return &failure.Error{Exit: ExitInternal, Why: err.Error(), Try: "waitless init ANOTHER-DIR"}
		}
	}
	return nil
}

// createFile writes a file that is not there, whoever else makes one at the same
// time.
func createFile(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a file to share with others
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}
