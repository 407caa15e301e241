package console

import (
	"fmt"
	"net/http"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/advise"
)

// costData is the data of the page about an execution's cost.
type costData struct {
	advise.Cost

	Flow, Name, PricesOf string
	Times                string // how often the loop costs as much
}

// cost shows the cost of an execution on AWS, measured or estimated, beside a polling loop on Step
// Functions.
func (c *console) cost(r *http.Request) (page, error) {
	flow, name := r.PathValue("flow"), r.PathValue("name")
	e, err := c.Execution(r.Context(), flow, name, false)
	if err != nil {
		return page{}, err
	}
	history, _, err := c.History(r.Context(), flow, name, "", false, 0)
	if err != nil {
		return page{}, err
	}
	definition := c.definition(r, e)
	if definition == nil {
		return page{}, &rest.Error{Status: http.StatusConflict, Message: "the definition of this execution cannot be read"}
	}
	cost := advise.CostOf(definition, parsed(definition, history))
	d := costData{Cost: cost, Flow: flow, Name: name, PricesOf: advise.PricesOf}
	if cost.Most > 0 {
		d.Times = fmt.Sprintf("%.1f to %.1f", cost.Loop.Dollars/cost.Most, cost.Loop.Dollars/cost.Least)
	}
	return page{Title: "Cost of " + flow + "/" + name, Template: "cost", Data: d}, nil
}

// dollars returns the price of a million executions at the price of one.
func dollars(one float64) string {
	const million = 1e6
	return fmt.Sprintf("$%.2f", one*million)
}
