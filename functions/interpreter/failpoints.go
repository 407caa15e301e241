//go:build failpoints

package main

import (
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/engine/failpoints"
)

func newWorker(config engine.WorkerConfig) (failpoints.Worker, error) {
	return failpoints.NewWorker(config)
}
