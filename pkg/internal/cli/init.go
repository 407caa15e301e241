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
	"sync"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/events"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/similar"
)

// defaultSample asks a person, and its script has the choice.
const defaultSample = "orders"

// initReport is the JSON of init; schema/init.json describes it.
type initReport struct {
	Folder string   `json:"folder"`
	Sample string   `json:"sample"`
	Files  []string `json:"files"`
	Next   []string `json:"next"` // commands to type, in this order
}

func initCommand(c Command) *cobra.Command {
	var sample string
	var run, asl bool
	cmd := helpOf("init", arguments(0, 1))
	cmd.Long = strings.Replace(cmd.Long, "SAMPLES", strings.TrimSuffix(view.Columns(described(events.Samples())), "\n"), 1)
	cmd.Flags().StringVar(&sample, "sample", defaultSample, "the name of the sample; a DIR with the name of a sample gets that one")
	cmd.Flags().BoolVar(&asl, "asl", false, "the sample with a machine in the Amazon States Language: --sample "+events.Machine)
	cmd.Flags().BoolVar(&run, "run", false, "also run the sample, in memory and without its waits")
	return c.plain(cmd, func(ctx context.Context, args []string) (view.Result, error) {
		if run && cmd.Flags().Changed("json") {
			return view.Result{}, view.Usage("--run and --json exclude each other", "waitless run FLOW --skip-time --json after waitless init")
		}
		folder := slices.Concat(args, []string{"."})[0]
		if named := filepath.Base(folder); !cmd.Flags().Changed("sample") && slices.Contains(events.Samples(), named) {
			sample = named
		}
		flow := "flow.yaml"
		if asl {
			if cmd.Flags().Changed("sample") && sample != events.Machine {
				return view.Result{}, view.Usage("--asl and --sample "+sample+" exclude each other", "waitless init --asl")
			}
			sample, flow = events.Machine, events.MachineFile
		}
		result, err := initProject(folder, sample, flow)
		if err != nil || !run {
			return result, err
		}
		at := func(name string) string { return filepath.Join(folder, name) }
		run := runCommand(c)
		run.SilenceErrors, run.SilenceUsage = true, true
		run.PreRunE = func(cmd *cobra.Command, _ []string) error { return c.readSettings(cmd) }
		run.SetArgs([]string{"--config", at(settingsFile), "--input", "@" + at("input.json"), "--skip-time", "--", at(flow)})
		err = run.ExecuteContext(ctx)
		if err != nil { // some samples fail
			err = errors.Join(err, c.out().Text(result.Text))
		}
		return result, err
	})
}

// described returns a row for each sample: its name and its description.
func described(samples []string) (rows [][]string) {
	for _, sample := range samples {
		rows = append(rows, []string{"  " + sample, events.Description(sample)})
	}
	return rows
}

func initProject(folder, sample, flow string) (view.Result, error) {
	if names := events.Samples(); !slices.Contains(names, sample) {
		why := fmt.Sprintf("there is no sample %q%s", sample, similar.MeantOrKnown(sample, names))
		return view.Result{}, view.Usage(why, "waitless init --sample "+defaultSample)
	}
	files := events.Files(sample)
	entries, _ := fs.ReadDir(files, ".") // embedded, so it is there
	r := initReport{Folder: folder, Sample: sample, Next: nextCommands(folder, flow)}
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		r.Files = append(r.Files, path)
		switch _, err := os.Lstat(path); {
		case err == nil:
			return view.Result{}, view.Usage(entry.Name()+" exists, and nothing was written", tryInit)
		case !errors.Is(err, fs.ErrNotExist):
			return view.Result{}, view.Usage(entry.Name()+": "+view.Reason(err), tryInit)
		}
	}
	if err := os.CopyFS(folder, files); err != nil {
		return view.Result{}, view.Usage(err.Error(), tryInit)
	}
	text := strings.Join(r.Files, "\n") + "\nnext:\n  " + strings.Join(r.Next, "\n  ") + "\n"
	return view.Result{Form: "init", JSON: r, Text: text}, nil
}

const tryInit = "waitless init ANOTHER-DIR"

// nextCommands returns the commands to type next.
func nextCommands(folder, flow string) []string {
	next := []string{
		"waitless validate " + flow,
		"waitless run " + flow + " --input @input.json --skip-time",
		"waitless test",
		"waitless advise " + flow,
		"waitless dev",
	}
	if folder == "." {
		return next
	}
	if strings.HasPrefix(folder, "-") { // which cd would take for a flag
		folder = "./" + folder
	}
	if !plainWord().MatchString(folder) { // one word for a shell
		folder = "'" + strings.ReplaceAll(folder, "'", `'\''`) + "'"
	}
	return append([]string{"cd " + folder}, next...)
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.,/:@+=-]+$`) })
