package services_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// describer is a service that knows the jobs id-0, id-1 and so on, but not those that it rejects.
type describer struct {
	resume.Services

	mu      sync.Mutex
	calls   []int // how many jobs each described
	rejects string
	err     error
}

func (d *describer) Describe(ctx context.Context, _ jobs.Kind, params []byte) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, strings.Count(string(params), "id-"))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case d.rejects != "" && strings.Contains(string(params), d.rejects):
		return nil, d.err
	}
	_, list, _ := strings.Cut(string(params), "[")
	list, _, _ = strings.Cut(list, "]")
	var found []string
	for id := range strings.SplitSeq(list, ",") {
		found = append(found, `{"jobId":`+id+`,"status":"RUNNING"}`)
	}
	return []byte(`{"jobs":[` + strings.Join(found, ",") + `]}`), nil
}

// describeAll describes jobs concurrently, and returns the errors by number.
func describeAll(ctx context.Context, s resume.Services, kind jobs.Kind, n int) map[int]error {
	var mu sync.Mutex
	var all sync.WaitGroup
	errs := map[int]error{}
	for i := range n {
		all.Go(func() {
			id := fmt.Sprintf("id-%03d", i)
			params, err := kind.DescribeParams(id)
			var response []byte
			if err == nil {
				response, err = s.Describe(ctx, kind, params)
			}
			if err == nil {
				_, _, err = kind.ReadDescription("111122223333", "eu-central-1", id, response)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs[i] = err
			}
		})
	}
	all.Wait()
	return errs
}

func TestTogether(t *testing.T) {
	t.Parallel()
	rejected := &resume.ServiceError{Name: "batch.ClientException", Message: "no"}
	throttled := &resume.ServiceError{Name: "batch.TooManyRequestsException", Again: true}
	tests := []struct {
		name    string
		kind    string
		jobs    int
		rejects string
		err     error
		calls   string
		failed  int
	}{
		{"one", "batch-job", 1, "", nil, "[1]", 0},
		{"a batch of polls", "batch-job", 10, "", nil, "[10]", 0},
		{"more than fit", "batch-job", 120, "", nil, "[100 20]", 0},
		{"a service that describes one job a call", "transcribe-job", 3, "", nil, "[1 1 1]", 3},
		{"one of them is rejected", "batch-job", 3, "id-001", rejected, "[3 1 1 1]", 1},
		{"throttled", "batch-job", 3, "id-001", throttled, "[3]", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				kind, _ := jobs.Find(tt.kind)
				service := &describer{rejects: tt.rejects, err: tt.err}
				errs := describeAll(t.Context(), &services.Together{Services: service, Pause: time.Millisecond}, kind, tt.jobs)
				if calls := fmt.Sprint(service.calls); calls != tt.calls || len(errs) != tt.failed {
					t.Errorf("calls of %s jobs, want %s; errors %v, want %d", calls, tt.calls, errs, tt.failed)
				}
			})
		})
	}
}

// A description that has ended is not joined, and one whose worker has no time left ends.
func TestTogetherEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kind, _ := jobs.Find("batch-job")
		service := &describer{}
		together := &services.Together{Services: service, Pause: time.Minute}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		errs := describeAll(ctx, together, kind, 2)
		if !errors.Is(errs[0], context.DeadlineExceeded) || !errors.Is(errs[1], context.DeadlineExceeded) {
			t.Errorf("got %v", errs)
		}
		if errs := describeAll(t.Context(), together, kind, 2); len(errs) > 0 || fmt.Sprint(service.calls) != "[2 2]" {
			t.Errorf("afterwards: %v, calls %v", errs, service.calls)
		}
	})
}

// Tasks of ECS are described together with those of their cluster.
func TestTogetherByCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kind, _ := jobs.Find("ecs-task")
		service := &describer{}
		together := &services.Together{Services: service, Pause: time.Millisecond}
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				params, err := kind.DescribeParams(fmt.Sprintf("arn:aws:ecs:eu-central-1:111122223333:task/c%d/id-%d", i%2, i))
				if err == nil {
					_, err = together.Describe(t.Context(), kind, params)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		if all.Wait(); fmt.Sprint(service.calls) != "[3 3]" {
			t.Errorf("calls of %v tasks, want [3 3]", service.calls)
		}
	})
}
