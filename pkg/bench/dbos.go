package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
)

// dbosApp is a program with DBOS, which keeps its workflows in PostgreSQL.
type dbosApp struct {
	ctx     dbos.Context
	handles *sync.Map // by the name of the execution
}

func openDBOS(ctx context.Context, _, dsn string) (app, error) {
	c, err := dbos.NewContext(ctx, dbos.Config{AppName: "peers", DatabaseURL: dsn, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	dbos.RegisterWorkflow(c, dbosPolling)
	dbos.RegisterWorkflow(c, dbosCallback)
	return dbosApp{c, &sync.Map{}}, dbos.Launch(c)
}

func dbosPolling(ctx dbos.Context, name string) (string, error) {
	if _, err := dbos.RunAsStep(ctx, func(context.Context) (string, error) { return name, nil }); err != nil {
		return "", err
	}
	for done := 0; ; {
		if _, err := dbos.Sleep(ctx, pause); err != nil {
			return "", err
		}
		next, err := dbos.RunAsStep(ctx, func(context.Context) (int, error) { return done + 1, nil })
		if done = next; err != nil || done == polls {
			return "ok", err
		}
	}
}

func dbosCallback(ctx dbos.Context, name string) (string, error) {
	if _, err := dbos.RunAsStep(ctx, func(context.Context) (string, error) { return name, nil }); err != nil {
		return "", err
	}
	return dbos.Recv[string](ctx, "event", limit)
}

func (d dbosApp) Start(_ context.Context, workload, name string) error {
	run := dbosPolling
	if workload == callback {
		run = dbosCallback
	}
	handle, err := dbos.RunWorkflow(d.ctx, run, name, dbos.WithWorkflowID(name))
	d.handles.Store(name, handle)
	return err
}

func (d dbosApp) Signal(_ context.Context, name string) error {
	return dbos.Send(d.ctx, name, "ok", "event")
}

func (d dbosApp) Wait(_ context.Context, name string) error {
	handle, _ := d.handles.LoadAndDelete(name)
	result, err := handle.(dbos.WorkflowHandle[string]).GetResult() //nolint:forcetypeassert // Start stored it
	if err == nil && result != "ok" {
		err = fmt.Errorf("workflow %s: result %q; want ok", name, result)
	}
	return err
}
