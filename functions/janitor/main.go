// Command janitor is the Lambda function that handles dead wakes and overdue executions.
// EventBridge Scheduler starts it.
//
// Input: ignored. Output: the counts of handled letters and of the sweep.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
