// Command janitor is the Lambda function that handles what wakes left behind. EventBridge Scheduler starts it.
//
// Input: anything; output: what it did.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
