// Command startjob is the Lambda function StartJob, also known as SubmitJob: it starts a simulated job.
//
// Input: any JSON object; its members are ignored.
// Output: {"job_id":"<UUIDv7>"}, whose time is the job's start.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/waitless/waitless/pkg/aws/lambdas"
)

func main() {
	lambda.Start(lambdas.StartJob())
}
