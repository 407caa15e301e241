package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestErrorsNameAnObjectOnce checks the errors in the goldens and in the reference: the parts of an
// error, "operation object: cause", do not repeat the object of a part before, alone or as the
// folder of a path.
func TestErrorsNameAnObjectOnce(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, root := range []string{"testdata", "../../docs/reference"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !slices.Contains([]string{".txt", ".md"}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			for line := range strings.Lines(string(text)) {
				message, isError := strings.CutPrefix(strings.TrimSpace(line), "waitless: ")
				if !isError {
					continue
				}
				checked++
				if object := repeatedObject(message); object != "" {
					t.Errorf("%s names %q twice: %s", path, object, line)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked == 0 {
		t.Error("found no error")
	}
}

func TestRepeatedObject(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"many/one: advance execution 12: read the log of execution 12: file too large": "12",
		"dev: listen at nowhere: address nowhere: missing port in address":             "nowhere",
		"init folder: folder/flow.yaml: not a directory":                               "folder",
		"a: b: b: c": "b",
		"many/one: advance: read the log of execution 12: file too large": "",
		"run work.yaml: --task Job: the flow does not call it":            "",
		"run a.yaml: no such file; correct a.yaml":                        "",
	} {
		if got := repeatedObject(message); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}

// repeatedObject returns the object that an error names twice, or "". What to do, after a
// semicolon, may name it again.
func repeatedObject(message string) string {
	message, _, _ = strings.Cut(message, "; ")
	var before []string
	for part := range strings.SplitSeq(message, ": ") {
		words := strings.Fields(part)
		for _, object := range before {
			if slices.ContainsFunc(words, func(word string) bool { return word == object || strings.HasPrefix(word, object+"/") }) {
				return object
			}
		}
		if len(words) > 0 {
			before = append(before, words[len(words)-1])
		}
	}
	return ""
}
