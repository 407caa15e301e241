package tasks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go"

	"github.com/waitless/waitless/pkg/fdl"
)

// limitLife is for how long a time limit that was looked up is believed. Who
// makes a function's longer waits that long until a flow may use it.
const limitLife = 5 * time.Minute

// timeLimit is what is known of a function's time limit.
type timeLimit struct {
	limit time.Duration // 0: nobody may know it
	until time.Time     // believed until then
}

// TimeLimits implements [engine.Tasks]. What was looked up some minutes ago is
// looked up again; while that fails, the old limit counts.
func (t *Tasks) TimeLimits(ctx context.Context, flow *fdl.Flow) (map[string]time.Duration, error) {
	var mu sync.Mutex
	limits := map[string]time.Duration{}
	var problems []error
	var lookups sync.WaitGroup
	for text, function := range t.called(flow) {
		lookups.Go(func() {
			limit, err := t.timeLimit(ctx, function)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				problems = append(problems, fmt.Errorf("time limit of function %s: %w", function.name, err))
			} else if limit > 0 {
				limits[text] = limit
			}
		})
	}
	lookups.Wait()
	return limits, errors.Join(problems...)
}

// TimeLimit is that of the one function which the resource names, 0 when nobody
// may know it.
func (t *Tasks) TimeLimit(ctx context.Context, resource fdl.Resource) (time.Duration, error) {
	function, err := t.Names.lambda(resource)
	if err != nil {
		return 0, err
	}
	return t.timeLimit(ctx, function)
}

// called are the functions that the flow calls, by the text of the resource.
func (t *Tasks) called(flow *fdl.Flow) map[string]target {
	functions := map[string]target{}
	for _, step := range flow.All {
		task, ok := step.Kind.(*fdl.Task)
		if !ok {
			continue
		}
		if function, err := t.Names.lambda(task.Resource); err == nil {
			functions[task.Resource.Text] = function
		}
	}
	return functions
}

func (t *Tasks) timeLimit(ctx context.Context, function target) (time.Duration, error) {
	now := t.Now()
	known, ok := t.known(function)
	if ok && now.Before(known.until) {
		return known.limit, nil
	}
	limit, err := t.lookUp(ctx, function)
	switch {
	case err == nil:
		t.keep(function, timeLimit{limit, now.Add(limitLife)})
		return limit, nil
	case ok:
		return known.limit, nil
	}
	return 0, err
}

func (t *Tasks) known(function target) (timeLimit, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, ok := t.limits[function]
	return known, ok
}

func (t *Tasks) keep(function target, limit timeLimit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limits[function] = limit
}

// lookUp asks Lambda. A function that is not there, or not for us to see, has
// no known limit; the call will say why.
func (t *Tasks) lookUp(ctx context.Context, function target) (time.Duration, error) {
	input := &lambda.GetFunctionConfigurationInput{FunctionName: &function.name}
	if function.qualifier != "" {
		input.Qualifier = &function.qualifier
	}
	found, err := t.Client.GetFunctionConfiguration(ctx, input)
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch apiError(api.ErrorCode(), 0) {
		case ErrorFunctionNotFound, ErrorAccessDenied:
			return 0, nil
		}
	}
	if err != nil {
		return 0, err
	}
	return time.Duration(aws.ToInt32(found.Timeout)) * time.Second, nil
}
