// Command interpreter is the Lambda function that advances executions.
//
// Input: wakes from the wake queue; output: those to redeliver.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
