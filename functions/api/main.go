// Command api is the Lambda function of the management API, for those whose requests are signed.
package main

import (
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/waitless/waitless/pkg/aws/lambdas/api"
)

func main() {
	handler, err := api.New(os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(handler)
}
