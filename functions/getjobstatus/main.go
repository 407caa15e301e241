// Command getjobstatus is the Lambda function GetJobStatus, also known as CheckJob. It returns the
// status of a job.
//
// Input: {"kind":K,"job_id":J}, and "account":A for a job of another account.
// Output: {"job_id":J,"job_status":"running|success|failed","status":S} with the "output" of a
// success, and "error" and "cause" of a failure. Without a kind, the job is simulated. Input:
// {"job_id":J,"delay":D,"try_count":N}; D is in seconds, 60 if left out; N is 0 if left out.
// Output: {"job_id":J,"job_status":"success","try_count":N+1}, or "running" until D has passed
// since the start.
// Errors: JobNotFound, InvalidArgument, FC.Unknown, and the service's errors, prefixed with its
// name.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
