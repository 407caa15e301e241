// Command api is the Lambda function of the management API. API Gateway checks the signature of
// each request.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
