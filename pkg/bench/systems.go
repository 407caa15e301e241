package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// tools are the programs of the systems: files, and a folder for those of PostgreSQL.
type tools struct{ waitless, restate, temporal, postgres string }

// loader puts a load on a system that was started.
type loader func(context.Context, job) (load, error)

// system is one row of the table.
type system struct {
	name, client string
	uses         []string // workloads
	start        func(context.Context, tools, *processes) (loader, error)
}

var both = []string{polling, callback}

// dev begins the names of the rows that are on the page of `waitless dev` too.
const dev = "Waitless `dev`"

// systems are the rows of the table, in their order.
var systems = []system{
	{"Waitless", "in process", both, startEmbedded("waitless", true)},
	{dev + ", activities over HTTP", "HTTP", both, startDev(definitions[polling])},
	{dev + ", a state machine, activities over HTTP", "HTTP", []string{polling}, startDev(machineOfPolling)},
	{dev + ", built-in activities, timers due at once", "HTTP", []string{polling}, startDev(builtIn())},
	{"DBOS, PostgreSQL", "in process", both, startEmbedded("dbos", true)},
	{"DBOS, PostgreSQL, behind an HTTP API of its program", "HTTP", both, startEmbedded("dbos", false)},
	{"go-workflows, SQLite", "in process", both, startEmbedded("go-workflows", true)},
	{"go-workflows, SQLite, behind an HTTP API of its program", "HTTP", both, startEmbedded("go-workflows", false)},
	{"Restate, service in Go", "HTTP", both, startRestate},
	{"Temporal development server, SQLite, worker in Go", "gRPC", both, startTemporal},
}

// missingError is that the program of a system is not installed.
type missingError struct{ program string }

func (e missingError) Error() string { return e.program + " is not installed" }

// need returns an error if a program is not there.
func need(program, file string) error {
	_, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		return missingError{program}
	}
	return err
}

// outside is the load of a client in this process.
func outside(a app) loader {
	return func(ctx context.Context, j job) (load, error) { return j.run(ctx, a) }
}

// startEmbedded starts a program with an embedded system. The load is in its process, or comes over
// HTTP.
func startEmbedded(name string, inside bool) func(context.Context, tools, *processes) (loader, error) {
	return func(ctx context.Context, t tools, p *processes) (loader, error) {
		dsn := ""
		if name == "dbos" {
			if err := need("PostgreSQL", filepath.Join(t.postgres, "postgres")); err != nil {
				return nil, err
			}
			var err error
			if dsn, err = p.postgres(ctx, t.postgres); err != nil {
				return nil, err
			}
		}
		address, err := p.child(ctx, name, dsn)
		if err != nil {
			return nil, err
		}
		c := newClient(address)
		if !inside {
			return outside(front{c}), nil
		}
		return func(ctx context.Context, j job) (result load, err error) {
			return result, c.send(ctx, http.MethodPost, "/load", j, &result)
		}, nil
	}
}

// startDev starts `waitless dev` with default settings, with a process for its activities. The
// service that gets the tokens of callbacks is in this process.
func startDev(pollingFlow string) func(context.Context, tools, *processes) (loader, error) {
	return func(ctx context.Context, t tools, p *processes) (loader, error) {
		if err := need("waitless", t.waitless); err != nil {
			return nil, err
		}
		activities, err := p.child(ctx, "activities", "")
		if err != nil {
			return nil, err
		}
		listener, err := listen(ctx)
		if err != nil {
			return nil, err
		}
		submitted := &tokens{}
		server := &http.Server{Handler: submitted, ReadHeaderTimeout: grace}
		go func() { _ = server.Serve(listener) }()
		context.AfterFunc(ctx, func() { _ = server.Close() })
		port, err := freePort(ctx)
		if err != nil {
			return nil, err
		}
		store := filepath.Join(p.dir, "store")
		cmd := exec.CommandContext(ctx, t.waitless, "dev", "--store", store, "--api", "--listen", "127.0.0.1:"+port, // #nosec G204 -- -waitless
			"--task", "start="+activities+"/start", "--task", "describe="+activities+"/describe", "--task", "ask=http://"+listener.Addr().String())
		cmd.Dir = p.dir // it has no settings
		if err := p.start(syscall.SIGTERM, cmd); err != nil {
			return nil, err
		}
		c := newClient("http://127.0.0.1:" + port)
		if err := within(ctx, grace, func(ctx context.Context) error {
			key, err := os.ReadFile(filepath.Join(store, "api.key")) // #nosec G304 -- of our store
			if err != nil {
				return err
			}
			c.key = strings.TrimSpace(string(key))
			return c.do(ctx, http.MethodPut, "/flows/"+polling, pollingFlow, nil)
		}); err != nil {
			return nil, fmt.Errorf("put the polling flow: %w", err)
		}
		return outside(waitlessDev{c, submitted}), c.do(ctx, http.MethodPut, "/flows/"+callback, definitions[callback], nil)
	}
}

// startRestate starts Restate in one process on addresses of this machine only. One partition is
// faster on two processors than the 24 of the default settings.
func startRestate(ctx context.Context, t tools, p *processes) (loader, error) {
	if err := need("restate-server", t.restate); err != nil {
		return nil, err
	}
	service, err := p.child(ctx, "restate", "")
	if err != nil {
		return nil, err
	}
	ports := make([]string, 3)
	for i := range ports {
		if ports[i], err = freePort(ctx); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, t.restate, "--no-logo", "--listen-mode", "tcp", "--bind-ip", "127.0.0.1", "--bind-port", ports[0], // #nosec G204 -- -restate
		"--advertised-host", "127.0.0.1", "--node-name", "peers", "--base-dir", filepath.Join(p.dir, "restate"))
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "RESTATE_DISABLE_TELEMETRY=true", "DO_NOT_TRACK=1", "RESTATE_DEFAULT_NUM_PARTITIONS=1",
		"RESTATE_INGRESS__BIND_PORT="+ports[1], "RESTATE_ADMIN__BIND_PORT="+ports[2])
	if err := p.start(syscall.SIGTERM, cmd); err != nil {
		return nil, err
	}
	admin := newClient("http://127.0.0.1:" + ports[2])
	if err := within(ctx, 3*grace, func(ctx context.Context) error {
		return admin.send(ctx, http.MethodPost, "/deployments", map[string]any{"uri": service, "force": true}, nil)
	}); err != nil {
		return nil, fmt.Errorf("register the service: %w", err)
	}
	return outside(restateClient{newClient("http://127.0.0.1:" + ports[1])}), nil
}

// startTemporal starts the development server with a file, each commit of which is synced.
func startTemporal(ctx context.Context, t tools, p *processes) (loader, error) {
	if err := need("temporal", t.temporal); err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, t.temporal, "server", "start-dev", "--headless", // #nosec G204 -- -temporal
		"--ip", "127.0.0.1", "--port", port, "--log-level", "error",
		"--db-filename", filepath.Join(p.dir, "temporal.db"), "--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=FULL")
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "HOME="+p.dir, "GOGC=400") // it reads no settings of the user
	if err := p.start(syscall.SIGTERM, cmd); err != nil {
		return nil, err
	}
	var connected temporal
	if err := within(ctx, 3*grace, func(context.Context) (err error) {
		connected.client, err = dialTemporal("127.0.0.1:" + port)
		return err
	}); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, connected.client.Close)
	_, err = p.child(ctx, "temporal", "127.0.0.1:"+port)
	return outside(connected), err
}
