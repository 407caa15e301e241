package rest

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

const (
	// maxWait is the limit of the parameter wait in seconds, as in the 2019-03-15 API.
	maxWait = 60
	// writePatience is how long a client may take to read a response after it waited.
	writePatience = time.Minute
)

// errNoWait is the error of a request that waits on a stack.
var errNoWait = invalid("waiting is not possible on AWS, where it would keep a function running; " +
	"ask again later, or use the events of the event bus")

// errTooManyWait is the error of a request that may not wait.
var errTooManyWait = unavailable("too many requests wait or are streams; end some, leave `wait` out, or try again later")

// respond responds to a request. If the request may wait and the awaited event has not happened, it
// responds after the event or after the wait time. While waiting, it holds neither a worker nor
// memory for a large response.
func (h handler) respond(w http.ResponseWriter, r *http.Request, route route, query url.Values) (response, error) {
	wait, err := h.waitOf(query)
	if err != nil {
		return response{}, err
	}
	if wait == 0 {
		return h.respondNow(r, route)
	}
	if !h.MayWait(r.Context()) {
		return response{}, errTooManyWait
	}
	// Only servers have deadlines.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wait + writePatience))
	if route.starts { // the body may name the execution
		return h.respondNow(r, route)
	}
	happened, forget := h.Watch(engine.NewID(named(r)), route.large)
	defer forget()
	if happened == nil {
		return h.respondNow(r, route)
	}
	if !route.large { // the response is not made twice
		h.awaitEnd(r.Context(), engine.NewID(named(r)), happened, wait)
		return h.respondNow(r, route)
	}
	first, err := h.respondNow(r, route)
	if p, ok := first.body.(page); err != nil || !ok || len(p.Events) > 0 || p.Later == "" {
		return first, err
	}
	first.sent()
	h.await(r.Context(), happened, wait)
	return h.respondNow(r, route)
}

// awaitEnd waits until an execution has ended, at most so long. A nil channel is not waited for.
func (h handler) awaitEnd(ctx context.Context, id engine.ID, ended <-chan struct{}, most time.Duration) {
	if ended == nil {
		return
	}
	status, err := h.Engine.Status(ctx, id)
	if err == nil && !status.Final() {
		h.await(ctx, ended, most)
	}
}

// await waits until it happens, at most so long, and reports whether the time is over. Meanwhile
// the request takes no turn of others.
func (h handler) await(ctx context.Context, happened <-chan struct{}, most time.Duration) (isOver bool) {
	defer h.Pause(ctx)()
	over := time.NewTimer(most)
	defer over.Stop()
	select {
	case <-happened:
	case <-over.C:
		return true
	case <-ctx.Done():
	}
	return false
}

// waitOf returns how long a request may wait.
func (h handler) waitOf(query url.Values) (time.Duration, error) {
	if !query.Has("wait") {
		return 0, nil
	}
	seconds, err := strconv.Atoi(query.Get("wait"))
	switch {
	case err != nil, seconds < 1, seconds > maxWait:
		return 0, invalid("wait is %q; allowed: seconds from 1 to %d", query.Get("wait"), maxWait)
	case h.Watch == nil:
		return 0, errNoWait
	}
	return time.Duration(seconds) * time.Second, nil
}
