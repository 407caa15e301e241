// Command sfn is the Lambda function that serves the AWS Step Functions API over flows. Clients
// sign each request with client keys. It is deployed only if the stack has client keys.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
