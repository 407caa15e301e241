package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	goclient "github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
)

// goWorkflows is a program with go-workflows, which keeps its workflows in SQLite.
type goWorkflows struct {
	client    *goclient.Client
	instances *sync.Map // by the name of the execution
}

// goWorkflowsInterval is how often its idle pollers ask the database. The default, 200 ms, is most
// of the time that an execution takes.
const goWorkflowsInterval = 10 * time.Millisecond

func openGoWorkflows(ctx context.Context, dir, _ string) (app, error) {
	store := sqlite.NewSqliteBackend(filepath.Join(dir, "workflows.db"),
		sqlite.WithBackendOptions(backend.WithLogger(slog.New(slog.DiscardHandler))))
	options := worker.DefaultOptions
	options.SingleWorkerMode = true
	options.WorkflowPollingInterval, options.ActivityPollingInterval = goWorkflowsInterval, goWorkflowsInterval
	w := worker.New(store, &options)
	for _, wf := range []workflow.Workflow{goPolling, goCallback} {
		if err := w.RegisterWorkflow(wf); err != nil {
			return nil, err
		}
	}
	for _, activity := range []workflow.Activity{submitJob, describeJob} {
		if err := w.RegisterActivity(activity); err != nil {
			return nil, err
		}
	}
	return goWorkflows{goclient.New(store), &sync.Map{}}, w.Start(ctx)
}

// submitJob and describeJob are activities of go-workflows and of Temporal.
func submitJob(_ context.Context, name string) (string, error) { return name, nil }

func describeJob(_ context.Context, done int) (int, error) { return done + 1, nil }

func goPolling(ctx workflow.Context, name string) (int, error) {
	if _, err := workflow.ExecuteActivity[string](ctx, workflow.DefaultActivityOptions, submitJob, name).Get(ctx); err != nil {
		return 0, err
	}
	for done := 0; ; {
		if err := workflow.Sleep(ctx, pause); err != nil {
			return 0, err
		}
		next, err := workflow.ExecuteActivity[int](ctx, workflow.DefaultActivityOptions, describeJob, done).Get(ctx)
		if done = next; err != nil || done == polls {
			return done, err
		}
	}
}

func goCallback(ctx workflow.Context, name string) (string, error) {
	if _, err := workflow.ExecuteActivity[string](ctx, workflow.DefaultActivityOptions, submitJob, name).Get(ctx); err != nil {
		return "", err
	}
	event, _ := workflow.NewSignalChannel[string](ctx, "event").Receive(ctx)
	return event, nil
}

func (g goWorkflows) Start(ctx context.Context, workload, name string) error {
	var wf workflow.Workflow = goPolling
	if workload == callback {
		wf = goCallback
	}
	instance, err := g.client.CreateWorkflowInstance(ctx, goclient.WorkflowInstanceOptions{InstanceID: name}, wf, name)
	g.instances.Store(name, instance)
	return err
}

func (g goWorkflows) Signal(ctx context.Context, name string) error {
	return g.client.SignalWorkflow(ctx, name, "event", "ok")
}

func (g goWorkflows) Wait(ctx context.Context, name string) error {
	instance, _ := g.instances.LoadAndDelete(name)
	_, err := goclient.GetWorkflowResult[any](ctx, g.client, instance.(*workflow.Instance), limit) //nolint:forcetypeassert // Start stored it
	return err
}
