// Command echo is the Lambda function echo, the sample of the callback flow: it answers its input.
//
// Input: any JSON.
// Output: the same bytes; {} if there are none.
//
// Of the input {"since": instant, "ready_after": seconds} it makes the error NotReady until so long after that instant,
// for flows that try again.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/waitless/waitless/pkg/aws/lambdas"
)

func main() {
	lambda.Start(lambdas.Echo())
}
