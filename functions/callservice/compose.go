package main

import (
	"github.com/waitless/waitless/pkg/aws/environment"
	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/services"
)

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.Call, error) {
	env := environment.New(getenv)
	return function.NewCall(services.NewActions(env.AWS()).Call, services.CallAttrs), env.Err()
}
