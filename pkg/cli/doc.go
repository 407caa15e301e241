// Package cli is the command line of Waitless. Everything that the program
// does is in [Command], so that tests start what users start.
//
// This package may change between releases; the commands, their exit codes and
// the schemas of their JSON are promises.
package cli
