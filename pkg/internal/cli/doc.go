// Package cli is the command line of Waitless. [Command] is the whole program, so that tests start
// the same program as users.
//
// This package may change between releases; the commands, their exit codes and the schemas of their
// JSON are promises.
package cli
