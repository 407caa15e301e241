package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
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
	dir        string       // of the store
	address    string       // HOST:PORT
	key        string       // of the management API
	activities net.Listener // of the functions at a URL
	requests   atomic.Int64
}

// startDev starts dev on a new store that has the flow of the workload.
func startDev(ctx context.Context, command string, w workload) (*dev, error) {
	d := &dev{}
	var err error
	if d.dir, err = os.MkdirTemp("", "load"); err != nil {
		return nil, err
	}
	if d.activities, err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, errors.Join(err, os.RemoveAll(d.dir))
	}
	go serveActivities(d.activities)
	arguments := []string{"dev", "--api", "--json", "--listen", "127.0.0.1:0", "--store", d.dir}
	for _, name := range w.activities {
		arguments = append(arguments, "--task", name+"=http://"+d.activities.Addr().String()+"/"+name)
	}
	d.command = exec.CommandContext(ctx, command, arguments...) //nolint:gosec // it is what the caller names
	out, err := d.command.StdoutPipe()
	if err == nil {
		err = d.command.Start()
	}
	if err != nil {
		return nil, errors.Join(err, d.activities.Close(), os.RemoveAll(d.dir))
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
	err = d.command.Process.Signal(syscall.SIGINT)
	_ = d.command.Wait() // an interrupted dev exits with an error
	return d.command.ProcessState.SystemTime() + d.command.ProcessState.UserTime(), errors.Join(err, d.activities.Close(), os.RemoveAll(filepath.Clean(d.dir)))
}
