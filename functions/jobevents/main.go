// Command jobevents is the Lambda function that handles job events, and polls for jobs without one.
//
// Input: job events, polls and replays from the job and poll queues; output: those to redeliver.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
