package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// firefox is a headless Firefox with a profile of its own, driven by its protocol Marionette:
// messages of JSON after their length.
type firefox struct {
	t       *testing.T
	conn    net.Conn
	in      *bufio.Reader
	counter int
}

// firefoxPath returns the Firefox of the machine.
func firefoxPath(t *testing.T) string {
	t.Helper()
	own := os.Getenv("WAITLESS_TEST_FIREFOX")
	for _, name := range []string{"firefox-esr", "firefox"} {
		if path, err := exec.LookPath(cmp.Or(own, name)); err == nil {
			return path
		}
	}
	t.Skip("no Firefox: install it (Debian: firefox-esr), or set WAITLESS_TEST_FIREFOX to its program")
	return ""
}

func startFirefox(t *testing.T) *firefox {
	t.Helper()
	program, profile := firefoxPath(t), t.TempDir()
	preferences := `user_pref("marionette.port", 0); user_pref("network.proxy.type", 0); user_pref("app.normandy.enabled", false);`
	if err := os.WriteFile(filepath.Join(profile, "user.js"), []byte(preferences), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cmd := exec.CommandContext(ctx, program, "--headless", "--marionette", "--no-remote", "--profile", profile)
	cmd.Env = append(os.Environ(), "HOME="+profile)
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	b := &firefox{t: t}
	t.Cleanup(func() {
		if b.conn != nil && b.send("Marionette:Quit", map[string]any{}) == nil {
			_ = cmd.Wait() // then its processes no longer write to the profile
		}
		cancel()
		_ = cmd.Wait()
	})
	var port []byte
	for {
		var err error
		if port, err = os.ReadFile(filepath.Join(profile, "MarionetteActivePort")); err == nil && len(port) > 0 {
			break
		}
		if engine.Sleep(ctx, 20*time.Millisecond) != nil {
			t.Fatalf("%s does not listen: %v", program, err)
		}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+string(port))
	if err == nil {
		t.Cleanup(func() { _ = conn.Close() })
		b.conn, b.in = conn, bufio.NewReader(conn)
		err = conn.SetDeadline(time.Now().Add(time.Minute))
	}
	if err == nil {
		_, err = b.read() // what it is
	}
	if err != nil {
		t.Fatal(err)
	}
	b.do("WebDriver:NewSession", map[string]any{"timeouts": map[string]int{"implicit": 20_000}})
	return b
}

func (b *firefox) send(command string, parameters map[string]any) error {
	b.counter++
	text, err := json.Marshal([]any{0, b.counter, command, parameters})
	if err == nil {
		_, err = fmt.Fprintf(b.conn, "%d:%s", len(text), text)
	}
	return err
}

func (b *firefox) read() (message []byte, err error) {
	size, err := b.in.ReadString(':')
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(size, ":"))
	if err != nil {
		return nil, err
	}
	message = make([]byte, n)
	_, err = io.ReadFull(b.in, message)
	return message, err
}

// do carries out a command and returns its result.
func (b *firefox) do(command string, parameters map[string]any) json.RawMessage {
	b.t.Helper()
	var reply [4]json.RawMessage // the kind, the number of the command, the error and the result
	err := b.send(command, parameters)
	if err == nil {
		var message []byte
		if message, err = b.read(); err == nil {
			err = json.Unmarshal(message, &reply)
		}
	}
	if err == nil && string(reply[2]) != "null" {
		err = errors.New(string(reply[2]))
	}
	if err != nil {
		b.t.Fatalf("%s %v: %v", command, parameters, err)
	}
	return reply[3]
}

func (b *firefox) open(address string) {
	b.t.Helper()
	b.do("WebDriver:Navigate", map[string]any{"url": address})
}

// find waits for an element, given as XPath, and returns its id.
func (b *firefox) find(path string) (id string) {
	b.t.Helper()
	var found struct{ Value map[string]string }
	if err := json.Unmarshal(b.do("WebDriver:FindElement", map[string]any{"using": "xpath", "value": path}), &found); err != nil {
		b.t.Fatal(err)
	}
	for _, id = range found.Value {
		return id
	}
	return ""
}

func (b *firefox) click(path string) {
	b.t.Helper()
	b.do("WebDriver:ElementClick", map[string]any{"id": b.find(path)})
}

// TestSessionInFirefox tests what testdata/browser/session.cjs does, where the machine has Firefox:
// it resolves the host of the session itself, and sends the cookie to no other port.
func TestSessionInFirefox(t *testing.T) {
	t.Parallel()
	b := startFirefox(t)
	for _, byLink := range []bool{false, true} {
		b.visitsConsole(startDev(t, program(t), inStore(t)).says.Console, byLink)
	}
}

// visitsConsole opens the console for the first time, by its address or by a link of another server
// of this machine, and visits other servers then.
func (b *firefox) visitsConsole(console string, byLink bool) {
	b.t.Helper()
	const executions, link = "//h1[text()='Executions']", "//a[text()='Console']"
	var mu sync.Mutex
	visits, received := 0, []string(nil)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		visits++
		received = append(received, r.Header["Cookie"]...)
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<!DOCTYPE html><title>Another server</title><a href="%s">Console</a>`, html.EscapeString(console))
	}))
	defer other.Close()
	port := strings.TrimPrefix(other.URL, "http://127.0.0.1")
	if byLink {
		b.open("http://localhost" + port)
		b.click(link)
	} else {
		b.open(console)
	}
	b.find(executions)

	var current struct{ Value string }
	if err := json.Unmarshal(b.do("WebDriver:GetCurrentURL", map[string]any{}), &current); err != nil {
		b.t.Fatal(err)
	}
	own, err := url.Parse(current.Value)
	if err != nil || !regexp.MustCompile(`^[a-z2-7]{26}\.localhost$`).MatchString(own.Hostname()) || own.RawQuery != "" {
		b.t.Errorf("the address is %s, error %v", current.Value, err)
	}
	var cookies []struct {
		Value    string
		HTTPOnly bool
		SameSite string
	}
	if err := json.Unmarshal(b.do("WebDriver:GetCookies", map[string]any{}), &cookies); err != nil {
		b.t.Fatal(err)
	}
	if len(cookies) != 1 || !cookies[0].HTTPOnly || cookies[0].SameSite != "Strict" || strings.Contains(console, cookies[0].Value) {
		b.t.Errorf("the cookies are %+v", cookies)
	}

	mu.Lock()
	visits, received = 0, nil
	mu.Unlock()
	for _, host := range []string{"127.0.0.1", "localhost", "other.localhost"} {
		b.open("http://" + host + port)
		b.find(link)
	}
	mu.Lock()
	if visits < 3 || len(received) > 0 {
		b.t.Errorf("after %d visits servers at other ports received the cookies %q", visits, received)
	}
	mu.Unlock()

	b.click(link) // in the browser of the session the address stays valid
	b.find(executions)
	b.open(console)
	b.find(executions)
	b.do("WebDriver:DeleteAllCookies", map[string]any{}) // of this host
	b.open(console)
	b.find("//*[contains(text(), 'This address was used')]")
}
