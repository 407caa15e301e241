package console

import (
	"embed"
	"fmt"
	"html/template"
	"strings"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

//go:embed assets
var assets embed.FS

//go:embed pages
var pageFiles embed.FS

// templates has the template of each page, inside of the layout.
var templates = sync.OnceValue(func() map[string]*template.Template {
	all := map[string]*template.Template{}
	layout := template.Must(template.New("layout.html").Funcs(functions).ParseFS(pageFiles, "pages/layout.html"))
	files, _ := pageFiles.ReadDir("pages")
	for _, file := range files {
		if name := strings.TrimSuffix(file.Name(), ".html"); name != "layout" {
			all[name] = template.Must(template.Must(layout.Clone()).ParseFS(pageFiles, "pages/"+file.Name()))
		}
	}
	return all
})

// functions are the functions of the templates.
var functions = template.FuncMap{
	"age": age, "instant": func(at time.Time) string { return at.UTC().Format(machine.TimeFormat) },
	"local": localTime, "icon": func(status any) string { return icons[fmt.Sprint(status)] }, "stepIn": machine.StepIn,
	"harmless": token.Harmless, "coarse": coarse, "dollars": dollars, "executionPath": executionPath, "flowPath": flowPath, "shortHash": shortHash,
	"note": noteOf, "excerpt": excerpt, "number": func(index int) int { return index + 1 },
}

// icons tell statuses apart without color.
var icons = map[string]string{
	"Starting": "○", "Running": "◐", "Succeeded": "✓", "Failed": "✗", "Stopped": "■", "TimedOut": "⏱",
	"pending": "○", "running": "▶", "waiting": "◐", "succeeded": "✓", "failed": "✗",
	"matched": "✓", "parked": "◐", "ignored": "○",
}

// sections are the links of the navigation.
var sections = []struct{ Path, Name string }{
	{"/executions", "Executions"}, {"/waits", "Open waits"}, {"/job-events", "Job events"}, {"/flows", "Flows"}, {"/start", "Start"},
}

// shown is the data of a template: the data of its page, and data that depends on the request.
type shown struct {
	page

	Place    string
	Section  string // the path of the section in the navigation
	Sections any
	Now      time.Time
}

// instantOf reads an instant of the API. It returns the zero instant for any other text.
func instantOf(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text)
	return at
}

// localTime shows an instant of the API on the clock of the process, which is the user's.
func localTime(text string) string {
	if at := instantOf(text); !at.IsZero() {
		return at.Local().Format(time.DateTime)
	}
	return text
}

// age says how far an instant of the API is from now, in one unit.
func age(now time.Time, text string) string {
	at := instantOf(text)
	if at.IsZero() {
		return ""
	}
	return coarse(now.Sub(at).Abs())
}

// coarse shows a duration in one unit: 20 s, 3 min, 5 h, 12 days.
func coarse(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.3g s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 2*day:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", d/day)
}
