// Package expr is the part of FDL that computes: JSON values, the paths that
// select from them, the mappings that build one value from others, and the
// conditions of choices.
//
// It is pure: no clock, no I/O, no randomness, and nothing in it changes once
// made. Numbers are decimals kept as they were written; they are never turned
// into floats, so an identifier of 20 digits passes through a flow unharmed.
//
// This package may change between releases.
package expr
