package rest_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/waitless/waitless/pkg/httpapi/rest"
)

// openAPI is what the tests need of the document.
type openAPI struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Parameters map[string]struct{ Name, In string }
		Schemas    struct {
			Error  struct{ Properties struct{ Code enum } }
			Status enum
		}
	}
}

type enum struct{ Enum []string }

type operation struct {
	Parameters  []reference
	RequestBody struct{ Content map[string]any }
	Responses   map[string]struct {
		reference
		Content map[string]any
	}
}

type reference struct {
	Ref string `json:"$ref"`
}

// contract is the document with its compiled schemas: of requests by "METHOD PATH", of responses by
// "METHOD PATH STATUS". The schema is nil where the body is not JSON.
type contract struct {
	openAPI
	operations map[string]operation
	schemas    map[string]*jsonschema.Schema
	event      *jsonschema.Schema
	refusal    *jsonschema.Schema
}

var documented = sync.OnceValues(func() (*contract, error) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	c := &contract{operations: map[string]operation{}, schemas: map[string]*jsonschema.Schema{}}
	raw, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = json.Unmarshal(text, &c.openAPI)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err == nil {
		err = compiler.AddResource("openapi.json", raw)
	}
	if err != nil {
		return nil, err
	}
	c.event, c.refusal = compiler.MustCompile("openapi.json#/components/schemas/Event"), compiler.MustCompile("openapi.json#/components/schemas/Error")
	for path, methods := range c.Paths {
		for method, text := range methods {
			if method != "parameters" {
				c.add(compiler, path, method, text)
			}
		}
	}
	return c, nil
})

// add compiles the schemas of an operation.
func (c *contract) add(compiler *jsonschema.Compiler, path, method string, text json.RawMessage) {
	const jsonType = "application/json"
	var o operation
	if err := json.Unmarshal(text, &o); err != nil {
		panic(err)
	}
	name, at := strings.ToUpper(method)+" "+path, pointer("paths", path, method)
	c.operations[name] = o
	compile := func(at string) *jsonschema.Schema {
		return compiler.MustCompile("openapi.json" + at + pointer("content", jsonType, "schema")[1:])
	}
	if o.RequestBody.Content[jsonType] != nil {
		c.schemas[name] = compile(at + "/requestBody")
	}
	for status, response := range o.Responses {
		c.schemas[name+" "+status] = nil
		switch {
		case response.Ref != "":
			c.schemas[name+" "+status] = compile(response.Ref)
		case response.Content[jsonType] != nil:
			c.schemas[name+" "+status] = compile(at + "/responses/" + status)
		}
	}
}

// pointer returns a JSON pointer as the fragment of a URL.
func pointer(elements ...string) string {
	at := "#"
	for _, e := range elements {
		at += "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(e))
	}
	return at
}

func theContract(t *testing.T) *contract {
	t.Helper()
	c, err := documented()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkedHandler is the API. It fails the test if a response, or the request of a success, is not
// as the OpenAPI document says.
func checkedHandler(t *testing.T, config rest.Config) http.Handler {
	t.Helper()
	next, c := rest.Handler(config), theContract(t)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen, sent := &seenResponse{ResponseWriter: w, status: http.StatusOK}, &bytes.Buffer{}
		if r.Body != nil {
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.TeeReader(r.Body, sent), r.Body}
		}
		next.ServeHTTP(seen, r)
		if err := c.check(r.Pattern, sent.Bytes(), seen); err != nil {
			t.Errorf("%s %s: %d is not as openapi.json says: %v\n%.500s", r.Method, r.Pattern, seen.status, err, seen.body.String())
		}
	})
}

// seenResponse keeps what it writes.
type seenResponse struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (s *seenResponse) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *seenResponse) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

func (s *seenResponse) Write(p []byte) (int, error) {
	s.body.Write(p)
	return s.ResponseWriter.Write(p)
}

// undocumentedError is an error for a status that the operation does not name.
type undocumentedError string

func (e undocumentedError) Error() string { return string(e) + " is not documented" }

func (c *contract) check(pattern string, sent []byte, seen *seenResponse) error {
	if pattern == "" {
		return valid(c.refusal, seen.body.Bytes())
	}
	key := pattern + " " + strconv.Itoa(seen.status)
	schema, ok := c.schemas[key]
	switch {
	case !ok:
		return undocumentedError(key)
	case schema == nil:
		return c.checkStream(seen.body.String())
	}
	if request := c.schemas[pattern]; request != nil && seen.status < http.StatusMultipleChoices && len(bytes.TrimSpace(sent)) > 0 {
		if err := valid(request, sent); err != nil {
			return err
		}
	}
	return valid(schema, seen.body.Bytes())
}

func (c *contract) checkStream(text string) error {
	for line := range strings.Lines(text) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := valid(c.event, []byte(data)); err != nil {
				return err
			}
		}
	}
	return nil
}

func valid(schema *jsonschema.Schema, text []byte) error {
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(instance)
}

// The document has each route of the handler with its parameters, and no other.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	t.Parallel()
	c, routes := theContract(t), rest.ParametersOfRoutes()
	for pattern := range c.operations {
		if _, ok := routes[pattern]; !ok {
			t.Errorf("openapi.json has %s, which is not served", pattern)
		}
	}
	for pattern, parameters := range routes {
		o, ok := c.operations[pattern]
		if !ok {
			t.Errorf("openapi.json lacks %s", pattern)
		}
		var named []string
		for _, p := range o.Parameters {
			parameter := c.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
			if parameter.In == "query" {
				named = append(named, parameter.Name)
			}
		}
		slices.Sort(named)
		if want := slices.Sorted(slices.Values(parameters)); !slices.Equal(named, want) {
			t.Errorf("openapi.json has the parameters %q for %s; the handler has %q", named, pattern, want)
		}
	}
}

func TestOpenAPIHasEveryCodeAndStatus(t *testing.T) {
	t.Parallel()
	c := theContract(t)
	file, err := parser.ParseFile(token.NewFileSet(), "../../engine/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 && strings.HasPrefix(spec.Names[0].Name, "Code") {
			code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			codes[code] = err == nil
		}
		return true
	})
	named := slices.Sorted(slices.Values(c.Components.Schemas.Error.Properties.Code.Enum))
	if want := slices.Sorted(maps.Keys(codes)); len(want) == 0 || !slices.Equal(named, want) {
		t.Errorf("openapi.json has the codes %q; the engine has %q", named, want)
	}
	if named := c.Components.Schemas.Status.Enum; !slices.Equal(named, rest.StatusNames()) {
		t.Errorf("openapi.json has the statuses %q; the machine has %q", named, rest.StatusNames())
	}
}

// A check that accepts anything would make the others worthless.
func TestOpenAPIRejectsOtherResponses(t *testing.T) {
	t.Parallel()
	c := theContract(t)
	for name, tt := range map[string]struct {
		pattern, sent string
		status        int
		body          string
	}{
		"no member":       {"GET /executions", "", 200, `{}`},
		"another type":    {"GET /tokens", "", 200, `{"tokens":{}}`},
		"another format":  {"GET /flows", "", 200, `{"flows":[{"name":"a","hash":"no hash"}]}`},
		"another code":    {"GET /flows/{flow}", "", 404, `{"code":"Gone","message":""}`},
		"another status":  {"GET /flows/{flow}", "", 410, `{"code":"NotFound","message":""}`},
		"another request": {"PUT /flows/{flow}", "", 201, `{}`},
		"a bad start":     {"POST /flows/{flow}/executions", `{"input":1}`, 201, `{}`},
		"a bad event":     {"GET /flows/{flow}/executions/{execution}/history/stream", "", 200, "data: {}\n\n"},
		"an unknown path": {"", "", 404, `{}`},
	} {
		seen := &seenResponse{status: tt.status}
		seen.body.WriteString(tt.body)
		if c.check(tt.pattern, []byte(tt.sent), seen) == nil {
			t.Errorf("%s is accepted: %s", name, tt.body)
		}
	}
}

func TestAPIServesItsDocument(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Compact(&want, text); err != nil {
		t.Fatal(err)
	}
	if status, body := a.request(http.MethodGet, "/openapi.json", ""); status != http.StatusOK || strings.TrimSpace(body) != want.String() {
		t.Errorf("%d %.200s", status, body)
	}
}

// TestReferenceHasEachRequest compares the table of the reference with the OpenAPI document, both
// ways.
func TestReferenceHasEachRequest(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/api.md")
	if err != nil {
		t.Fatal(err)
	}
	letters := strings.NewReplacer("{flow}", "F", "{execution}", "E", "{schedule}", "S", "{token}", "T")
	var want []string
	for name := range theContract(t).operations {
		want = append(want, letters.Replace(name))
	}
	slices.Sort(want)
	got := tabulated(string(page))
	// POST /job-events is of dev, and not of this API.
	got = slices.DeleteFunc(got, func(name string) bool { return name == "POST /job-events" })
	if !slices.Equal(got, want) {
		t.Errorf("the table has\n%s\nthe document has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// tabulated returns the requests in the first column of tables, sorted. "..." stands for the path
// before without its last part.
func tabulated(page string) (names []string) {
	for line := range strings.Lines(page) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		method, before := "", ""
		for i, code := range strings.Split(cell, "`") {
			if i%2 == 0 {
				continue
			}
			code, _, _ = strings.Cut(code, "?")
			if found, path, isWhole := strings.Cut(code, " "); isWhole {
				method, before = found, path
			} else if rest, ok := strings.CutPrefix(code, "..."); ok {
				if !slices.Contains([]string{"E", "T", "S"}, before[strings.LastIndex(before, "/")+1:]) {
					before = before[:strings.LastIndex(before, "/")]
				}
				before += rest
			}
			names = append(names, method+" "+before)
		}
	}
	slices.Sort(names)
	return names
}
