// Command getjobstatus is the Lambda function GetJobStatus, also known as CheckJob: it tells whether a simulated
// job is done.
//
// Input: {"job_id":J,"delay":D,"try_count":N}; D is in seconds, 60 if left out; N is 0 if left out.
// Output: {"job_id":J,"job_status":"success","try_count":N+1}, or "running" until D has passed since the start.
// Errors: JobNotFound, InvalidArgument.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/waitless/waitless/pkg/aws/lambdas"
)

func main() {
	lambda.Start(lambdas.GetJobStatus())
}
