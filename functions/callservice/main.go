// Command callservice is the Lambda function CallService. It calls an operation of a service of AWS for the step of a flow whose action
// names it.
//
// Input: {"operation":"SERVICE:Operation","params":{...},"idempotencyKey":K}.
// Output: the response of the service.
// Errors: those of the service with its name before them, InvalidArgument for an unknown operation or wrong params,
// FnF.InvalidLocal for a response that is too long, and FC.Unknown.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
