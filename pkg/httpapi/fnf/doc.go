// Package fnf is the vendor's API of version 2019-03-15, as far as programs
// need it that finish what waits for them: the vendor's own clients report here,
// and nothing but their endpoint and key change.
//
//	ReportTaskSucceeded   TaskToken, Output         -> EventId, RequestId
//	ReportTaskFailed      TaskToken, Error, Cause   -> EventId, RequestId
//
// It is the vendor's RPC protocol: one path, /; GET or POST; each parameter in
// the query or in the form that is the body. Every request is signed with
// HMAC-SHA1 and a key that both sides have, and at most 15 minutes old. A nonce
// has to be there and is not kept: a token is single use, so a request that is
// sent again changes nothing. Answers are JSON only.
//
// A token that is forged or expired does not exist (TaskNotExists), whatever
// the reason, and is not read. Every report after the first one is answered
// with TaskAlreadyCompleted, the same outcome too. The output for a step of
// ours is a JSON object within its limit, the one for somebody else's engine
// any JSON of at most [resume.ForeignLimit] bytes. What is too large for anybody is
// answered with EntityTooLarge, as the vendor does.
//
// Where the vendor is silent: EventId is 0, because whoever closes a token does
// not know the execution's history; the vendor's clients only hand it on. The
// lengths of Error and Cause are counted in bytes. A task with signed: true
// takes these reports, too, because they are signed; one with signed: NAME does
// not, because a client's key is not that sender's secret.
//
// This package may change between releases; the protocol is the vendor's.
package fnf
