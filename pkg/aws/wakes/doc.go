// Package wakes carries wakes by an SQS queue: a wake that is due soon is a
// message with a delay, one that is due later first a schedule that puts the
// message there.
//
// A message is JSON with a version, ids and instants, and nothing else:
//
//	{"v":1,"execution":"<24 hexadecimal digits>","cause":"start","due":"2026-01-31T10:00:00.5Z","sent":"2026-01-31T10:00:00Z","seq":0}
//
// The cause is "start", "stop", a timer's tag or a token's handle, which is the
// part of the token before its dot: a token's text never gets here.
//
// This package may change between releases; messages under way are understood
// by the next one.
package wakes
