// Command interpreter is the Lambda function that makes executions go on.
//
// Input: wakes from the wake queue; output: those that come again.
package main

import (
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/waitless/waitless/pkg/aws/lambdas/interpreter"
)

func main() {
	handler, err := interpreter.New(os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(handler)
}
