package fnf

import (
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/resume"
)

// parameters are those of a request, in its query and its body together.
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
