// Command taskrunner is the Lambda function that makes long calls, delivers outcomes to external
// recipients, publishes the ends of executions, and sends notices.
//
// Input: messages from the task, delivery and notice queues; output: those to redeliver.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
