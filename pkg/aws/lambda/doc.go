// Package lambda calls the Lambda functions that flows name.
//
// A flow's resource names a function as Function Compute does, and [Names] maps it to a Lambda
// function. The function gets the step's input as its event. The custom part of its client context
// has the same names as the environment of a local command:
//
//	WAITLESS_NOW               the instant of the call
//	WAITLESS_FLOW, WAITLESS_EXECUTION, WAITLESS_STEP
//	WAITLESS_ITERATION         the indices of the iterations around the step: "3", or "3.0" in nested ones
//	WAITLESS_IDEMPOTENCY_KEY   the same for each call of one attempt
//
// In Python that is context.client_context.custom["WAITLESS_IDEMPOTENCY_KEY"]. The function's
// response is the output. An error of the function fails the attempt under the name of the error's
// type.
//
// This package is not an API and may change between releases.
package lambda
