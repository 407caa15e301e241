package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// maxBody is the largest form: an input or an output with what a browser escapes.
const maxBody = 4 << 20

// policy admits what the console itself serves, and neither scripts nor styles in a page.
const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// guarded serves browsers on this machine that have the key, and refuses what a page of another origin sends or reads. The
// browser sends the cookie with those requests too, if the page is at another port of the same host.
func (c *console) guarded(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	otherPage := refusing(http.StatusForbidden, "The console refuses requests that a page of another site sends.")
	protection.SetDenyHandler(otherPage)
	keyed := protection.Handler(c.keyed(next))
	otherHost := refusing(http.StatusForbidden, "The console is for this machine: use the address that waitless printed.")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if !isThisMachine(r.Host) { // a name that somewhere else was made to mean this machine
			otherHost.ServeHTTP(w, r)
			return
		}
		if isOfAnotherPage(r.Header) {
			otherPage.ServeHTTP(w, r)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		keyed.ServeHTTP(w, r)
	})
}

// isOfAnotherPage reports whether a page of another origin sent the request. A link there does not count: the page that sends it
// cannot read the response.
func isOfAnotherPage(header http.Header) bool {
	site := header.Get("Sec-Fetch-Site")
	return site != "" && site != "none" && site != "same-origin" && header.Get("Sec-Fetch-Mode") != "navigate"
}

// isThisMachine reports whether the host of a request is a loopback address.
func isThisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return host == "localhost" || net.ParseIP(strings.Trim(host, "[]")).IsLoopback()
}

// keyed serves requests with the key: in the cookie, or in the address, which sets the cookie.
func (c *console) keyed(next http.Handler) http.Handler {
	refused := refusing(http.StatusUnauthorized, "The console wants its key: open the address that waitless printed, with its ?key= part.")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if key := query.Get("key"); r.Method == http.MethodGet && c.isKey(key) {
			http.SetCookie(w, &http.Cookie{ //nolint:gosec // not Secure: the console serves loopback addresses, without TLS
				Name: cookieName(r), Value: key, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
			})
			query.Del("key")
			clean := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, `/\`), RawQuery: query.Encode()}
			http.Redirect(w, r, clean.String(), http.StatusSeeOther)
			return
		}
		for _, cookie := range r.CookiesNamed(cookieName(r)) { // a server at another port can set more of them
			if c.isKey(cookie.Value) {
				next.ServeHTTP(w, r)
				return
			}
		}
		refused.ServeHTTP(w, r)
	})
}

// isKey compares in constant time, whatever the lengths. Without a key in the configuration no text is the key.
func (c *console) isKey(text string) bool {
	got, want := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(c.Key))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && c.Key != ""
}

// cookieName has the port, because browsers send a cookie to all ports of a host.
func cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "waitless-console-" + port
}

func refusing(status int, message string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, message, status) })
}
