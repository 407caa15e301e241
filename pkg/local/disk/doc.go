// Package disk is the durable store of one machine: logs, flows and outcomes
// in a folder, each acknowledged write safe from a power cut. One process has
// it at a time; what that one left unfinished the next one takes over.
//
// This package may change between releases; what is stored stays readable, by
// its format number.
package disk
