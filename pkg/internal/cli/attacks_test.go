package cli

import (
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const attackedFlow = `version: v1
type: flow
name: attacked
steps:
  - type: task
    name: Ask
    resourceArn: acs:fc:::services/s/functions/echo
    pattern: waitForCallback
    signed: SIGNED
    inputMappings:
      - {target: token, source: $context.task.token}
`

// attack is a request that is refused. In its path, header and body TOKEN stands
// for the text of an open token, SIGNED for that of one that demands a
// signature, and FORGED for one without a valid signature.
type attack struct {
	name, request string // "METHOD PATH"
	body          string
	header        []string // names and values; Key sends the key of the API
	want          int
}

const (
	noKey  = "Key: none"
	theKey = "Key: right"
)

// attacks on `waitless dev --api`. Those on queues, sibling stacks, events and
// rights are in pkg/aws (stack/denied_test.go) and pkg/resume, those of a hostile
// server against the commands in stack_test.go.
var attacks = []attack{
	// Tokens that Waitless did not issue.
	{"a forged signature", "POST /callbacks/FORGED", "{}", nil, 404},
	{"a handle without a signature", "POST /callbacks/HANDLE", "{}", nil, 404},
	{"a handle with an empty signature", "POST /callbacks/HANDLE.", "{}", nil, 404},
	{"the signature of another token", "POST /callbacks/MIXED", "{}", nil, 404},
	{"a line break in a token", "POST /callbacks/TOKEN%0d%0a", "{}", nil, 404},
	{"a mask as token", "POST /callbacks/MASK", "{}", nil, 404},
	{"a forged token in the header", "POST /callbacks", "{}", []string{"Authorization", "Bearer FORGED"}, 404},
	{"no token", "POST /callbacks", "{}", nil, 401},
	{"the key of the API as a token", "POST /callbacks", "{}", []string{theKey, ""}, 404},
	// A token that demands a signature.
	{"no signature", "POST /callbacks/SIGNED", "{}", nil, 401},
	{"a failure without a signature", "POST /callbacks/SIGNED/failure", `{"error":"E"}`, nil, 401},
	{"a heartbeat without a signature", "POST /callbacks/SIGNED/heartbeat", "", nil, 401},
	{"a wrong signature", "POST /callbacks/SIGNED", "{}", []string{"Webhook-Id", "a", "Webhook-Timestamp", "NOW", "Webhook-Signature", "v1,AAAA"}, 401},
	{"an old signature", "POST /callbacks/SIGNED", "{}", []string{"Webhook-Id", "a", "Webhook-Timestamp", "1", "Webhook-Signature", "v1,AAAA"}, 401},
	{"a page for a signed callback", "GET /callbacks/SIGNED", "", nil, 404},
	// Methods without an effect, and paths that lead elsewhere.
	{"PUT", "PUT /callbacks/TOKEN", "{}", nil, 405},
	{"DELETE", "DELETE /callbacks/TOKEN", "", nil, 405},
	{"OPTIONS", "OPTIONS /callbacks/TOKEN", "", nil, 405},
	{"a failure by a link", "GET /callbacks/TOKEN/failure", "", nil, 405},
	{"another method in a header", "GET /callbacks/TOKEN/heartbeat", "", []string{"X-HTTP-Method-Override", "POST"}, 405},
	{"a path with two slashes", "POST //callbacks/TOKEN", "{}", nil, 404},
	{"a path with a dot", "POST /callbacks/./TOKEN", "{}", nil, 404},
	{"a path that climbs", "POST /callbacks/../tokens/TOKEN/success", "{}", nil, 404},
	// Errors that are Waitless's own to report.
	{"a time-out", "POST /callbacks/TOKEN/failure", `{"error":"FnF.TaskTimeout"}`, nil, 400},
	{"a stop", "POST /callbacks/TOKEN/failure", `{"error":"FnF.Stopped"}`, nil, 400},
	{"a revocation", "POST /callbacks/TOKEN/failure", `{"error":"Token.Revoked"}`, nil, 400},
	// Reports that are none.
	{"a bomb of brackets", "POST /callbacks/TOKEN", strings.Repeat("[", 200_000), nil, 400},
	{"too deep", "POST /callbacks/TOKEN", `{"a":` + strings.Repeat("[", 101) + strings.Repeat("]", 101) + "}", nil, 400},
	{"too large", "POST /callbacks/TOKEN", strings.Repeat(" ", 4<<20), nil, 413},
	{"a key twice", "POST /callbacks/TOKEN", `{"approved":false,"approved":true}`, nil, 400},
	{"half of a surrogate pair", "POST /callbacks/TOKEN", `{"a":"\ud800"}`, nil, 400},
	{"bytes that are not UTF-8", "POST /callbacks/TOKEN", "{\"a\":\"\xff\"}", nil, 400},
	{"an escape sequence as error", "POST /callbacks/TOKEN/failure", `{"error":"\u001b[2J"}`, nil, 400},
	{"an error with other members", "POST /callbacks/TOKEN/failure", `{"ERROR":"E"}`, nil, 400},
	// The management API without its key.
	{"a list", "GET /executions", "", []string{noKey, ""}, 401},
	{"tokens", "GET /tokens", "", []string{noKey, ""}, 401},
	{"whole tokens", "POST /tokens/reveal", "", []string{noKey, ""}, 401},
	{"a history", "GET /flows/attacked/executions/one/history", "", []string{noKey, ""}, 401},
	{"an outcome by name", "POST /flows/attacked/executions/one/token/success", "{}", []string{noKey, ""}, 401},
	{"an outcome with the token", "POST /tokens/TOKEN/success", "{}", []string{noKey, ""}, 401},
	{"a start", "POST /flows/attacked/executions", "{}", []string{noKey, ""}, 401},
	{"a stop", "POST /flows/attacked/executions/one/stop", "{}", []string{noKey, ""}, 401},
	{"a definition", "PUT /flows/other", attackedFlow, []string{noKey, ""}, 401},
	{"a deletion", "DELETE /flows/attacked", "", []string{noKey, ""}, 401},
	{"an event", "POST /job-events", "{}", []string{noKey, ""}, 401},
	{"the description of the API", "GET /openapi.json", "", []string{noKey, ""}, 401},
	{"a stream of events", "GET /flows/attacked/executions/one/history/stream", "", []string{noKey, ""}, 401},
	{"a start that notifies", "POST /flows/attacked/executions", `{"notify":"https://evil.example/"}`, []string{noKey, ""}, 401},
	{"another key", "GET /executions", "", []string{"Authorization", "Bearer AAAAAAAAAAAAAAAAAAAAAAAAAA"}, 401},
	{"an empty key", "GET /executions", "", []string{"Authorization", "Bearer "}, 401},
	{"a token as key", "GET /executions", "", []string{"Authorization", "Bearer TOKEN"}, 401},
	{"the key in the query", "GET /executions?key=KEY&access_token=KEY", "", []string{noKey, ""}, 401},
	{"the key as a password", "GET /executions", "", []string{"Authorization", "Basic KEY"}, 401},
	// With the key, by a page in a browser or by a proxy.
	{"a name of another machine", "GET /executions", "", []string{theKey, "", "Host", "evil.example"}, 403},
	{"a name that begins like this one", "GET /executions", "", []string{theKey, "", "Host", "127.0.0.1.evil.example:80"}, 403},
	{"a page elsewhere", "GET /executions", "", []string{theKey, "", "Sec-Fetch-Site", "cross-site"}, 403},
	{"a page on another port", "GET /executions", "", []string{theKey, "", "Sec-Fetch-Site", "same-site"}, 403},
	{"a form elsewhere", "POST /flows/attacked/executions/one/stop", "{}", []string{theKey, "", "Origin", "https://evil.example"}, 403},
	{"a page without an origin", "POST /flows/attacked/executions/one/stop", "{}", []string{theKey, "", "Origin", "null"}, 403},
	{"X-Forwarded-For", "GET /executions", "", []string{theKey, "", "X-Forwarded-For", "203.0.113.7"}, 403},
	{"X-Forwarded-Proto", "GET /executions", "", []string{theKey, "", "X-Forwarded-Proto", "https"}, 403},
	{"Forwarded", "GET /executions", "", []string{theKey, "", "Forwarded", "for=203.0.113.7"}, 403},
	{"Via", "GET /executions", "", []string{theKey, "", "Via", "1.1 proxy"}, 403},
	{"CF-Connecting-IP", "GET /executions", "", []string{theKey, "", "CF-Connecting-IP", "203.0.113.7"}, 403},
	{"True-Client-IP", "GET /executions", "", []string{theKey, "", "True-Client-IP", "203.0.113.7"}, 403},
	// With the key: readers who want to write, and requests that are none.
	{"whole tokens by reading", "GET /tokens/reveal", "", []string{theKey, ""}, 404},
	{"a whole history by reading", "GET /flows/attacked/executions/one/history/reveal", "", []string{theKey, ""}, 405},
	{"a forged token by hand", "POST /tokens/FORGED/success", "{}", []string{theKey, ""}, 404},
	{"a status that does not exist", "GET /executions?status=Failled", "", []string{theKey, ""}, 400},
	{"text behind the object", "POST /flows/attacked/executions", `{"name":"x"} {}`, []string{theKey, ""}, 400},
	{"a member in capital letters", "POST /flows/attacked/executions", `{"NAME":"x"}`, []string{theKey, ""}, 400},
	{"a member twice", "POST /flows/attacked/executions", `{"name":"x","name":"y"}`, []string{theKey, ""}, 400},
	{"a name that climbs", "PUT /flows/..%2f..%2fx", attackedFlow, []string{theKey, ""}, 400},
	{"a name with a zero byte", "PUT /flows/a%00", attackedFlow, []string{theKey, ""}, 400},
	{"a definition of 70,000 mistakes", "PUT /flows/bad", "version: v1\ntype: flow\nsteps:\n" + strings.Repeat("- {}\n", 70_000), []string{theKey, ""}, 400},
	{"a definition of aliases", "PUT /flows/bad", "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n", []string{theKey, ""}, 400},
	{"a definition that is too large", "PUT /flows/bad", strings.Repeat("#", 2<<20), []string{theKey, ""}, 413},
	// With the key: targets of notices that are none, or that are not encrypted.
	{"a target with a password", "POST /flows/attacked/executions", `{"notify":"https://KEY:x@example.org/"}`, []string{theKey, ""}, 400},
	{"a target in the clear", "POST /flows/attacked/executions", `{"notify":"http://169.254.169.254/latest?TOKEN"}`, []string{theKey, ""}, 400},
	{"a target with a line break", "POST /flows/attacked/executions", `{"notify":"https://example.org/\r\nX-Header: TOKEN"}`, []string{theKey, ""}, 400},
	{"a file as target", "POST /flows/attacked/executions", `{"notify":"file:///etc/passwd"}`, []string{theKey, ""}, 400},
	{"a queue as target", "POST /flows/attacked/executions", `{"notify":"arn:aws:sqs:us-east-1:000000000000:q"}`, []string{theKey, ""}, 400},
	{"a target that only looks local", "POST /flows/attacked/executions", `{"notify":"http://localhost.evil.example/"}`, []string{theKey, ""}, 400},
	{"a target of 3000 bytes", "POST /flows/attacked/executions", `{"notify":"https://example.org/` + strings.Repeat("a", 3000) + `"}`, []string{theKey, ""}, 400},
	// The API of 2019-03-15.
	{"a report without a signature", "POST /?Action=ReportTaskSucceeded&Version=2019-03-15&TaskToken=TOKEN&Output=%7B%7D", "", nil, 400},
	{"a report of an unknown client", "GET /?Action=ReportTaskSucceeded&Version=2019-03-15&TaskToken=TOKEN&Output=%7B%7D&AccessKeyId=you&Signature=x" +
		unsigned, "", nil, 403},
	{"a start without a signature", "POST /?Action=StartExecution&Version=2019-03-15&FlowName=attacked", "", nil, 400},
	{"a start with the key of the other API", "POST /?Action=StartExecution&Version=2019-03-15&FlowName=attacked", "", []string{theKey, ""}, 400},
	{"a stop of an unknown client", "POST /?Action=StopExecution&Version=2019-03-15&FlowName=attacked&ExecutionName=one&AccessKeyId=you&Signature=x" +
		unsigned, "", nil, 403},
	{"a stop with a wrong signature", "POST /?Action=StopExecution&Version=2019-03-15&FlowName=attacked&ExecutionName=one&AccessKeyId=me&Signature=x" +
		unsigned, "", nil, 403},
	{"a history with a wrong signature", "GET /?Action=GetExecutionHistory&Version=2019-03-15&FlowName=attacked&ExecutionName=one&AccessKeyId=me" +
		"&Signature=x" + unsigned, "", nil, 403},
	{"a long wait with a wrong signature", "GET /?Action=DescribeExecution&Version=2019-03-15&FlowName=attacked&ExecutionName=one&WaitTimeSeconds=60" +
		"&AccessKeyId=me&Signature=x" + unsigned, "", nil, 403},
	{"a flow without a signature", "POST /?Action=CreateFlow&Version=2019-03-15&Name=other&Type=FDL&Description=&Definition=x", "", nil, 400},
	{"a deletion with a wrong signature", "POST /?Action=DeleteFlow&Version=2019-03-15&Name=attacked&AccessKeyId=me&Signature=x" + unsigned, "", nil, 403},
	{"a list without a key", "GET /?Action=ListExecutions&Version=2019-03-15&FlowName=attacked", "", nil, 400},
	{"the key of the other API as a secret", "GET /?Action=ListExecutions&Version=2019-03-15&FlowName=attacked&AccessKeyId=KEY&Signature=KEY" + unsigned,
		"", nil, 403},
}

// unsigned are the other parameters of a request of the API of 2019-03-15.
const unsigned = "&SignatureNonce=1&Timestamp=2026-01-31T10:00:00Z&SignatureMethod=HMAC-SHA1&SignatureVersion=1.0"

// Everything that an attacker tries is refused, and the executions wait on.
func TestAttacksOnDev(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	env[clientKeysVariable] = `{"me":"a secret of 24 bytes or more"}`
	env[secretVariable] = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
	env[notifyVariable] = env[secretVariable]
	d := startDev(t, program(t), env, "--api")
	fill := d.attacked()
	for _, a := range attacks {
		a.isRefused(t, d, fill)
	}
	for _, a := range rawAttacks {
		a.isRefused(t, d, fill)
	}
	if open := d.do("tokens", "list"); strings.Count(open, "attacked/") != 2 {
		t.Errorf("open tokens:\n%s", open)
	}
	if all := d.do("list"); strings.Count(all, "attacked/") != 2 || strings.Count(all, "Running") != 2 {
		t.Errorf("executions:\n%s", all)
	}
	if log := d.stderr.String(); strings.Contains(log, fill.Replace("TOKEN")) || strings.Contains(log, fill.Replace("SIGNED")) {
		t.Errorf("a token is in the log:\n%s", log)
	}
}

// rawAttack is what no HTTP client sends. The server answers with the wanted statuses, one for
// each request that it sees in the bytes, and closes the connection.
type rawAttack struct {
	name, bytes string
	want        []int
}

const toStepFunctions = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\nX-Amz-Target: AWSStepFunctions.SendTaskSuccess\r\n"

// rawAttacks try to hide a request from a proxy, or to confuse the server.
var rawAttacks = []rawAttack{
	{"an oversized header", "POST /callbacks/TOKEN HTTP/1.1\r\nHost: a\r\nX-Large: " + strings.Repeat("a", 128<<10) + "\r\n\r\n{}", []int{431}},
	{"a report to Step Functions without a signature", toStepFunctions + "\r\n{}", []int{400}},
	{"a report to Step Functions of an unknown client", toStepFunctions + "X-Amz-Date: 20260131T100000Z\r\nAuthorization: AWS4-HMAC-SHA256 " +
		"Credential=you/20260131/us-east-1/states/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature=x\r\n\r\n{}", []int{400}},
	{"a report to Step Functions with a wrong signature", toStepFunctions + "X-Amz-Date: 20260131T100000Z\r\nAuthorization: AWS4-HMAC-SHA256 " +
		"Credential=me/20260131/us-east-1/states/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature=x\r\n\r\n{}", []int{400}},
	{"Step Functions by the key of the other API", toStepFunctions + "Authorization: Bearer KEY\r\n\r\n{}", []int{400}},
	{"Step Functions by a query that is signed", strings.Replace(toStepFunctions, "POST / ", "POST /?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=x ", 1) +
		"\r\n{}", []int{400}},
	{"Step Functions in the place of the callbacks", strings.Replace(toStepFunctions, "POST / ", "POST /callbacks/FORGED ", 1) + "\r\n{}", []int{404}},
	{"an oversized path", "POST /callbacks/" + strings.Repeat("A", 128<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n{}", []int{431}},
	{"a pipelined request with a forged token", "POST /callbacks/FORGED HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}" +
		"POST /callbacks/HANDLE HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", []int{404, 404}},
	{"a body that is longer than its length", "POST /callbacks/FORGED HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n{POST /callbacks/TOKEN" +
		" HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nConnection: close\r\n\r\n{", []int{404, 400}},
	{"chunks beside a length", "POST /callbacks/FORGED HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" +
		"POST /callbacks/TOKEN HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", []int{404}},
	{"a request behind chunks", "POST /callbacks/FORGED HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" +
		"POST /callbacks/TOKEN HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", []int{404}},
	{"two lengths", "POST /callbacks/TOKEN HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 2\r\n\r\n{}", []int{400}},
	{"a negative length", "POST /callbacks/TOKEN HTTP/1.1\r\nHost: a\r\nContent-Length: -2\r\n\r\n{}", []int{400}},
	{"an encoding that is almost chunked", "POST /callbacks/TOKEN HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", []int{501}},
	{"two encodings", "POST /callbacks/TOKEN HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" +
		"2\r\n{}\r\n0\r\n\r\n", []int{501}},
	{"a chunk of a negative size", "POST /callbacks/TOKEN HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n", []int{400}},
	{"a space before a colon", "POST /callbacks/TOKEN HTTP/1.1\r\nHost: a\r\nContent-Length : 2\r\n\r\n{}", []int{400}},
	{"a folded header", "POST /callbacks HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer\r\n FORGED\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", []int{404}},
	{"no host", "POST /callbacks/TOKEN HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", []int{400}},
	{"two hosts", "POST /callbacks/TOKEN HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 2\r\n\r\n{}", []int{400}},
	{"a host with a space", "POST /callbacks/TOKEN HTTP/1.1\r\nHost: a b\r\nContent-Length: 2\r\n\r\n{}", []int{400}},
	{"HTTP/0.9", "POST /callbacks/TOKEN\r\n\r\n{}", []int{400}},
	{"HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []int{400}},
	{"HTTP/3", "POST /callbacks/TOKEN HTTP/3.0\r\nHost: a\r\n\r\n{}", []int{505}},
	{"a tunnel", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\nConnection: close\r\n\r\n", []int{404}},
	{"a proxy request", "GET http://evil.example/executions HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", []int{403}},
	{"a line break in a method", "PO\rST /callbacks/TOKEN HTTP/1.1\r\nHost: a\r\n\r\n{}", []int{400}},
	{"a TLS handshake", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", []int{400}},
}

var statusLine = regexp.MustCompile(`HTTP/1\.[01] (\d{3}) `)

func (a rawAttack) isRefused(t *testing.T, d *devProcess, fill *strings.Replacer) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(d.says.API, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	go func() { _, _ = conn.Write([]byte(fill.Replace(a.bytes))) }() // the server may hang up before the end
	answer, _ := io.ReadAll(conn)
	var got []int
	for _, match := range statusLine.FindAllSubmatch(answer, -1) {
		status, _ := strconv.Atoi(string(match[1]))
		got = append(got, status)
	}
	if !slices.Equal(got, a.want) {
		t.Errorf("%s is answered with %v: %.300q; want %v", a.name, got, answer, a.want)
	}
}

func (a attack) isRefused(t *testing.T, d *devProcess, fill *strings.Replacer) {
	t.Helper()
	response, body := a.send(t, d, fill)
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != a.want || response.Header.Get("Location") != "" || len(body) > 64<<10 {
		t.Errorf("%s: %s is answered with %d %v %.300s; want %d", a.name, a.request, response.StatusCode, response.Header, body, a.want)
	}
	for _, secret := range []string{"TOKEN", "SIGNED", "KEY"} {
		if strings.Contains(body, fill.Replace(secret)) {
			t.Errorf("%s: %s is answered with a secret: %s", a.name, a.request, body)
		}
	}
}

// attacked starts two executions that wait, and returns what the words of an
// attack stand for.
func (d *devProcess) attacked() *strings.Replacer {
	d.t.Helper()
	for name, signed := range map[string]string{"one": "false", "two": "true"} {
		file := writeFile(d.t, name+".yaml", strings.Replace(attackedFlow, "SIGNED", signed, 1))
		d.do("start", file, "--name", name)
	}
	const anyToken = `(\S+\.\S{43})  attacked/`
	text := d.until(anyToken+"one", "tokens", "list", "--unmask")
	signed := d.until(anyToken+"two", "tokens", "list", "--unmask")
	handle, signature, _ := strings.Cut(text, ".")
	_, other, _ := strings.Cut(signed, ".")
	request, _ := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.says.API, nil)
	d.authorize(request)
	return strings.NewReplacer("TOKEN", text, "SIGNED", signed, "FORGED", handle+"."+strings.Repeat("A", len(signature)), "HANDLE", handle,
		"MIXED", handle+"."+other, "MASK", "..."+handle[:8]+":3", "NOW", time.Now().UTC().Format(time.RFC3339),
		"KEY", strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer "))
}

func (a attack) send(t *testing.T, d *devProcess, fill *strings.Replacer) (*http.Response, string) {
	t.Helper()
	method, path, _ := strings.Cut(a.request, " ")
	request, err := http.NewRequestWithContext(t.Context(), method, d.says.API+fill.Replace(path), strings.NewReader(fill.Replace(a.body)))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(a.header); i += 2 {
		switch name, value := a.header[i], fill.Replace(a.header[i+1]); name {
		case noKey:
		case theKey:
			d.authorize(request)
		case "Host":
			request.Host = value
		default:
			request.Header.Set(name, value)
		}
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

// A sender that never ends its header is cut off.
func TestSlowClientIsDisconnected(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	d := startDev(t, program(t), inStore(t))
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(d.says.Callbacks, "http://"), "/callbacks/"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("POST /callbacks HTTP/1.1\r\nHost: a\r\nX-Slow: ")); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("after %s it is still connected: %v", patience, err)
	}
}
