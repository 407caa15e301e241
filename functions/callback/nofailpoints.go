//go:build !failpoints

package main

import "github.com/waitless/waitless/pkg/aws/dynamo"

// withFailpoints returns the table as it is. In the build of the kill test the function stops between any two effects; see
// failpoints.go.
func withFailpoints(w *dynamo.Waits) *dynamo.Waits { return w }
