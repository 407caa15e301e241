package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// screenshots is a folder that gets pictures of all pages: `make screenshots`.
var screenshots = flag.String("screenshots", "", "the folder for pictures of the pages that the tests visit")

// browserTools returns the folder of the browser and of its packages for Node.js.
func browserTools(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../../../.tools/browser")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "installed")); errors.Is(err, os.ErrNotExist) {
		const how = "no browser: `make .tools/browser/installed` installs it, and so does `make test`"
		if os.Getenv("CI") != "" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	return folder
}

// browserPath returns the browser for the tests. The one of the tools runs on Linux on x86-64.
func browserPath(t *testing.T, tools string) string {
	t.Helper()
	if own := os.Getenv("WAITLESS_TEST_BROWSER"); own != "" {
		return own
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the browser of the tools does not run here: set WAITLESS_TEST_BROWSER to the program of Chrome or Chromium")
	}
	return filepath.Join(tools, "unpacked", "chromium")
}

// inBrowser runs a script of testdata/browser with what it needs to know.
func inBrowser(t *testing.T, script string, input map[string]any) {
	t.Helper()
	tools := browserTools(t)
	input["browser"] = browserPath(t, tools)
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	limit := 2 * time.Minute
	if *screenshots != "" { // four looks at each page in place of two
		limit *= 3
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	lookAt(t, "testdata/browser/browser.cjs")
	lookAt(t, "testdata/browser/"+script)
	cmd := exec.CommandContext(ctx, "node", "testdata/browser/"+script)
	cmd.Stdin = strings.NewReader(string(text))
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(tools, "node_modules"), "SCREENSHOTS="+*screenshots, "NO_PROXY=*",
		"LD_LIBRARY_PATH="+filepath.Join(tools, "unpacked/al2023/lib"),
		"FONTCONFIG_FILE="+filepath.Join(tools, "../../../pkg/internal/cli/testdata/browser/fonts.conf"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func TestCallbackPageInABrowser(t *testing.T) {
	t.Parallel()
	browserTools(t)
	d := startDev(t, program(t), inStore(t))
	d.do("start", "../../../events/third-party-callback/flow.yaml", "--name", "asked")
	token := d.until(`(\S+\.\S{43}) `, "tokens", "list", "--unmask")
	inBrowser(t, "callback.cjs", map[string]any{"url": strings.TrimSpace(d.do("tokens", "url", token))})
	d.endedBy("third-party-callback/asked", "callback")

	items := strings.Repeat(`{"sku":"a book with a title of some length"},`, 12)
	d.do("start", "../../../events/orders/flow.yaml", "--name", "asked", "--input", `{"order":"A-17","items":[`+strings.TrimSuffix(items, ",")+`]}`)
	token = d.until(`(\S+\.\S{43}) `, "tokens", "list", "orders/asked", "--unmask")
	inBrowser(t, "question.cjs", map[string]any{"url": strings.TrimSpace(d.do("tokens", "url", token)), "console": d.says.Console})
	d.until("OrderRejected", "show", "orders/asked")
}

func TestConsoleInABrowser(t *testing.T) {
	t.Parallel()
	browserTools(t)
	d := startDev(t, program(t), inStore(t))
	inBrowser(t, "console.cjs", map[string]any{"url": d.says.Console})
}

func TestSessionInABrowser(t *testing.T) {
	t.Parallel()
	browserTools(t)
	d := startDev(t, program(t), inStore(t))
	inBrowser(t, "session.cjs", map[string]any{"url": d.says.Console})
}

func TestJobEventsInABrowser(t *testing.T) {
	t.Parallel()
	browserTools(t)
	d := startDev(t, program(t), inStore(t))
	d.waitsForJob("waiting")
	inBrowser(t, "job_events.cjs", map[string]any{"url": d.says.Console, "event": stoppedEvent(t)})
}
