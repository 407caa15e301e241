// Package expr is the part of FDL that computes: paths select from values, mappings and templates
// build one value from others, and conditions choose.
//
// It is pure: no clock, no I/O, no randomness, and nothing in it changes once made.
//
// This package may change between releases.
package expr
