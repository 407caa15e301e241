// Command callback is the Lambda function of the public callback API. It verifies tokens, sends the wakes of executions, queues the
// deliveries to external recipients, and records outcomes and heartbeats. For a page it reads what the execution asks. It
// changes no executions, and has no rights on jobs.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
