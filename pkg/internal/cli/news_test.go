package cli

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
)

// A command that follows an execution is told of its events: the number of its requests grows with
// the events, not with the time.
func TestFollowersAreToldOfEvents(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	store, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	system := local.New(local.Config{Store: store})
	var asked atomic.Int32
	api := target.Handler(system, store, target.Unfired(store), slog.New(slog.DiscardHandler), "dev")
	endSocket, err := target.ServeSocket(t.Context(), dir, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/flows/nap/executions/one") {
			asked.Add(1)
		}
		api.ServeHTTP(w, r)
	}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- system.Serve(ctx) }()
	t.Cleanup(func() {
		endSocket()
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the system ended with %v", err)
		}
		_ = store.Shut()
	})
	env := map[string]string{"WAITLESS_STORE": dir}
	nap := writeFile(t, "nap.yaml", "version: v1\ntype: flow\nname: nap\nsteps: [{type: wait, name: Nap, duration: 2}]\n")
	if got := doWith(t, "", env, "run", nap, "--name", "one"); got.exit != view.ExitSucceeded {
		t.Fatalf("%+v", got)
	}
	// The events come with the start and with the end of the wait, or the first ones one by one.
	if n := asked.Swap(0); n < 4 || n > 8 { // 23 when it asked every 200 ms
		t.Errorf("run sent %d requests", n)
	}
	if got := doWith(t, "", env, "history", "nap/one", "--follow"); got.exit != view.ExitSucceeded || asked.Load() != 1 {
		t.Errorf("%d requests: %+v", asked.Load(), got)
	}
}
