package rest

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/token"
)

// keepAlive is after what time without events a stream has a comment, so that nothing between takes
// it for dead.
const keepAlive = 15 * time.Second

// stream sends the events of a history as server-sent events, until the execution has ended or the
// process ends. An id is the position after its event, so a client that connects again continues
// there.
func (h handler) stream(w http.ResponseWriter, r *http.Request) {
	l, after, err := h.streamed(r)
	if err == nil && !h.MayWait(r.Context()) {
		err = errTooManyWait
	}
	if err != nil {
		h.refusal(r, err).write(w)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s := &stream{w: w, control: http.NewResponseController(w)}
	for ended := false; !ended && r.Context().Err() == nil; {
		if after, ended, err = h.streamNews(s, r, l, after); err != nil {
			h.Log.ErrorContext(r.Context(), "stream failed", "route", r.Pattern, "error", token.MaskAll(err.Error()))
			return
		}
	}
	if !s.begun {
		w.WriteHeader(http.StatusNoContent) // so a client does not connect again
	}
}

// streamed returns the execution of a stream and the position after which it begins.
func (h handler) streamed(r *http.Request) (l loaded, after engine.Position, err error) {
	if err = (route{}).checkParameters(r.URL.Query()); err != nil {
		return l, after, err
	}
	if h.Watch == nil {
		return l, after, errNoWait
	}
	if after, err = engine.ParsePosition(r.Header.Get("Last-Event-ID")); err != nil {
		return l, after, invalid("Last-Event-ID is not the id of an event of this stream; leave it out")
	}
	l, err = h.loadNamed(r)
	return l, after, err
}

// streamNews sends the events after a position, or waits for them. Ended reports that none will
// follow.
func (h handler) streamNews(s *stream, r *http.Request, l loaded, after engine.Position) (next engine.Position, ended bool, err error) {
	happened, forget := h.Watch(l.ID(), true)
	defer forget()
	p, err := h.streamPage(s, r, l, after)
	if err != nil || p.Next == "" && p.Later == "" {
		return after, true, err
	}
	if next, err = engine.ParsePosition(p.position); err != nil || len(p.Events) > 0 || happened == nil {
		return next, happened == nil, err
	}
	s.flush()
	if h.await(r.Context(), happened, keepAlive) {
		err = s.write(": no news\n\n")
	}
	return next, false, err
}

// streamPage sends the page of events after a position.
func (h handler) streamPage(s *stream, r *http.Request, l loaded, after engine.Position) (page, error) {
	release, err := h.largeTurn(r.Context())
	if err != nil {
		return page{}, err
	}
	defer release()
	p, _, err := h.historyPage(r.Context(), l, after, math.MaxInt)
	if err != nil {
		return page{}, err
	}
	return p, s.send(p)
}

// stream is a response that is sent piece by piece.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

// send sends the events of a page. A client that connects again after a part of the page gets it
// once more.
func (s *stream) send(p page) error {
	var text strings.Builder
	for i, e := range p.Events {
		event, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if i == len(p.Events)-1 {
			text.WriteString("id: " + p.position + "\n")
		}
		text.WriteString("data: " + token.MaskJSON(string(event)) + "\n\n")
	}
	if len(p.Events) == 0 {
		return nil
	}
	return s.write(text.String())
}

func (s *stream) write(text string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writePatience)) // only servers have deadlines
	_, err := s.w.Write([]byte(text))
	s.flush()
	return err
}

func (s *stream) flush() {
	s.begun = true
	_ = s.control.Flush() // the next write fails if the client is gone
}
