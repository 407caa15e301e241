//go:build !failpoints

package main

import "github.com/waitless/waitless/pkg/engine"

// newWorker returns the worker. In the build of the kill test it stops at every gap between two
// effects; see failpoints.go.
func newWorker(config engine.WorkerConfig) (*engine.Worker, error) { return engine.NewWorker(config) }
