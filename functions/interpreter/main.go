// Command interpreter is the Lambda function that advances executions.
//
// Input: wakes and firings of schedules from the wake queue, and starts from the queue of
// descendants; output: the messages to redeliver.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
