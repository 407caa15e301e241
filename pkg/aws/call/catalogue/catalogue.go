// Package catalogue has all operations of the services of AWS that speak JSON or the query
// protocol, as operations of package call. `make catalogue` generates its file from the vendor's
// models, and a test of pkg/tools compares the two.
//
// A service has two names: its name in the AWS CLI ("stepfunctions", "dms"), and its SDK id in
// lower case and without spaces ("sfn", "databasemigrationservice").
//
// For operations that start jobs or use the query protocol, the catalogue has members at any depth.
// For other operations it has the params with their types, and only the nested members that must be
// converted: the service checks the others.
//
// This package is not an API and may change between releases.
package catalogue

import (
	"compress/flate"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/waitless/waitless/pkg/aws/call"
)

// packed has an index, a line for each service, and behind an empty line a compressed block for
// each.
//
//go:embed catalogue.bin
var packed string

// entry is a service in the index.
type entry struct {
	name, id   string // in the AWS CLI, and in the SDK
	begin, end int    // of its block
	refused    string // the reason why it has no operations, empty if it has
}

// index has the services in the order of their names, and the packed blocks that follow the index.
var index = sync.OnceValue(func() (found struct {
	entries []entry
	blocks  string
}) {
	head, blocks, _ := strings.Cut(packed, "\n\n")
	found.blocks = blocks
	at := 0
	for line := range strings.SplitSeq(head, "\n") {
		fields := strings.Split(line, "\t")
		e := entry{name: fields[0], id: fields[1], begin: at, refused: fields[3]}
		size, _ := strconv.Atoi(fields[2]) // the test of the file reads all blocks
		at += size
		e.end = at
		found.entries = append(found.entries, e)
	}
	return found
})

// find returns the service with one of its names.
func find(service string) (entry, bool) {
	entries := index().entries
	i := slices.IndexFunc(entries, func(e entry) bool { return e.name == service })
	if i < 0 {
		i = slices.IndexFunc(entries, func(e entry) bool { return e.id == service })
	}
	if i < 0 {
		return entry{}, false
	}
	return entries[i], true
}

// Services returns the names of all services in the AWS CLI, in their order.
func Services() []string {
	var names []string
	for _, e := range index().entries {
		names = append(names, e.name)
	}
	return names
}

// service is a service after its block was read.
type service struct {
	variants   []call.Service
	operations map[string]string // their lines, by name
	names      []string
	iam        string            // its prefix in policies
	exceptions map[string]string // names of its errors, by their codes
}

var read sync.Map // services, by name

// read returns the service of the entry.
func (e entry) read() *service {
	if known, ok := read.Load(e.name); ok {
		return known.(*service) //nolint:forcetypeassert // nothing else is in it
	}
	text, err := io.ReadAll(flate.NewReaderDict(strings.NewReader(index().blocks[e.begin:e.end]), []byte(Dictionary)))
	if err != nil {
		panic(fmt.Sprintf("catalogue: %s: %v", e.name, err)) // the file is part of the program, and a test reads all of it
	}
	s := parse(string(text))
	read.Store(e.name, s)
	return s
}

// Dictionary has texts that are in most blocks. The program that writes the file compresses each
// block with it.
const Dictionary = "aws-iso-f fips dual=;aws-iso-e;aws-iso-b;aws-iso;aws-eusc;aws-us-gov;aws-cn;REGION.api.aws.\t\t\tPOST /\tGET /v1/\tDELETE /\tPUT /" +
	"{clientToken?:s description:s name!:s tags:<s>}\t{createdAt:t updatedAt:t}{NextToken:s MaxResults:i ResourceArn!:s TagKeys!:[*] Tags!:[*]}" +
	"\nListTagsForResource\nTagResource\nUntagResource\t{resourceArn!@uri:s tagKeys!@query=tagKeys:[*]}" +
	"\n{maxResults@query=maxResults:i nextToken@query=nextToken:s}"

// parse reads a block: lines of the service and its variants, an empty line, and lines of
// operations.
func parse(text string) *service {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	fields := strings.Split(lines[0], "\t")
	s := &service{operations: map[string]string{}, iam: fields[5], exceptions: map[string]string{}}
	for each := range strings.FieldsSeq(fields[7]) {
		code, name, differs := strings.Cut(each, "=")
		if !differs {
			name = code
		}
		s.exceptions[code] = name
	}
	for _, line := range lines[1:] {
		hosts, regions, _ := strings.Cut(line, "\t")
		s.variants = append(s.variants, call.Service{
			ID: fields[0], Prefix: fields[1], Signing: fields[2], Protocol: call.Protocol(fields[3]), Target: fields[4],
			HadQuery: fields[6] != "", Hosts: pairs(hosts), Regions: pairs(regions),
		})
	}
	for line := range strings.Lines(body) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		s.names = append(s.names, name)
		s.operations[name] = rest
	}
	return s
}

func pairs(text string) map[string]string {
	found := map[string]string{}
	for pair := range strings.SplitSeq(text, ";") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			found[name] = value
		}
	}
	return found
}

// Operations returns the names of the operations of a service, in their order.
func Operations(name string) []string {
	e, ok := find(name)
	if !ok || e.refused != "" {
		return nil
	}
	return slices.Clone(e.read().names)
}

// UnknownError is the error for a service or an operation that does not exist.
type UnknownError struct {
	Service, Operation string
	// Names are the existing ones: of operations, or of services if the service is unknown.
	Names []string
	// NoService reports that the service is unknown.
	NoService bool
}

// Error implements error.
func (e *UnknownError) Error() string {
	if e.NoService {
		return fmt.Sprintf("service %q is not in the catalogue of AWS", e.Service)
	}
	return fmt.Sprintf("service %q has no operation %q", e.Service, e.Operation)
}

// RefusedError is the error for an operation that exists and that the catalogue does not support.
type RefusedError struct{ Service, Operation, Reason string }

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("operation %s:%s cannot be called: %s", e.Service, e.Operation, e.Reason)
}

// Lookup returns an operation of a service by their names: "dynamodb" and "PutItem". The error is
// an [*UnknownError] or a [*RefusedError].
func Lookup(serviceName, name string) (call.Operation, error) {
	e, ok := find(serviceName)
	switch {
	case !ok:
		return call.Operation{}, &UnknownError{serviceName, name, Services(), true}
	case e.refused != "":
		return call.Operation{}, &RefusedError{serviceName, name, e.refused}
	}
	s := e.read()
	line, ok := s.operations[name]
	if !ok {
		return call.Operation{}, &UnknownError{serviceName, name, s.names, false}
	}
	fields := strings.Split(line, "\t")
	if reason, ok := strings.CutPrefix(line, "!"); ok {
		return call.Operation{}, &RefusedError{serviceName, name, reason}
	}
	o := call.Operation{Name: name, Input: fields[1], Output: fields[2], HostPrefix: fields[3], Names: fields[5]}
	o.Method, o.Path, _ = strings.Cut(fields[0], " ")
	variant, _ := strconv.Atoi(fields[4]) // empty is the first
	o.Service = s.variants[variant]
	return o, nil
}

// Action returns the action of IAM that an operation of the catalogue needs:
// "states:StartExecution". It returns false if IAM has no such action, because the operation needs
// other actions.
func Action(serviceName, name string) (action string, ok bool) {
	e, ok := find(serviceName)
	if !ok || e.refused != "" {
		return "", false
	}
	s := e.read()
	line, ok := s.operations[name]
	return s.iam + ":" + name, ok && !strings.HasPrefix(line, "!") && !strings.HasSuffix(line, NoAction)
}

// NoAction ends the line of an operation that has no IAM action of the same name.
const NoAction = "~"

// The conversions of names in the line of an operation, if the service has names that begin in
// lower case. The vendor's SDKs have names in upper case.
const (
	LowerParams = "i" // in the values of params
	LowerResult = "o" // in the response
	// ShapedResult: the output has all members, so names of members are told from names of entries.
	ShapedResult = "s"
	// UnknownNames says that the service has maps, or names of both kinds, among such names.
	UnknownNames = "x"
)
