package main

import (
	"context"
	"log/slog"

	temporalclient "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const taskQueue = "peers"

// temporal is a client of a Temporal server.
type temporal struct{ client temporalclient.Client }

func dialTemporal(address string) (temporalclient.Client, error) {
	return temporalclient.Dial(temporalclient.Options{HostPort: address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
}

// startTemporalWorker starts the process that runs workflows and activities. By default it has 2
// pollers of each; these scale.
func startTemporalWorker(address string) error {
	c, err := dialTemporal(address)
	if err != nil {
		return err
	}
	pollers := worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{})
	w := worker.New(c, taskQueue, worker.Options{WorkflowTaskPollerBehavior: pollers, ActivityTaskPollerBehavior: pollers})
	w.RegisterWorkflowWithOptions(temporalPolling, workflow.RegisterOptions{Name: polling})
	w.RegisterWorkflowWithOptions(temporalCallback, workflow.RegisterOptions{Name: callback})
	w.RegisterActivity(submitJob)
	w.RegisterActivity(describeJob)
	return w.Start()
}

func temporalPolling(ctx workflow.Context, name string) (int, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: limit})
	if err := workflow.ExecuteActivity(ctx, submitJob, name).Get(ctx, nil); err != nil {
		return 0, err
	}
	for done := 0; ; {
		if err := workflow.Sleep(ctx, pause); err != nil {
			return 0, err
		}
		if err := workflow.ExecuteActivity(ctx, describeJob, done).Get(ctx, &done); err != nil || done == polls {
			return done, err
		}
	}
}

func temporalCallback(ctx workflow.Context, name string) (event string, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: limit})
	if err := workflow.ExecuteActivity(ctx, submitJob, name).Get(ctx, nil); err != nil {
		return "", err
	}
	workflow.GetSignalChannel(ctx, "event").Receive(ctx, &event)
	return event, nil
}

func (t temporal) Start(ctx context.Context, workload, name string) error {
	options := temporalclient.StartWorkflowOptions{ID: name, TaskQueue: taskQueue}
	_, err := t.client.ExecuteWorkflow(ctx, options, workload, name)
	return err
}

func (t temporal) Signal(ctx context.Context, name string) error {
	return t.client.SignalWorkflow(ctx, name, "", "event", "ok")
}

func (t temporal) Wait(ctx context.Context, name string) error {
	return t.client.GetWorkflow(ctx, name, "").Get(ctx, nil)
}
