package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/suite/enginetest"
	"github.com/waitless/waitless/pkg/machine"
)

// BenchmarkForks runs executions that are nothing but a fork, one after the other. The process is
// the shipped `waitless dev` with its default settings. Each item calls a built-in function, or a
// URL: such a call may take long, so it waits in the task queue, and its result closes a token. The
// memory is the most that the process had.
//
//	go test -run '^$' -bench '^BenchmarkForks' ./pkg/internal/cli
func BenchmarkForks(b *testing.B) {
	for _, task := range []string{"built-in", "http"} {
		for _, load := range enginetest.ForkLoads() {
			b.Run(task+"/"+load.Name, func(b *testing.B) {
				s := newStress(b)
				if task == "http" {
					s.tasks = []string{"echo=" + s.functions.URL + "/echo"}
				}
				s.begin()
				if _, err := s.client.PutFlow(b.Context(), "fork", []byte(load.Flow), ""); err != nil {
					b.Fatal(err)
				}
				executions := 0
				for b.Loop() {
					executions++
					s.runToEnd("fork", rest.Start{Name: fmt.Sprintf("run-%d", executions), Input: load.Input})
				}
				b.ReportMetric(float64(executions*load.Calls)/b.Elapsed().Seconds(), "items/s")
				b.ReportMetric(s.mostMemory(), "MB")
				b.ReportMetric(0, "ns/op") // an op is an execution
			})
		}
	}
}

// runToEnd starts an execution and waits for its success.
func (s *stress) runToEnd(flow string, start rest.Start) {
	s.t.Helper()
	execution, _, err := s.client.Start(s.t.Context(), flow, start)
	for begun := time.Now(); err == nil && execution.StoppedTime == "" && time.Since(begun) < stressPatience; {
		time.Sleep(2 * time.Millisecond)
		execution, err = s.client.Execution(s.t.Context(), flow, start.Name, false)
	}
	if err != nil || execution.Status != machine.StatusSucceeded {
		s.t.Fatalf("%s is %s: %s, error %v", start.Name, execution.Status, execution.Cause, err)
	}
}

// mostMemory returns the most megabytes that the process had.
func (s *stress) mostMemory() float64 {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return kilobytes / 1024
}
