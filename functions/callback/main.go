// Command callback is the Lambda function of the public callback API. Its rights are on tokens alone.
package main

import "github.com/waitless/waitless/pkg/aws/function"

func main() { function.Start(compose) }
