package main

import (
	"context"
	"log/slog"
	"net/http"

	restate "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/server"
)

// restateService is the process that Restate calls: a service that polls, and a workflow that waits
// for an event.
func restateService() (http.Handler, error) {
	submit := func(ctx restate.Context, name string) error {
		_, err := restate.Run(ctx, func(restate.RunContext) (string, error) { return name, nil })
		return asError(err)
	}
	poll := restate.NewServiceHandler(func(ctx restate.Context, name string) (int, error) {
		if err := submit(ctx, name); err != nil {
			return 0, err
		}
		for done := 0; ; {
			if err := restate.Sleep(ctx, pause); err != nil {
				return 0, err
			}
			next, err := restate.Run(ctx, func(restate.RunContext) (int, error) { return done + 1, nil })
			if done = next; err != nil || done == polls {
				return done, asError(err)
			}
		}
	})
	wait := restate.NewWorkflowHandler(func(ctx restate.WorkflowContext, name string) (string, error) {
		if err := submit(ctx, name); err != nil {
			return "", err
		}
		event, err := restate.Promise[string](ctx, "event").Result()
		return event, asError(err)
	})
	signal := restate.NewWorkflowSharedHandler(func(ctx restate.WorkflowSharedContext, event string) (string, error) {
		return event, asError(restate.Promise[string](ctx, "event").Resolve(event))
	})
	return server.NewRestate().WithLogger(slog.DiscardHandler, true).
		Bind(restate.NewService(polling).Handler("run", poll)).
		Bind(restate.NewWorkflow(callback).Handler("run", wait).Handler("signal", signal)).
		Handler()
}

// asError keeps a nil error of Restate nil as an error of Go.
func asError(err restate.TerminalError) error {
	if err == nil {
		return nil
	}
	return err
}

// restateClient is a client of Restate's ingress. A polling execution is one request, which
// responds at its end.
type restateClient struct{ client }

func (r restateClient) Start(ctx context.Context, workload, name string) error {
	if workload == polling {
		return nil // Wait starts it
	}
	return r.do(ctx, http.MethodPost, "/callback/"+name+"/run/send", `"x"`, nil)
}

func (r restateClient) Signal(ctx context.Context, name string) error {
	return r.do(ctx, http.MethodPost, "/callback/"+name+"/signal", `"ok"`, nil)
}

func (r restateClient) Wait(ctx context.Context, name string) error {
	if workloadOf(name) == polling {
		return r.do(ctx, http.MethodPost, "/polling/run", `"x"`, nil)
	}
	return r.do(ctx, http.MethodGet, "/restate/workflow/callback/"+name+"/attach", "", nil)
}
