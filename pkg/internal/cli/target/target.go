// Package target finds where a command works: a store on this machine, the process that holds a
// store, or a stack on AWS. Each has the same client of the management API. The package also serves
// that API for the process that holds a store.
package target

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/token"
)

// DefaultStore is the folder of the store unless the user names another.
const DefaultStore = ".waitless"

// Place is the store in a folder, or a stack that is found by its name or by the URL of its API.
type Place struct{ Store, Endpoint, Stack string }

// OnStack reports whether the place is a stack.
func (p Place) OnStack() bool { return p.Endpoint != "" || p.Stack != "" }

// Flags returns the flags that name the place again.
func (p Place) Flags() string {
	switch {
	case p.Endpoint != "":
		return " --endpoint " + p.Endpoint
	case p.Stack != "":
		return " --stack " + p.Stack
	case p.Store != "" && p.Store != DefaultStore:
		return " --store " + p.Store
	}
	return ""
}

// Store is an open durable store.
type Store interface {
	local.Store
	Lists
	// Keys sign the tokens of the store's executions.
	Keys() token.Keys
	// APIKey returns the key of the management API, which the file [APIKeyFile] of the store holds.
	APIKey() (string, error)
	// Shut closes the store.
	Shut() error
}

// Lists has the lists of a store for its users.
type Lists interface {
	engine.Catalog
	schedule.Store
}

// APIKeyFile is the file of a store with the key of its management API.
const APIKeyFile = "api.key"

// Stores opens durable stores.
type Stores interface {
	// Open opens the store in a folder, or creates it. Its errors have the codes of package engine.
	Open(dir string) (Store, error)
	// Check returns an error if the folder is not a store, or belongs to another user.
	Check(dir string) error
	// Inspect returns the format of a store that no process holds, after it has read the store. It
	// changes nothing. Its errors are as of Open.
	Inspect(dir string) (format int, err error)
	// Holder returns the id of the process that holds the store, or 0.
	Holder(dir string) int
}

// AWS is the user's account.
type AWS interface {
	Identity
	StackReader
	// Lambdas returns the Lambda functions of the account, or with onAWS false the functions at
	// other endpoints.
	Lambdas(ctx context.Context, onAWS bool, now func() time.Time) local.Lambdas
	// Jobs returns the services that run jobs, and the account that they belong to.
	Jobs(ctx context.Context) (resume.Services, local.Account, error)
	// CallOperation calls an operation of a service, with the input of CallService.
	CallOperation(ctx context.Context, input []byte) (output []byte, err error)
}

// StackReader finds stacks of an account.
type StackReader interface {
	// Outputs returns the outputs of a stack, or nil if there is no such stack.
	Outputs(ctx context.Context, stack string) (map[string]string, error)
	// DeadLetters returns the dead-letter queues of a stack.
	DeadLetters(ctx context.Context, stack string) (DeadLetters, error)
	// Health returns the reader of stacks in the account.
	Health() Health
}

// Identity is who the user is on AWS.
type Identity interface {
	// Region returns the configured region, or "".
	Region() string
	// Account returns the account that the configuration names, or "". It sends no request.
	Account() string
	// Credentials returns an error if there are no credentials.
	Credentials(ctx context.Context) error
	// Sign returns a transport that signs requests to API Gateway in the region.
	Sign(region string, next http.RoundTripper) http.RoundTripper
}

// AWSOptions replace values of the AWS configuration.
type AWSOptions struct {
	Region, Profile string // empty means as configured
	// NoInstance skips the credentials of an EC2 instance: off AWS the request for them takes long.
	NoInstance bool
}

// AWSError returns an error of AWS as it is shown.
func AWSError(err error) error {
	return view.Internal(err.Error(), "aws configure list, which shows what is configured")
}

// TryRegion is the advice if no region is configured.
const TryRegion = "AWS_REGION=eu-west-1 waitless ..."

// Client is the management API of a target.
type Client struct {
	*rest.Client
	// News is for how many seconds a request of a command that follows an execution waits for news.
	// On AWS it is 0: a request that waits would keep a function running.
	News int
	// Interval is the time between two such requests if the first one brought no news.
	Interval time.Duration
	// Idle reports that no process works on the store, so executions do not continue.
	Idle  bool
	close func() error
}

// Wait waits until it is time for the next request of a command that follows an execution, after
// one at that time brought no news.
func (c *Client) Wait(ctx context.Context, asked time.Time) error {
	if c.Idle {
		return engine.Sleep(ctx, time.Second) // others are to open the store at once
	}
	return engine.Sleep(ctx, c.Interval-time.Since(asked))
}

// Close closes the client after a command. Its error is the command's unless that has one.
func (c *Client) Close(err *error) {
	if c.close == nil {
		return
	}
	if closeErr := c.close(); *err == nil && closeErr != nil {
		*err = closeErr
	}
}

// Opener opens targets.
type Opener struct {
	Stores Stores
	AWS    func(ctx context.Context, noInstance bool) (AWS, error)
	// Key returns the key of the management API at an endpoint on this machine, or "".
	Key func() (string, error)
	// Local returns the configuration of a system on a store that no process holds.
	Local func() (local.Config, error)
	// HolderPatience is the time limit of a request to the process that holds a store.
	HolderPatience time.Duration
	// Pause returns how long to wait before a request to a stack is tried again; nil means longer
	// each time.
	Pause func(try int) time.Duration
}

// Open opens the target at a place.
func (o Opener) Open(ctx context.Context, p Place) (*Client, error) {
	if err := o.checkExists(p); err != nil {
		return nil, err
	}
	return o.OpenOrCreate(ctx, p)
}

// checkExists returns an error if the place is a folder without a store.
func (o Opener) checkExists(p Place) error {
	if !p.OnStack() && isNotFound(o.Stores.Check(p.Store)) {
		return view.Usage("there is no store in "+p.Store, "waitless run FLOW, --store DIR or --stack NAME")
	}
	return nil
}

// OpenOrCreate opens the target at a place. It creates a missing store.
func (o Opener) OpenOrCreate(ctx context.Context, p Place) (*Client, error) {
	if p.OnStack() {
		return o.openStack(ctx, p)
	}
	store, client, err := o.reach(ctx, p.Store)
	switch {
	case err != nil:
		return nil, err
	case client != nil:
		return &Client{Client: client, Interval: storeInterval, News: storeWait}, nil
	}
	config, err := o.Local()
	if err != nil {
		return nil, errors.Join(err, store.Shut())
	}
	config.Store = store
	return &Client{Client: InProcess(local.New(config), store), Interval: storeInterval, close: store.Shut, Idle: true}, nil
}
