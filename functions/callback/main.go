// Command callback is the Lambda function of the public callback API. It verifies tokens, sends the wakes of executions, queues the
// deliveries to external recipients, and records outcomes and heartbeats. Its rights are on the records of tokens, these queues and
// the secrets. It has no rights on executions or jobs.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
