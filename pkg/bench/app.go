package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// The two workloads. Polling starts a job, and three times waits 1 ms and asks for the job's
// status. Callback submits a task and waits for an event from outside.
const (
	polling  = "polling"
	callback = "callback"

	polls = 3
	pause = time.Millisecond
)

// app is a system under load, as its client sees it. Names of executions are unique.
type app interface {
	Start(ctx context.Context, workload, name string) error
	// Signal sends the event that an execution of the callback workload waits for. The execution
	// may not wait for it yet.
	Signal(ctx context.Context, name string) error
	Wait(ctx context.Context, name string) error // for the end
}

// embedded are the systems that run inside their user's program. Each opens its data in a folder,
// or in the database that dsn names.
var embedded = map[string]func(ctx context.Context, dir, dsn string) (app, error){
	"waitless": openWaitless, "dbos": openDBOS, "go-workflows": openGoWorkflows,
}

// workloadOf returns the workload of an execution, with which its name begins.
func workloadOf(name string) string {
	workload, _, _ := strings.Cut(name, "-")
	return workload
}

// front is the client of an embedded system whose program has an HTTP API.
type front struct{ client }

func (f front) Start(ctx context.Context, workload, name string) error {
	return f.do(ctx, http.MethodPost, "/start/"+workload+"/"+name, "", nil)
}

func (f front) Signal(ctx context.Context, name string) error {
	return f.do(ctx, http.MethodPost, "/signal/"+name, "", nil)
}

func (f front) Wait(ctx context.Context, name string) error {
	return f.do(ctx, http.MethodGet, "/wait/"+name, "", nil)
}

// frontHandler serves an embedded system over HTTP. At /load it puts load on it in its own process.
func frontHandler(a app) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, respond func(*http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			result, err := respond(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_ = json.NewEncoder(w).Encode(result) // the client has gone
		})
	}
	handle("POST /start/{workload}/{name}", func(r *http.Request) (any, error) {
		return nil, a.Start(r.Context(), r.PathValue("workload"), r.PathValue("name"))
	})
	handle("POST /signal/{name}", func(r *http.Request) (any, error) { return nil, a.Signal(r.Context(), r.PathValue("name")) })
	handle("GET /wait/{name}", func(r *http.Request) (any, error) { return nil, a.Wait(r.Context(), r.PathValue("name")) })
	handle("POST /load", func(r *http.Request) (any, error) {
		var job job
		if err := json.NewDecoder(r.Body).Decode(&job); err != nil {
			return nil, err
		}
		return job.run(r.Context(), a)
	})
	return mux
}

// child serves one part of a system in a process of its own until standard input ends, so it ends
// with its parent. It prints its address.
func child(ctx context.Context, role, dir, address string) error {
	handler, err := handlerOf(ctx, role, dir, address)
	if err != nil {
		return err
	}
	listener, err := listen(ctx)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true) // Restate calls services over HTTP/2
	go func() { _ = server.Serve(listener) }()
	fmt.Println(listener.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func handlerOf(ctx context.Context, role, dir, address string) (http.Handler, error) {
	switch open := embedded[role]; {
	case open != nil:
		a, err := open(ctx, dir, address)
		return frontHandler(a), err
	case role == "activities":
		return activities(), nil
	case role == "restate":
		return restateService()
	case role == "temporal":
		return http.NotFoundHandler(), startTemporalWorker(address)
	}
	return nil, fmt.Errorf("no such part of a system: %q", role)
}
