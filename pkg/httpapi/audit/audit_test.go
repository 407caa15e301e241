package audit_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/httpapi/audit"
	"github.com/waitless/waitless/pkg/token"
)

// logTo returns a logger of lines without times.
func logTo(lines *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestWritesAreLogged(t *testing.T) {
	t.Parallel()
	keys := token.Keys{Current: token.Key{ID: 1, Secret: make([]byte, token.SecretSize)}}
	text := keys.Sign(token.ID{Execution: [12]byte{1}, Expires: time.Now().Add(time.Hour)})
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /flows/{flow}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /flows/{flow}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /replay", func(_ http.ResponseWriter, r *http.Request) { audit.Name(r.Context(), "job of "+text) })
	mux.HandleFunc("POST /tokens/{token}/success", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) })
	var lines bytes.Buffer
	handler := audit.Handler(logTo(&lines), "arn:caller", mux)
	for _, request := range []string{"PUT /flows/a", "GET /flows/a", "HEAD /flows/a", "POST /tokens/" + text + "/success", "POST /replay", "DELETE /nothing"} {
		method, path, _ := strings.Cut(request, " ")
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader("payload")))
	}
	const begin = "level=INFO msg=audit caller=arn:caller source=192.0.2.1:1234 operation="
	want := begin + `"PUT /flows/{flow}" object=/flows/a status=200` + "\n" +
		begin + `"POST /tokens/{token}/success" object=` + token.MaskAll("/tokens/"+text+"/success") + " status=409\n" +
		begin + `"POST /replay" object="/replay job of ` + token.Mask(text) + "\" status=200\n" +
		begin + `"DELETE of an unknown path" object=/nothing status=404` + "\n"
	if diff := cmp.Diff(want, lines.String()); diff != "" || strings.Contains(lines.String(), text) {
		t.Error(diff)
	}
}

func TestActionsThatWrite(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]bool{
		"StartExecution": true, "CreateFlow": true, "SendTaskSuccess": true, "ReportTaskFailed": true, "DeleteSchedule": true,
		"DescribeFlow": false, "GetExecutionHistory": false, "ListFlows": false, "": false,
	} {
		if got := audit.IsWrite(action); got != want {
			t.Errorf("%q writes: %t, want %t", action, got, want)
		}
	}
}
