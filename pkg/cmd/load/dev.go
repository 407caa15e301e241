package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// dev is a `waitless dev` that runs.
type dev struct {
	command    *exec.Cmd
	dir        string // of the store
	address    string // HOST:PORT
	key        string // of the management API
	activities *httptest.Server
	requests   atomic.Int64
}

// startDev starts dev on a new store that has the flow of the workload.
func startDev(ctx context.Context, command string, w workload) (*dev, error) {
	d := &dev{activities: httptest.NewServer(http.HandlerFunc(serveActivity))}
	var err error
	if d.dir, err = os.MkdirTemp("", "load"); err != nil {
		return nil, err
	}
	arguments := []string{"dev", "--api", "--json", "--listen", "127.0.0.1:0", "--store", d.dir}
	for _, name := range w.activities {
		arguments = append(arguments, "--task", name+"="+d.activities.URL+"/"+name)
	}
	d.command = exec.CommandContext(ctx, command, arguments...) //nolint:gosec // it is what the caller names
	out, err := d.command.StdoutPipe()
	if err == nil {
		err = d.command.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(d.dir))
	}
	if err := d.ready(json.NewDecoder(out), w); err != nil {
		_, ended := d.end()
		return nil, errors.Join(err, ended)
	}
	return d, nil
}

// ready reads where dev listens, and puts the flow.
func (d *dev) ready(out *json.Decoder, w workload) error {
	var report struct {
		API string `json:"api"`
		Key string `json:"apiKeyFile"`
	}
	if err := out.Decode(&report); err != nil {
		return fmt.Errorf("waitless dev: %w", err)
	}
	key, err := os.ReadFile(report.Key)
	if err != nil {
		return err
	}
	flow, err := w.flow()
	if err != nil {
		return err
	}
	d.address, d.key = strings.TrimPrefix(report.API, "http://"), strings.TrimSpace(string(key))
	return (&client{dev: d}).do(http.MethodPut, "/flows/flow", flow, http.StatusOK, nil)
}

// end ends dev as Ctrl-C does, and returns the processor time that it took.
func (d *dev) end() (cpu time.Duration, err error) {
	d.activities.Close()
	err = d.command.Process.Signal(syscall.SIGINT)
	_ = d.command.Wait() // an interrupted dev exits with an error
	return d.command.ProcessState.SystemTime() + d.command.ProcessState.UserTime(), errors.Join(err, os.RemoveAll(filepath.Clean(d.dir)))
}

// serveActivity does what the functions of the polling sample do, for a job that goes on running.
func serveActivity(w http.ResponseWriter, r *http.Request) {
	var input struct {
		Tries int `json:"try_count"`
	}
	err := json.NewDecoder(r.Body).Decode(&input)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case strings.HasSuffix(r.URL.Path, "/StartJob"):
		_, _ = io.WriteString(w, `{"job_id":"job"}`) // fails if dev is gone
	default:
		_, _ = fmt.Fprintf(w, `{"job_status":"running","try_count":%d}`, input.Tries+1)
	}
}
