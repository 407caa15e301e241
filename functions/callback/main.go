// Command callback is the Lambda function of the public callback API, for whoever has a token.
package main

import (
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/waitless/waitless/pkg/aws/lambdas/callback"
)

func main() {
	handler, err := callback.New(os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(handler)
}
