package catalogue_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/internal/suite/lineartest"
)

const flowHead = "version: v1\ntype: flow\nsteps:\n"

func TestCheckIsLinear(t *testing.T) {
	t.Parallel()
	check := func(text string) {
		flow, problems := fdl.Parse([]byte(text))
		if flow == nil {
			t.Error(problems)
			return
		}
		catalogue.Check(flow)
	}
	task := func(action, part string) lineartest.Text {
		return lineartest.Repeated(flowHead+"- {type: task, name: A, action: '"+action+"', serviceParams: {", part, "Z: 1}}\n")
	}
	lineartest.Check(t, check, 500, map[string]lineartest.Text{
		"unknown services":   lineartest.Repeated(flowHead, "- {type: task, name: A#, action: 'dynamodbb:PutItem', serviceParams: {}}\n", ""),
		"unknown operations": lineartest.Repeated(flowHead, "- {type: task, name: A#, action: 'dynamodb:PutItm#', serviceParams: {}}\n", ""),
		"unknown params":     task("dynamodb:PutItem", "x#: 1, "),
		"params of a job":    task("batch:SubmitJob", "x#: 1, "),
	})
}
