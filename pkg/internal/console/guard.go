package console

import (
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
)

// maxBody is the size of the largest form: an input or an output with a browser's escapes.
const maxBody = 4 << 20

// policy admits the console's own files, and neither scripts nor styles in a page.
const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// guarded serves browsers on this machine that have a session. It refuses requests that a page of
// another origin sends: a browser may send the cookie with them too, if that page is at another
// port of the same host.
func (c *console) guarded(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	otherPage := refusing(http.StatusForbidden, "The console refuses requests that a page of another site sends.")
	protection.SetDenyHandler(otherPage)
	entered := protection.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet && r.URL.Query().Has("key"):
			c.enter(w, r)
		case c.session.has(r):
			next.ServeHTTP(w, r)
		default:
			c.ask(w, r, "The console wants its key: open the address that waitless printed, or enter the key, which is the text after key= there.")
		}
	}))
	otherHost := refusing(http.StatusForbidden, "The console is for this machine: use the address that waitless printed, without a proxy.")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		host, _ := hostOf(r)
		local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
		isLocal := local != nil && local.IP.IsLoopback() && local.IP.Equal(net.ParseIP(host))
		isOwn := host == "localhost" || c.Name != "" && host == c.Name || isLocal // the name of another site may resolve to this machine
		if !isOwn || IsForwarded(r.Header) {
			otherHost.ServeHTTP(w, r)
			return
		}
		// A link of another page does not count: that page cannot read the response.
		site := r.Header.Get("Sec-Fetch-Site")
		if site != "" && site != "none" && site != "same-origin" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			otherPage.ServeHTTP(w, r)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		entered.ServeHTTP(w, r)
	})
}

// hostOf returns the host and the port that a request names.
func hostOf(r *http.Request) (host, port string) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	return strings.ToLower(host), port
}

// forwarding begins the names of headers that proxies and tunnels add.
var forwarding = []string{
	"Forwarded", "Via", "X-Forwarded", "X-Real-", "X-Client-", "X-Cluster-", "X-Original-", "X-Envoy-", "X-Proxy", "X-Arr-", "X-Azure-", "X-Appengine-",
	"True-Client-", "Client-Ip", "Cf-", "Cdn-", "Fastly-", "Fly-", "Ngrok-", "Tailscale-", "X-Cloud-Trace-",
}

// IsForwarded reports whether a proxy or a tunnel on this machine sent the request with these
// headers.
func IsForwarded(header http.Header) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(header)), func(name string) bool {
		return slices.ContainsFunc(forwarding, func(begin string) bool { return strings.HasPrefix(name, begin) })
	})
}

func refusing(status int, message string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, message, status) })
}
