package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/compose"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/value"
)

// browse opens an address with a browser that has no cookies, and returns the page and its address.
func browse(t *testing.T, address string) (page, at string) {
	t.Helper()
	return browseWith(t, newBrowser(t), address)
}

// newBrowser returns a browser without cookies.
func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// browseWith opens an address, and returns the page and its address.
func browseWith(t *testing.T, browser *http.Client, address string) (page, at string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := browser.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), response.Request.URL.String()
}

func TestDevServesTheConsoleOfItsStore(t *testing.T) {
	t.Parallel()
	env := map[string]string{"WAITLESS_STORE": filepath.Join(t.TempDir(), "store")}
	d := startDev(t, program(t), env)
	d.do("start", "../../../events/callback/flow.yaml", "--name", "one")
	d.until("waits for a callback", "list")
	page, at := browse(t, d.says.Console)
	if !strings.Contains(page, "callback/<wbr>one") || strings.Contains(at, "key") {
		t.Errorf("at %s:\n%s", at, page)
	}
	withoutKey, _, _ := strings.Cut(d.says.Console, "?")
	if page, _ := browse(t, withoutKey); !strings.Contains(page, "wants its key") {
		t.Errorf("without the key:\n%s", page)
	}
	if strings.Contains(d.stderr.String(), strings.TrimPrefix(d.says.Console, withoutKey+"?key=")) {
		t.Error("the log has the key")
	}
	if page, _ := browse(t, d.says.Console); !strings.Contains(strings.ReplaceAll(page, "<wbr>", ""), "run waitless console --store "+env["WAITLESS_STORE"]) {
		t.Errorf("the address opens again:\n%s", page)
	}
	d.interrupt()
	again := startDev(t, program(t), env)
	if before, after := keyIn(t, d.says.Console), keyIn(t, again.says.Console); before == after {
		t.Errorf("the key of each start is %s", before)
	}
	again.interrupt()
	if off := startDev(t, program(t), env, "--console", "off"); off.says.Console != "" {
		t.Errorf("--console off: %s", off.says.Console)
	}
}

// The first page of the console takes the same time however many executions the store on disk has.
func TestConsoleOfAStoreWith10000Executions(t *testing.T) {
	t.Parallel()
	const executions, listed, limit, tries = 10_000, 50, 100 * time.Millisecond, 20
	env := inStore(t)
	fillStore(t, env["WAITLESS_STORE"], executions)
	d := startDev(t, program(t), env)
	least, browser := time.Hour, newBrowser(t)
	for range tries { // the machine has other work to do: the best try is what the page takes
		began := time.Now()
		page, _ := browseWith(t, browser, d.says.Console)
		least = min(least, time.Since(began))
		if strings.Count(page, "<tr>") != 1+listed || strings.Count(page, "Succeeded</span>") != listed {
			t.Fatalf("the first page does not show %d executions that succeeded:\n%s", listed, page)
		}
	}
	if least > limit {
		t.Errorf("the first page takes %s; want at most %s", least, limit)
	}
	t.Logf("the first page takes %s", least)
}

// fillStore runs executions in a new store on disk.
func fillStore(t *testing.T, dir string, executions int) {
	t.Helper()
	store, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Shut() }()
	flow, err := store.Put(t.Context(), "short", []byte("version: v1\ntype: flow\nsteps: [{type: pass, name: A}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	const together = 1000 // share each sync of the disk
	system := local.New(local.Config{Store: store, Workers: together})
	var starts sync.WaitGroup
	for first := range together {
		starts.Go(func() {
			for n := first; n < executions; n += together {
				request := engine.StartRequest{Flow: flow, Execution: fmt.Sprintf("run-%05d", n), Input: value.Object()}
				if _, err := system.Start(t.Context(), request); err != nil {
					t.Error(err)
				}
			}
		})
	}
	starts.Wait()
	if err := system.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func keyIn(t *testing.T, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil || parsed.Query().Get("key") == "" {
		t.Fatalf("%q has no key: %v", address, err)
	}
	return parsed.Query().Get("key")
}

func TestConsoleIsForThisMachine(t *testing.T) {
	t.Parallel()
	env := map[string]string{"WAITLESS_STORE": filepath.Join(t.TempDir(), "store")}
	doWith(t, "", env, "start", "../../../events/callback/flow.yaml")
	for _, args := range [][]string{{"dev", "--listen", "127.0.0.1:0"}, {"console"}} {
		got := doWith(t, "", env, append(args, "--console", "0.0.0.0:0")...)
		if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "of this machine") {
			t.Errorf("%v: exit %d: %s", args, got.exit, got.stderr)
		}
	}
}

// What cannot work is said before an address is printed.
func TestConsoleRejectsWhatItCannotShow(t *testing.T) {
	t.Parallel()
	listener, err := listenForConsole(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"WAITLESS_STORE": filepath.Join(t.TempDir(), "store"), "WAITLESS_API_KEY": "key"}
	doWith(t, "", env, "start", "../../../events/callback/flow.yaml")
	for flag, want := range map[string]string{"--endpoint " + dead: "connection refused", "--console off": "allowed: HOST:PORT of this machine"} {
		got := doWith(t, "", env, append([]string{"console"}, strings.Fields(flag)...)...)
		if got.exit == view.ExitSucceeded || got.exit == view.ExitInterrupted || got.stdout != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit %d: %s%s", flag, got.exit, got.stdout, got.stderr)
		}
	}
}

// The address that localhost resolves to counts, and not its name.
func TestListenerOfConsoleIsOnLoopback(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:80": true, "127.1.2.3:80": true, "192.0.2.1:80": false, "0.0.0.0:80": false, "[::]:80": false, ":80": false,
	} {
		if err := requireLoopback("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	listener, err := listenForConsole(t.Context(), "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
}

// waitless console works on a store that no process serves, and opens it only while it is asked.
func TestConsoleOfAStore(t *testing.T) {
	t.Parallel()
	env := map[string]string{"WAITLESS_STORE": filepath.Join(t.TempDir(), "store")}
	doWith(t, "", env, "start", "../../../events/callback/flow.yaml", "--name", "one")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reader, writer := io.Pipe()
	var stderr bytes.Buffer
	c := Command{
		Args: []string{"console"}, Stdin: strings.NewReader(""), Stdout: writer, Stderr: &stderr, Getenv: environment(t, env), Stores: compose.Stores{},
	}
	ended := make(chan int)
	go func() { ended <- c.Run(ctx) }()
	printed := make([]byte, 1000)
	n, err := reader.Read(printed)
	address := regexp.MustCompile(`http://\S+`).FindString(string(printed[:n]))
	if err != nil || address == "" {
		t.Fatalf("it prints %q: %v", printed[:n], err)
	}
	if page, _ := browse(t, address); !strings.Contains(page, "callback/<wbr>one") {
		t.Errorf("the page:\n%s", page)
	}
	if got := doWith(t, "", env, "list"); !strings.Contains(got.stdout, "callback/one") {
		t.Errorf("list beside the console: %s%s", got.stdout, got.stderr)
	}
	cancel()
	if exit := <-ended; exit != view.ExitInterrupted || !strings.Contains(stderr.String(), "no worker runs on this store") {
		t.Errorf("exit %d: %s", exit, stderr.String())
	}
}

// Browsers resolve a name below localhost to both loopback addresses. Another process at the other
// one would receive the key.
func TestConsoleHasANameOnlyWhereNoOtherProcessListens(t *testing.T) {
	t.Parallel()
	if !isOfThisMachine("::1") {
		t.Skip("this machine has no ::1")
	}
	open := func(address string) *consoleServer {
		s, err := openConsoleAt(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = s.listener.Close()
			if s.beside != nil {
				_ = s.beside.Close()
			}
		})
		return s
	}
	other, err := listenForConsole(t.Context(), "[::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	_, port, _ := strings.Cut(other.Addr().String(), "]:")
	if s := open("127.0.0.1:" + port); s.name != "" || s.beside != nil {
		t.Errorf("another process listens, and the name is %q", s.name)
	}
	if s := open("127.0.0.2:0"); s.name != "" {
		t.Errorf("at an address to which names do not resolve, the name is %q", s.name)
	}
	first, second := open("127.0.0.1:0"), open("127.0.0.1:0")
	if first.name == second.name || !strings.HasSuffix(first.name, ".localhost") || first.beside == nil || first.key == second.key {
		t.Errorf("the consoles are %+v and %+v", first, second)
	}
}
