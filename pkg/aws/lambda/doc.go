// Package tasks calls Lambda functions: at once, by [Tasks], or from a queue
// when the call takes longer than an interpreter waits, by [Queue] and
// [Receiver].
//
// A flow's resource names a function as Function Compute does; [Names] says
// which Lambda function that is. The function gets the step's input as its
// event, and in the custom part of its client context the same names as a
// local command in its environment:
//
//	WAITLESS_NOW               the instant of the call, virtual where time is
//	WAITLESS_FLOW, WAITLESS_EXECUTION, WAITLESS_STEP
//	WAITLESS_IDEMPOTENCY_KEY   the same for each call of one attempt
//
// for instance context.client_context.custom["WAITLESS_IDEMPOTENCY_KEY"] in
// Python. What it answers is the output; an error that it ends with fails the
// attempt under the name of the error's type.
//
// This package may change between releases.
package lambda
