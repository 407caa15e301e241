// Command sfn is the Lambda function of the API of AWS Step Functions over flows, whose clients sign each request with keys of
// their own. It is deployed only if the stack has such keys.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
