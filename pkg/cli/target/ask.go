package target

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
)

// Paths at which the holder of a store says where callbacks arrive, and what it is.
const (
	basePath   = "/callback-base"
	holderPath = "/holder"
)

// CallbackBase returns where callbacks arrive, as the process that holds the store says.
func (c *Client) CallbackBase(ctx context.Context) (string, error) {
	base, err := c.ask(ctx, basePath)
	var refused *rest.Error
	if errors.As(err, &refused) {
		return "", view.Usage("the process that holds the store does not say where callbacks arrive", "--base URL")
	}
	return base, err
}

// Holder returns what the process that holds the store is: "dev", "run", or "" for this process.
func (c *Client) Holder(ctx context.Context) (string, error) { return c.ask(ctx, holderPath) }

// ask returns the text that the process that holds the store serves at a path.
func (c *Client) ask(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+path, nil)
	if err != nil {
		return "", err
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return "", err
	}
	const longest = 4 << 10
	text, err := io.ReadAll(io.LimitReader(response.Body, longest))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", &rest.Error{Status: response.StatusCode, Code: engine.CodeInternal, Message: "the process that holds the store responded " + response.Status}
	}
	return string(text), nil
}

// textHandler serves a text.
func textHandler(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, text) // the caller is gone
	})
}
