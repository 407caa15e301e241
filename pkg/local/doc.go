// Package local runs flows in one process. [New] composes an engine with a store in memory or on disk,
// a queue of wakes, a real or a virtual clock, functions (built in, commands, URLs, Lambda functions),
// and services that run jobs (simulated or on AWS).
//
// Its adapters pass the same suites as those on AWS (package enginetest).
//
// This package may change between releases.
package local
