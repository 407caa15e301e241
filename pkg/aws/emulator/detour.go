package emulator

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// A detour leads functions on the emulator to what that lacks. It listens from
// the start of the emulator to the end of the test binary, so that they know
// where before anybody knows whether it is needed.
type detour struct {
	once   sync.Once
	server *httptest.Server
}

var besides detour

func (d *detour) endpoint() string {
	d.once.Do(func() { d.server = httptest.NewServer(http.HandlerFunc(lead)) })
	return d.server.URL
}

// lead hands a request on as it is: its signature has the host in it.
func lead(w http.ResponseWriter, r *http.Request) {
	to := way(r)
	p := to.process.Load()
	if p == nil {
		http.Error(w, "what answers this was not started: the test asks for it first", http.StatusNotImplemented)
		return
	}
	target, err := url.Parse(p.endpoint)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	quiet := log.New(io.Discard, "", 0) // a function that is killed leaves its request
	proxy := httputil.ReverseProxy{ErrorLog: quiet, Rewrite: func(request *httputil.ProxyRequest) {
		request.SetURL(target)
		request.Out.Host = request.In.Host
	}}
	if to == &migrations {
		if refusedAsDMS(w, r) {
			return
		}
		proxy.ModifyResponse = tellAsDMS
	}
	proxy.ServeHTTP(w, r)
}

// way says who answers a request.
func way(r *http.Request) *shared {
	switch {
	case strings.HasPrefix(r.Header.Get("X-Amz-Target"), "AmazonDMS"):
		return &migrations
	case strings.HasPrefix(r.URL.Path, "/2025-12-01/durable-"):
		return &durables
	default:
		return &cloud
	}
}
