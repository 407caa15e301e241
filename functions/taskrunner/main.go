// Command taskrunner is the Lambda function that makes long calls beside the interpreter.
//
// Input: tasks from the task queue; output: those that come again.
package main

import (
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/waitless/waitless/pkg/aws/lambdas/taskrunner"
)

func main() {
	handler, err := taskrunner.New(os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(handler)
}
