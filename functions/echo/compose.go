package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/jobs/simulated"
)

// compose composes the function; see [simulated.Echo].
func compose(func(string) string) (function.Call, error) {
	echo := func(_ context.Context, input []byte) ([]byte, error) { return simulated.Echo(input, time.Now()) }
	return function.NewCall(echo, attrs), nil
}

// attrs returns the size of a response in bytes, and nothing else: the callback flow sends its
// token through echo.
func attrs(response []byte) []slog.Attr { return []slog.Attr{slog.Int("bytes", len(response))} }
