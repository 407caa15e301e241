// Command startjob is the Lambda function StartJob, also known as SubmitJob: it starts a job and sees to it that
// whoever waits for its end goes on.
//
// Input: {"kind":K,"params":{...}} and at most one of "token" (of a step of a flow), "taskToken" (of Step Functions)
// and "callbackId" (of a durable function), the last two with "timeoutSeconds" if the wait is to end; or
// "idempotencyKey" where nobody waits. Without a kind: any JSON object; its members are ignored.
// Output: {"job_id":J,"kind":K,"job_key":N}, of kind callback with "callback_url". Without a kind: {"job_id":"<UUIDv7>"},
// whose time is the job's start.
// Of the kinds sqs-message and sns-message, which nobody can wait for: {"MessageId":I,"MessageBodyMD5":M,"RequestId":R}.
// Errors: InvalidArgument, InvalidToken, JobNotFound, FC.Unknown, and those of the service with its name before them.
package main

import (
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/waitless/waitless/pkg/aws/lambdas/startjob"
)

func main() {
	handler, err := startjob.New(os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(handler)
}
