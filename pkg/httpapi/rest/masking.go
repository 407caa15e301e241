package rest

import (
	"strings"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// A view is how a body is shown.
type view func(body any) any

// revealed shows a body with the tokens that it holds.
func revealed(body any) any { return body }

// masked shows a body without a usable token.
func masked(body any) any {
	switch b := body.(type) {
	case Execution:
		return maskedExecution(b)
	case Token:
		return maskedToken(b)
	case page:
		return maskedPage(b)
	}
	return body
}

func maskedPage(p page) page {
	for i, e := range p.Executions {
		p.Executions[i] = maskedExecution(e)
	}
	for i, t := range p.Tokens {
		p.Tokens[i] = maskedToken(t)
	}
	for i, e := range p.Events {
		p.Events[i] = maskedEvent(e)
	}
	return p
}

func maskedExecution(e Execution) Execution {
	e.Input, e.Output = token.MaskValue(e.Input), maskedOutput(e.Output)
	e.Error, e.Cause = token.MaskAll(e.Error), token.MaskAll(e.Cause)
	return e
}

func maskedToken(t Token) Token {
	if !strings.HasPrefix(t.Token, token.Mask("")) { // of an external wait whose key is gone, the mask is all there is
		t.Token = token.Mask(t.Token)
	}
	t.Job, t.Output = token.MaskAll(t.Job), maskedOutput(t.Output)
	t.Error, t.Cause = token.MaskAll(t.Error), token.MaskAll(t.Cause)
	return t
}

func maskedEvent(e machine.HistoryEvent) machine.HistoryEvent {
	e.EventDetail = token.MaskAll(e.EventDetail)
	return e
}

func maskedOutput(output *value.Value) *value.Value {
	if output == nil {
		return nil
	}
	v := token.MaskValue(*output)
	return &v
}
