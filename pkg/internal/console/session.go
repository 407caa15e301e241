package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// session is the one session of a console. Its zero value has not begun.
type session struct {
	mu       sync.Mutex
	id, host string
}

// begin begins the session of a browser at a host, and returns its id. It returns "" if the session
// has begun before.
func (s *session) begin(host string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id != "" {
		return ""
	}
	s.id, s.host = rand.Text(), host
	return s.id
}

// has reports whether a request has the cookie of the session, at its host. A server at another
// port can set more cookies of the name.
func (s *session) has(r *http.Request) bool {
	s.mu.Lock()
	id, at := s.id, s.host
	s.mu.Unlock()
	host, port := hostOf(r)
	if host != at {
		return false
	}
	for _, cookie := range r.CookiesNamed(cookieName(port)) {
		if isSecret(cookie.Value, id) {
			return true
		}
	}
	return false
}

// cookieName has the port, because browsers send a cookie to all ports of a host.
func cookieName(port string) string { return "waitless-console-" + port }

// isSecret compares in constant time, whatever the lengths. No text is the empty secret.
func isSecret(text, secret string) bool {
	got, want := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && secret != ""
}

// enter exchanges the key in an address for the session, and redirects to the address without the
// key. At the console's own name no other server receives the cookie, so browsers that resolve the
// name are redirected there first.
func (c *console) enter(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	isKey := isSecret(query.Get("key"), c.Key)
	host, port := hostOf(r)
	named := url.URL{Scheme: "http", Host: c.Name + ":" + port, Path: "/" + strings.TrimLeft(r.URL.Path, `/\`), RawQuery: query.Encode()}
	isSecond := query.Has(second)
	query.Set(second, "1")
	again := url.URL{Path: named.Path, RawQuery: query.Encode()}
	query.Del("key")
	query.Del(second)
	clean := url.URL{Path: named.Path, RawQuery: query.Encode()}
	isBrowser := r.Header.Get("Sec-Fetch-Site") != ""
	switch {
	case c.session.has(r):
		http.Redirect(w, r, clean.String(), http.StatusSeeOther)
		return
	case !isKey:
		c.ask(w, r, "This is not the key of the console. It is new each time that waitless starts: open the address that waitless printed last.")
		return
	case host != c.Name && c.resolves(r):
		http.Redirect(w, r, named.String(), http.StatusSeeOther)
		return
	}
	id := c.session.begin(host)
	switch {
	case id == "" && isBrowser && !isSecond: // it may have the cookie and not send it
		w.Header().Set("Refresh", "0; url="+again.String())
		return
	case id == "":
		c.ask(w, r, "This address was used: its key opens the console once, in one browser. For another browser, run "+
			c.Command+" and open the address that it prints.")
		return
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // not Secure: the console serves loopback addresses, without TLS
		Name: cookieName(port), Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	if isBrowser {
		w.Header().Set("Refresh", "0; url="+clean.String())
		return
	}
	http.Redirect(w, r, clean.String(), http.StatusSeeOther)
}

// second is the parameter of an address with the key that the console itself opens in place of a
// redirect. Browsers withhold a strict cookie if a link of another site led to the address, and
// Firefox also after the redirect to the console's name.
const second = "again"

// resolves reports whether the browser of a request resolves the console's name. Chromium and
// Firefox resolve all names below localhost themselves; other browsers ask the machine, and other
// clients may do neither.
func (c *console) resolves(r *http.Request) bool {
	agent := r.UserAgent()
	switch {
	case c.Name == "" || !strings.HasPrefix(agent, "Mozilla/"):
		return false
	case strings.Contains(agent, "Chrome/"), strings.Contains(agent, "Firefox/"):
		return true
	}
	return c.Resolves != nil && c.Resolves(r.Context(), c.Name)
}

// askPage is complete in itself: without a session the console serves no style.
var askPage = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("ask").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Key of the console · Waitless</title>
</head>
<body>
<main>
<h1>Waitless</h1>
<p>{{range .}}{{.}}<wbr>{{end}}</p>
<form action="/">
<p><label for="key">Key</label> <input id="key" name="key" required autocomplete="off" spellcheck="false"> <button>Open</button></p>
</form>
</main>
</body>
</html>
`))
})

// ask responds with a page that asks for the key. Its form may be redirected to the console's name.
func (c *console) ask(w http.ResponseWriter, r *http.Request, why string) {
	if _, port := hostOf(r); c.Name != "" {
		w.Header().Set("Content-Security-Policy", strings.Replace(policy, "form-action 'self'", "form-action 'self' http://"+c.Name+":"+port, 1))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	_ = askPage().Execute(w, strings.SplitAfter(why, "/")) // lines break within paths; an error means that the browser is gone
}
