// Command callservice is the Lambda function CallService. It calls the AWS operation that a step
// names as its action.
//
// Input: {"operation":"SERVICE:Operation","params":{...},"idempotencyKey":K}.
// Output: the response of the service.
// Errors: the service's errors, prefixed with its name; InvalidArgument for an unknown operation or
// wrong params; FnF.InvalidLocal for a response that is too long; FC.Unknown.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
