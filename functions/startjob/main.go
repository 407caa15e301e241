// Command startjob is the Lambda function StartJob, also known as SubmitJob. It starts a job. The
// end of the job resumes the waiter that the input names.
//
// Input: {"kind":K,"params":{...}} and at most one of "token" (of a step of a flow), "taskToken"
// (of Step Functions) and "callbackId" (of a durable function), the last two with "timeoutSeconds"
// if the wait is to end; or "idempotencyKey" without a waiter; "account":A for a job of another
// account. Without a kind: any JSON object; its members are ignored.
// Output: {"job_id":J,"kind":K,"job_key":N}, with the "account" of the input, of kind callback with
// "callback_url". Without a kind: {"job_id":"<UUIDv7>"}; the UUID holds the start time of the job.
// Output of the kinds sqs-message and sns-message, which have no end:
// {"MessageId":I,"MessageBodyMD5":M,"RequestId":R}.
// Errors: InvalidArgument, InvalidToken, JobNotFound, FC.Unknown, and the service's errors,
// prefixed with its name.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
