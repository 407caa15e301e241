// Package disk is the durable store of one machine: logs, flows, tokens and jobs in a directory.
// Acknowledged writes survive a power cut. One process at a time has the store open; the next
// process continues its unfinished work.
//
// Reading detects damage: in a store that was shut, a file that is missing, cut short or changed is
// an error. After a kill, a change in the last 32 KiB of the log looks like an unfinished write.
//
// This package may change between releases; stores have a format number.
package disk
