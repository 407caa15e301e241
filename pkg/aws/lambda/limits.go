package lambda

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
)

const (
	// limitLife is how long a time limit is used after its lookup. If a function gets a longer
	// limit, its calls end early until the next lookup.
	limitLife = time.Hour
	// lookupLimit bounds one lookup, and retryLookup is the pause after a failed lookup: Lambda
	// allows about fifteen lookups a second for the account.
	lookupLimit = 3 * time.Second
	retryLookup = 30 * time.Second
	// assumedLimit is the longest time limit of a function. A worker does not wait for a call of
	// unknown length.
	assumedLimit = 15 * time.Minute
)

// timeLimit is a cached time limit of a function.
type timeLimit struct {
	limit time.Duration // 0 if it cannot be known
	until time.Time     // believed until then
}

// TimeLimits implements [engine.Caller]. A limit is looked up again after an hour. While that
// fails, the old limit is used, or else the longest limit of Lambda, with which a call goes through
// the task queue.
func (f *Functions) TimeLimits(ctx context.Context, flow *flow.Flow) (map[string]time.Duration, error) {
	var mu sync.Mutex
	limits := map[string]time.Duration{}
	var lookups sync.WaitGroup
	functions := map[string]target{} // by the text of the resource
	for _, task := range flow.Tasks() {
		if function, err := f.config.Names.resolve(task.Resource); err == nil && !task.Resource.Subflow {
			functions[task.Resource.Text] = function
		}
	}
	for text, function := range functions {
		lookups.Go(func() {
			limit := f.timeLimit(ctx, function)
			mu.Lock()
			defer mu.Unlock()
			if limit > 0 {
				limits[text] = limit
			}
		})
	}
	lookups.Wait()
	return limits, ctx.Err()
}

// TimeLimit returns the time limit of the function that the resource names. It is 0 if the function
// does not exist or may not be described, and the longest limit of Lambda if the lookup fails.
func (f *Functions) TimeLimit(ctx context.Context, resource flow.Resource) (time.Duration, error) {
	function, err := f.config.Names.resolve(resource)
	if err != nil {
		return 0, err
	}
	return f.timeLimit(ctx, function), ctx.Err()
}

func (f *Functions) timeLimit(ctx context.Context, function target) time.Duration {
	now := f.config.Now()
	known, ok := f.known(function)
	if ok && now.Before(known.until) {
		return known.limit
	}
	limit, err := f.lookUp(ctx, function)
	switch {
	case err == nil:
		known = timeLimit{limit, now.Add(limitLife)}
	case ok:
		known.until = now.Add(retryLookup)
	default:
		known = timeLimit{assumedLimit, now.Add(retryLookup)}
	}
	if err != nil && f.config.Warn != nil {
		f.config.Warn(fmt.Errorf("time limit of function %s: %w; assumed: %s", function.name, err, known.limit))
	}
	f.limits.Store(function, known)
	return known.limit
}

func (f *Functions) known(function target) (timeLimit, bool) {
	value, _ := f.limits.Load(function)
	known, ok := value.(timeLimit)
	return known, ok
}

// lookUp asks Lambda. It returns 0 for a function that does not exist or may not be described; the
// call will fail with the reason.
func (f *Functions) lookUp(ctx context.Context, function target) (time.Duration, error) {
	input := &lambda.GetFunctionConfigurationInput{FunctionName: &function.name}
	if function.qualifier != "" {
		input.Qualifier = &function.qualifier
	}
	limited, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	found, err := f.config.Client.GetFunctionConfiguration(limited, input)
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch apiError(api.ErrorCode(), 0) {
		case token.ErrorFunctionNotFound, token.ErrorAccessDenied:
			return 0, nil
		}
	}
	if err != nil {
		return 0, err
	}
	return time.Duration(aws.ToInt32(found.Timeout)) * time.Second, nil
}
