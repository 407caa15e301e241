// Command recorded runs recorded cases of the Amazon States Language, or checks sample machines:
//
//	recorded -cases FILE
//	recorded -samples FILE
//
// A file has one JSON object a line and may be compressed with gzip. The command prints a line for
// each case that fails, with the first difference, and then counts for each kind and class. Three
// counts follow them: cases with the right status, output and error; of these, cases with the right
// types of events in order; of these, cases with the right ids and details.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	cases, samples := flag.String("cases", "", "a file with recorded `cases`"), flag.String("samples", "", "a file with sample `machines`")
	flag.Parse()
	var err error
	switch {
	case *cases != "":
		err = runCases(*cases, os.Stdout)
	case *samples != "":
		err = checkSamples(*samples, os.Stdout)
	default:
		err = fmt.Errorf("no file; write -cases FILE or -samples FILE")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "recorded:", err)
		os.Exit(1)
	}
}

// lines calls each with the lines of a file.
func lines(name string, each func(line []byte) error) error {
	text, err := os.ReadFile(name) //nolint:gosec // G304: the user names the file
	if err != nil {
		return err
	}
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return err
		}
		if text, err = io.ReadAll(unpacked); err != nil {
			return err
		}
	}
	all := bufio.NewScanner(bytes.NewReader(text))
	all.Buffer(nil, len(text)+1)
	for number := 1; all.Scan(); number++ {
		if len(bytes.TrimSpace(all.Bytes())) == 0 {
			continue
		}
		if err := each(all.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	return all.Err()
}

// count is how many cases reached each level.
type count struct{ all, reached [levels]int }

// runCases runs the cases of a file.
func runCases(name string, out io.Writer) error {
	counts, order := map[string]*count{}, []string{}
	err := lines(name, func(line []byte) error {
		var c recordedCase
		if bytes.Contains(line, []byte(startOperation)) { // whose input has the name of a machine
			line = []byte(strings.NewReplacer("<ArnPart_0idx>", "ArnPart_0idx", `"start-date"`, `"<date>"`, `"stop-date"`, `"<date>"`).Replace(string(line)))
		}
		if bytes.Contains(line, []byte(`"inspectionLevel"`)) { // of a state that is tested alone
			line = bytes.ReplaceAll(line, []byte(`"date"`), []byte(`"<date>"`))
		}
		line = bytes.ReplaceAll(line, []byte(`"resource": "activity_arn"`), []byte(`"resource": "<activity_arn>"`))
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		reached, failure := c.try()
		if failure != "" {
			_, _ = fmt.Fprintf(out, "%s: %s\n", c.ID, strings.ReplaceAll(failure, "\n", " "))
		}
		for _, key := range []string{c.Kind + " " + c.Class, "all"} {
			if counts[key] == nil {
				counts[key] = &count{}
				order = append(order, key)
			}
			for level := range levels {
				if c.has(level) {
					counts[key].all[level]++
				}
				if c.has(level) && level < reached {
					counts[key].reached[level]++
				}
			}
		}
		return nil
	})
	slices.Sort(order)
	for _, key := range append(slices.DeleteFunc(order, func(key string) bool { return key == "all" }), "all") {
		if c := counts[key]; c != nil {
			_, _ = fmt.Fprintf(out, "%s: %d passed, %d failed (types of events %d of %d, ids and details %d of %d)\n", key, c.reached[0], c.all[0]-c.reached[0],
				c.reached[1], c.all[1], c.reached[2], c.all[2])
		}
	}
	return err
}

// checkSamples parses the machines of a file.
func checkSamples(name string, out io.Writer) error {
	accepted, refused := 0, 0
	err := lines(name, func(line []byte) error {
		var sample struct {
			ID         string          `json:"id"`
			Definition json.RawMessage `json:"definition"`
		}
		if err := json.Unmarshal(line, &sample); err != nil {
			return err
		}
		why := refusal(textOf(sample.Definition))
		if why == "" {
			accepted++
			_, _ = fmt.Fprintf(out, "%s: accepted\n", sample.ID)
			return nil
		}
		refused++
		_, _ = fmt.Fprintf(out, "%s: refused: %s\n", sample.ID, why)
		return nil
	})
	_, _ = fmt.Fprintf(out, "%d accepted, %d refused\n", accepted, refused)
	return err
}

// textOf returns a definition, which stands as a text or as an object.
func textOf(definition json.RawMessage) []byte {
	var text string
	if json.Unmarshal(definition, &text) == nil {
		return []byte(text)
	}
	return definition
}
