// Command silent is a Lambda function that does not answer.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"
)

type handler struct{}

// Invoke implements [lambda.Handler].
func (handler) Invoke(context.Context, []byte) ([]byte, error) { select {} }

func main() { lambda.Start(handler{}) }
