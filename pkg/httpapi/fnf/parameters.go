package fnf

import (
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/resume"
)

// parameters are the parameters in a request's query and body.
type parameters map[string]string

// read reads the parameters of a request.
func read(r *http.Request) (parameters, error) {
	body, err := resume.ReadBody(r.Body, r.ContentLength, maxBody)
	switch {
	case err != nil:
		return nil, err
	case r.URL.Path != "/":
		return nil, refused(http.StatusNotFound, "InvalidArgument", "there is nothing here; the path of every action is /")
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		return nil, refused(http.StatusMethodNotAllowed, "UnsupportedHTTPMethod", "this method is not allowed; allowed: GET, POST")
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		body = nil
	}
	return parse(r.URL.RawQuery, string(body))
}

// parse reads parameters. It rejects a repeated name, which would have two signatures.
func parse(texts ...string) (parameters, error) {
	all := parameters{}
	for _, text := range texts {
		values, err := url.ParseQuery(text)
		if err != nil {
			return nil, invalid("InvalidArgument", "the parameters cannot be read; allowed: name=value, with & in between, percent-encoded")
		}
		for name, list := range values {
			if _, twice := all[name]; twice || len(list) > 1 {
				return nil, invalid("InvalidArgument", "a parameter is there more than once")
			}
			all[name] = list[0]
		}
	}
	return all, nil
}

// require returns an error if one of these parameters is missing or empty.
func (p parameters) require(names ...string) error {
	for _, name := range names {
		if p[name] == "" {
			return invalid("MissingRequiredParams", "the parameter "+name+" is missing")
		}
	}
	return nil
}

// signed returns the text that the signature of a request is made of.
func (p parameters) signed(method string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if name != "Signature" {
			pairs = append(pairs, encode(name)+"="+encode(p[name]))
		}
	}
	return method + "&%2F&" + encode(strings.Join(pairs, "&"))
}

// encode percent-encodes a text as RFC 3986 defines.
func encode(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// names are parameters that name a flow, an execution or a schedule.
var names = []string{"FlowName", "ExecutionName", "ScheduleName", "Name"}

// check returns an error for a parameter that is refused or is not the name it has to be.
func (p parameters) check(refused []string) error {
	for _, name := range refused {
		if p[name] != "" {
			return invalid("InvalidArgument", "the parameter "+name+" is not supported; leave it out")
		}
	}
	for _, name := range names {
		if name == "ExecutionName" && p[name] != "" && !flow.ValidExecution(p[name]) {
			return invalid("InvalidArgument", name+" is no name of an execution; allowed: "+flow.ExecutionNames)
		}
		if name != "ExecutionName" && p[name] != "" && !flow.ValidName(p[name]) {
			return invalid("InvalidArgument", name+` begins with a letter or "_" and goes on with letters, digits, "_" and "-", 128 characters at most`)
		}
	}
	return nil
}

// number returns the parameter, which must be from least to most, or otherwise if it is omitted.
func (p parameters) number(name string, least, most, otherwise int) (int, error) {
	if p[name] == "" {
		return otherwise, nil
	}
	number, err := strconv.Atoi(p[name])
	if err != nil || number < least || number > most {
		return 0, invalid("InvalidArgument", fmt.Sprintf("%s is not a number from %d to %d", name, least, most))
	}
	return number, nil
}

// instant returns the parameter, the zero instant if it is left out.
func (p parameters) instant(name string) (time.Time, error) {
	if p[name] == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, p[name])
	if err != nil {
		return at, invalid("InvalidArgument", name+" is not an instant like 2026-01-31T10:00:00Z (RFC 3339)")
	}
	return at, nil
}
