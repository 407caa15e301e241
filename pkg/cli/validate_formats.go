package cli

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/fdl"
)

// annotations are the problems as workflow commands of GitHub Actions.
func annotations(files []flowFile) string {
	var text strings.Builder
	for _, file := range files {
		for _, p := range file.problems {
			fmt.Fprintf(&text, "::%s file=%s,line=%d,col=%d::%s\n",
				levelOf(p.Severity), annotationProperty.Replace(view.Printable(filepath.ToSlash(file.path))), p.Line, p.Column,
				annotationText.Replace(view.Printable(p.Message)))
		}
	}
	return text.String()
}

// levelOf is how serious a problem is, in the words of GitHub and of SARIF.
func levelOf(severity fdl.Severity) string {
	if severity == fdl.SeverityWarning {
		return "warning"
	}
	return "error"
}

// Characters with a meaning of their own in workflow commands.
var (
	annotationText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	annotationProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// sarifLog is a report in SARIF 2.1.0.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool     `json:"tool"`
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
}

// sarifRules are what the severities stand for.
var sarifRules = []sarifRule{
	{"fdl-error", sarifText{"The flow cannot run"}},
	{"fdl-warning", sarifText{"The flow runs, but hardly as its author meant"}},
	{"fdl-strict", sarifText{"Other services of FDL v1 do not know it, or a mapping gives nothing"}},
}

func sarifOf(files []flowFile) sarifLog {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "waitless", Version: moduleVersion(), Rules: sarifRules}},
		ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
	}
	for _, file := range files {
		uri := (&url.URL{Path: filepath.ToSlash(file.path)}).String()
		for _, p := range file.problems {
			run.Results = append(run.Results, sarifResult{
				RuleID: "fdl-" + p.Severity.String(), Level: levelOf(p.Severity), Message: sarifText{p.Message},
				Locations: []sarifLocation{{sarifPhysical{sarifArtifact{uri}, sarifRegion{p.Line, p.Column}}}},
			})
		}
	}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}
