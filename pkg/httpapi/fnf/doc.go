// Package fnf is the vendor's API of version 2019-03-15, as far as programs need it that report the
// outcome of a task: the vendor's own clients work with another endpoint and another key.
//
//	ReportTaskSucceeded   TaskToken, Output         -> EventId, RequestId
//	ReportTaskFailed      TaskToken, Error, Cause   -> EventId, RequestId
//
// The protocol is the vendor's RPC: the path /, GET or POST, each parameter in the query or in the form
// that is the body, JSON responses. Every request is signed with HMAC-SHA1 and a shared key, and is at
// most 15 minutes old. A nonce is required and not stored: a token is single use, so a repeated request
// changes nothing.
//
//   - TaskNotExists: the token is forged, damaged or expired. The store is not read.
//   - TaskAlreadyCompleted: every report but the first, also with the same outcome.
//   - EntityTooLarge: the report is too large, as in the vendor's API.
//
// The output for a Waitless step is a JSON object within its limit. The output for an external recipient
// is any JSON of at most [resume.ExternalLimit] bytes.
//
// Choices where the vendor is silent: EventId is 0, because the handler does not know the execution's
// history. The lengths of Error and Cause are in bytes. A task with signed: true accepts these reports,
// because they are signed; a task with signed: NAME does not, because a client's key is not that sender's
// secret.
//
// This package may change between releases; the protocol is the vendor's.
package fnf
