// Package local runs flows in one process: a store in memory or on disk, a queue of
// wakes, a real or a virtual clock, and functions that are built in or are the
// user's: commands, URLs, Lambda functions. [New] composes them with an engine,
// and with those who start and watch jobs: services of AWS, or some that are
// played.
//
// Its adapters pass the same suites as those on AWS (package enginetest).
//
// This package may change between releases.
package local
