// Command echo is the Lambda function echo, the sample of the callback flow. It returns its input.
//
// Input: any JSON.
// Output: the same bytes; {} if there are none.
//
// With the input {"since": INSTANT, "ready_after": SECONDS} it fails with NotReady until that time
// after the instant, for flows that retry.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
