// Command fnf is the Lambda function of the 2019-03-15 API. Clients sign each request. It manages
// flows and executions as the management API does, and reports outcomes of tasks. It is deployed
// only if the stack has keys of clients.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
