package call

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Operation is a row: an operation of a service.
type Operation struct {
	Service       Service
	Name          string
	Method, Path  string // of REST-JSON
	HostPrefix    string // before the host of the service, unless the configuration has the endpoint
	Input, Output string // shapes; the output of JSON protocols needs only the instants
	Names         string // the conversions of names for machines, as package catalogue has them
}

// Response is the response of an operation.
type Response struct {
	Body      []byte // a JSON object
	RequestID string
}

// Client calls operations. It returns the same errors as the SDK's clients, or a [*ParamsError].
type Client struct {
	config  aws.Config
	retryer aws.Retryer
	signer  *v4.Signer
	skew    *atomic.Int64 // nanoseconds that the clock of the services is ahead
}

// New returns a client with the region, endpoints, credentials, retries and transport of the
// configuration.
func New(config aws.Config) *Client {
	c := &Client{config: config.Copy(), signer: v4.NewSigner(), skew: &atomic.Int64{}}
	if c.config.HTTPClient == nil {
		c.config.HTTPClient = awshttp.NewBuildableClient()
	}
	switch {
	case config.Retryer != nil:
		c.retryer = config.Retryer()
	case config.RetryMode == aws.RetryModeAdaptive:
		c.retryer = retry.NewAdaptiveMode()
	default:
		c.retryer = retry.NewStandard()
	}
	if config.RetryMaxAttempts > 0 {
		c.retryer = retry.AddWithMaxAttempts(c.retryer, config.RetryMaxAttempts)
	}
	return c
}

// Call makes a call with params, a JSON object. Empty params are those without members.
func (c *Client) Call(ctx context.Context, o Operation, params []byte) (Response, error) {
	return c.CallOnce(ctx, o, params, "")
}

// CallOnce is [Client.Call] with idempotency tokens that are the same for the same text, so that a
// repeated call does nothing twice where the service has such tokens. For the empty text they are
// random.
func (c *Client) CallOnce(ctx context.Context, o Operation, params []byte, once string) (Response, error) {
	m, err := messageOf(o, params, once)
	if err != nil {
		return Response{}, err
	}
	return c.send(ctx, o, m)
}

// send sends the request of an operation.
func (c *Client) send(ctx context.Context, o Operation, m message) (Response, error) {
	base, err := c.endpoint(ctx, o.Service, o.HostPrefix)
	if err != nil {
		return Response{}, err
	}
	stack, err := c.stack(o, base, m)
	if err != nil {
		return Response{}, err
	}
	handler := middleware.DecorateHandler(smithyhttp.NewClientHandlerWithOptions(c.config.HTTPClient), stack)
	body, metadata, err := handler.Handle(middleware.ClearStackValues(ctx), nil)
	if err != nil {
		return Response{}, &smithy.OperationError{ServiceID: o.Service.ID, OperationName: o.Name, Err: err}
	}
	requestID, _ := awsmiddleware.GetRequestIDMetadata(metadata)
	return Response{Body: body.([]byte), RequestID: requestID}, nil //nolint:forcetypeassert // reading returns it
}

// The names of steps in the stack that the SDK's own refer to.
const (
	stepSign = "Signing"
	stepRead = "OperationDeserializer"
)

// stack returns the steps of a call: the steps of the SDK's clients, with this package's protocols
// between them.
func (c *Client) stack(o Operation, base string, m message) (*middleware.Stack, error) {
	stack := middleware.NewStack(o.Name, smithyhttp.NewStackRequest)
	register := &awsmiddleware.RegisterServiceMetadata{
		ServiceID: o.Service.ID, SigningName: o.Service.signing(), Region: c.config.Region, OperationName: o.Name,
	}
	err := errors.Join(
		stack.Initialize.Add(register, middleware.Before),
		stack.Serialize.Add(writing(base, m), middleware.After),
		awsmiddleware.AddClientRequestIDMiddleware(stack),
		awsmiddleware.AddRequestUserAgentMiddleware(stack),
		awsmiddleware.AddRecursionDetection(stack),
		stack.Finalize.Add(c.signing(o.Service, m.body), middleware.After),
		retry.AddRetryMiddlewares(stack, retry.AddRetryMiddlewaresOptions{Retryer: c.retryer}),
		stack.Deserialize.Add(reading(o), middleware.After),
		awsmiddleware.AddRequestIDRetrieverMiddleware(stack),
		awshttp.AddResponseErrorMiddleware(stack),
		awsmiddleware.AddRawResponseToMetadata(stack),
		awsmiddleware.AddRecordResponseTiming(stack),
	)
	for _, add := range c.config.APIOptions {
		err = errors.Join(err, add(stack))
	}
	return stack, err
}

// writing fills the request in.
func writing(base string, m message) middleware.SerializeMiddleware {
	return middleware.SerializeMiddlewareFunc("OperationSerializer", func(
		ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler,
	) (out middleware.SerializeOutput, metadata middleware.Metadata, err error) {
		request, ok := in.Request.(*smithyhttp.Request)
		if !ok {
			return out, metadata, fmt.Errorf("a request of type %T", in.Request)
		}
		if request.URL, err = urlOf(base, m); err != nil {
			return out, metadata, err
		}
		request.Method, request.Header = m.method, m.header.Clone()
		request.ContentLength = int64(len(m.body))
		if in.Request, err = request.SetStream(bytes.NewReader(m.body)); err != nil {
			return out, metadata, err
		}
		return next.HandleSerialize(ctx, in)
	})
}

// signing signs each try, at the time of the services' clock as the last response told it.
func (c *Client) signing(service Service, body []byte) middleware.FinalizeMiddleware {
	hash := sha256.Sum256(body)
	return middleware.FinalizeMiddlewareFunc(stepSign, func(
		ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
	) (out middleware.FinalizeOutput, metadata middleware.Metadata, err error) {
		request, ok := in.Request.(*smithyhttp.Request)
		if !ok {
			return out, metadata, fmt.Errorf("a request of type %T", in.Request)
		}
		if aws.IsCredentialsProvider(c.config.Credentials, (*aws.AnonymousCredentials)(nil)) {
			return next.HandleFinalize(ctx, in)
		}
		if service.Protocol == RESTXML {
			request.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(hash[:]))
		}
		if c.config.Credentials == nil {
			return out, metadata, &v4.SigningError{Err: errors.New("there are no credentials")}
		}
		credentials, err := c.config.Credentials.Retrieve(ctx)
		if err == nil {
			region := cmp.Or(service.Regions[partitionOf(c.config.Region).name], c.config.Region)
			now := time.Now().Add(time.Duration(c.skew.Load()))
			err = c.signer.SignHTTP(ctx, credentials, request.Request, hex.EncodeToString(hash[:]), service.signing(), region, now, func(o *v4.SignerOptions) {
				o.DisableURIPathEscaping = service.Protocol == RESTXML || service.Protocol == Bytes
			})
		}
		if err != nil {
			return out, metadata, &v4.SigningError{Err: err}
		}
		out, metadata, err = next.HandleFinalize(ctx, in)
		if skew, ok := awsmiddleware.GetAttemptSkew(metadata); ok {
			c.skew.Store(int64(skew))
		}
		return out, metadata, err
	})
}

// maxResponse is the largest response in bytes. No value of a flow is larger.
const maxResponse = 16 << 20

// ResponseSizeError is an error for a response that is too large. The operation may have been done.
type ResponseSizeError struct{ Operation string }

// Error implements error.
func (e *ResponseSizeError) Error() string {
	return fmt.Sprintf("%s returned more than %d MiB: ask for less, for example with a smaller page", e.Operation, maxResponse>>20)
}

// reading reads the response.
func reading(o Operation) middleware.DeserializeMiddleware {
	return middleware.DeserializeMiddlewareFunc(stepRead, func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (out middleware.DeserializeOutput, metadata middleware.Metadata, err error) {
		out, metadata, err = next.HandleDeserialize(ctx, in)
		response, ok := out.RawResponse.(*smithyhttp.Response)
		if err != nil || !ok {
			return out, metadata, err
		}
		body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
		if err == nil && len(body) > maxResponse {
			err = &ResponseSizeError{o.Name}
		}
		if err = errors.Join(err, response.Body.Close()); err != nil {
			return out, metadata, err
		}
		if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusMultipleChoices {
			return out, metadata, refusal(o.Service.Protocol, response.StatusCode, response.Header, body)
		}
		text, err := result(o, response.StatusCode, response.Header, body)
		if err != nil {
			return out, metadata, &smithy.DeserializationError{Err: fmt.Errorf("the response: %w", err)}
		}
		out.Result = text
		return out, metadata, nil
	})
}
