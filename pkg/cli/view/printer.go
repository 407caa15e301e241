package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/term"
)

// Printer prints the results of a command.
type Printer struct{ Out, Err io.Writer }

// JSON prints a value as indented JSON.
func (p Printer) JSON(v any) error { return p.encode(v, "  ") }

// JSONLine prints a value as one line of JSON.
func (p Printer) JSONLine(v any) error { return p.encode(v, "") }

// Result is what a command prints: text, or with --json a value.
type Result struct {
	Form string // of the value; schema/FORM.json describes it
	JSON any
	Text string // lines
}

// Result prints a result. The value must be an object; it gets the member "schema" with the form and its version.
func (p Printer) Result(r Result, asJSON bool) error {
	if !asJSON {
		return p.Text(r.Text)
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r.JSON); err != nil {
		return err
	}
	members := strings.TrimPrefix(text.String(), "{")
	if members != "}\n" {
		members = "," + members
	}
	return p.JSON(json.RawMessage(fmt.Sprintf(`{"schema":"waitless.%s/1"%s`, r.Form, members)))
}

func (p Printer) encode(v any, indent string) error {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	return p.Exactly(HarmlessJSON(out.String()))
}

// Text prints text without control characters.
func (p Printer) Text(text string) error { return p.Exactly(Harmless(text)) }

// Line prints one line.
func (p Printer) Line(format string, args ...any) error {
	return p.Exactly(Printable(fmt.Sprintf(format, args...)) + "\n")
}

// Note prints a remark beside the result, on standard error.
func (p Printer) Note(format string, args ...any) {
	_, _ = fmt.Fprintln(p.Err, Printable(fmt.Sprintf(format, args...))) // the result matters, not the remark
}

// Exactly prints text as it is.
func (p Printer) Exactly(text string) error {
	if _, err := io.WriteString(p.Out, text); err != nil {
		return Unwritten(err)
	}
	return nil
}

// Unwritten returns the error for standard output that cannot be written.
func Unwritten(err error) error {
	why := err.Error()
	var path *fs.PathError
	if errors.As(err, &path) {
		why = path.Err.Error()
	}
	return &Failure{
		Exit: ExitInternal, What: "write standard output", Why: why, Try: "send standard output to a place with room: waitless ... > FILE",
	}
}

// IsTerminal reports whether out is a terminal.
func IsTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Width returns the width of standard output in cells, or 0 if it is not a terminal.
func (p Printer) Width() int {
	if !IsTerminal(p.Out) {
		return 0
	}
	width, _ := terminalSize(p.Out.(*os.File)) //nolint:forcetypeassert // a terminal is a file
	return width
}

// Cut cuts the lines of text at the width of the terminal. Elsewhere text stays as it is.
func (p Printer) Cut(text string) string {
	width := p.Width()
	if width == 0 {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(cut(strings.TrimSuffix(line, "\n"), width) + "\n")
	}
	return out.String()
}
