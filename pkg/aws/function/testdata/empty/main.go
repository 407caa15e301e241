// Command empty does nothing: what its start takes, every function's start
// takes.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() { lambda.Start(func(context.Context) error { return nil }) }
