package local

import (
	"context"
	"strings"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/value"
)

// run sends a request to the runner of a custom kind. A failure of the runner is a
// [*resume.ServiceError] with the exception, or the last part of the error of the call, as its
// code.
func (s services) run(ctx context.Context, kind jobs.Kind, request []byte) ([]byte, error) {
	input, err := value.ParseJSON(request)
	if err != nil {
		return nil, err
	}
	call := machine.Call{Step: kind.Name, Input: input}
	r := s.own.runners[kind.Name]
	if c, isCommand := r.(command); isCommand {
		c.output = s.output
		r = c
	}
	outcome, err := r.call(ctx, call, s.simulated.clock.Now())
	code := outcome.Error
	if !outcome.Thrown {
		code = code[strings.LastIndex(code, ".")+1:]
	}
	switch {
	case err != nil:
		return nil, err
	case code != "":
		return nil, &resume.ServiceError{Name: kind.Service + "." + code, Message: outcome.Cause}
	}
	return []byte(outcome.Output.JSON()), nil
}
