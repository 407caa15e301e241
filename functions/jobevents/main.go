// Command jobevents is the Lambda function that takes job events, and looks at jobs whose events never come.
//
// Input: job events and polls from the job queue; output: those that come again.
package main

import (
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/waitless/waitless/pkg/aws/lambdas/jobevents"
)

func main() {
	handler, err := jobevents.New(os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(handler)
}
