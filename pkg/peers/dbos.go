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

func dbosPolling(ctx dbos.Context, name string) (int, error) {
	if _, err := dbos.RunAsStep(ctx, func(context.Context) (string, error) { return name, nil }); err != nil {
		return 0, err
	}
	for done := 0; ; {
		if _, err := dbos.Sleep(ctx, pause); err != nil {
			return 0, err
		}
		next, err := dbos.RunAsStep(ctx, func(context.Context) (int, error) { return done + 1, nil })
		if done = next; err != nil || done == polls {
			return done, err
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
	var handle interface{ wait() error }
	if workload == polling {
		h, err := dbos.RunWorkflow(d.ctx, dbosPolling, name, dbos.WithWorkflowID(name))
		if err != nil {
			return err
		}
		handle = dbosHandle[int]{h}
	} else {
		h, err := dbos.RunWorkflow(d.ctx, dbosCallback, name, dbos.WithWorkflowID(name))
		if err != nil {
			return err
		}
		handle = dbosHandle[string]{h}
	}
	d.handles.Store(name, handle)
	return nil
}

type dbosHandle[T comparable] struct{ handle dbos.WorkflowHandle[T] }

func (h dbosHandle[T]) wait() error {
	result, err := h.handle.GetResult()
	var none T
	if err == nil && result == none {
		err = fmt.Errorf("workflow %s: no event came", h.handle.GetWorkflowID())
	}
	return err
}

func (d dbosApp) Signal(_ context.Context, name string) error {
	return dbos.Send(d.ctx, name, "ok", "event")
}

func (d dbosApp) Wait(_ context.Context, name string) error {
	handle, ok := d.handles.LoadAndDelete(name)
	if !ok {
		return fmt.Errorf("workflow %s: not started here", name)
	}
	return handle.(interface{ wait() error }).wait() //nolint:forcetypeassert // nothing else is stored
}
