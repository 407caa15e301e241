package dynamo

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// Attributes of a request to stop.
const (
	attrStopError = "e"
	attrStopCause = "c"
)

// RequestStop implements [engine.Stops].
func (w *Waits) RequestStop(ctx context.Context, execution engine.ID, request engine.StopRequest, expires time.Time) error {
	_, _, err := w.update(ctx, stopKey(execution), update{
		op: "request a stop", expression: "SET e = :error, c = :cause, expires = :expires", condition: "attribute_not_exists(k)",
		values: attributes{":error": textValue(request.Error), ":cause": textValue(request.Cause), ":expires": expiryOf(expires)},
	})
	return err
}

// StopRequest implements [engine.Stops].
func (w *Waits) StopRequest(ctx context.Context, execution engine.ID) (engine.StopRequest, bool, error) {
	found, err := w.get(ctx, "read a request to stop", stopKey(execution))
	return engine.StopRequest{Error: textOf(found[attrStopError]), Cause: textOf(found[attrStopCause])}, len(found) > 0, err
}

func stopKey(execution engine.ID) attributes {
	return attributes{attrKey: textValue("S" + execution.String())}
}
