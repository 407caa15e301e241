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

// Result is the output of a command: text, or with --json an object.
type Result struct {
	Form string
	JSON any
	// Rows are a table before the text. On a terminal its cells are shortened to the width, except
	// cells of the first column, because commands take them as arguments.
	Rows [][]string
	Text string // lines
}

// Result prints a result.
func (p Printer) Result(r Result, asJSON bool) error {
	if asJSON {
		return p.JSON(r.Form, r.JSON)
	}
	return p.Text(Columns(fitted(r.Rows, p.Width())) + r.Text)
}

// JSON prints an object as indented JSON. It gets the member "schema" with the form and its
// version, which schema/FORM.json describes; "" is a form of others.
func (p Printer) JSON(form string, v any) error { return p.object(form, v, "  ") }

// JSONLine prints such an object as one line of JSON.
func (p Printer) JSONLine(form string, v any) error { return p.object(form, v, "") }

func (p Printer) object(form string, v any, indent string) error {
	text, err := encode(v, indent)
	if err == nil && form != "" {
		members, _ := encode(v, "") // which was just encoded
		text, err = encode(json.RawMessage(`{"schema":"waitless.`+form+`/1",`+members[1:]), indent)
	}
	if err != nil {
		return err
	}
	return p.Exactly(HarmlessJSON(text))
}

func encode(v any, indent string) (string, error) {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(v)
	return out.String(), err
}

// Text prints text without control characters.
func (p Printer) Text(text string) error { return p.Exactly(Harmless(text)) }

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
	return &Failure{
		Exit: ExitInternal, What: "write standard output", Why: Reason(err), Try: "send standard output to a place with room: waitless ... > FILE",
	}
}

// Reason returns why a file could not be read or written, without the path and the call.
func Reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return err.Error()
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

// Page returns a page of a table. On a terminal its lines are cut at the width, but not within the
// first columns, which users copy.
func (p Printer) Page(table *Table, rows [][]string, columns int) string {
	text := table.Page(rows)
	whole := 0
	for _, n := range table.widths[:min(columns, len(table.widths))] {
		whole += n + len(gap)
	}
	return p.cut(text, whole)
}

// Cut cuts the lines of text at the width of the terminal. Elsewhere text stays as it is.
func (p Printer) Cut(text string) string { return p.cut(text, 0) }

func (p Printer) cut(text string, least int) string {
	width := p.Width()
	if width == 0 {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimRight(cut(strings.TrimSuffix(line, "\n"), max(width, least)), " ") + "\n")
	}
	return out.String()
}
