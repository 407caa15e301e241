// Package disk is the durable store of one machine: logs, flows and outcomes
// in a folder, each acknowledged write safe from a power cut. One process has
// it at a time; what that one left unfinished the next one takes over.
//
// This package may change between releases; what is stored stays readable, by
// its format number.
//
// A store that was shut is checked as it is read: a file that is missing, cut
// short or changed is an error. Of one whose process was killed, a change in the
// last 32 KiB of the log looks like a write that was under way.
package disk
