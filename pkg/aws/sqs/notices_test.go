package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
)

func someNotice() engine.Notice {
	return engine.Notice{Execution: engine.NewID("flow", "run"), ID: "end-1", Target: "https://example.org/s3cret", Body: `{"text":"\u2028 <&>"}`, Ended: true}
}

// rules: NO-4 NO-9
func TestNoticeRoundTrip(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err    error
		kept   int
		logged string
	}{
		"sent":          {nil, 0, `"outcome":"done"`},
		"wants no more": {fmt.Errorf("gone: %w", sqs.ErrDiscard), 0, `"outcome":"discarded"`},
		"failed":        {errors.New("not now"), 1, `"outcome":"failed"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []engine.Notice
			f := tasksFixture(sqs.TaskHandlers{Notify: func(_ context.Context, notice engine.Notice) error {
				got = append(got, notice)
				return tt.err
			}})
			notices := &sqs.Notices{Target: f.queue()}
			if err := notices.Notify(t.Context(), someNotice()); err != nil {
				t.Fatal(err)
			}
			if kept := f.receive(t, f.bodies...); kept != tt.kept || len(got) != 1 || got[0] != someNotice() {
				t.Errorf("%d are kept, want %d; received %+v", kept, tt.kept, got)
			}
			if log := f.log.String(); !strings.Contains(log, tt.logged) || strings.Contains(log, "s3cret") {
				t.Error(log)
			}
			if pause := time.Duration(f.hidden["1"]) * time.Second; tt.kept > 0 && pause != engine.NoticePause(2) { // it was received twice
				t.Errorf("it is hidden for %s", pause)
			}
			f.err = errors.New("denied")
			if err := notices.Notify(t.Context(), someNotice()); !errors.Is(err, f.err) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error %v", err)
			}
		})
	}
}
