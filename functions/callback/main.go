// Command callback is the Lambda function of the public callback API. It verifies tokens, sends
// wakes, queues deliveries to external recipients, and records outcomes and heartbeats. For a page
// it reads the execution's question. It does not change executions, and has no rights on jobs.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
