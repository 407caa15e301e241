package cli

import (
	"net/url"
	"path/filepath"

	"github.com/waitless/waitless/pkg/flow"
)

// levelOf is how serious a problem is, in the words of GitHub and of SARIF.
func levelOf(severity flow.Severity) string {
	if severity == flow.SeverityWarning {
		return "warning"
	}
	return "error"
}

// sarif is an object of a report in SARIF 2.1.0.
type sarif map[string]any

func sarifOf(files []flowFile) sarif {
	results := []sarif{}
	for _, file := range files {
		uri := (&url.URL{Path: filepath.ToSlash(file.path)}).String()
		for _, p := range file.problems {
			place := sarif{"artifactLocation": sarif{"uri": uri}, "region": sarif{"startLine": p.Line, "startColumn": p.Column}}
			results = append(results, sarif{
				"ruleId": "fdl-" + p.Severity.String(), "level": levelOf(p.Severity), "message": sarif{"text": p.Message},
				"locations": []sarif{{"physicalLocation": place}},
			})
		}
	}
	driver := sarif{"name": "waitless", "version": versionOf().Version, "rules": []sarif{
		{"id": "fdl-error", "shortDescription": sarif{"text": "The flow cannot run"}},
		{"id": "fdl-warning", "shortDescription": sarif{"text": "The flow runs, but probably not as its author intended"}},
		{"id": "fdl-strict", "shortDescription": sarif{"text": "Other services of FDL v1 do not support it, or a mapping gives nothing"}},
	}}
	run := sarif{"tool": sarif{"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
	return sarif{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": []sarif{run}}
}
