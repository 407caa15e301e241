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

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
)

const (
	// limitLife is how long a time limit that was looked up counts. A call that
	// takes longer than its function's limit ends that early, so a function may
	// get a longer one at any time.
	limitLife = time.Hour
	// lookupLimit bounds one lookup, and retryLookup is when one that failed is
	// tried again: Lambda answers some fifteen a second for the whole account.
	lookupLimit = 3 * time.Second
	retryLookup = 30 * time.Second
	// assumedLimit is the longest time limit of a function. A call of unknown
	// length is not one that a worker awaits.
	assumedLimit = 15 * time.Minute
)

// timeLimit is what is known of a function's time limit.
type timeLimit struct {
	limit time.Duration // 0: nobody may know it
	until time.Time     // believed until then
}

// TimeLimits implements [engine.Caller]. What was looked up an hour ago is looked
// up again. While that fails, the old limit counts, or the longest that there is:
// such a call is made through the task queue.
func (f *Functions) TimeLimits(ctx context.Context, flow *fdl.Flow) (map[string]time.Duration, error) {
	var mu sync.Mutex
	limits := map[string]time.Duration{}
	var lookups sync.WaitGroup
	for text, function := range f.called(flow) {
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

// TimeLimit is that of the one function which the resource names, 0 when nobody
// may know it, and the longest that there is when it cannot be looked up.
func (f *Functions) TimeLimit(ctx context.Context, resource fdl.Resource) (time.Duration, error) {
	function, err := f.config.Names.resolve(resource)
	if err != nil {
		return 0, err
	}
	return f.timeLimit(ctx, function), ctx.Err()
}

// called are the functions that the flow calls, by the text of the resource.
func (f *Functions) called(flow *fdl.Flow) map[string]target {
	functions := map[string]target{}
	for _, step := range flow.All {
		task, ok := step.Kind.(*fdl.Task)
		if !ok {
			continue
		}
		if function, err := f.config.Names.resolve(task.Resource); err == nil {
			functions[task.Resource.Text] = function
		}
	}
	return functions
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
	f.keep(function, known)
	return known.limit
}

// forget has the function's time limit looked up again: a call ended by it, and
// the limit may be a longer one by now.
func (f *Functions) forget(function target) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.limits[function]; ok {
		known.until = time.Time{}
		f.limits[function] = known
	}
}

func (f *Functions) known(function target) (timeLimit, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.limits[function]
	return known, ok
}

func (f *Functions) keep(function target, limit timeLimit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limits[function] = limit
}

// lookUp asks Lambda. A function that is not there, or not for us to see, has
// no known limit; the call will say why.
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
		case engine.ErrorFunctionNotFound, engine.ErrorAccessDenied:
			return 0, nil
		}
	}
	if err != nil {
		return 0, err
	}
	return time.Duration(aws.ToInt32(found.Timeout)) * time.Second, nil
}
