// Package local runs flows in one process. [New] composes an engine with a store in memory (package
// store) or in a directory (package disk), a queue of wakes, a real or a virtual clock, functions
// (built in, commands, URLs, Lambda functions), and services that run jobs (simulated or on AWS).
//
// This package may change between releases.
package local
