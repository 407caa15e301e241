// Package store keeps the executions of one machine: logs, flows, tokens, jobs, notices and
// schedules. [Keyed] stores them over a [Database] of five methods; [Memory] has that database in
// memory, package disk in a directory.
//
// It passes the same suites as the store on AWS (package enginetest).
//
// This package may change between releases.
package store
