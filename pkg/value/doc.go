// Package value holds JSON values: their constructors, JSON, exact decimal numbers, and a compact
// binary form with references to values that stand in earlier items of a log.
//
// It is pure: no clock, no I/O, no randomness, and a value never changes. Numbers keep the text
// that they were written with and are never turned into floats, so an identifier of 20 digits
// passes through a flow unchanged.
//
// This package may change between releases.
package value
