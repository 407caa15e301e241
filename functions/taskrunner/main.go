// Command taskrunner is the Lambda function that makes long calls, delivers outcomes to external recipients, and publishes the
// ends of executions.
//
// Input: messages from the task and delivery queues; output: those to redeliver.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
